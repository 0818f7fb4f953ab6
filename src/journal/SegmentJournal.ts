/**
 * The journal over segment files on a `Disk`. Opening determines what the last process left and makes it durable; appending keeps
 * up to four blocks in flight, and stops for good at the first failure.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { assert } from "../domain/Assert.js"
import { Branches, type Reached } from "../domain/Branches.js"
import * as Block from "./Block.js"
import { Disk, DiskError, isLockLost } from "./Disk.js"
import type { File, Lock, Locked } from "./Disk.js"
import { Corrupt, Fenced, Full, Journal, lockLost, SegmentGone, segmentHeld, segmentSaved, Unknown } from "./Journal.js"
import type { Fence, Head, NewerFormat, Room, Space } from "./Journal.js"
import { ownIfAny } from "./Own.js"
import { reading } from "./Reading.js"
import * as Scan from "./Scan.js"
import * as Segment from "./Segment.js"

/** The file whose lock makes a process the only writer of a data directory. */
export const lockPath = "lock.db"

/** Most blocks written and not yet durable. */
export const maxOutstanding = 4

export interface Options {
  /** The size of new segments, in bytes. */
  readonly segmentBytes: number
  /** The largest block, in bytes: less than a segment. */
  readonly maxBlockBytes: number
  /** Called where closing finds that the segment that was written last has lost its name. */
  readonly segmentGone?: (error: SegmentGone) => void
}

/** The share of a segment that is reserved for commands other than placements while there is no room for the next segment. */
const keptShare = 1 / 4

/** The share of that reserve which preparations of withdrawals leave to prices and marks, and to requests. */
const marksShare = 3 / 4

/** The share of that reserve which the venue's own records leave to requests. */
const requestedShare = 1 / 2

/** How long closing waits for operations still running on the files: an unresponsive disk must not keep the process alive. */
const closingPatience = "1 second"

/** Pause before it is tried again to save a segment that has lost its name, and how often at most that is told. */
const savingPause = "1 second"
const tellSavingMs = 10_000

/** Pause before the next segment is prepared again, where the disk is full. */
const retryPause = "500 millis"

const defaultOptions: Options = { segmentBytes: Segment.defaultBytes, maxBlockBytes: Block.defaultMaxBytes }

/** Bytes of a new segment zeroed at a time, so that the disk serves appends in between. */
const zeroingBytes = 1 << 20

type OpenError = Corrupt | NewerFormat | Locked | DiskError

/** Opens the journal for its only writer, and settles it. */
export const layer = (options: Partial<Options> = {}): Layer.Layer<Journal, OpenError, Disk> =>
  Layer.scoped(Journal, Effect.tap(open({ ...defaultOptions, ...options }), (journal) => journal.settle))

/** Opens the journal for a writer that first decides whether it may continue from there, and then calls `settle`. */
export const layerUnsettled = (options: Partial<Options> = {}): Layer.Layer<Journal, OpenError, Disk> =>
  Layer.scoped(Journal, open({ ...defaultOptions, ...options }))

const open = Effect.fnUntraced(function*(options: Options) {
  assert(options.segmentBytes % Block.sectorBytes === 0, "a segment is whole sectors")
  assert(options.maxBlockBytes <= options.segmentBytes - Block.sectorBytes, "the largest block fits a segment")
  const disk = yield* Disk
  const lock = yield* disk.lock(lockPath)
  yield* disk.makeDirectory(Segment.directory)
  yield* disk.syncDirectory("")
  const isNew = (yield* Scan.segments).length === 0
  if (isNew) {
    yield* nothingSaved
    yield* removeUnfinished
    yield* Effect.scoped(createSegment({
      firstSequence: 1,
      previousDigest: Block.genesisDigest,
      segmentBytes: options.segmentBytes
    }))
  }
  const segments = yield* Scan.segments
  const end = yield* Scan.readAll(segments)
  // Files are closed after the writer, which waits for operations still running on them.
  const files = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
  const path = Segment.pathOf(end.segment.firstSequence)
  const opened = yield* openIn(files, disk.open(path, "write durably"))
  const runtime = yield* Effect.runtime<Disk>()
  const writer = new Appender(runtime, files, options, end, { header: end.segment, ...opened }, lock, yield* Branches)
  yield* Effect.addFinalizer(() => writer.close)
  const settleIt = Effect.gen(function*() {
    if (writer.isSettled) return
    const mayBeWritten = lock.isNew && !isNew
    yield* mayBeWritten ? removeUnfinished : keepUnfinished(options)
    if (mayBeWritten) {
      yield* replaceSegment(opened.file, end)
      yield* sameSegments(segments)
      yield* Scope.close(opened.scope, Exit.void)
      writer.settled(yield* openIn(files, disk.open(path, "write durably")))
    } else {
      if (end.offset === Block.sectorBytes) yield* nameAgain(end.segment)
      yield* settle(opened.file, end, options)
      writer.settled(opened)
    }
    yield* lock.settled
  })
  return Journal.of({
    opened: headOf(end),
    settle: Effect.provideService(settleIt, Disk, disk),
    room: () => writer.room(),
    space: () => writer.space(),
    whenRoom: (callback) => writer.whenRoom(callback),
    begin: (block, fence, done) => writer.begin(block, fence, done),
    append: (block, fence) =>
      Effect.async((resume) => writer.begin(block, fence, (failure) => resume(failure === undefined ? Effect.void : Effect.fail(failure)))),
    ...reading(disk, () => end.waypoints, () => writer.durableSequence)
  })
})

