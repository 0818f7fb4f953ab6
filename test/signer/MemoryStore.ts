/** A store in memory, that outlives signers over it and can be made to fail. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createHash } from "node:crypto"
import { KeyStore, StoreFailed } from "../../src/signer/KeyStore.js"

export class MemoryStore {
  readonly records = new Map<string, string>()
  /** Every name that was written, in order. */
  readonly written: Array<string> = []
  /** The system's code that writes fail with. */
  failsWith: string | undefined = undefined
  private seeds = 0

  readonly layer: Layer.Layer<KeyStore> = Layer.succeed(KeyStore, {
    load: Effect.sync(() => new Map(this.records)),
    write: (name, record) =>
      Effect.suspend(() => {
        if (this.failsWith !== undefined) return new StoreFailed({ code: this.failsWith })
        this.records.set(name, record)
        this.written.push(name)
        return Effect.void
      }),
    newSeed: Effect.sync(() => new Uint8Array(createHash("sha256").update(`seed ${++this.seeds}`).digest()))
  })
}
