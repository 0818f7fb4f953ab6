/** Manual work on a journal: inspecting it, copying it, and cutting a damaged one. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { copyTo } from "../../journal/Copy.js"
import { cutting } from "../../journal/Cut.js"
import { Disk, type DiskError, type Locked } from "../../journal/Disk.js"
import type { Corrupt, Unknown, Unreadable } from "../../journal/Journal.js"
import * as Reading from "../../journal/Reading.js"
import * as Scan from "../../journal/Scan.js"
import * as Segment from "../../journal/Segment.js"
import * as SegmentJournal from "../../journal/SegmentJournal.js"
import * as SnapshotStore from "../../journal/SnapshotStore.js"
import { shownBehind } from "../../sequencer/Recovery.js"
import * as Others from "../Others.js"
import * as Format from "../replay/Format.js"

/** What a task reports, and what says that the journal's end is missing, or the state of its last step. */
export interface Report {
  readonly lines: ReadonlyArray<string>
  readonly missing: { readonly message: string } | undefined
}

/** What is missing of a directory, by the states that were listed before its journal was read up to a record. */
const missingOf = (
  kept: ReadonlyArray<SnapshotStore.Kept>,
  last: number
): Effect.Effect<Report["missing"], Unreadable | Unknown | DiskError, Disk> =>
  Effect.gen(function*() {
    const behind = yield* shownBehind(kept, last)
    if (behind !== undefined || last === 0) return behind
    const lost = yield* Others.lostStep(Reading.reading(yield* Disk, () => [], () => last))
    return lost === undefined ? undefined : { message: lost }
  })

/** Where the journal ends, its segments, and its snapshots. Verifies every block. */
export const info: Effect.Effect<Report, Unreadable | Unknown | DiskError, Disk | SnapshotStore.SnapshotStore> = Effect.gen(
  function*() {
    const store = yield* SnapshotStore.SnapshotStore
    // Before the journal: a running venue may save one of a record that is not read here any more.
    const snapshots = yield* store.list
    const kept = yield* SnapshotStore.keptBefore(store, Number.POSITIVE_INFINITY)
    const segments = yield* Scan.segments
    const { chain, offset, segment, tornEndOffset } = yield* Scan.readAllBeside(segments)
    const records = chain.nextSequence - 1
    const bytes = (yield* Effect.forEach(segments.slice(0, -1), sizeOf)).reduce((sum, size) => sum + size, offset)
    const lines = [
      `records    ${Format.count(records)}, last at ${Format.time(chain.atEpochMs)}`,
      `size       ${Format.count(bytes)} bytes${records === 0 ? "" : `, ${Format.count(Math.round(bytes / records))} a record`}`,
      `epoch      ${chain.epoch}`,
      `head       ${Buffer.from(chain.digest).toString("hex")}`,
      ...segments.map((first, index) =>
        `segment    ${Segment.pathOf(first)}: sequences ${first} to ${(segments[index + 1] ?? chain.nextSequence) - 1}`
      ),
      ...(tornEndOffset === offset
        ? []
        : [`torn       ${tornEndOffset - offset} bytes of an unfinished write at ${Segment.pathOf(segment.firstSequence)}:${offset}`]),
      ...(snapshots.length === 0 ? ["snapshots  none"] : [`snapshots  ${snapshots.join(", ")}`])
    ]
    return { lines, missing: yield* missingOf(kept, records) }
  }
)

const sizeOf = (segment: number): Effect.Effect<number, DiskError, Disk> =>
  Effect.scoped(Effect.flatMap(Disk, (disk) => Effect.flatMap(disk.open(Segment.pathOf(segment), "read"), ({ size }) => size)))

/** Copies a data directory's journal and snapshots to another disk, and reports how far they reach. */
export const copy = (
  to: Layer.Layer<Disk, DiskError>
): Effect.Effect<Report, Unreadable | Unknown | DiskError, Disk> =>
  Effect.gen(function*() {
    const disk = yield* Effect.provide(Disk, to)
    const { digest, segments, sequence, snapshots } = yield* copyTo(disk)
    const lines = [
      `copied     ${Format.count(sequence)} records in ${segments} segments, ${snapshots} snapshots`,
      `head       ${Buffer.from(digest).toString("hex")}`
    ]
    const store = yield* Effect.provide(SnapshotStore.SnapshotStore, SnapshotStore.layerReadOnly).pipe(Effect.provideService(Disk, disk))
    const kept = yield* SnapshotStore.keptBefore(store, Number.POSITIVE_INFINITY)
    return { lines, missing: yield* Effect.provideService(missingOf(kept, sequence), Disk, disk) }
  })

