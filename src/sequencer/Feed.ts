/**
 * Committed blocks with their events in order, from any sequence on, at each reader's own pace.
 *
 * Near the head a reader gets what the writer decided from memory (`Recent`). A reader that begins further back, or is too slow,
 * reads the segments and replays their records on an engine of its own, from the newest earlier snapshot, comparing each block's
 * digest; once it has caught up, it drops the engine. Either way it gets the same blocks, each once, and none before it is durable.
 * A reader holds one piece of the journal and at most one engine, and the writer never waits for any reader.
 */
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { assert } from "../domain/Assert.js"
import type { Engine } from "../engine/Engine.js"
import { type DecodedEvent, decode } from "../engine/EventLog.js"
import type { Capacity } from "../engine/State.js"
import type * as Block from "../journal/Block.js"
import type { DiskError } from "../journal/Disk.js"
import type { Following } from "../journal/Following.js"
import type { JournalReading, Unknown, Unreadable } from "../journal/Journal.js"
import { digestAt } from "../journal/Reading.js"
import type { Record } from "../journal/Record.js"
import { keptBefore, type SnapshotStore } from "../journal/SnapshotStore.js"
import type { Outcome } from "../operations/Operations.js"
import type { DecidingVersion } from "../operations/Versions.js"
import { versionOf } from "./DecidingVersion.js"
import { type CapacityTooSmall, type Diverged, divergence, engineBefore, runBlock, runRecord, withinRoom } from "./Recovery.js"

export type { DecodedEvent }

/** A durable block with the events of its records. */
export interface Committed {
  readonly block: Block.Block
  /** The words of an `EventLog`, record after record. */
  readonly events: Float64Array
  /** The words of a `Told` for the same records. */
  readonly told: Float64Array
}

/** Consecutive blocks with their events as they lie in memory, to be decoded by `readRun`, possibly in another thread. */
export interface Run {
  readonly memory: ArrayBuffer
  /** Lengths by block: its bytes, followed by its events, followed by its `Told` rows. */
  readonly lengths: ReadonlyArray<readonly [block: number, events: number, told: number]>
}

/** A committed block with an engine that stands at the block's last record until the next block is requested. */
export interface Standing extends Committed {
  readonly engine: Engine
  /** The outcome of each record. */
  readonly outcomes: ReadonlyArray<Outcome>
}

/** An engine at the end of the block before a record, that block's digest, hex, and the version that decided it. */
export interface Before {
  readonly engine: Engine
  readonly digest: string
  readonly version: DecidingVersion
}

/** Called with an engine at its last record, whose events begin at `from` in its log. */
export type EachRecord = (engine: Engine, from: number) => void

/** A reader's own engine beside the writer, which stands at the end of a block and replays the following ones, one by one. */
export interface Rerun {
  /** The sequence of the last record replayed. */
  readonly sequence: () => number
  /**
   * The newest snapshot that existed before the requested sequence, whether or not it was usable, so that an unusable one is not
   * tried again.
   */
  readonly begunFor: number
  /**
   * Replays the next block and calls `each` after every record. At the head it waits for a block. It is unusable after a failure.
   */
  readonly next: (each: EachRecord) => Effect.Effect<void, ReadError>
  readonly close: Effect.Effect<void>
}

/** A reading that was delegated, for example to another thread, has failed. */
export class Unread extends Schema.TaggedError<Unread>()("FeedUnread", {
  reason: Schema.String,
  /** What failed: the disk, the delegate, the program version (another one decided the records), or anything else. */
  why: Schema.Literal("disk", "ended", "version", "other")
}) {
  override get message() {
    return this.reason
  }
}

/** Why the journal cannot be read any further. A reader may begin again where it was. */
export type ReadError = Unreadable | Unknown | DiskError | Diverged | CapacityTooSmall | Unread

/** The kind of a failure. */
export const whyOf = (error: ReadError): Unread["why"] => {
  switch (error._tag) {
    case "FeedUnread":
      return error.why
    case "DiskError":
    case "JournalUnknown":
      return "disk"
    case "ReplayDiverged":
    case "JournalOlderFormat":
      return "version"
    default:
      return "other"
  }
}

/** Whether the records were decided by another version of the program, which this one does not replay. */
export const isOfOthers = (error: ReadError): boolean => whyOf(error) === "version"

