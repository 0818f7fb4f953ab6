/**
 * The journal port: the only durable record of what happened, in order. It speaks of blocks and epochs, so
 * that a journal on another machine can stand behind it.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import * as Block from "./Block.js"
import type { DiskError } from "./Disk.js"

/** The block is not the next one of the current writer: another epoch has taken over, or the chain moved. The writer must stop. */
export class Fenced extends Schema.TaggedError<Fenced>()("JournalFenced", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

const reasonOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/** The tail is unknown after this: the writer must stop and recover. Nothing is retried. */
export class Unknown extends Schema.TaggedError<Unknown>()("JournalUnknown", { cause: Schema.Defect }) {
  override get message() {
    return `the end of the journal is unknown: ${reasonOf(this.cause)}`
  }
}

/** There is no room for a block that was to be appended all the same. The writer must stop; nothing acknowledged is lost. */
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
   * Set where nothing is wrong with what is there, and something is not: the first segments or all of them (`beginning`), or what
   * belongs between two that are there (`between`). A cut would give up what is whole; a backup has what is missing.
   */
  missing: Schema.optionalWith(Schema.Literal("beginning", "between"), { exact: true })
}) {
  override get message() {
    return `${this.segment} is corrupt at offset ${this.offset} (sequence ${this.sequence}): ${this.reason}`
  }
}

/**
 * The journal, or a part of it, was written in a format that this program does not know yet: nothing is wrong with it. The
 * version that wrote it reads it; nothing is to be cut.
 */
export class NewerFormat extends Schema.TaggedError<NewerFormat>()("JournalNewerFormat", {
  segment: Schema.String,
  /** Byte offset in the segment. */
  offset: Schema.Number,
  /** The first sequence that cannot be read. */
  sequence: Schema.Number,
  /** The version of the format. */
  codec: Schema.Number
}) {
  override get message() {
    return `${this.segment} at offset ${this.offset} (sequence ${this.sequence}) is written in format ${this.codec}, `
      + `and this program reads up to ${Block.codecVersion}: start it with the newer version of the program that wrote it`
  }
}

/** Records of a format that is only verified any more: the version that wrote them replays them. */
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

/** Why stored blocks cannot be given. */
export type Unreadable = Corrupt | NewerFormat | OlderFormat

/** A durable block as its chain tells, whatever its format. */
export interface Link {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly digest: Uint8Array
  readonly codec: number
}

/** What an append is compared with: the writer's epoch, and the digest of the block before (32 bytes). */
export interface Fence {
  readonly epoch: number
  readonly previousDigest: Uint8Array
}

/** Where the journal ends. */
export interface Head {
  /** The epoch this process writes under: one more than the last block's. */
  readonly epoch: number
  readonly nextSequence: number
  /** The time of the last record, or 0. */
  readonly atEpochMs: number
  /** Digest of the last block, or 32 zero bytes for a new journal. */
  readonly digest: Uint8Array
  /** What opening had to cut, if anything: an unfinished write of the last process. */
  readonly torn: { readonly segment: string; readonly offset: number; readonly bytes: number } | undefined
}

/**
 * What the journal has room for: `all`; `soon`, where the next segment is being prepared and nothing may be appended before
 * it is; `reductions`, where the disk is full and what is left of this segment is kept for commands that are no placements;
 * `requests`, where it is kept for those that somebody asks for, and for starts: what the venue does by itself would use it
 * up in time; `nothing`, where that is used up as well.
 */
export type Room = "all" | "soon" | "reductions" | "requests" | "nothing"

/** How much room there is, and why there is not more. */
export interface Space {
  readonly room: Room
  /** Bytes that blocks can still take without the disk giving any. */
  readonly freeBytes: number
  /** Why the next segment cannot be prepared; undefined where nothing is in its way. */
  readonly shortage: string | undefined
}

/** What of a journal is durable, to be read. */
export interface JournalReading {
  /** Durable blocks that hold `fromSequence` or a later one, oldest first. */
  readonly replay: (fromSequence: number) => Stream.Stream<Block.Block, Unreadable | Unknown>
  /**
   * A sequence behind which is every durable record of a time and of later ones, found without reading what lies between: where a
   * segment begins, or the journal itself.
   */
  readonly before: (atEpochMs: number) => Effect.Effect<number, Unreadable | Unknown>
  /** The same blocks without their records, of any format. */
  readonly links: (fromSequence: number) => Stream.Stream<Link, Unreadable | Unknown>
}

export class Journal extends Context.Tag("venue/journal/Journal")<
  Journal,
  JournalReading & {
    /** Where the journal ended when it was opened. */
    readonly opened: Head
    /**
     * Makes what was read at opening the durable truth, and room for what follows. Nothing may be appended, or told to
     * anyone, before it has succeeded once; until then opening has written nothing over what was there.
     */
    readonly settle: Effect.Effect<void, DiskError>
    /**
     * Appends one encoded block as a unit behind `fence.previousDigest`. Success means durable, not merely
     * written. At most four may be outstanding; they become durable in the order of their calls.
     */
    readonly append: (block: Block.Encoded, fence: Fence) => Effect.Effect<void, Fenced | Unknown | Full>
    /**
     * `append` without a fiber: compared and given its place before this returns, so that calls are appended
     * in their order under any scheduler. Calls back exactly once, with what `append` would fail with or
     * undefined for durable; a refusal may come before this returns.
     */
    readonly begin: (block: Block.Encoded, fence: Fence, done: (failure: Fenced | Unknown | Full | undefined) => void) => void
    /** What may be appended next: a block of any size that is allowed, but where it says `soon` or `nothing`. */
    readonly room: () => Room
    readonly space: () => Space
    /** Has a function called whenever there may be more room than before. */
    readonly whenRoom: (callback: () => void) => void
  }
>() {}
