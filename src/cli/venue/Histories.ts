/** `venue histories rebuild`: rebuilds a data directory's histories from its journal while no venue runs on it. */
import { SingleBar } from "cli-progress"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Capacity } from "../../engine/State.js"
import { Disk } from "../../journal/Disk.js"
import * as Following from "../../journal/Following.js"
import * as SegmentJournal from "../../journal/SegmentJournal.js"
import { latestStepSequence, SnapshotStore } from "../../journal/SnapshotStore.js"
import { HistoriesDatabase } from "../../readmodel/HistoriesDatabase.js"
import { rebuild } from "../../readmodel/Rebuild.js"
import * as Sql from "../../readmodel/Sql.js"
import * as Feed from "../../sequencer/Feed.js"
import { Ended, unreadableCode } from "../Exit.js"
import * as Others from "../Others.js"
import * as Format from "../replay/Format.js"

/** Shows progress at a terminal. */
const withBar = <A, E>(records: number, use: (taken: (sequence: number) => void) => Effect.Effect<A, E>): Effect.Effect<A, E> => {
  if (!process.stderr.isTTY || records === 0) return use(() => {})
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const format = "{bar} {percentage}% | {value} of {total} records | {eta_formatted} left"
      const bar = new SingleBar({ format, stream: process.stderr, hideCursor: true, clearOnComplete: true, fps: 10 })
      bar.start(records, 0)
      return bar
    }),
    (bar) => use((sequence) => bar.update(sequence)),
    (bar) => Effect.sync(() => bar.stop())
  )
}

const failed = (error: { readonly message: string }): Ended =>
  new Ended({ code: unreadableCode, text: `the histories cannot be written: ${error.message}` })

/**
 * Rebuilds the histories and reports how far they reach. Fails while a venue runs on the directory, and where another version decided
 * everything.
 */
export const rebuilt = (capacity: Capacity) =>
  Effect.scoped(Effect.gen(function*() {
    yield* (yield* Disk).lock(SegmentJournal.lockPath)
    const following = yield* Following.open
    const { journal } = following
    const last = journal.opened.nextSequence - 1
    const snapshots = yield* SnapshotStore
    // Only records that are known to be durable can be read; opening the feed makes all of them so.
    const feed = yield* Feed.beside(following, snapshots, capacity, Duration.millis(1))
    const others = yield* Others.found(journal, capacity)
    // The existing histories stay: the version that decided the records has made them, and this one could not.
    if (others?.isAll === true) return yield* Others.refused(others)
    const standing = last === 0 ? Option.none() : yield* Stream.runHead(feed.standingFrom(last))
    const environment = Option.match(standing, { onNone: () => "", onSome: ({ engine }) => engine.environment })
    const stepSequence = yield* latestStepSequence(snapshots)
    const database = yield* HistoriesDatabase
    yield* withBar(last, (taken) => rebuild(database, { feed, stepSequence, last, environment }, taken)).pipe(
      Effect.catchTags({
        HistoriesDatabaseUnusable: failed,
        HistoriesOvertaken: failed,
        SqlError: (error) => failed({ message: Sql.textOf(error) })
      })
    )
    return [`histories  made anew from ${Format.count(last)} records: ${database.name}`]
  }))
