/**
 * The development ledger in memory, with the simulated clock and a generator for its random choices. Its faults are a script
 * (`src/ledger/development/Faults.ts`): it answers late or not at all, loses requests before or after they are carried out, reports
 * completions twice, late or of commands that nobody gave, refuses with and without a definite answer, returns other bytes or another hash
 * than requested, restarts, prunes. Its state outlives a crash of the venue, since it is another process.
 */
import { Layer } from "effect"
import { DevelopmentLedger } from "../../src/ledger/development/DevelopmentLedger.js"
import { Faucet, faucet } from "../../src/ledger/development/Faucet.js"
import type { Script } from "../../src/ledger/development/Faults.js"
import * as InMemory from "../../src/ledger/development/InMemory.js"
import { setting, type Setting } from "../../src/ledger/development/Setting.js"
import { inMemory } from "../../src/ledger/development/Store.js"
import * as JsonLedger from "../../src/ledger/JsonLedger.js"
import { Ledger } from "../../src/ledger/Ledger.js"
import type { Transport } from "../../src/ledger/Transport.js"
import type { SimRandom } from "./SimRandom.js"

export interface SimLedger {
  /** Requests outside the port: the faucet, and the script of faults. */
  readonly transport: Transport
  readonly layer: Layer.Layer<Ledger | Faucet>
}

/** One ledger; its layer may be built again, by a venue that restarts. */
export const make = (random: Pick<SimRandom, "bytes">, script: Script = [], of: Setting = setting): SimLedger => {
  const ledger = new DevelopmentLedger(of, inMemory(), script)
  const transport = InMemory.transport(ledger, (count) => random.bytes(count))
  return {
    transport,
    layer: Layer.merge(Layer.effect(Ledger, JsonLedger.make(transport, of)), Layer.succeed(Faucet, faucet(transport)))
  }
}