export class Feed extends Context.Tag("venue/sequencer/Feed")<Feed, {
  /** Blocks that contain `sequence` or a later one, oldest first. At the head it waits for the next block; it never ends. */
  readonly from: (sequence: number) => Stream.Stream<Committed, ReadError>
  /** Such blocks each with the state that it led to. Every reader of these runs an engine of its own all the time. */
  readonly standingFrom: (sequence: number) => Stream.Stream<Standing, ReadError>
  /** The state on which a record that begins its block was decided. */
  readonly standingBefore: (sequence: number) => Effect.Effect<Before, ReadError>
  /**
   * An engine at or before a sequence: the nearest of those in `standing`, or a new one where a snapshot is nearer. `makeRoom` runs
   * before a new one is created.
   */
  readonly rerun: (sequence: number, standing: ReadonlyArray<Rerun>, makeRoom: Effect.Effect<void>) => Effect.Effect<Rerun, ReadError>
  /** A sequence after which everything decided at the given time or later follows, and not much more. */
  readonly before: (atEpochMs: number) => Effect.Effect<number, ReadError>
}>() {}

/** A feed without blocks. */
export const none: Feed["Type"] = {
  from: () => Stream.never,
  standingFrom: () => Stream.never,
  standingBefore: () => Effect.never,
  rerun: () => Effect.never,
  before: () => Effect.succeed(0)
}

/** A record and what it decided. */
export interface Decided {
  readonly record: Record
  readonly events: ReadonlyArray<DecodedEvent>
}

/** A block's records, each with its own events, the last of which is `RecordDecided`. */
export const decided = ({ block, events }: Committed): ReadonlyArray<Decided> => {
  const all = decode(events, 0, events.length)
  let from = 0
  return block.records.map((record) => {
    const end = all.findIndex((event, index) => index >= from && event.event === "RecordDecided") + 1
    assert(end > from, "every record ends what it decided")
    const own = all.slice(from, end)
    from = end
    return { record, events: own }
  })
}

/** The journal's end, and its part in memory. */
export interface Head {
  /** The last durable sequence. */
  readonly durableSequence: () => number
  /** The durable block that contains a sequence, if it is in memory. */
  readonly at: (sequence: number) => Committed | undefined
  /** The durable block that contains a sequence, without its events, if it has been read already. */
  readonly read: (sequence: number) => Block.Block | undefined
  /** Waits until a sequence is durable. */
  readonly reached: (sequence: number) => Effect.Effect<void, ReadError>
}

export interface Source {
  readonly journal: JournalReading
  readonly snapshots: Context.Tag.Service<typeof SnapshotStore>
  /** The limits of engines that replay records. */
  readonly capacity: Capacity
  readonly head: Head
  /** Yields to other work after a block was replayed, since this happens beside the writer. */
  readonly pause: Effect.Effect<void>
}

export interface Reading<A> {
  readonly next: Effect.Effect<A, ReadError>
  readonly close: Effect.Effect<void>
}

/** A block from memory with its events, or one from the segments without. */
interface Found {
  readonly block: Block.Block
  readonly events: Float64Array | undefined
  readonly told: Float64Array | undefined
}

/** Reads blocks one by one, from memory where possible. It can switch from the segments to memory at any block. */
class Cursor {
  private segments: Segments | undefined

  constructor(private readonly source: Source, private nextSequence: number) {}

  /** Continues from another sequence. */
  readonly seek = (sequence: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      this.nextSequence = sequence
      return this.leaveSegments
    })

  /** The block that contains the next sequence, once it is durable. */
  readonly next: Effect.Effect<Found, ReadError> = Effect.suspend(() => {
    const { head } = this.source
    const held = head.at(this.nextSequence)
    if (held !== undefined) return Effect.as(this.leaveSegments, this.move(held))
    const read = head.read(this.nextSequence)
    if (read !== undefined) return Effect.as(this.leaveSegments, this.move({ block: read, events: undefined, told: undefined }))
    if (this.nextSequence <= head.durableSequence()) return this.fromSegments
    return Effect.zipRight(head.reached(this.nextSequence), this.next)
  })

  /** Closes the segments, if they are open. */
  readonly leaveSegments: Effect.Effect<void> = Effect.suspend(() => {
    const { segments } = this
    this.segments = undefined
    return segments === undefined ? Effect.void : segments.close
  })

  private readonly fromSegments: Effect.Effect<Found, ReadError> = Effect.gen(this, function*() {
    const { nextSequence, source: { journal } } = this
    this.segments ??= yield* Segments.open(journal.replay(nextSequence))
    const block = yield* this.segments.next
    if (block !== undefined) return this.move({ block, events: undefined, told: undefined })
    // They were read up to the durable end at their opening; more is durable by now.
    assert(!this.segments.unused, "what is durable can be read")
    yield* this.leaveSegments
    return yield* this.next
  })

  private move(found: Found): Found {
    const { firstSequence, lastSequence } = found.block
    assert(firstSequence <= this.nextSequence && this.nextSequence <= lastSequence, "blocks follow each other")
    this.nextSequence = lastSequence + 1
    return found
  }
}

type Pull = Effect.Effect<Chunk.Chunk<Block.Block>, Option.Option<Unreadable | Unknown>>

