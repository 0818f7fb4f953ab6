/**
 * P6: replay as a start does it, blocks of 64 commands read and checked by the real journal from its files,
 * decoded, run again, and their digests compared, against P2's engine alone on the same commands.
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
import { compare, type Options, type Section } from "./Section.js"

const directory = `data/bench-P6-${process.pid}`

/** Seconds for the stream's blocks, on an engine that stands where they begin. */
const timeReplay = (stream: EngineCommands.Stream): Promise<number> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const engine = EngineCommands.begin(stream)
    const startedAt = performance.now()
    yield* journal.replay(engine.sequence + 1).pipe(
      Stream.runForEach((block) => {
        const diverged = applyBlock(engine, block)
        return diverged === undefined ? Effect.void : Effect.fail(diverged)
      })
    )
    assert(engine.sequence === journal.opened.nextSequence - 1, "the whole journal was replayed")
    return (performance.now() - startedAt) / 1000
  }).pipe(
    Effect.provide(Layer.provide(SegmentJournal.layerReadOnly, NodeDisk.layer(directory))),
    Effect.runPromise
  )

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const stream = EngineCommands.generate(P2.shape)
  options.log(`P6: ${EngineCommands.describe(stream)}`)
  try {
    await JournalBuilder.build(directory, EngineCommands.capacityFor(stream.shape), [...stream.setup, ...stream.commands], 0)
    P2.time(stream)
    await timeReplay(stream)
    const { count } = stream.shape
    return [
      await compare("P6", "commands/s", options, () => count / P2.time(stream), async () => count / await timeReplay(stream))
    ]
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P6", run }