/**
 * Reads the journal without the lock and without writing, also beside a running writer: it ends where the writer was at opening.
 * Nothing can be appended to it.
 */
export const layerReadOnly: Layer.Layer<Journal, Corrupt | NewerFormat | DiskError, Disk> = Layer.effect(
  Journal,
  Effect.gen(function*() {
    const disk = yield* Disk
    const end = yield* Scan.readAllBeside(yield* Scan.segments)
    return readOnly(disk, end, () => end.waypoints, () => end.chain.nextSequence - 1)
  })
)

/** A journal that ended at `end` when it was opened, and is durable up to `durableSequence` by now. Appends are refused. */
export const readOnly = (
  disk: Disk["Type"],
  end: Scan.End,
  waypoints: () => ReadonlyArray<Scan.Waypoint>,
  durableSequence: () => number
): Journal["Type"] => {
  const refusal = new Fenced({ reason: "the journal was opened for reading only" })
  return Journal.of({
    opened: headOf(end),
    settle: Effect.void,
    room: () => "nothing",
    space: () => ({ room: "nothing", freeBytes: 0, shortage: refusal.reason }),
    whenRoom: () => {},
    begin: (_block, _fence, done) => done(refusal),
    append: () => Effect.fail(refusal),
    ...reading(disk, waypoints, durableSequence)
  })
}

const headOf = (end: Scan.End): Head => ({
  epoch: end.chain.epoch + 1,
  nextSequence: end.chain.nextSequence,
  atEpochMs: end.chain.atEpochMs,
  digest: end.chain.digest,
  starts: end.starts,
  torn: end.tornEndOffset === end.offset ? undefined : {
    segment: Segment.pathOf(end.segment.firstSequence),
    offset: end.offset,
    bytes: end.tornEndOffset - end.offset
  }
})

/** Fails where there are snapshots but no journal: it is missing, and a new one would hide that. */
const nothingSaved = Effect.gen(function*() {
  const disk = yield* Disk
  const isSaved = (name: string): boolean => /\.(?:snap|step)$/.test(name)
  const names = yield* ownIfAny(disk, "snapshots", isSaved)
  const [saved] = names
  if (saved === undefined) return
  return yield* new Corrupt({
    segment: Segment.pathOf(1),
    offset: 0,
    sequence: 1,
    reason: `there is no segment at all, and snapshots/${saved} shows that there were some: put them back from a backup`,
    missing: "beginning"
  })
})

const removeUnfinished = Effect.gen(function*() {
  const disk = yield* Disk
  const names = yield* disk.list(Segment.directory)
  if (names.includes(Segment.unfinishedName)) {
    ;(yield* Branches)?.("an unfinished segment was left behind")
    yield* disk.remove(Segment.unfinishedPath)
  }
  if (names.includes(Segment.savedName)) yield* disk.remove(Segment.savedPath)
  // Also makes durable the name of a segment that the last process had just created.
  yield* disk.syncDirectory(Segment.directory)
})

/**
 * Keeps the space that the last process had allocated for its next segment: a full disk may have no more. Its content does not
 * matter, since it is zeroed before it gets a name, but its size must be that of a segment.
 */
