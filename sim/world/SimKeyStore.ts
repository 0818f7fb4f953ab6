/**
 * The signer's keys in memory: they outlive the signing process, as on a disk. Seeds are derived from their number, so that runs are
 * reproducible. Fault model: once set to fail, every write fails with a system error code and changes nothing.
 */
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { KeyStore, StoreFailed } from "../../src/signer/KeyStore.js"

export class SimKeyStore {
  readonly records = new Map<string, string>()
  /** The names of all writes, in order. */
  readonly written: Array<string> = []
  /** The system error code with which writes fail. */
  failsWith: string | undefined = undefined
  /** Called with each record that is written. */
  wrote: (name: string, record: string) => void = () => {}
  private seeds = 0

  /** May be built again, by a signer that restarts. */
  readonly layer: Layer.Layer<KeyStore> = Layer.succeed(KeyStore, {
    load: Effect.sync(() => new Map(this.records)),
    write: (name, record) =>
      Effect.suspend(() => {
        if (this.failsWith !== undefined) return new StoreFailed({ code: this.failsWith })
        this.records.set(name, record)
        this.written.push(name)
        this.wrote(name, record)
        return Effect.void
      }),
    newSeed: Effect.sync(() => new Uint8Array(createHash("sha256").update(`seed ${++this.seeds}`).digest()))
  })
}
