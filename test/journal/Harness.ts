/** Shared by the journal's tests: seeds, small blocks, and a writer that remembers what was acknowledged. */
import { Clock, Effect, Layer, Stream } from "effect"
import type { Exit } from "effect"
import * as SimDisk from "../../sim/world/SimDisk.js"
import type { Command } from "../../src/operations/Operations.js"
import * as Block from "../../src/journal/Block.js"
import { type Cut, cutting } from "../../src/journal/Cut.js"
import type { Disk, DiskError, Locked } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import type { Corrupt, Fenced, Full, Head, NewerFormat, Unknown, Unreadable } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { complete } from "../engine/commands.js"

/** A generator of numbers from 0 to below 1 (mulberry32). */
export const generator = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The operator's cut, with no other task around it. */
export const cutAt = (sequence: number): Effect.Effect<Cut | undefined, Unreadable | Locked | DiskError, Disk> =>
  Effect.scoped(cutting(sequence))

/** Small segments, which a few blocks fill. */
const smallOptions: SegmentJournal.Options = { segmentBytes: 8 * 1024, maxBlockBytes: 4 * 1024 }

export const journalOver = (
  disk: Layer.Layer<Disk, DiskError>,
  options: SegmentJournal.Options = smallOptions
): Layer.Layer<Journal, Corrupt | NewerFormat | Locked | DiskError> => Layer.provide(SegmentJournal.layer(options), disk)

export const outcome = (sequence: number): Uint8Array => Block.sha256(Buffer.from(String(sequence)))

/** A command whose record takes about 21 bytes plus `bytes`, 33 of which are the header. */
export const commandOf = (sequence: number, bytes: number): Command =>
  complete({
    kind: "CancelAllOrders",
    account: 0,
    idempotencyKey: `key-${sequence}`,
    market: -1,
    raw: "-".repeat(Math.max(0, bytes - 38))
  })

/** The chain of blocks as a writer builds it, ahead of what is durable. */
export class Chain {
  private readonly builder = new Block.Builder()
  nextSequence: number
  digest: Uint8Array
  readonly epoch: number

  constructor(head: Pick<Head, "epoch" | "nextSequence" | "digest">) {
    this.epoch = head.epoch
    this.nextSequence = head.nextSequence
    this.digest = head.digest
  }

  /** The next block, with `records` records of `bytes` each. */
  next(records = 1, bytes = 40): Block.Encoded {
    this.builder.begin({ epoch: this.epoch, firstSequence: this.nextSequence, previousDigest: this.digest })
    for (let index = 0; index < records; index++) {
      const sequence = this.nextSequence + index
      this.builder.add(sequence, 1_000 + sequence, commandOf(sequence, bytes))
    }
    const block = this.builder.finish(outcome(this.nextSequence))
    this.nextSequence = block.lastSequence + 1
    this.digest = block.digest
    return block
  }
}

/** Appends a block at the position that its header states. */
export const append = (block: Block.Encoded): Effect.Effect<void, Fenced | Unknown | Full, Journal> =>
  Effect.flatMap(Journal, (journal) => journal.append(block, { epoch: block.epoch, previousDigest: block.previousDigest }))

/** Appends `count` blocks, one after the other, each of up to `records` records. */
export const appendMany = (count: number, records = 1, bytes = 40) =>
  Effect.gen(function*() {
    const chain = new Chain((yield* Journal).opened)
    for (let index = 0; index < count; index++) yield* append(chain.next(1 + index % records, bytes))
  })

/** Everything that is replayed from a sequence on. */
export const replayed = (fromSequence = 1): Effect.Effect<ReadonlyArray<Block.Block>, Unreadable | Unknown, Journal> =>
  Effect.flatMap(Journal, (journal) => Effect.map(Stream.runCollect(journal.replay(fromSequence)), (blocks) => [...blocks]))

export const digestsOf = (blocks: ReadonlyArray<{ readonly digest: Uint8Array }>): ReadonlyArray<string> =>
  blocks.map(({ digest }) => Buffer.from(digest).toString("hex"))

/** A sleep ends once nothing else moves: the journal only waits for its disk, which takes no time here. */
export const idleClock: Clock.Clock = {
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: () => 0,
  unsafeCurrentTimeNanos: () => 0n,
  currentTimeMillis: Effect.succeed(0),
  currentTimeNanos: Effect.succeed(0n),
  sleep: () =>
    Effect.async<void>((resume) => {
      const turn = setImmediate(() => resume(Effect.void))
      return Effect.sync(() => clearImmediate(turn))
    })
}

/** Runs a process on the disk to its end, and closes the journal gracefully. */
export const session = <A, E>(disk: SimDisk.SimDisk, body: Effect.Effect<A, E, Journal>, options = smallOptions) =>
  Effect.runPromise(Effect.withClock(Effect.provide(body, journalOver(disk.mount(), options)), idleClock))

/** The paths of all segments. */
export const segmentFiles = (disk: SimDisk.SimDisk): ReadonlyArray<string> => disk.files().filter((path) => path.endsWith(".seg"))

/** How a process ended: by itself, or because the disk crashed under it. */
export type Ending<A, E> = Exit.Exit<A, E> | "crashed"

/** A disk that crashes before a chosen operation, and hangs with a given probability. */
export class CrashingDisk {
  readonly disk: SimDisk.SimDisk
  hangProbability = 0
  private crashAt = Number.POSITIVE_INFINITY
  private crashNow: () => void = () => undefined

  constructor(private readonly random: () => number, diskSeed: number) {
    this.disk = SimDisk.make({ random: generator(diskSeed), inject: (call) => this.inject(call) })
  }

  /**
   * Runs a process until it ends or begins its `calls`th operation from now; then the disk crashes in any case. A process that hangs is
   * awaited until nothing moves any more.
   */
  run<A, E>(process: (disk: Layer.Layer<Disk>) => Effect.Effect<A, E>, calls: number): Promise<Ending<A, E>> {
    const kind = this.random() < 0.5 ? "power" : "kill"
    return new Promise((resolve) => {
      let over = false
      const end = (ending: Ending<A, E>): void => {
        if (over) return
        over = true
        this.crashAt = Number.POSITIVE_INFINITY
        this.disk.crash(kind)
        resolve(ending)
      }
      this.crashAt = this.disk.calls() + calls
      this.crashNow = () => end("crashed")
      Effect.runFork(Effect.withClock(process(this.disk.mount()), idleClock)).addObserver(end)
    })
  }

  private inject(call: SimDisk.Call): "hang" | undefined {
    if (call.index >= this.crashAt) {
      this.crashNow()
      return undefined
    }
    const writes = call.operation === "writeAt" || call.operation === "dataSync"
    if (!writes || this.hangProbability === 0 || this.random() >= this.hangProbability) return undefined
    inTurns(hangTurns, this.crashNow)
    return "hang"
  }
}

/**
 * Turns of the event loop that a process whose disk hangs goes on for. They are counted, since a timer would end the same process earlier
 * or later.
 */
const hangTurns = 20

const inTurns = (turns: number, act: () => void): void => {
  setImmediate(() => turns === 1 ? act() : inTurns(turns - 1, act))
}