const keepUnfinished = Effect.fnUntraced(function*({ segmentBytes }: Options) {
  const disk = yield* Disk
  const names = yield* disk.list(Segment.directory)
  if (!names.includes(Segment.unfinishedName)) return yield* removeUnfinished
  const sizeBytes = yield* Effect.scoped(Effect.flatMap(disk.open(Segment.unfinishedPath, "read"), ({ size }) => size))
  if (sizeBytes > segmentBytes) {
    ;(yield* Branches)?.("an unfinished segment was larger than segments are now")
    return yield* removeUnfinished
  }
  ;(yield* Branches)?.("an unfinished segment was left behind")
  if (names.includes(Segment.savedName)) yield* disk.remove(Segment.savedPath)
  // Also makes durable the name of a segment that the last process had just created.
  yield* disk.syncDirectory(Segment.directory)
})

/**
 * Makes durable what was read. The last process may have ended on a failed sync, after which the system shows blocks that the disk
 * does not have, and another sync would not report it. Blocks that may not have been synced are therefore written again unchanged,
 * and remains of unfinished ones are zeroed, before anything new is written. A crash meanwhile does no harm: the same bytes replace
 * the same bytes, and remains with fewer sectors are still remains.
 */
const settle = Effect.fnUntraced(function*(file: File, end: Scan.End, options: Options) {
  if (end.unsyncedOffset < end.offset) {
    ;(yield* Branches)?.("a block that may not be durable was written again")
    yield* file.writeAt(end.unsyncedOffset, yield* file.readAt(end.unsyncedOffset, end.offset - end.unsyncedOffset))
  }
  const reach = Math.max(end.tornEndOffset, end.offset + maxOutstanding * options.maxBlockBytes)
  yield* zero(file, end.offset, Math.min(reach, end.segment.segmentBytes))
})

const zero = Effect.fnUntraced(function*(file: File, start: number, end: number) {
  const zeros = Buffer.alloc(Math.min(zeroingBytes, end - start))
  for (let at = start; at < end; at += zeros.length) {
    yield* file.writeAt(at, zeros.subarray(0, Math.min(zeros.length, end - at)))
  }
})

/** Copies a segment up to `end` to an empty file, which is closed then, and fills the rest of it with zeros. */
const copied = <E>(to: Effect.Effect<File, E, Disk | Scope.Scope>, file: File, end: number, segmentBytes: number) =>
  Effect.scoped(Effect.gen(function*() {
    const copy = yield* to
    for (let at = 0; at < end; at += zeroingBytes) yield* copy.writeAt(at, yield* file.readAt(at, Math.min(zeroingBytes, end - at)))
    yield* zero(copy, end, segmentBytes)
  }))

/**
 * Writes the last segment again, as it was read, to another file of the same name. If the lock's file was removed, the previous
 * holder may still be writing to the old file, which has no effect from here on.
 */
const replaceSegment = Effect.fnUntraced(function*(file: File, end: Scan.End) {
  const disk = yield* Disk
  const { firstSequence, segmentBytes } = end.segment
  yield* copied(openUnfinished, file, end.offset, segmentBytes)
  yield* disk.rename(Segment.unfinishedPath, Segment.pathOf(firstSequence))
  yield* disk.syncDirectory(Segment.directory)
})

/**
 * Gives the last segment its name again while it has no block. The last process may have ended because it could not make that name durable,
 * after which the directory still shows it, and another sync would succeed without having written it: only a new change of the name is
 * written for certain. That takes no room, of which a full disk has none. A crash in between loses a segment in which there is nothing.
 */
const nameAgain = Effect.fnUntraced(function*({ firstSequence }: Segment.Header) {
  const disk = yield* Disk
  const path = Segment.pathOf(firstSequence)
  yield* disk.rename(path, Segment.savedPath)
  yield* disk.rename(Segment.savedPath, path)
  yield* disk.syncDirectory(Segment.directory)
})

/** Fails where there is a segment that did not exist when the journal was read: only another writer can have created it. */
const sameSegments = (read: ReadonlyArray<number>): Effect.Effect<void, Corrupt | DiskError, Disk> =>
  Effect.flatMap(Scan.segments, (found) =>
    found.length === read.length
      ? Effect.void
      : Effect.fail(new DiskError({ operation: "settle", path: Segment.pathOf(found.at(-1)!), code: "another process has made it" })))

