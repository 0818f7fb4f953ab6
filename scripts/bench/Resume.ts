/**
 * Resume: 10,000 clients reconnect at once, as after a restart, and each receives what it missed of its account's orders and fills from the
 * journal, with the payloads made as they are sent; against replaying the same records once, with digests checked. No ratio is required:
 * the figure shows how much of a replay the reconnections cost, and that it is one replay and not 20,000. Resume-sockets includes the venue
 * and the sockets.
 */
import * as fs from "node:fs"
import { Effect, Layer, Stream } from "effect"
import { assert } from "../../src/domain/Assert.js"
import { payloads } from "../../src/edge/socket/Payloads.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import * as Feed from "../../src/sequencer/Feed.js"
import { Replays } from "../../src/streams/Replay.js"
import * as EngineCommands from "./EngineCommands.js"
import * as JournalBuilder from "./JournalBuilder.js"
import * as P2 from "./P2.js"
import { compare, type Measured, type Options, type Section } from "./Section.js"

const directory = `data/bench-resume-${process.pid}`
const shape: EngineCommands.Shape = { ...P2.shape, count: 100_000 }
/** Records that the clients missed, at the end of the journal. */
const missed = 50_000
const channels = ["account.orders", "account.fills"] as const

/** Clients served completely, per second. */
const timed = (of: (feed: Feed.Feed["Type"], last: number) => Effect.Effect<object, unknown>): Promise<Measured> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const snapshots = yield* SnapshotStore.SnapshotStore
    const last = journal.opened.nextSequence - 1
    const head: Feed.Head = { durableSequence: () => last, at: () => undefined, read: () => undefined, reached: () => Effect.never }
    const feed = Feed.make({ journal, snapshots, capacity: EngineCommands.capacityFor(shape), head, pause: Effect.yieldNow() })
    const startedAt = performance.now()
    const ranOn = yield* of(feed, last)
    return { value: shape.accounts / ((performance.now() - startedAt) / 1000), ranOn }
  }).pipe(
    Effect.provide(Layer.merge(SegmentJournal.layerReadOnly, SnapshotStore.layer).pipe(Layer.provide(NodeDisk.layer(directory)))),
    Effect.runPromise
  )

const replayed = (feed: Feed.Feed["Type"], last: number) =>
  feed.standingFrom(last - missed + 1).pipe(
    Stream.takeUntil(({ block }) => block.lastSequence >= last),
    Stream.runLast
  )

const resumed = (feed: Feed.Feed["Type"], last: number) => {
  const replays = new Replays(feed, payloads, () => last)
  const each = Array.from({ length: shape.accounts },
    (_, account) => Effect.forEach(channels, (channel) => replays.missed(channel, account, last - missed, last, Effect.succeed)))
  // Each client requests its channels one after another, as one that waits for each answer.
  return Effect.map(Effect.all(each, { concurrency: "unbounded" }), (found) => {
    const updates = found.flat()
    assert(updates.every((own) => own?.throughSequence === last), "nobody missed more than is given at once")
    return updates
  })
}

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const stream = new EngineCommands.Stream(shape)
  const commands = stream.take(shape.count)
  options.log(`resume: ${EngineCommands.describe(stream, commands.length)}`)
  try {
    await JournalBuilder.build(directory, shape, [...stream.setup, ...commands], stream.setup.length + shape.count - missed)
    return [await compare("resume", "clients/s", options, () => timed(replayed), () => timed(resumed))]
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "resume", run }
