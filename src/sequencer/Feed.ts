/**
 * Committed blocks with the events they came to, in order, from any sequence on, at each reader's own pace.
 *
 * Near the head a reader is given what the writer decided, from memory (`Recent`). One that begins behind that, or is
 * too slow for it, reads the segments and runs their records again on an engine of its own, from the newest snapshot
 * before them, comparing each block's digest; once it has caught up it lets the engine go. Either way it is given the
 * same blocks, each once, and none before it is durable. A reader holds one piece of the journal and at most one
 * engine, and the writer never waits for any.
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
import { type CapacityTooSmall, type Diverged, divergence, engineBefore, runBlock, runRecord, withinRoom } from "./Recovery.js"

export type { DecodedEvent }

/** A durable block, and what its records decided. */
export interface Committed {
  readonly block: Block.Block
  /** The words of an `EventLog`, those of each record behind those of the one before. */
  readonly events: Float64Array
  /** The words of a `Told`, of the same records. */
  readonly told: Float64Array
}

/** Blocks one after the other with what they came to, as they lie in memory: to be read by `readRun`, in another thread perhaps. */
export interface Run {
  readonly memory: ArrayBuffer
  /** By block: bytes of it, of its events right behind, and of what it told behind these. */
  readonly lengths: ReadonlyArray<readonly [block: number, events: number, told: number]>
}

/** The same with an engine that stands at the block's last record, until the next block is asked for. */
export interface Standing extends Committed {
  readonly engine: Engine
  /** What each record came to. */
  readonly outcomes: ReadonlyArray<Outcome>
}

/** An engine behind the block that ends before a record, and the digest of that block, hex. */
export interface Before {
  readonly engine: Engine
  readonly digest: string
}

/** Looks at an engine that stands at its last record, whose events are the words of its log from a place on. */
export type EachRecord = (engine: Engine, from: number) => void

/** An engine of a reader's own, beside the writer, that stands where a block ends and runs those behind it, one by one. */
export interface Rerun {
  /** The last record that it has run. */
  readonly sequence: () => number
  /** The newest snapshot that there was before the place that it was begun for: one that could not be begun with is not tried again. */
  readonly begunFor: number
  /** Runs the next block; `each` is called behind every record of it. At the head it waits for one. Once it has failed it is of no use. */
  readonly next: (each: EachRecord) => Effect.Effect<void, ReadError>
  readonly close: Effect.Effect<void>
}

/** What was to be read elsewhere was not. */
export class Unread extends Schema.TaggedError<Unread>()("FeedUnread", {
  reason: Schema.String,
  /** Whether the disk did not give it, whoever was to read it has ended, another version of the program decided it, or what else. */
  why: Schema.Literal("disk", "ended", "version", "other")
}) {
  override get message() {
    return this.reason
  }
}

/** Why the journal cannot be read on. A reader may begin anew where it was. */
export type ReadError = Unreadable | Unknown | DiskError | Diverged | CapacityTooSmall | Unread

/** What kind of failure it is. */
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

/** Whether another version of the program decided what was to be read: it is not decided again. */
export const isOfOthers = (error: ReadError): boolean => whyOf(error) === "version"

export class Feed extends Context.Tag("venue/sequencer/Feed")<Feed, {
  /** Blocks that hold `sequence` or a later one, oldest first. At the head it waits for the next; it never ends. */
  readonly from: (sequence: number) => Stream.Stream<Committed, ReadError>
  /** The same, for readers that need the state: each runs an engine of its own all the time. */
  readonly standingFrom: (sequence: number) => Stream.Stream<Standing, ReadError>
  /** The state on which a record was decided that begins its block. */
  readonly standingBefore: (sequence: number) => Effect.Effect<Before, ReadError>
  /**
   * An engine at a sequence or before it: of those that stand already the nearest, or another one where a snapshot is nearer.
   * `makeRoom` is done before that one is made.
   */
  readonly rerun: (sequence: number, standing: ReadonlyArray<Rerun>, makeRoom: Effect.Effect<void>) => Effect.Effect<Rerun, ReadError>
  /** A sequence behind which is all that was decided at a time and later, and not much more. */
  readonly before: (atEpochMs: number) => Effect.Effect<number, ReadError>
}>() {}

/** Where nothing is committed. */
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

/** A block's records, each with its own events, of which `RecordDecided` is the last. */
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

