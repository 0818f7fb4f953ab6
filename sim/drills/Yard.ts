/**
 * A small journal of which every byte is known, on a simulated disk of its own, and a process that works on it. Its blocks hold records of
 * the run's journal under other numbers, and are laid out here, by `src/journal/README.md`, not by the venue's writer.
 */
import { Cause, Effect, Exit, Layer, Logger, Option } from "effect"
import type { Scope } from "effect"
import type { Reached } from "../../src/domain/Branches.js"
import * as Block from "../../src/journal/Block.js"
import { Disk } from "../../src/journal/Disk.js"
import type { Record } from "../../src/journal/Record.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SimClock from "../world/SimClock.js"
import * as SimDisk from "../world/SimDisk.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as SimScheduler from "../world/SimScheduler.js"
import * as SimTime from "../world/SimTime.js"

/** A block, where it lies, and its bytes. */
export interface Laid {
  readonly segment: number
  readonly offset: number
  readonly bytes: Buffer
  readonly epoch: number
  readonly firstSequence: number
  readonly lastSequence: number
  /** The time of the last record. */
  readonly atEpochMs: number
  readonly previousDigest: Buffer
  readonly digest: Buffer
  readonly outcomeDigest: Buffer
  /** The last sequence that was durable when it was written. */
  readonly synced: number
  readonly records: ReadonlyArray<Record>
}

/** A segment as it was laid out. */
export interface LaidSegment {
  readonly first: number
  readonly bytes: number
  /** Where its blocks end. */
  readonly end: number
}

/** What a yard is made of. */
export interface Shape {
  /** How many segments there are. */
  readonly segments: number
  readonly segmentBytes: () => number
  readonly blocksInOne: () => number
  readonly recordsInOne: () => number
  /** Whether all blocks are of one epoch, as one writer leaves them. */
  readonly isOfOneWriter?: boolean
}

const sector = Block.sectorBytes

/** Most blocks that are written and not yet durable. */
export const mostUnderWay = 4

export const endOf = ({ bytes, offset }: Laid): number => offset + bytes.length

/** A process's end: what it came to, or that the disk crashed under it. */
export type Ending<A, E> = Exit.Exit<A, E> | "crashed"

export class Yard {
  readonly disk: SimDisk.SimDisk
  readonly time: SimTime.SimTime
  readonly blocks: Array<Laid> = []
  readonly segments: Array<LaidSegment> = []
  /** What processes have logged. */
  readonly logged: Array<string> = []
  /** Called before each operation of the disk. */
  inject: (call: SimDisk.Call) => SimDisk.Injected | undefined = () => undefined

  constructor(readonly random: SimRandom, readonly samples: ReadonlyArray<Record>) {
    this.time = SimTime.make(0, random.split("time"))
    this.disk = this.emptyDisk()
  }

  /** Another disk that asks `inject` too. */
  emptyDisk(): SimDisk.SimDisk {
    const random = this.random.split("disk").next
    return SimDisk.make({ random, latencyMs: { min: 0, max: 0 }, inject: (call) => this.inject(call) })
  }

  get last(): Laid {
    return this.blocks.at(-1)!
  }

  get nextSequence(): number {
    return (this.blocks.at(-1)?.lastSequence ?? 0) + 1
  }

  /** The sequences of all records, and the next one. */
  anySequence(): number {
    return this.random.between(1, this.nextSequence)
  }

  /** A block that would follow another. */
  successor(before: Laid | undefined, place: Block.Position, records: number, epoch: number, synced: number): Laid {
    const firstSequence = (before?.lastSequence ?? 0) + 1
    let atEpochMs = before?.atEpochMs ?? 1_000
    const made = Array.from({ length: records }, (_, index): Record => {
      atEpochMs += this.random.below(3)
      return { sequence: firstSequence + index, atEpochMs, command: this.random.pick(this.samples).command }
    })
    return layOut(place, made, {
      epoch,
      synced,
      previousDigest: before?.digest ?? Block.genesisDigest,
      outcomeDigest: this.random.bytes(32)
    })
  }

