/**
 * P2: the whole engine on prebuilt commands, place and cancel with authority, idempotency, margin, fees, positions
 * and events, against npm `nodejs-order-book` alone on P1's steady stream. Timed are `admit` and `apply` of every
 * command, with the events dropped after every 64, as at the end of a block. The digest of a block's events is the
 * sequencer's work, not the engine's: P6 has it.
 */
import { assert } from "../../src/domain/Assert.js"
import { generate } from "./BookOperations.js"
import * as EngineCommands from "./EngineCommands.js"
import { runReference, forReference, steadyLimit } from "./Reference.js"
import { compare, type Section } from "./Section.js"

export const shape: EngineCommands.Shape = {
  markets: 100,
  accounts: 10_000,
  resting: 20_000,
  liveLimit: 20_000,
  count: 1_000_000,
  seed: 3
}

const referenceOperations = 1_000_000

/** Seconds for a stream on a new engine; its setup is not timed. */
export const time = (stream: EngineCommands.Stream): number => {
  const engine = EngineCommands.begin(stream)
  const { events } = engine.state
  let sequence = engine.sequence
  const startedAt = performance.now()
  for (const command of stream.commands) {
    const atEpochMs = EngineCommands.atEpochMs(sequence + 1)
    assert(engine.admit(command, atEpochMs) === undefined, "every command of a stream needs a record")
    engine.apply(command, ++sequence, atEpochMs)
    if (sequence % EngineCommands.commandsPerBlock === 0) events.clear()
  }
  return (performance.now() - startedAt) / 1000
}

export const section: Section = {
  name: "P2",
  run: async (options) => {
    const stream = EngineCommands.generate(shape)
    options.log(`P2: ${EngineCommands.describe(stream)}`)
    const reference = generate(referenceOperations, steadyLimit, 1).map(forReference)
    // Once each before it counts: compiled code on both sides.
    runReference(reference)
    time(stream)
    return [
      await compare(
        "P2",
        "commands/s",
        options,
        () => {
          const startedAt = performance.now()
          runReference(reference)
          return referenceOperations / ((performance.now() - startedAt) / 1000)
        },
        () => shape.count / time(stream)
      )
    ]
  }
}
