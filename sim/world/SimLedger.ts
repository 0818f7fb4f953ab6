/**
 * The development ledger in memory, with the simulated clock and a generator for its chance. Its faults are a script
 * (`src/ledger/development/Faults.ts`): it answers late or not at all, loses what was asked before or after it was done, tells
 * completions twice, late or of commands that nobody gave, refuses with and without a definite answer, gives other bytes or another
 * hash than were asked for, starts again, prunes. What it keeps outlives a crash of the venue, as it is another process's.
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
  /** Questions beside the port: the faucet, and the script of faults. */
  readonly transport: Transport
  readonly layer: Layer.Layer<Ledger | Faucet>
}

/** One ledger; its layer may be built again, by a venue that starts again. */
export const make = (random: Pick<SimRandom, "bytes">, script: Script = [], of: Setting = setting): SimLedger => {
  const ledger = new DevelopmentLedger(of, inMemory(), script)
  const transport = InMemory.transport(ledger, (count) => random.bytes(count))
  return {
    transport,
    layer: Layer.merge(Layer.effect(Ledger, JsonLedger.make(transport, of)), Layer.succeed(Faucet, faucet(transport)))
  }
}