  /** Lays out a journal: blocks of growing epochs, up to four at a time not durable, in segments with zeros at their ends. */
  layOut({ blocksInOne, isOfOneWriter, recordsInOne, segmentBytes, segments }: Shape): this {
    let epoch = 1
    for (let index = 0; index < segments; index++) {
      const first = this.nextSequence
      const previousDigest = this.blocks.at(-1)?.digest ?? Block.genesisDigest
      const start = this.blocks.length
      let offset = sector
      let bytes = segmentBytes()
      for (let left = blocksInOne(); left > 0; left--) {
        if (isOfOneWriter !== true) epoch += this.random.below(4) === 0 ? 1 : 0
        const shown = this.blocks[Math.max(start - 1, this.blocks.length - 1 - this.random.below(mostUnderWay))]?.lastSequence ?? 0
        const durable = Math.max(shown, this.blocks.at(-1)?.synced ?? 0)
        const block = this.successor(this.blocks.at(-1), { segment: first, offset }, recordsInOne(), epoch, durable)
        offset += block.bytes.length
        this.blocks.push(block)
      }
      bytes = Math.max(bytes, offset + sector * this.random.between(1, 8))
      const file = Buffer.alloc(bytes)
      Segment.encodeHeader({ firstSequence: first, previousDigest, segmentBytes: bytes }).copy(file)
      for (const block of this.blocks.slice(start)) block.bytes.copy(file, block.offset)
      this.disk.create(Segment.pathOf(first), file)
      this.segments.push({ first, bytes, end: offset })
    }
    return this.settled()
  }

  /** Makes the names of all directories outlive a power failure. */
  settled(): this {
    this.run(Effect.flatMap(Disk, ({ syncDirectory }) => syncDirectory("")))
    return this
  }

  /** The file that a segment is laid out to. */
  fileOf(first: number): Buffer {
    return Buffer.from(this.disk.bytes(Segment.pathOf(first)))
  }

  /** Runs a process to its end, or until the disk crashes under it and nothing moves any more. */
  run<A, E>(work: Effect.Effect<A, E, Disk | Scope.Scope>, disk: SimDisk.SimDisk = this.disk): Ending<A, E> {
    const scheduler = SimScheduler.make(this.random, 0)
    const heard = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void this.logged.push(String(message))))
    const clock = Layer.setClock(SimClock.make(this.time, scheduler.ready))
    const fiber = Effect.runFork(
      Effect.scoped(work).pipe(Effect.provide(disk.mount()), Effect.provide(heard), Effect.provide(clock)),
      { scheduler }
    )
    let exit: Exit.Exit<A, E> | undefined
    fiber.addObserver((result) => {
      exit = result
    })
    while (exit === undefined && (scheduler.runOne() || this.time.advance()));
    return exit ?? "crashed"
  }

  /**
   * Runs an effect until the disk loses its process or its power, which it does before one of the operations that it begins from now on.
   */
  runUntilCrash<A, E>(
    work: Effect.Effect<A, E, Disk | Scope.Scope>,
    calls: number,
    kind: SimDisk.Crash,
    disk: SimDisk.SimDisk = this.disk
  ): Ending<A, E> {
    let left = calls
    this.inject = () => {
      if (left-- === 0) disk.crash(kind)
      return undefined
    }
    const ending = this.run(work, disk)
    this.inject = () => undefined
    return ending
  }
}