/**
 * Writes a segment anew, up to `end`, whose name is gone: removed with all that was acknowledged in it, it would end with the process. A
 * file that has its name meanwhile is left alone, unless this has named it: after a failed sync of that name all is done once more, since
 * another sync might succeed without having written anything.
 */
const saveAgain = Effect.fnUntraced(function*(
  file: File,
  { firstSequence, segmentBytes }: Segment.Header,
  end: number,
  saved: { isNamed: boolean }
) {
  const disk = yield* Disk
  const path = Segment.pathOf(firstSequence)
  const names = yield* disk.list(Segment.directory)
  if (!saved.isNamed && names.some((name) => Segment.firstSequenceOf(name) === firstSequence)) {
    return yield* new DiskError({ operation: "saving", path, code: "another file has this name" })
  }
  if (names.includes(Segment.savedName)) yield* disk.remove(Segment.savedPath)
  yield* copied(disk.open(Segment.savedPath, "create durably"), file, end, segmentBytes)
  yield* disk.rename(Segment.savedPath, path)
  saved.isNamed = true
  yield* disk.syncDirectory(Segment.directory)
})

/** An empty file under the temporary name. */
const openUnfinished = Effect.flatMap(Disk, (disk) => disk.open(Segment.unfinishedPath, "create durably"))

/** The file of the next segment: the one left by the last process, or an empty one. */
const openNext = Effect.flatMap(Disk,
  (disk) => Effect.catchIf(disk.open(Segment.unfinishedPath, "write durably"), ({ code }) => code === "ENOENT", () => openUnfinished))

/**
 * Zeroes the next part of a segment under its temporary name, durably. Returns where the zeros end. After the last part the name is
 * durable as well, so that space once allocated survives any crash.
 */
const zeroMore = Effect.fnUntraced(function*(file: File, zeroedBytes: number, segmentBytes: number) {
  const end = Math.min(zeroedBytes + zeroingBytes, segmentBytes)
  yield* zero(file, zeroedBytes, end)
  if (end === segmentBytes) yield* Effect.flatMap(Disk, (disk) => disk.syncDirectory(Segment.directory))
  return end
})

/** Gives a prepared segment its header and its name. It exists from then on, even after a crash. */
const nameSegment = Effect.fnUntraced(function*(file: File, header: Segment.Header) {
  const disk = yield* Disk
  yield* file.writeAt(0, Segment.encodeHeader(header))
  yield* disk.rename(Segment.unfinishedPath, Segment.pathOf(header.firstSequence))
  yield* disk.syncDirectory(Segment.directory)
})

const createSegment = Effect.fnUntraced(function*(header: Segment.Header) {
  const file = yield* openUnfinished
  for (let zeroed = 0; zeroed < header.segmentBytes;) zeroed = yield* zeroMore(file, zeroed, header.segmentBytes)
  yield* nameSegment(file, header)
})

/** Opens a file in a scope of its own under `parent`. */
const openIn = Effect.fnUntraced(function*<R>(parent: Scope.Scope, open: Effect.Effect<File, DiskError, R | Scope.Scope>) {
  const scope = yield* Scope.fork(parent, ExecutionStrategy.sequential)
  return { file: yield* Effect.onError(Scope.extend(open, scope), () => Scope.close(scope, Exit.void)), scope }
})

type Failure = Fenced | Unknown | Full

interface OpenSegment {
  readonly header: Segment.Header
  readonly file: File
  readonly scope: Scope.CloseableScope
}

/** A block in flight. */
interface Outstanding {
  readonly block: Block.Encoded
  readonly done: (failure: Failure | undefined) => void
  /** Whether it begins a new segment; then it waits until everything before it is durable. */
  readonly opensSegment: boolean
  readonly offset: number
  state: "waiting" | "writing" | "durable"
}

/**
 * The writing side. Every write is issued at once at its own position, and is durable when it completes. Appends complete in the
 * order in which they were requested.
 */
