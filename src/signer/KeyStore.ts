/** Where the signer keeps keys, pins and the signatures it has given: records by name, each written atomically and durably. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A record was not written, or it is unknown whether it was. */
export class StoreFailed extends Schema.TaggedError<StoreFailed>()("StoreFailed", {
  /** The system's error code: `EIO`, `ENOSPC`, ... */
  code: Schema.String
}) {
  override get message() {
    return `the key store cannot be written: ${this.code}`
  }
}

/** The store cannot be opened; the reason is addressed to whoever starts the process. */
export class StoreRefused extends Schema.TaggedError<StoreRefused>()("StoreRefused", {
  reason: Schema.String,
  /** The setting that differs from the one with which the store was created, or names a directory that cannot be used as it is. */
  setting: Schema.optional(Schema.String),
  /** The system's error code, where one of its calls failed: `EACCES`, `SQLITE_CANTOPEN`, ... */
  code: Schema.optional(Schema.String)
}) {
  override get message() {
    return this.reason
  }
}

export class KeyStore extends Context.Tag("venue/signer/KeyStore")<KeyStore, {
  /** All records by name; refused where any of them is not as it was written. */
  readonly load: Effect.Effect<ReadonlyMap<string, string>, StoreRefused>
  /**
   * Replaces a record. If it succeeds, the new one survives a crash; if it fails, the store holds either the old one or the new one. A
   * store that does not know which refuses all further writes.
   */
  readonly write: (name: string, record: string) => Effect.Effect<void, StoreFailed>
  /** 32 random bytes for a new private key. */
  readonly newSeed: Effect.Effect<Uint8Array>
}>() {}