/** A block of records at its place. */
export const layOut = (
  { offset, segment }: Block.Position,
  records: ReadonlyArray<Record>,
  given: { readonly epoch: number; readonly synced: number; readonly previousDigest: Uint8Array; readonly outcomeDigest: Uint8Array }
): Laid => {
  const builder = new Block.Builder()
  builder.begin({ epoch: given.epoch, firstSequence: records[0]!.sequence, previousDigest: given.previousDigest })
  for (const { atEpochMs, command, sequence } of records) builder.add(sequence, atEpochMs, command)
  const encoded = builder.finish(given.outcomeDigest)
  Block.place(encoded, { segment, offset }, given.synced)
  const { atEpochMs, bytes, epoch, firstSequence, lastSequence } = encoded
  return {
    segment,
    offset,
    bytes,
    epoch,
    firstSequence,
    lastSequence,
    atEpochMs,
    previousDigest: Buffer.from(given.previousDigest),
    digest: Buffer.from(encoded.digest),
    outcomeDigest: Buffer.from(given.outcomeDigest),
    synced: given.synced,
    records
  }
}

/** Offsets in a block, by the published layout. */
export const at = { checksum: 8, segment: 16, content: 40, codec: 40, epoch: 44, count: 56, recordsBytes: 60, records: 128 } as const
const endBytes = 40

/** Gives a changed block the digest and the checksum of what it holds now. */
export const reseal = (bytes: Buffer): Buffer => {
  const digestAt = bytes.length - endBytes
  Block.sha256(bytes.subarray(at.content, digestAt)).copy(bytes, digestAt)
  Block.sha256(bytes.subarray(at.segment, at.records)).copy(bytes, at.checksum, 0, at.segment - at.checksum)
  return bytes
}

/** Where a record of a block begins. */
export const recordAt = (bytes: Buffer, index: number): number => {
  let from: number = at.records
  for (let left = index; left > 0; left--) from += recordHeaderBytes + bytes.readUInt32LE(from)
  return from
}

/** What comes before a record's own header: its length, sequence, time and kind. */
export const recordHeaderBytes = 21

/** A value as it is compared. */
const shown = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => {
    const bytes = each as { readonly type?: unknown; readonly data?: unknown } | null
    if (each instanceof Uint8Array) return Buffer.from(each).toString("hex")
    return typeof bytes === "object" && bytes?.type === "Buffer" ? Buffer.from(bytes.data as ReadonlyArray<number>).toString("hex") : each
  }) ?? "nothing"

/** The first thing that was not as it must be. */
export class Judge {
  fault: string | undefined

  /** `reached`: called with the marks that count although only a drill reaches them, or hardly anything else does. */
  constructor(readonly reached: Reached = () => {}) {}

  /** Notes where a value differs from the only proper one. */
  equal(what: string, came: unknown, must: unknown): void {
    if (this.fault !== undefined) return
    const [is, due] = [shown(came), shown(must)]
    if (is !== due) this.fault = `${what}: ${cutOff(is)} instead of ${cutOff(due)}`
  }

  holds(what: string, isSo: boolean): void {
    if (!isSo) this.fault ??= what
  }
}

const shownCharacters = 600
const cutOff = (text: string): string => text.length > shownCharacters ? `${text.slice(0, shownCharacters)}...` : text

/** The members by which a refusal is judged. */
const judged = ["_tag", "segment", "offset", "sequence", "missing", "codec"] as const

/** What an ending is judged by: the value, the members of the refusal, or anything else in words. */
export const endingOf = <A, E>(ending: Ending<A, E>): unknown => {
  if (ending === "crashed") return "it never ended"
  if (Exit.isSuccess(ending)) return ending.value === undefined ? "done" : ending.value
  const failure = Option.getOrUndefined(Cause.failureOption(ending.cause)) as Readonly<globalThis.Record<string, unknown>> | undefined
  if (failure === undefined) return Cause.pretty(ending.cause).split("\n", 2).join(" ")
  return Object.fromEntries(judged.flatMap((name) => failure[name] === undefined ? [] : [[name, failure[name]]]))
}

/** The refusal's words; empty where it did not refuse. */
export const wordsOf = <A, E>(ending: Ending<A, E>): string =>
  ending === "crashed" || Exit.isSuccess(ending) ? "" : String((Cause.squash(ending.cause) as Error).message)