class Appender {
  durableSequence: number
  private readonly epoch: number
  private readonly outstanding: Array<Outstanding> = []
  private segment: OpenSegment
  private nextSequence: number
  private lastAtEpochMs: number
  private endDigest: Uint8Array
  private endOffset: number
  /** Fails where another process may have taken the lock. */
  private readonly stillHeld: Effect.Effect<void, DiskError | Fenced, Disk>
  /** Whether the segment's name is gone: nothing is acknowledged from then on. */
  private isGone = false
  private isSaved = false
  /** Whether the segment that was written anew has had its name, which may not be durable. */
  private readonly copied = { isNamed: false }
  private readonly oneAtATime = Effect.unsafeMakeSemaphore(1)
  /** Completes once the segment is in its place again. */
  private readonly saved: Effect.Effect<never, Fenced, Disk>
  private failure: Failure | undefined
  private prepared: { readonly file: File; readonly scope: Scope.CloseableScope; readonly zeroedBytes: number } | undefined
  private preparing = false
  private naming = false
  private running = 0
  isSettled = false
  /** Whether a block was told of the failure. */
  private isTold = false
  /** The same when the writer was closed. */
  private hasFailed = false
  private whenIdle: (() => void) | undefined
  /** Why there was no room for the next segment when it was last prepared. */
  private shortage: Full | undefined
  private retry: Fiber.RuntimeFiber<void> | undefined
  private roomChanged = (): void => {}

  constructor(
    private readonly runtime: Runtime.Runtime<Disk>,
    private readonly files: Scope.Scope,
    private readonly options: Options,
    end: Scan.End,
    segment: OpenSegment,
    private readonly lock: Lock,
    private readonly reached: Reached | undefined
  ) {
    this.segment = segment
    this.saved = Runtime.runSync(runtime)(Effect.cached(Effect.suspend(() => this.untilSaved)))
    this.stillHeld = Effect.flatMap(lock.isHeld, (held) => {
      if (!held) {
        reached?.("the lock was taken away")
        return Effect.fail(lockLost)
      }
      if (!this.isGone && !lock.isGone("last")) return Effect.void
      this.isGone = true
      return this.saved
    })
    this.epoch = end.chain.epoch + 1
    this.nextSequence = end.chain.nextSequence
    this.durableSequence = end.chain.nextSequence - 1
    this.lastAtEpochMs = end.chain.atEpochMs
    this.endDigest = end.chain.digest
    this.endOffset = end.offset
  }

  /** Continues in this file, now that what was read is durable. */
  settled({ file, scope }: Pick<OpenSegment, "file" | "scope">): void {
    this.segment = { ...this.segment, file, scope }
    this.watch()
    this.isSettled = true
    this.prepare()
  }

  room(): Room {
    // After a failure there is no point in waiting: appends report the reason.
    if (this.failure !== undefined) return "all"
    if (this.nextIsReady()) return "all"
    if (!this.isDownTo(this.keptBytes())) return "all"
    // Until it is known whether the disk is full, the reserve must not be used up.
    if (this.shortage === undefined) return "soon"
    if (this.freeBytes() < this.options.maxBlockBytes) return "nothing"
    if (this.isDownTo(this.keptBytes() * requestedShare)) return "requests"
    return this.isDownTo(this.keptBytes() * marksShare) ? "marks" : "reductions"
  }

  space(): Space {
    const next = this.nextIsReady() ? this.options.segmentBytes - Block.sectorBytes : 0
    return { room: this.room(), freeBytes: this.freeBytes() + next, shortage: this.shortage?.message }
  }

  whenRoom(callback: () => void): void {
    this.roomChanged = callback
  }

  /** Whether one more block of any size might leave no room for another one besides the given reserve of this segment. */
  private isDownTo(keptBytes: number): boolean {
    return this.freeBytes() < keptBytes + 2 * this.options.maxBlockBytes
  }

  /** Bytes left in the segment of the last placed block. */
  private freeBytes(): number {
    return this.endSegmentBytes() - this.endOffset
  }

  private keptBytes(): number {
    return this.endSegmentBytes() * keptShare
  }

  /** Whether a segment is ready in which no block has been placed. */
  private nextIsReady(): boolean {
    return this.prepared !== undefined && this.prepared.zeroedBytes >= this.options.segmentBytes && !this.opensNext()
  }

  /** Whether a block in flight begins a segment that has not been named yet. */
  private opensNext(): boolean {
    return this.outstanding.some((each) => each.opensSegment && this.segment.header.firstSequence !== each.block.firstSequence)
  }