/** Segments being read, a piece at a time. */
class Segments {
  /** Whether nothing has been read yet. */
  unused = true
  private blocks: ReadonlyArray<Block.Block> = []
  private index = 0

  private constructor(private readonly pull: Pull, private readonly scope: Scope.CloseableScope) {}

  static readonly open = Effect.fnUntraced(function*(blocks: Stream.Stream<Block.Block, Unreadable | Unknown>) {
    const scope = yield* Scope.make()
    return new Segments(yield* Scope.extend(Stream.toPull(blocks), scope), scope)
  })

  /** The next block; undefined at the end. */
  readonly next: Effect.Effect<Block.Block | undefined, Unreadable | Unknown> = Effect.suspend(() => {
    const block = this.blocks[this.index++]
    if (block !== undefined) {
      this.unused = false
      return Effect.succeed(block)
    }
    return Effect.matchEffect(this.pull, {
      onSuccess: (chunk) => {
        this.blocks = Chunk.toReadonlyArray(chunk)
        this.index = 0
        return this.next
      },
      onFailure: (ended): Effect.Effect<undefined, Unreadable | Unknown> =>
        Option.isNone(ended) ? Effect.succeed(undefined) : Effect.fail(ended.value)
    })
  })

  readonly close: Effect.Effect<void> = Effect.suspend(() => Scope.close(this.scope, Exit.void))
}

/** Replays a block, compares its digest, and yields to other work. */
const rerun = ({ pause }: Source, engine: Engine, block: Block.Block): Effect.Effect<Standing, Diverged | CapacityTooSmall> =>
  Effect.flatMap(withinRoom(() => runBlock(engine, block)), (outcomes) => {
    const diverged = divergence(engine, block)
    if (diverged !== undefined) return diverged
    const { events } = engine.state
    const standing: Standing = { block, events: events.words.slice(0, events.length), told: events.told.copied(), engine, outcomes }
    events.clear()
    return Effect.as(pause, standing)
  })

/** Most records, and most words of events, that are replayed before yielding: about a millisecond even for expensive ones. */
const mostAtOnce = 128
const mostWordsAtOnce = 4_096

/** Replays a block of any length, a few of its records at a time, and compares its digest; yields to other work in between. */
const rerunInParts = (
  source: Source,
  engine: Engine,
  block: Block.Block,
  each: EachRecord
): Effect.Effect<void, Diverged | CapacityTooSmall> => {
  const { events } = engine.state
  /** Replays some records beginning with the given index. Returns the index of the next. */
  const some = (from: number): number => {
    const begun = events.length
    let next = from
    do {
      runRecord(engine, block.records[next++]!, each)
    } while (next < block.records.length && next - from < mostAtOnce && events.length - begun < mostWordsAtOnce)
    return next
  }
  const part = (from: number): Effect.Effect<void, Diverged | CapacityTooSmall> =>
    Effect.flatMap(withinRoom(() => some(from)), (next) => {
      if (next < block.records.length) return Effect.zipRight(source.pause, part(next))
      const diverged = divergence(engine, block)
      if (diverged !== undefined) return diverged
      events.clear()
      return source.pause
    })
  return Effect.suspend(() => {
    events.clear()
    return part(0)
  })
}

/** A reader: its position, and the engine it runs while it reads what memory does not have. */
class Reader implements Reading<Committed> {
  private readonly cursor: Cursor
  private engine: Engine | undefined

  constructor(private readonly source: Source, sequence: number) {
    this.cursor = new Cursor(source, sequence)
  }

  readonly next: Effect.Effect<Committed, ReadError> = Effect.gen(this, function*() {
    const { block, events, told } = yield* this.cursor.next
    if (events !== undefined && told !== undefined) {
      this.engine = undefined
      return { block, events, told }
    }
    if (this.engine?.sequence !== block.firstSequence - 1) return yield* this.behind(block)
    const { events: ownEvents, told: ownTold } = yield* rerun(this.source, this.engine, block)
    return { block, events: ownEvents, told: ownTold }
  })

  /** Ends the reading. */
  get close(): Effect.Effect<void> {
    return this.cursor.leaveSegments
  }

  /** Creates an engine at the beginning of a block from what the journal has before it, and returns the block with its events. */
  private behind(block: Block.Block): Effect.Effect<Committed, ReadError> {
    return Effect.gen(this, function*() {
      const { capacity, journal, snapshots } = this.source
      const engine = yield* engineBefore(journal, snapshots, capacity, block.firstSequence)
      yield* this.cursor.seek(engine.sequence + 1)
      while (engine.sequence < block.firstSequence - 1) yield* rerun(this.source, engine, (yield* this.cursor.next).block)
      this.engine = engine
      return yield* this.next
    })
  }
}

/** A stream of what is read, until the consumer stops. */
export const stream = <A>(open: Effect.Effect<Reading<A>, ReadError>): Stream.Stream<A, ReadError> =>
  Stream.unwrapScoped(
    Effect.map(Effect.acquireRelease(open, ({ close }) => close), ({ next }) => Stream.repeatEffect(next))
  )

