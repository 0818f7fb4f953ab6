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
import * as LastStep from "../../journal/LastStep.js"
import { SnapshotStore } from "../../journal/SnapshotStore.js"
import { HistoriesAnew, HistoriesDatabase } from "../../readmodel/HistoriesDatabase.js"
import { type BeginsAtStep, rebuild } from "../../readmodel/Rebuild.js"
import * as Sql from "../../readmodel/Sql.js"
import * as Feed from "../../sequencer/Feed.js"
import { Ended, unreadableCode } from "../Exit.js"
import * as Others from "../Others.js"
import * as Format from "../replay/Format.js"
import { refusedCode } from "./Against.js"

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

/** What the existing ones have of the records before a step cannot be made again, so nobody may lose it unawares. */
const beginsAtStep = ({ stepSequence }: BeginsAtStep): Ended =>
  new Ended({
    code: refusedCode,
    text: `refused: the records before ${stepSequence} were decided by an earlier version, and this one cannot replay them. Histories made `
      + "anew would begin there, without what had been forgotten by then; what there is stays as it is. --from-step makes them all the same"
  })

/**
 * Rebuilds the histories and reports how far they reach. Fails while a venue runs on the directory, where another version decided
 * everything and, unless `fromStep`, where they would begin in the midst of the journal.
 */
export const rebuilt = (capacity: Capacity, fromStep: boolean) =>
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
    const stepSequence = yield* LastStep.lastSequence(journal, snapshots)
    const anew = yield* HistoriesAnew
    const asked = { feed, stepSequence, last, environment, mayBeginAtStep: fromStep }
    const beginning = yield* withBar(last, (taken) => rebuild(anew, asked, taken)).pipe(
      Effect.catchTags({
        HistoriesBeginAtStep: beginsAtStep,
        HistoriesDatabaseUnusable: failed,
        HistoriesOvertaken: failed,
        SqlError: (error) => failed({ message: Sql.textOf(error) })
      })
    )
    const { name } = yield* HistoriesDatabase
    if (beginning === undefined) return [`histories  made anew from ${Format.count(last)} records: ${name}`]
    const { atEpochMs, sequence } = beginning
    return [
      `histories  made anew from the state behind record ${sequence}, and ${Format.count(last - sequence)} records after it: ${name}`,
      `begin      ${Format.time(atEpochMs)}: what had been forgotten by then is not in them, but in what was set aside`
    ]
  }))