  begin(block: Block.Encoded, fence: Fence, done: Outstanding["done"]): void {
    assert(this.isSettled, "a journal is settled before anything is appended")
    if (this.failure !== undefined) {
      this.isTold = true
      return done(this.failure)
    }
    const fenced = this.compare(block, fence)
    if (fenced !== undefined) return done(new Fenced({ reason: fenced }))
    assert(this.outstanding.length < maxOutstanding, "at most four blocks are in flight")
    assert(block.bytes.length <= this.options.maxBlockBytes, "a block is within the largest size")
    assert(block.atEpochMs >= this.lastAtEpochMs, "time never goes back")
    const opensSegment = this.endOffset + block.bytes.length > this.endSegmentBytes()
    const offset = opensSegment ? Block.sectorBytes : this.endOffset
    this.endOffset = offset + block.bytes.length
    this.nextSequence = block.lastSequence + 1
    this.endDigest = block.digest
    this.lastAtEpochMs = block.atEpochMs
    this.outstanding.push({ block, done, opensSegment, offset, state: "waiting" })
    this.issue()
  }

  /** Refuses appends from now on, and waits until no operation on the files is running, or the time is up. */
  readonly close: Effect.Effect<void> = Effect.asVoid(Effect.suspend(() => {
    const end = this.acknowledgedEnd()
    this.hasFailed = this.isTold
    this.fail(new Unknown({ cause: new Error("the journal is closed") }))
    const idle = this.running === 0 || this.isGone ? Effect.void : Effect.async<void>((resume) => {
      this.whenIdle = () => resume(Effect.void)
    }).pipe(Effect.interruptible, Effect.timeoutOption(closingPatience))
    const ended = Effect.zipRight(idle, Effect.suspend(() => this.atEnd(end)))
    return this.retry === undefined ? ended : Effect.zipRight(Fiber.interrupt(this.retry), ended)
  }))

  /** From here on the name of the present segment is looked at with the lock. */
  private watch(): void {
    this.lock.watch(Segment.pathOf(this.segment.header.firstSequence), this.segment.file)
  }

  /** Where the acknowledged blocks of the present segment end. */
  private acknowledgedEnd(): number {
    const [first] = this.outstanding
    const { header } = this.segment
    if (first === undefined) return this.endOffset
    return first.opensSegment && first.block.firstSequence !== header.firstSequence ? header.segmentBytes : first.offset
  }

  /** Writes the present segment anew, once. */
  private save(file: File, header: Segment.Header, end: number): Effect.Effect<void, Corrupt | DiskError, Disk> {
    const saving = Effect.tap(saveAgain(file, header, end, this.copied), () => Effect.sync(() => void (this.isSaved = true)))
    return this.oneAtATime.withPermits(1)(Effect.suspend(() => this.isSaved ? Effect.void : saving))
  }

  /**
   * Holds every block back until the present segment has its name again, as a disk does that does not answer: if the process ended first,
   * what was acknowledged in a file without a name would be gone. Then the writer stops.
   */
  private get untilSaved(): Effect.Effect<never, Fenced, Disk> {
    return Effect.gen(this, function*() {
      const { file, header } = this.segment
      const path = Segment.pathOf(header.firstSequence)
      // Nothing is acknowledged from here on, and a stop that comes meanwhile forgets which blocks are in flight.
      const end = this.acknowledgedEnd()
      const clock = yield* Effect.clock
      let toldAtMs = Number.NEGATIVE_INFINITY
      while (this.failure === undefined) {
        const trouble = yield* Effect.flatMap(this.lock.isHeld, (held): Effect.Effect<void, Corrupt | DiskError | Fenced, Disk> => {
          if (!held) return Effect.fail(lockLost)
          return this.lock.isGone("last") ? this.save(file, header, end) : Effect.void
        }).pipe(
          Effect.as(undefined),
          Effect.catchAll((error) => error instanceof Fenced || isLockLost(error) ? Effect.fail(lockLost) : Effect.succeed(error.message))
        )
        if (trouble === undefined) return yield* segmentSaved(path)
        const nowMs = clock.unsafeCurrentTimeMillis()
        if (nowMs - toldAtMs >= tellSavingMs) {
          toldAtMs = nowMs
          yield* Effect.logError(segmentHeld(path, trouble))
        }
        yield* Effect.sleep(savingPause)
      }
      return yield* lockLost
    })
  }

