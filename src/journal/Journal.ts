/**
 * The journal port: the only durable record of what happened, in order. It deals in blocks and epochs, so that a journal on another
 * machine could implement it.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import * as Block from "./Block.js"
import type { DiskError } from "./Disk.js"

/**
 * The block is not the next one of the current writer: another epoch has taken over, or the chain has moved on. The writer must
 * stop.
 */
export class Fenced extends Schema.TaggedError<Fenced>()("JournalFenced", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** Another process may write to the journal, or the names in the directory may lead to another journal by now. */
export const lockLost = new Fenced({
  reason: "the lock of the data directory was removed or replaced, or the directory was moved, while it was held, so another process "
    + "may write to the journal"
})

/** The segment that was being written was removed or moved meanwhile. Whatever was acknowledged in it is under its name again. */
export const segmentSaved = (segment: string): Fenced =>
  new Fenced({
    reason: `${segment}, which was being written, was removed or moved, and is in its place again with all that was acknowledged in `
      + "it: start the venue again. If other segments were moved with it, put those back first"
  })

/** What an operator is told while a removed segment cannot be written anew. */
export const segmentHeld = (segment: string, trouble: string): string =>
  `${segment}, which is being written, was removed or moved, and could not be written anew (${trouble}). Nothing is acknowledged any `
  + "more. Do not stop the venue: what it has acknowledged may be in this process alone, in the file that is open under its /proc/PID/fd. "
  + "Put the segment or its directory back where it was, or make room: it is tried again every second"

/** A stop found that the segment that was written last is not where a start would look for it. */
export class SegmentGone extends Error {
  override readonly name = "SegmentGone"
  /** `trouble`: why it could not be written anew; undefined where it was. */
  constructor(segment: string, trouble: string | undefined) {
    super(
      trouble === undefined
        ? `${segment} was removed or moved while it was written, and was found missing at the stop. It was written anew with all that was `
          + "acknowledged, and nothing is lost"
        : `${segment} was removed or moved while it was written, and could not be written anew (${trouble}). What was acknowledged in it `
          + "is lost unless the segment was moved or copied elsewhere: put that back before the next start, which would otherwise go on "
          + "without it"
    )
    this.isSaved = trouble === undefined
  }
  readonly isSaved: boolean
}

const reasonOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/** The state of the tail is unknown after this: the writer must stop and recover. Nothing is retried. */
export class Unknown extends Schema.TaggedError<Unknown>()("JournalUnknown", { cause: Schema.Defect }) {
  override get message() {
    return `the end of the journal is unknown: ${reasonOf(this.cause)}`
  }
}

/** There is no room for a block that was appended. The writer must stop; nothing acknowledged is lost. */
export class Full extends Schema.TaggedError<Full>()("JournalFull", { cause: Schema.Defect }) {
  override get message() {
    return `there is no room for the journal: ${reasonOf(this.cause)}`
  }
}

/** The stored journal is damaged in a way that a crash cannot explain. It is never served. */
export class Corrupt extends Schema.TaggedError<Corrupt>()("JournalCorrupt", {
  segment: Schema.String,
  /** Byte offset in the segment. */
  offset: Schema.Number,
  /** The first sequence that cannot be read. */
  sequence: Schema.Number,
  reason: Schema.String,
  /**
   * Set where what is present is intact but something is missing: the first segments or all of them (`beginning`), or what lies
   * between two of those present (`between`). A cut would discard intact records; a backup has the missing ones. `misplaced`: a name
   * of the journal's leads to what does not belong under it, and everything else may be intact.
   */
  missing: Schema.optionalWith(Schema.Literal("beginning", "between", "misplaced"), { exact: true })
}) {
  override get message() {
    return `${this.segment} is corrupt at offset ${this.offset} (sequence ${this.sequence}): ${this.reason}`
  }
}

/**
 * The journal, or part of it, was written in a format that this program does not know yet. It is not damaged: the version that
 * wrote it can read it, and nothing should be cut.
 */
export class NewerFormat extends Schema.TaggedError<NewerFormat>()("JournalNewerFormat", {
  segment: Schema.String,
  /** Byte offset in the segment. */
  offset: Schema.Number,
  /** The first sequence that cannot be read. */
  sequence: Schema.Number,
  /** The format version. */
  codec: Schema.Number
}) {
  override get message() {
    return `${this.segment} at offset ${this.offset} (sequence ${this.sequence}) is written in format ${this.codec}, `
      + `and this program reads up to ${Block.codecVersion}: start it with the newer version of the program that wrote it`
  }
}

/** Records of an older format, which this program only verifies: the version that wrote them can replay them. */
export class OlderFormat extends Schema.TaggedError<OlderFormat>()("JournalOlderFormat", {
  /** The first sequence of the block. */
  sequence: Schema.Number,
  codec: Schema.Number
}) {
  override get message() {
    return `the records from sequence ${this.sequence} on are written in format ${this.codec}: their chain is intact, and only `
      + `the version of the program that wrote them (${Block.writers.get(this.codec) ?? "unknown"}) replays them`
  }
}

/** The journal that was being followed is not there any more: it was cut, or another one has taken its place. Nothing is damaged. */
export class Replaced extends Schema.TaggedError<Replaced>()("JournalReplaced", {
  /** The last sequence that was read. */
  sequence: Schema.Number
}) {
  override get message() {
    return `the journal was cut or replaced since this began: the record ${this.sequence} is gone, or another one has its number. `
      + "Start the tool again, with --from where the cut began"
  }
}

/** Why stored blocks cannot be read. */
export type Unreadable = Corrupt | NewerFormat | OlderFormat | Replaced

/** A durable block as its header describes it, in any format. */
export interface Link {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly digest: Uint8Array
  readonly codec: number
}

/** What an append is checked against: the writer's epoch, and the digest of the previous block (32 bytes). */
export interface Fence {
  readonly epoch: number
  readonly previousDigest: Uint8Array
}

/** Most starts kept, the latest. */
export const startsKept = 16

/** The first block of a process that wrote to the journal. */
export interface Start {
  readonly firstSequence: number
  /**
   * That block's digest, which covers its time. No other start has it, on this journal or on a copy of it, unless both began at the same
   * time, which is the last record's where the clock is behind it.
   */
  readonly digest: Uint8Array
}

/** The end of the journal. */
export interface Head {
  /** The epoch under which this process writes: one more than the last block's. */
  readonly epoch: number
  readonly nextSequence: number
  /** The time of the last record, or 0. */
  readonly atEpochMs: number
  /** Digest of the last block, or 32 zero bytes for a new journal. */
  readonly digest: Uint8Array
  /** The latest starts before this process, oldest first. */
  readonly starts: ReadonlyArray<Start>
  /** The unfinished write of the last process that opening had to discard, if any. */
  readonly torn: { readonly segment: string; readonly offset: number; readonly bytes: number } | undefined
}

/**
 * What the journal has room for. `all`. `soon`: the next segment is being prepared, and nothing may be appended before that.
 * `reductions`: the disk is full, and the rest of this segment is reserved for commands that are not placements. `marks`: it is no more for
 * withdrawals to be prepared either, which are large and made for whoever asks. `requests`: it is reserved for what clients and operators
 * request, and for starts, since the venue's own records would use it up in time. `nothing`: that is used up as well.
 */
export type Room = "all" | "soon" | "reductions" | "marks" | "requests" | "nothing"

/** How much room there is, and what limits it. */
export interface Space {
  readonly room: Room
  /** Bytes that blocks can still use without more space from the disk. */
  readonly freeBytes: number
  /** Why the next segment cannot be prepared; undefined where nothing prevents it. */
  readonly shortage: string | undefined
}

/** Read access to the durable part of a journal. */
export interface JournalReading {
  /** Durable blocks that contain `fromSequence` or a later one, oldest first. */
  readonly replay: (fromSequence: number) => Stream.Stream<Block.Block, Unreadable | Unknown>
  /**
   * A sequence after which every durable record of the given time or later follows, found without reading the records in between:
   * where a segment begins, or the journal itself.
   */
  readonly before: (atEpochMs: number) => Effect.Effect<number, Unreadable | Unknown>
  /** The same blocks without their records, in any format. */
  readonly links: (fromSequence: number) => Stream.Stream<Link, Unreadable | Unknown>
}

export class Journal extends Context.Tag("venue/journal/Journal")<
  Journal,
  JournalReading & {
    /** The end of the journal when it was opened. */
    readonly opened: Head
    /**
     * Makes durable what was read at opening, and prepares for appends. It must have succeeded before anything is appended or
     * reported to anybody; until then opening has overwritten nothing.
     */
    readonly settle: Effect.Effect<void, Corrupt | DiskError>
    /**
     * Appends one encoded block atomically after `fence.previousDigest`. Success means durable, not merely written. At most four
     * may be outstanding; they become durable in call order.
     */
    readonly append: (block: Block.Encoded, fence: Fence) => Effect.Effect<void, Fenced | Unknown | Full>
    /**
     * `append` without a fiber: the block is checked and gets its position before this returns, so that blocks are appended in call
     * order under any scheduler. Calls back exactly once, with the failure of `append`, or undefined for durable; a refusal may
     * come before this returns.
     */
    readonly begin: (block: Block.Encoded, fence: Fence, done: (failure: Fenced | Unknown | Full | undefined) => void) => void
    /** What may be appended next: a block of any permitted size, except where the answer is `soon` or `nothing`. */
    readonly room: () => Room
    readonly space: () => Space
    /** Registers a function to be called whenever there may be more room than before. */
    readonly whenRoom: (callback: () => void) => void
  }
>() {}