/** Where the journal ends, and what of it is in memory. */
export interface Head {
  /** The last durable sequence. */
  readonly durableSequence: () => number
  /** The durable block that holds a sequence, if it is in memory. */
  readonly at: (sequence: number) => Committed | undefined
  /** The durable block that holds a sequence, without what it came to, if it has been read already. */
  readonly read: (sequence: number) => Block.Block | undefined
  /** Waits until a sequence is durable. */
  readonly reached: (sequence: number) => Effect.Effect<void, ReadError>
}

export interface Source {
  readonly journal: JournalReading
  readonly snapshots: Context.Tag.Service<typeof SnapshotStore>
  /** The bounds of engines that run records again. */
  readonly capacity: Capacity
  readonly head: Head
  /** Lets other work in after a block was run again: it is done beside the writer. */
  readonly pause: Effect.Effect<void>
}

export interface Reading<A> {
  readonly next: Effect.Effect<A, ReadError>
  readonly close: Effect.Effect<void>
}

/** A block from memory with what it came to, or one from the segments without. */
interface Found {
  readonly block: Block.Block
  readonly events: Float64Array | undefined
  readonly told: Float64Array | undefined
}

/** Reads blocks one by one, from memory where it can. Moves over from the segments at any block. */
class Cursor {
  private segments: Segments | undefined

  constructor(private readonly source: Source, private nextSequence: number) {}

  /** Reads on from another sequence. */
  readonly seek = (sequence: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      this.nextSequence = sequence
      return this.leaveSegments
    })

  /** The block that holds the next sequence, once it is durable. */
  readonly next: Effect.Effect<Found, ReadError> = Effect.suspend(() => {
    const { head } = this.source
    const held = head.at(this.nextSequence)
    if (held !== undefined) return Effect.as(this.leaveSegments, this.move(held))
    const read = head.read(this.nextSequence)
    if (read !== undefined) return Effect.as(this.leaveSegments, this.move({ block: read, events: undefined, told: undefined }))
    if (this.nextSequence <= head.durableSequence()) return this.fromSegments
    return Effect.zipRight(head.reached(this.nextSequence), this.next)
  })

  /** Ends the reading of segments, if they are being read. */
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
    // They were read up to what was durable when they were opened; more is by now.
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

/** Segments that are being read, a piece at a time. */
class Segments {
  /** Nothing was read. */
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

/** Runs a block again, compares what it decides, and lets other work in. */
const rerun = ({ pause }: Source, engine: Engine, block: Block.Block): Effect.Effect<Standing, Diverged | CapacityTooSmall> =>
  Effect.flatMap(withinRoom(() => runBlock(engine, block)), (outcomes) => {
    const diverged = divergence(engine, block)
    if (diverged !== undefined) return diverged
    const { events } = engine.state
    const standing: Standing = { block, events: events.words.slice(0, events.length), told: events.told.copied(), engine, outcomes }
    events.clear()
    return Effect.as(pause, standing)
  })

/** How many records are run again without letting other work in, and how many words of events: about a millisecond, also of dear ones. */
const mostAtOnce = 128
const mostWordsAtOnce = 4_096

/** The same for a block of any length, a few of its records at a time. */
const rerunInParts = (
  source: Source,
  engine: Engine,
  block: Block.Block,
  each: EachRecord
): Effect.Effect<void, Diverged | CapacityTooSmall> => {
  const { events } = engine.state
  /** Runs some from one of them on; tells which is the next. */
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

/** One reader: where it is, and the engine it runs while it reads what memory does not have. */
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

  /** Makes an engine that stands where a block begins, by what the journal has before it, and gives the block. */
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

/** What is read, one after the other, until nobody wants more. */
export const stream = <A>(open: Effect.Effect<Reading<A>, ReadError>): Stream.Stream<A, ReadError> =>
  Stream.unwrapScoped(
    Effect.map(Effect.acquireRelease(open, ({ close }) => close), ({ next }) => Stream.repeatEffect(next))
  )

/** Where the newest state that is kept at a sequence or before it stands, whether or not it can be begun with; 0 for none. */
const snapshotBefore = ({ snapshots }: Source, sequence: number): Effect.Effect<number, DiskError> =>
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

/** Reads blocks one by one with an engine of its own: what `standingFrom` gives, for one who asks for each. */
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
    return { engine, digest }
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
 * The feed of a data directory beside whoever writes to it. Nothing is in memory: every reader runs an engine. What
 * stood when the journal was opened is durable by the time this returns.
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