  /** At the end of the writer: writes the segment anew where its name is gone, and tells whoever would call the stop a clean one. */
  private atEnd(end: number): Effect.Effect<void> {
    // After a failure that somebody was told nobody would call it that.
    if (this.hasFailed || !this.isSettled) return Effect.void
    const { file, header } = this.segment
    return Effect.flatMap(this.isMissing, (isMissing) =>
      isMissing
        ? Effect.provide(Effect.map(Effect.either(this.save(file, header, end)), (saved) =>
          this.options.segmentGone?.(
            new SegmentGone(Segment.pathOf(header.firstSequence), Either.isLeft(saved) ? saved.left.message : undefined)
          )), this.runtime)
        : Effect.void)
  }

  /**
   * Whether the present segment's name is gone, in a directory that is still this venue's: where that was moved or replaced, its segments
   * went with it. A disk that does not answer, or fails, is not waited for: that stop is told as what it is.
   */
  private get isMissing(): Effect.Effect<boolean> {
    return this.lock.isHeldIfSoon.pipe(
      Effect.interruptible,
      Effect.timeoutOption(closingPatience),
      Effect.orElseSucceed(Option.none<boolean>),
      Effect.map((held) => Option.contains(held, true) && (this.isGone || this.lock.isGone("now")))
    )
  }

  private compare(block: Block.Encoded, fence: Fence): string | undefined {
    if (fence.epoch !== this.epoch) return `the journal is written under epoch ${this.epoch}, not ${fence.epoch}`
    if (block.epoch !== this.epoch) return `the block names epoch ${block.epoch} instead of ${this.epoch}`
    if (
      Buffer.compare(fence.previousDigest, this.endDigest) !== 0 || Buffer.compare(block.previousDigest, this.endDigest) !== 0
    ) return `the block does not follow sequence ${this.nextSequence - 1} as it was written`
    if (block.firstSequence !== this.nextSequence) {
      return `the block begins at sequence ${block.firstSequence} instead of ${this.nextSequence}`
    }
    return undefined
  }

  /** The size of the segment of the last placed block: new segments have the configured size. */
  private endSegmentBytes(): number {
    return this.outstanding.some((each) => each.opensSegment) ? this.options.segmentBytes : this.segment.header.segmentBytes
  }

  /** Starts every write that may start. */
  private issue(): void {
    for (let index = 0; index < this.outstanding.length && this.failure === undefined && !this.isGone; index++) {
      const next = this.outstanding[index]!
      if (next.state !== "waiting") continue
      if (next.opensSegment && this.segment.header.firstSequence !== next.block.firstSequence) {
        if (index === 0) this.openSegment(next)
        return
      }
      this.write(next)
    }
  }

  private write(next: Outstanding): void {
    const { file, header } = this.segment
    next.state = "writing"
    Block.place(next.block, { segment: header.firstSequence, offset: next.offset }, this.durableSequence)
    // Checked once the block can be read: a process that takes the lock after that reads the block and builds on it. Nothing is
    // therefore acknowledged that another writer does not know.
    this.run(Effect.zipRight(file.writeAt(next.offset, next.block.bytes), this.stillHeld), () => {
      next.state = "durable"
      this.complete()
      this.issue()
    })
    this.prepare()
  }

  private complete(): void {
    while (this.outstanding[0]?.state === "durable") {
      const { block, done } = this.outstanding.shift()!
      this.durableSequence = block.lastSequence
      done(undefined)
    }
  }

  /**
   * Prepares the next segment from when the current one is a quarter full, as fast as that fills, so that neither the switch nor
   * the preparation delays appends.
   */
  private prepare(): void {
    if (this.preparing || this.retry !== undefined || this.wantedZeros() === 0) return
    const { prepared } = this
    if (prepared === undefined) {
      this.preparing = true
      return this.run(
        openIn(this.files, openNext),
        (opened) => this.continuePreparing({ ...opened, zeroedBytes: 0 }),
        (failure) => this.lacksRoom(failure)
      )
    }
    if (prepared.zeroedBytes >= this.wantedZeros()) return
    this.preparing = true
    this.run(
      zeroMore(prepared.file, prepared.zeroedBytes, this.options.segmentBytes),
      (zeroedBytes) => this.continuePreparing({ ...prepared, zeroedBytes }),
      (failure) => this.lacksRoom(failure)
    )
  }

