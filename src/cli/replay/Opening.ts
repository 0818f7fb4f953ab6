/** Opens what is to be replayed, a data directory or a bundle, for reading, with the table sizes under which it ran. */
import { SingleBar } from "cli-progress"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as Ids from "../../domain/Ids.js"
import * as Snapshot from "../../engine/Snapshot.js"
import type { Capacity } from "../../engine/State.js"
import type * as Block from "../../journal/Block.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import { Corrupt, Journal, type Unknown, type Unreadable } from "../../journal/Journal.js"
import * as SegmentJournal from "../../journal/SegmentJournal.js"
import * as SnapshotStore from "../../journal/SnapshotStore.js"
import { type Diverged, engineOf } from "../../sequencer/Recovery.js"
import * as Bundle from "../bundle/Bundle.js"
import * as BundleSource from "../bundle/Source.js"
import { capacity } from "../Capacity.js"
import { Ended, unreadableCode, usage } from "../Exit.js"
import * as Others from "../Others.js"
import { begin, type Source } from "./Follow.js"
import type { Unfound } from "./Lookup.js"
import type { Placed } from "./StateAt.js"

/** The replay's result differs. */
export const differsCode = 1

/** What is replayed, and the table sizes under which it ran. */
export interface Subject {
  readonly journal: Source
  readonly capacity: Capacity
  /** The first sequence that it holds. */
  readonly firstSequence: number
  /** What is before it in a data directory, which another version decided. */
  readonly others?: Others.Others
}

/** Ends a tool that was asked about what is before the first record that is replayed: nothing that is replayed tells it. */
export const endedBefore = ({ firstSequence, others }: Subject): Ended => {
  const begins = `what is replayed begins behind sequence ${firstSequence - 1}`
  return others === undefined ? usage(begins) : new Ended({ code: unreadableCode, text: `${others.text}; ${begins}` })
}

/** Whether what has a number, as an order or a transfer, is of a record before the first one that is replayed. */
export const isBefore = ({ firstSequence }: Subject, number: number): boolean => firstSequence > 1 && Ids.sequenceOf(number) < firstSequence

/** The last record that is not replayed, with the time of the state that follows it; undefined where all are replayed. */
export const lastBefore = ({ capacity, firstSequence, journal }: Subject): Effect.Effect<Placed | undefined, Unreadable> =>
  firstSequence === 1
    ? Effect.succeed(undefined)
    : Effect.map(begin(journal, capacity), ({ sequence, state: { atEpochMs } }) => ({ sequence, atEpochMs }))

/**
 * A data directory's journal, from its beginning or from the state with which its last step to new rules began: of the part before, only
 * the chain is verified, since the version that wrote it has to replay it.
 */
export const dataSubject: Effect.Effect<Subject, Ended | Unreadable | Unknown | DiskError, Disk> = Effect.gen(function*() {
  const journal = yield* Effect.provide(Journal, SegmentJournal.layerReadOnly)
  const within = yield* capacity
  const store = yield* Effect.provide(SnapshotStore.SnapshotStore, SnapshotStore.layerReadOnly)
  const { others, step } = yield* Effect.gen(function*() {
    const step = yield* Others.lastStep(journal, store, within)
    return { step, others: yield* Others.at(journal, step, store.latest, within) }
  }).pipe(Effect.catchTag("CapacityTooSmall", ({ message }) => usage(message)))
  if (others?.isAll === true) return yield* Others.refused(others)
  if (typeof step === "string") {
    return yield* new Ended({ code: unreadableCode, text: `the state that the last step began with is damaged: ${step}` })
  }
  if (step !== undefined && !Snapshot.isKnown(step.schema)) {
    const text = `the state that the last step began with is of schema ${step.schema}, and this program reads ${Snapshot.schema}: `
      + "replay it with the version that made the step"
    return yield* new Ended({ code: unreadableCode, text })
  }
  // Run from its first record, or from an earlier step, such a journal may be decided otherwise, and is right all the same.
  const lost = journal.opened.nextSequence > 1 ? yield* Others.lostStep(journal) : undefined
  if (lost !== undefined) return yield* new Ended({ code: unreadableCode, text: lost })
  if (step === undefined || others === undefined) return { journal, capacity: within, firstSequence: 1 }
  const base = Effect.mapError(
    engineOf(step, within),
    ({ message }) => new Corrupt({ segment: "the state of the last step", offset: 0, sequence: step.sequence, reason: message })
  )
  return { journal: { ...journal, base }, capacity: within, firstSequence: step.sequence + 1, others }
})

/** Opens a subject for replay. */
export type Open<R> = Effect.Effect<Subject, Ended | Unreadable | Unknown | DiskError, R>

/** Shows a progress bar on standard error at a terminal. */
export const withProgress = <A, E, R>(
  { firstSequence, journal }: Subject,
  use: (progress: (block: Block.Block) => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const before = firstSequence - 1
  const records = journal.opened.nextSequence - 1 - before
  if (!process.stderr.isTTY || records === 0) return use(() => {})
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const bar = new SingleBar({
        format: "{bar} {percentage}% | {value} of {total} records | {eta_formatted} left",
        stream: process.stderr,
        hideCursor: true,
        clearOnComplete: true,
        fps: 10
      })
      bar.start(records, 0)
      return bar
    }),
    (bar) => use((block) => bar.update(block.lastSequence - before)),
    (bar) => Effect.sync(() => bar.stop())
  )
}

/** Ends a tool where the journal's decisions differ. */
export const divergedError = (error: Diverged): Ended =>
  new Ended({ code: differsCode, text: `diverged: ${error.message}\nrun --verify for what was decided there` })

/** Ends a tool where a text names no order; what is before the first record that is replayed may have one. */
export const unfoundError = (subject: Subject, { message, orderNumber }: Unfound): Ended => {
  const mayBeBefore = orderNumber === undefined ? subject.firstSequence > 1 : isBefore(subject, orderNumber)
  if (!mayBeBefore) return usage(message)
  const { code, text } = endedBefore(subject)
  return new Ended({ code, text: `${message}; ${text}` })
}

/** The bundle in a file. */
export const readBundle = (file: string): Effect.Effect<Bundle.Bundle, Ended> =>
  Effect.gen(function*() {
    const bytes = yield* Effect.try({
      try: () => fs.readFileSync(file),
      catch: (error) => usage(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    })
    return yield* Effect.try({
      try: () => Bundle.read(bytes),
      catch: (error) => {
        if (!(error instanceof Bundle.Damaged || error instanceof Bundle.OtherVersion)) throw error
        return new Ended({ code: unreadableCode, text: `${file} is refused: ${error.message}` })
      }
    })
  })

/** A bundle's contents, ready to be replayed. */
export const bundleSubject = (bundle: Bundle.Bundle): Subject => ({
  journal: BundleSource.make(bundle),
  capacity: bundle.capacity,
  firstSequence: bundle.manifest.firstSequence
})
