/**
 * P6: replay as at a start: blocks of 64 commands are read and checked by the real journal from its files, decoded, run again, and their
 * digests compared; against P2's engine alone on the same commands.
 */
import * as fs from "node:fs"
import { Effect, Layer, Stream } from "effect"
import { assert } from "../../src/domain/Assert.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { applyBlock } from "../../src/sequencer/Recovery.js"
import * as EngineCommands from "./EngineCommands.js"
import * as JournalBuilder from "./JournalBuilder.js"
import * as P2 from "./P2.js"
import { compare, type Measured, type Options, type Section } from "./Section.js"

const directory = `data/bench-P6-${process.pid}`

/** Commands per second of the stream's blocks, on an engine in the state in which they begin. */
const timeReplay = (stream: EngineCommands.Stream): Promise<Measured> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const { engine } = new EngineCommands.Runner(stream)
    engine.state.events.clear()
    const startedAt = performance.now()
    yield* journal.replay(engine.sequence + 1).pipe(
      Stream.runForEach((block) => {
        const diverged = applyBlock(engine, block)
        return diverged === undefined ? Effect.void : Effect.fail(diverged)
      })
    )
    assert(engine.sequence === journal.opened.nextSequence - 1, "the whole journal was replayed")
    return { value: stream.shape.count / ((performance.now() - startedAt) / 1000), ranOn: engine }
  }).pipe(
    Effect.provide(Layer.provide(SegmentJournal.layerReadOnly, NodeDisk.layer(directory))),
    Effect.runPromise
  )

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const stream = new EngineCommands.Stream(P2.shape)
  const commands = stream.take(P2.shape.count)
  options.log(`P6: ${EngineCommands.describe(stream, commands.length)}`)
  try {
    await JournalBuilder.build(directory, stream.shape, [...stream.setup, ...commands], 0)
    return [
      await compare("P6", "commands/s", options, () => {
        const runner = new EngineCommands.Runner(stream)
        return { value: commands.length / runner.run(commands), ranOn: runner }
      }, () => timeReplay(stream))
    ]
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P6", run }