  /**
   * Handles a failed preparation. A full disk does not affect the current segment: `room` reports it, and the preparation is tried
   * again by repeating the write that found no room. A failed sync of a name is final, whatever its error, and so is any failure
   * once a block has been placed in the missing segment.
   */
  private lacksRoom(failure: Failure): void {
    this.preparing = false
    const ofName = failure._tag === "JournalFull" && failure.cause instanceof DiskError && failure.cause.operation === "syncDirectory"
    if (failure._tag !== "JournalFull" || ofName || this.opensNext()) return this.fail(failure)
    this.shortage = failure
    this.retry = Runtime.runFork(this.runtime)(Effect.zipRight(
      Effect.sleep(retryPause),
      Effect.sync(() => {
        this.retry = undefined
        if (this.failure === undefined) this.prepare()
      })
    ))
    this.roomChanged()
  }

  private continuePreparing(prepared: NonNullable<Appender["prepared"]>): void {
    this.prepared = prepared
    this.preparing = false
    if (prepared.zeroedBytes >= this.options.segmentBytes) {
      this.shortage = undefined
    }
    this.prepare()
    this.issue()
    if (this.nextIsReady()) this.roomChanged()
  }

  /**
   * How many bytes of the next segment should be zeroed by now: all of them when the current one is five eighths full, before its
   * reserve is reached.
   */
  private wantedZeros(): number {
    const isAwaited = this.shortage !== undefined || this.isDownTo(this.keptBytes())
    if (isAwaited || this.opensNext()) return this.options.segmentBytes
    const { segmentBytes } = this.segment.header
    const share = (this.endOffset - segmentBytes / 4) / (segmentBytes * 3 / 8)
    return Math.ceil(this.options.segmentBytes * Math.min(1, Math.max(0, share)))
  }

  private openSegment(first: Outstanding): void {
    assert(first.block.firstSequence === this.durableSequence + 1, "a segment begins when all before it is durable")
    const { prepared } = this
    if (this.naming) return
    if (prepared === undefined || prepared.zeroedBytes < this.options.segmentBytes) {
      this.reached?.("a block waited for its segment")
      return this.prepare()
    }
    this.reached?.("a segment was opened")
    if (this.segment.header.segmentBytes !== this.options.segmentBytes) this.reached?.("a segment was opened behind one of another size")
    this.naming = true
    const header: Segment.Header = {
      firstSequence: first.block.firstSequence,
      previousDigest: first.block.previousDigest,
      segmentBytes: this.options.segmentBytes
    }
    const name = Effect.zipRight(this.stillHeld, nameSegment(prepared.file, header))
    this.run(Effect.zipRight(name, Scope.close(this.segment.scope, Exit.void)), () => {
      this.segment = { header, file: prepared.file, scope: prepared.scope }
      this.watch()
      this.prepared = undefined
      this.naming = false
      this.issue()
    })
  }

  /** Runs a disk operation. After a failure, and where the segment's name is gone, the results of other operations are ignored. */
  private run<A>(
    effect: Effect.Effect<A, DiskError | Fenced, Disk>,
    then: (value: A) => void,
    failed: (failure: Failure) => void = (failure) => this.fail(failure)
  ): void {
    this.running++
    Runtime.runCallback(this.runtime)(effect, {
      onExit: (exit) => {
        this.running--
        if (this.failure === undefined) {
          if (Exit.isSuccess(exit)) {
            if (!this.isGone) then(exit.value)
          } else if (!this.isGone || isFenced(exit.cause)) failed(failureOf(exit.cause))
        }
        if (this.running === 0) this.whenIdle?.()
      }
    })
  }

  private fail(failure: Failure): void {
    const isAwaited = this.failure === undefined && this.isSettled && this.room() === "soon"
    this.failure ??= failure
    this.isTold ||= this.outstanding.length > 0
    for (const { done } of this.outstanding.splice(0)) done(this.failure)
    // With no block in flight nobody has been told of the failure, and a caller waiting for room would wait forever.
    if (isAwaited) this.roomChanged()
  }
}

/** Errors that mean that the disk, or this user's quota on it, is full. */
const fullCodes: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"])

const isFenced = (cause: Cause.Cause<DiskError | Fenced>): boolean => failureOf(cause)._tag === "JournalFenced"

const failureOf = (cause: Cause.Cause<DiskError | Fenced>): Failure => {
  const error = Option.getOrUndefined(Cause.failureOption(cause)) ?? Cause.squash(cause)
  if (error instanceof Fenced) return error
  if (isLockLost(error)) return lockLost
  return error instanceof DiskError && fullCodes.has(error.code) ? new Full({ cause: error }) : new Unknown({ cause: error })
}
