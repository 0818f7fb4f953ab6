/**
 * P2: the whole engine, place and cancel with authority, idempotency, margin, fees, positions and events, against npm `nodejs-order-book`
 * alone on P1's steady stream. It is measured in the state of a venue that is days old: at a million records a day, each record forgets
 * about as many old keys and orders as it remembers new ones, in tables that days have filled. The engine lives on from run to run. The
 * digest of a block's events is the work of the sequencer and is measured in P6.
 */
import { assert } from "../../src/domain/Assert.js"
import { generate } from "./BookOperations.js"
import * as EngineCommands from "./EngineCommands.js"
import { forReference, steadyLimit, timeReference } from "./Reference.js"
import { compare, type Section } from "./Section.js"

const referenceOperations = 1_000_000
const commandsPerRun = 300_000
/** Commands drawn at a time for the days that are not measured. */
const commandsAtOnce = 50_000

/** A million records a day. */
const msPerBlock = 5_530
/** Keys live for up to two days: after that as many expire as are added. */
const daysBefore = 2.1

/** Markets and accounts; also those of P6 and P9, on a venue's first day. */
export const shape: EngineCommands.Shape = {
  markets: 100,
  accounts: 10_000,
  resting: 20_000,
  liveLimit: 20_000,
  count: 1_000_000,
  seed: 3,
  msPerBlock: 1
}

export const section: Section = {
  name: "P2",
  run: async (options) => {
    const day = { ...shape, msPerBlock }
    const before = Math.ceil(daysBefore * EngineCommands.commandsPerDay(day) / commandsAtOnce) * commandsAtOnce
    const stream = new EngineCommands.Stream({ ...day, count: before + (options.runs + 1) * commandsPerRun })
    const runner = new EngineCommands.Runner(stream)
    for (let run = 0; run < before; run += commandsAtOnce) runner.run(stream.take(commandsAtOnce))
    options.log(`P2, before it is measured: ${EngineCommands.describe(stream, before)}`)
    const reference = generate(referenceOperations, steadyLimit, 1).map(forReference)
    return [
      await compare("P2", "commands/s", options, () => timeReference(reference), () => {
        const commands = stream.take(commandsPerRun)
        const then = runner.engine.occupancy
        const value = commands.length / runner.run(commands)
        const now = runner.engine.occupancy
        assert(Math.abs(now.idempotencyEntries / then.idempotencyEntries - 1) < 0.01, "as many keys are forgotten as are remembered")
        assert(Math.abs(now.orders / then.orders - 1) < 0.01, "as many orders are forgotten as are placed")
        return { value, ranOn: runner }
      })
    ]
  }
}