/** Fails while a venue runs on the data directory. */
export const unlocked: Effect.Effect<void, Locked | DiskError, Disk> = Effect.scoped(
  Effect.flatMap(Disk, (disk) => disk.lock(SegmentJournal.lockPath))
)

/** Whether the segment that ends before `sequence` has the wrong size: then a cut there restores it, and keeps what follows. */
const isOfWrongSize = (segments: ReadonlyArray<number>, sequence: number): Effect.Effect<boolean, DiskError, Disk> =>
  Effect.scoped(Effect.gen(function*() {
    const before = segments.findLast((first) => first < sequence)
    if (before === undefined) return false
    const disk = yield* Disk
    const whole = yield* Scan.readOfWrongSize(yield* disk.open(Segment.pathOf(before), "read"), before)
    return whole?.chain.nextSequence === sequence
  }))

/** What a cut would discard. */
interface GivenUp {
  /** Where it begins: a block is discarded as a whole, so this may be before the requested sequence. */
  readonly firstSequence: number
  /** How much of it can still be read, in words. */
  readonly readable: string
}

/** What a cut at a sequence would discard, to be shown before it is confirmed. */
export const givenUp = (sequence: number): Effect.Effect<GivenUp, Corrupt | DiskError, Disk> =>
  Effect.gen(function*() {
    const segments = yield* Scan.segments
    const none = { firstSequence: sequence, readable: "no record that can be read would be gone" }
    if (segments.includes(sequence) && (yield* isOfWrongSize(segments, sequence))) return none
    // By the names alone the segment before would have none of them, but a file that was put there may overlap it.
    const held = segments.filter((_, index) => (segments[index + 2] ?? Number.POSITIVE_INFINITY) > sequence)
    const found = yield* Effect.forEach(held, (first) => Scan.heldFrom(first, sequence))
    const records = found.reduce((sum, each) => sum + each.records, 0)
    const inSegments = found.filter((each) => each.records > 0).length
    if (records === 0) return none
    const words = `${Format.count(records)} ${records === 1 ? "record" : "records"} that can be read, in ${inSegments} ${
      inSegments === 1 ? "segment" : "segments"
    }, would be gone`
    return { firstSequence: Math.min(sequence, ...found.map((each) => each.firstSequence ?? sequence)), readable: words }
  })

/** Where a journal ends after a cut. */
const endOf = (segments: ReadonlyArray<number>, sequence: number): string =>
  segments.length === 0 || sequence === 1 ? "the journal is empty" : `the journal ends before sequence ${sequence}`

/** Cuts the journal, with the snapshots of the discarded part, and reports what is gone. */
export const cut = (
  sequence: number
): Effect.Effect<ReadonlyArray<string>, Unreadable | Locked | DiskError, Disk> =>
  Effect.scoped(Effect.gen(function*() {
    const done = yield* cutting(sequence)
    const removed = done?.goesOn === true ? [] : yield* SnapshotStore.removeFrom(done === undefined ? sequence : done.firstSequence)
    const snapshots = removed.map((snapshot) => `removed the snapshot at ${snapshot}`)
    const segments = yield* Scan.segments
    if (done === undefined) {
      const end = endOf(segments, sequence)
      return removed.length === 0 ? [`nothing was cut: ${end}`] : [`no record was cut: ${end}`, ...snapshots]
    }
    const end = endOf(segments, done.firstSequence)
    const restored = `restored: ${done.segment} has its own size again, with all records before sequence ${done.firstSequence}`
    if (done.restored) {
      return [
        done.goesOn ? `${restored}; what lies behind it stands` : `${restored}, where the journal ends`,
        ...done.removedSegments.map((segment) => `removed ${segment}`),
        ...snapshots
      ]
    }
    return [
      done.offset === 0
        ? `cut: ${done.segment} and all behind it are removed; ${end}`
        : `cut: ${done.segment} from offset ${done.offset} on; ${end}`,
      ...done.removedSegments.map((segment) => `removed ${segment}`),
      ...snapshots
    ]
  }))
