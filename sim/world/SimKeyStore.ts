/**
 * The signer's keys in memory: they outlive whoever signs with them, as a disk does. Seeds are made of their number, so that one run is
 * like the next. Fault model: from when it is told, every write fails with a code of the system's, and leaves the record as it was.
 */
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { KeyStore, StoreFailed } from "../../src/signer/KeyStore.js"

export class SimKeyStore {
  readonly records = new Map<string, string>()
  /** Every name that was written, in order. */
  readonly written: Array<string> = []
  /** The system's code that writes fail with. */
  failsWith: string | undefined = undefined
  private seeds = 0

  /** May be built again, by a signer that starts again. */
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
