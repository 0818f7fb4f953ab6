/** Where the signer keeps keys, pins and what it has signed: records by name, each written whole and durably. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A record was not written, or it is not known whether it was. */
export class StoreFailed extends Schema.TaggedError<StoreFailed>()("StoreFailed", {
  /** The system's error code: `EIO`, `ENOSPC`, ... */
  code: Schema.String
}) {
  override get message() {
    return `the key store cannot be written: ${this.code}`
  }
}

/** The store cannot be opened, in words for whoever starts the process. */
export class StoreRefused extends Schema.TaggedError<StoreRefused>()("StoreRefused", {
  reason: Schema.String,
  /** The setting that is another than the store was made with. */
  setting: Schema.optional(Schema.String)
}) {
  override get message() {
    return this.reason
  }
}

export class KeyStore extends Context.Tag("venue/signer/KeyStore")<KeyStore, {
  /** Every record by its name; refused where any of them is not what was written. */
  readonly load: Effect.Effect<ReadonlyMap<string, string>, StoreRefused>
  /**
   * Replaces a record: once it succeeds, the new one is there whatever happens; if it fails, the old one or the new one is. A store
   * that does not know which writes no more.
   */
  readonly write: (name: string, record: string) => Effect.Effect<void, StoreFailed>
  /** 32 bytes that nobody can guess. */
  readonly newSeed: Effect.Effect<Uint8Array>
}>() {}
