/** A writer over a directory of its own, with commands as a random driver would run them, for readers beside it. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import type { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import type { EngineReads } from "../../src/sequencer/EngineReads.js"
import type { Feed } from "../../src/sequencer/Feed.js"
import type { Live } from "../../src/sequencer/Live.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import type * as Recent from "../../src/sequencer/Recent.js"
import { defaultOptions } from "../../src/sequencer/Sequencer.js"
import { type Barrier, Submit } from "../../src/sequencer/Submit.js"
import * as Writer from "../../src/sequencer/Writer.js"

export const capacity = { orders: 5_000, idempotencyKeys: 5_000 }
const snapshotEveryRecords = 90

type Services = Writer.Writer | Submit | Barrier | EngineReads | Feed | Live | Journal | SnapshotStore.SnapshotStore

export interface World {
  readonly dataDir: string
  /** Closed when the writer is stopped. */
  readonly scope: Scope.CloseableScope
  readonly context: Context.Context<Services>
  /** Submits several at once, as separate clients would send them. */
  readonly submit: (commands: ReadonlyArray<Command>) => Promise<void>
  readonly stop: () => Promise<void>
}

/** `feed`: how much of what was decided stays in memory. */
export const start = async (feed: Partial<Recent.Bounds>): Promise<World> => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "readings-"))
  const scope = Effect.runSync(Scope.make())
  const storage = Layer.mergeAll(SegmentJournal.layer({ segmentBytes: 64 * 1024, maxBlockBytes: 32 * 1024 }), SnapshotStore.layer).pipe(
    Layer.provide(NodeDisk.layer(dataDir))
  )
  const sequencer = { ...defaultOptions, maxRecords: 8, fullBytes: 16 * 1024 }
  const layer = Writer.layer({ capacity, sequencer, snapshotEveryRecords, feed }).pipe(Layer.provideMerge(storage),
    Layer.provide(NodeTurns.layer))
  // Its clock stands still, so that two readers asked one after the other see the same record, with no funding in between.
  const startedAtEpochMs = Effect.runSync(Clock.currentTimeMillis)
  const standing: Clock.Clock = Object.assign(Clock.make(), { unsafeCurrentTimeMillis: () => startedAtEpochMs })
  const context = await Effect.runPromise(Effect.withClock(Layer.buildWithScope(layer, scope), standing))
  const { submit } = Context.get(context, Submit)
  return {
    dataDir,
    scope,
    context,
    submit: async (commands) => {
      for (let from = 0; from < commands.length; from += 25) {
        await Promise.all(commands.slice(from, from + 25).map((command) => new Promise<Outcome>((resolve) => submit(command, resolve))))
      }
    },
    stop: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      fs.rmSync(dataDir, { recursive: true })
    }
  }
}