/** The sequence of the newest snapshot at or before a sequence, whether or not it is usable; 0 for none. */
const snapshotBefore = ({ snapshots }: Source, sequence: number): Effect.Effect<number, ReadError> =>
  Effect.map(keptBefore(snapshots, sequence + 1), ([newest]) => newest?.sequence ?? 0)

/** See `Feed.rerun`. */
const rerunTo = (
  source: Source,
  sequence: number,
  standing: ReadonlyArray<Rerun>,
  makeRoom: Effect.Effect<void>
): Effect.Effect<Rerun, ReadError> =>
  Effect.gen(function*() {
    const begunFor = yield* snapshotBefore(source, sequence)
    const before = standing.filter((one) => one.sequence() <= sequence)
    const nearest = before.reduce<Rerun | undefined>((near, one) => near === undefined || one.sequence() > near.sequence() ? one : near,
      undefined)
    if (nearest !== undefined && begunFor <= Math.max(nearest.sequence(), nearest.begunFor)) return nearest
    const { capacity, journal, snapshots } = source
    yield* makeRoom
    const engine = yield* engineBefore(journal, snapshots, capacity, sequence + 1)
    const begins = engine.sequence + 1
    const cursor = new Cursor(source, begins)
    return {
      sequence: () => engine.sequence,
      begunFor,
      next: (each) => Effect.flatMap(cursor.next, ({ block }) => rerunInParts(source, engine, block, each)),
      close: cursor.leaveSegments
    }
  })

/** Reads blocks one by one with an engine of its own: like `standingFrom`, for callers that request each block. */
export const standing = (source: Source, sequence: number): Effect.Effect<Reading<Standing>, ReadError> =>
  Effect.gen(function*() {
    const { capacity, head, journal, snapshots } = source
    const engine = yield* engineBefore(journal, snapshots, capacity, Math.min(sequence, head.durableSequence() + 1))
    const cursor = new Cursor(source, engine.sequence + 1)
    const next: Effect.Effect<Standing, ReadError> = Effect.flatMap(
      Effect.flatMap(cursor.next, ({ block }) => rerun(source, engine, block)),
      (committed) => committed.block.lastSequence < sequence ? next : Effect.succeed(committed)
    )
    return { next, close: cursor.leaveSegments }
  })

/** See `Feed.standingBefore`. */
const standingBefore = (source: Source, sequence: number): Effect.Effect<Before, ReadError> =>
  Effect.gen(function*() {
    const { capacity, journal, snapshots } = source
    const engine = yield* engineBefore(journal, snapshots, capacity, sequence)
    const before = new Cursor(source, engine.sequence + 1)
    const runs = Effect.whileLoop({
      while: () => engine.sequence < sequence - 1,
      body: () => Effect.flatMap(before.next, ({ block }) => rerun(source, engine, block)),
      step: () => {}
    })
    yield* Effect.ensuring(runs, before.leaveSegments)
    assert(engine.sequence === sequence - 1, "the record begins its block")
    const digest = yield* digestAt(journal.links, engine.sequence)
    assert(digest !== undefined && digest !== "", "what was run is durable, and ends a block")
    return { engine, digest, version: versionOf(engine) }
  })

/** Reads blocks one by one from a sequence on. */
export const reading = (source: Source, sequence: number): Reading<Committed> => new Reader(source, sequence)

/** The feed of a source. */
export const make = (source: Source): Feed["Type"] => ({
  from: (sequence) => stream(Effect.sync(() => reading(source, sequence))),
  standingFrom: (sequence) => stream(standing(source, sequence)),
  standingBefore: (sequence) => standingBefore(source, sequence),
  rerun: (sequence, standing, makeRoom) => rerunTo(source, sequence, standing, makeRoom),
  before: source.journal.before
})

/**
 * The feed of a data directory whose writer is another process. Nothing is in memory, so every reader runs an engine. What the
 * journal held when it was opened is durable by the time this returns.
 */
export const beside = (
  following: Following,
  snapshots: Source["snapshots"],
  capacity: Capacity,
  lookEvery: Duration.Duration
): Effect.Effect<Feed["Type"], Unreadable | DiskError> => {
  const { durableSequence, journal, look } = following
  const later = Effect.zipRight(Effect.sleep(lookEvery), look)
  const reached = (sequence: number): Effect.Effect<void, ReadError> =>
    Effect.suspend(() => durableSequence() >= sequence ? Effect.void : Effect.zipRight(later, reached(sequence)))
  const head: Head = { durableSequence, at: () => undefined, read: () => undefined, reached }
  return Effect.as(later, make({ journal, snapshots, capacity, head, pause: Effect.void }))
}
