/**
 * The single writer. A turn takes commands from the inbox, stamps sequence and time, runs the engine, and hands one block to the
 * journal; up to four blocks are on their way to the disk at once. Whatever was computed is released only when the sequence at
 * which it was computed is durable.
 *
 * A market that has come back (from a halt, a closed session, a stale index) keeps an outdated mark until its next `MarkTick`, while its
 * index is known to everybody. The writer therefore makes that mark itself, before it takes another command: a tick of the timer would
 * queue behind those that were sent to arrive first.
 *
 * The first failure of any kind stops the writer for good: nothing more is decided, answered or released, and the process ends. It
 * restarts from the journal.
 */
import { assert } from "../domain/Assert.js"
import type { Reached } from "../domain/Branches.js"
import { Refusal } from "../domain/Refusal.js"
import type { Stages } from "../domain/Stages.js"
import type { Share } from "../operations/Operation.js"
import { type Command, entriesOf, type Outcome, refuse, shareOf } from "../operations/Operations.js"
import type { Engine } from "../engine/Engine.js"
import type { ShownTicket } from "../engine/Reads.js"
import { done } from "../operations/Outcome.js"
import * as Block from "../journal/Block.js"
import { type Fenced, type Full, type Journal, type Room, startsKept, type Unknown } from "../journal/Journal.js"
import type * as Context from "effect/Context"
import { Activity } from "./Activity.js"
import { type Bounds, defaultBounds, Inbox } from "./Inbox.js"
import type { FollowerDiffers } from "./Followers.js"
import type { Start } from "./Live.js"
import type { Answer } from "./Submit.js"
import { markTick } from "./Timers.js"
import type { Turns } from "./Turns.js"

/** Most blocks written and not yet durable. */
const maxInFlight = 4

export interface Options {
  readonly inbox: Bounds
  /** Most records in one block. */
  readonly maxRecords: number
  /**
   * A turn takes no further command once its commands have this many entries (orders to place or cancel). A turn is thus short
   * whatever the batches in it, and a cancellation that arrives meanwhile is in the next one.
   */
  readonly maxEntries: number
  /** A block takes no further record from this size on, bytes; well below the journal's own limit. */
  readonly fullBytes: number
}

export const defaultOptions: Options = { inbox: defaultBounds, maxRecords: 1024, maxEntries: 256, fullBytes: 512 * 1024 }

/** Why the writer stopped. */
export type Failure = Fenced | Unknown | Full | FollowerDiffers | { readonly _tag: "Defect"; readonly cause: unknown }

/** Observes incoming commands and what turns take, for monitoring from within the process. */
export interface Watch {
  /** A command arrived, and was queued or refused because the inbox was full. */
  readonly offered: (command: Command, taken: boolean) => void
  /** A turn took a queued command at this time, after this record: `answered` without a record of its own, or decided by the next. */
  readonly taken: (command: Command, sequence: number, atEpochMs: number, answered: Outcome | undefined) => void
  /** A turn made a command of its own, which never was in the queue, and the record after this one decides it. */
  readonly made: (command: Command, sequence: number, atEpochMs: number) => void
}

/** What the writer depends on. */
export interface Leaves {
  readonly engine: Engine
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly turns: Context.Tag.Service<typeof Turns>
  readonly now: () => number
  /** A monotonic clock for measuring durations. */
  readonly monotonicNanos: () => number
  /** Counters of how long commands wait and blocks take. */
  readonly stages: Stages
  /** Called once, when the writer has stopped for good. */
  readonly failed: (failure: Failure) => void
  /** Called after each record while the engine stands at it; its events are the words of the log between `from` and `to`. */
  readonly decided?: (sequence: number, words: Float64Array, from: number, to: number) => void
  /**
   * Called when a block has been handed to the journal, with its events, which are valid until this returns: the engine stands at
   * the block's last sequence.
   */
  readonly built: (block: Block.Encoded, events: Float64Array, told: Float64Array) => void
  /** Called after each block became durable, with its last sequence. The engine may be ahead of it. */
  readonly committed: (lastSequence: number) => void
  readonly watch?: Watch | undefined
  /** Called on rare branches, where a test or a simulation counts them. */
  readonly reached?: Reached | undefined
}

/** A block on its way to the disk, and the callers waiting for it. */
interface InFlight {
  lastSequence: number
  readonly waiting: Array<() => void>
  readonly begunAtNanos: number
  /** When it was handed to the journal. */
  handedAtNanos: number
}

type Phase = "running" | "draining" | "failed"

/** The rooms of a journal, each with less of it than the one before. */
const rooms: ReadonlyArray<Room> = ["all", "soon", "reductions", "marks", "requests", "nothing"]

/** The last room in which commands of a share are still recorded, as a disk fills up. */
const lastRoom: Readonly<Record<Share, Room>> = {
  placement: "all",
  payout: "reductions",
  venue: "marks",
  reduction: "requests",
  revocation: "requests",
  operator: "requests",
  start: "requests"
}

/** Whether a command finds room on a full disk: see `Room`. */
const hasRoom = (room: Room, command: Command): boolean =>
  room === "all" || rooms.indexOf(room) <= rooms.indexOf(lastRoom[shareOf(command)])

/** Bytes of a start's digest that name it. Two starts on copies of one journal at the same time of it have one name. */
const startIdBytes = 8

const startOf = ({ digest, firstSequence }: Pick<Block.Encoded, "digest" | "firstSequence">): Start => ({
  id: Buffer.from(digest).toString("hex", 0, startIdBytes),
  firstSequence
})

export class Sequencer {
  /** Outcomes of commands, by market. */
  readonly activity = new Activity()
  private readonly inbox: Inbox
  private readonly builder = new Block.Builder()
  private readonly inFlight: Array<InFlight> = []
  private building: InFlight | undefined
  private state: Phase = "running"
  private turnAsked = false
  private durable: number
  private previousDigest: Uint8Array
  private latestStarts: ReadonlyArray<Start>
  private drained: (() => void) | undefined

  constructor(private readonly leaves: Leaves, private readonly options: Options) {
    const { opened } = leaves.journal
    assert(leaves.engine.sequence === opened.nextSequence - 1, "the engine has replayed the whole journal")
    this.inbox = new Inbox(options.inbox, leaves.reached)
    this.durable = opened.nextSequence - 1
    this.previousDigest = opened.digest
    this.latestStarts = opened.starts.map(startOf).reverse()
    leaves.journal.whenRoom(() => this.askForTurn())
  }

  /** The last durable sequence. */
  get durableSequence(): number {
    return this.durable
  }

  /** The digest of the last block handed to the journal. */
  get headDigest(): Uint8Array {
    return this.previousDigest
  }

  /** The latest starts of the venue, the present one first, once its first block has been handed to the journal. */
  get starts(): ReadonlyArray<Start> {
    return this.latestStarts
  }

  get inboxDepth(): number {
    return this.inbox.depth
  }

  get blocksInFlight(): number {
    return this.inFlight.length
  }

  /** How long the oldest block in flight has been on its way to the disk, milliseconds; 0 where there is none. */
  get pendingMs(): number {
    const [oldest] = this.inFlight
    return oldest === undefined ? 0 : Math.floor((this.leaves.monotonicNanos() - oldest.begunAtNanos) / 1e6)
  }

  /** See `Submit`. */
  submit(command: Command, answer: Answer, shown?: ShownTicket): void {
    if (this.state === "failed") return
    if (this.state === "draining" || !this.offer(command, answer, shown)) {
      const refused = refuse(Refusal.inboxFull, this.durable, this.now())
      this.activity.answered(command, refused)
      answer(refused)
      return
    }
    this.askForTurn()
  }

  private offer(command: Command, answer: Answer, shown: ShownTicket | undefined): boolean {
    const taken = this.inbox.offer({ command, answer, shown, offeredAtNanos: this.leaves.monotonicNanos() })
    this.leaves.watch?.offered(command, taken)
    return taken
  }

  /** See `Barrier`. */
  whenDurable(sequence: number, callback: () => void): void {
    if (this.state === "failed") return
    if (sequence <= this.durable) {
      callback()
      return
    }
    for (const block of this.inFlight) {
      if (sequence <= block.lastSequence) {
        this.leaves.reached?.("a reader waited for a block in flight")
        block.waiting.push(callback)
        return
      }
    }
    assert(this.building !== undefined && sequence <= this.leaves.engine.sequence, "a read holds at a sequence the engine has reached")
    this.leaves.reached?.("a command waited for the block that is being built")
    this.building.waiting.push(callback)
  }

  /** Accepts no further commands, and calls back when all accepted ones are durable and answered. Never after a failure. */
  drain(callback: () => void): void {
    if (this.state === "failed") return
    this.state = "draining"
    this.drained = callback
    this.whenIdle()
  }

  private now(): number {
    return Math.max(this.leaves.engine.atEpochMs, this.leaves.now())
  }

  private askForTurn(): void {
    if (this.inbox.depth > 0 && this.inFlight.length >= maxInFlight) this.leaves.reached?.("a turn waited for blocks in flight")
    if (this.turnAsked || this.state === "failed" || this.inFlight.length >= maxInFlight || this.inbox.depth === 0) return
    if (this.leaves.journal.room() === "soon") return
    this.turnAsked = true
    this.leaves.turns.schedule(this.turn)
  }

  private whenIdle(): void {
    if (this.drained === undefined || this.state === "failed") return
    if (this.inbox.depth > 0 || this.inFlight.length > 0 || this.building !== undefined) return
    const drained = this.drained
    this.drained = undefined
    drained()
  }

  private readonly turn = (): void => {
    this.turnAsked = false
    if (this.state === "failed" || this.inFlight.length >= maxInFlight || this.leaves.journal.room() === "soon") return
    try {
      this.decide()
    } catch (cause) {
      this.fail({ _tag: "Defect", cause })
      return
    }
    this.askForTurn()
    this.whenIdle()
  }

  /** One turn: decides waiting commands, as far as a block holds them, and sends the block off. */
  private decide(): void {
    const { engine, journal, stages } = this.leaves
    const atEpochMs = this.now()
    const room = journal.room()
    const begunAtNanos = this.leaves.monotonicNanos()
    const block: InFlight = { lastSequence: engine.sequence, waiting: [], begunAtNanos, handedAtNanos: begunAtNanos }
    this.building = block
    this.builder.begin({
      epoch: journal.opened.epoch,
      firstSequence: engine.sequence + 1,
      previousDigest: this.previousDigest
    })
    const { fullBytes, maxEntries, maxRecords } = this.options
    let entries = 0
    while (entries < maxEntries && this.builder.count < maxRecords && this.builder.byteLength < fullBytes) {
      if (engine.isMarkAwaited(atEpochMs) && this.mayMark(room)) {
        this.leaves.reached?.("a market that was back was marked before the next command")
        this.leaves.watch?.made(markTick, engine.sequence, atEpochMs)
        this.record(markTick, atEpochMs, block)
        entries += entriesOf(markTick)
        continue
      }
      const next = this.inbox.take()
      if (next === undefined) break
      const { answer, command, offeredAtNanos, shown } = next
      stages.inbox.record(begunAtNanos - offeredAtNanos)
      entries += entriesOf(command)
      const answered = this.answerWithoutRecord(command, atEpochMs, room, shown)
      this.leaves.watch?.taken(command, engine.sequence, atEpochMs, answered)
      if (answered !== undefined) {
        this.activity.answered(command, answered)
        this.release(answered, answer)
        continue
      }
      const outcome = this.record(command, atEpochMs, block)
      this.activity.answered(command, outcome)
      block.waiting.push(() => answer(outcome))
    }
    this.building = undefined
    if (this.leaves.reached !== undefined && this.inbox.depth > 0) this.markFull(this.leaves.reached)
    if (this.builder.count === 0) return
    const { events } = engine.state
    const said = events.words.subarray(0, events.length)
    this.activity.built(said)
    const encoded = this.builder.finish(Block.sha256(events.bytes()))
    const fence = { epoch: journal.opened.epoch, previousDigest: this.previousDigest }
    this.previousDigest = encoded.digest
    if (encoded.firstSequence === journal.opened.nextSequence) {
      this.latestStarts = [startOf(encoded), ...this.latestStarts].slice(0, startsKept)
    }
    block.handedAtNanos = this.leaves.monotonicNanos()
    stages.engine.record(block.handedAtNanos - begunAtNanos)
    this.inFlight.push(block)
    journal.begin(encoded, fence, (failure) => {
      if (failure === undefined) this.committed(block)
      else this.fail(failure)
    })
    const { told } = events
    this.leaves.built(encoded, said, told.words.subarray(0, told.length))
    events.clear()
  }

  /** Whether the writer may make marks of its own: the first record of a process is its start's. */
  private mayMark(room: Room): boolean {
    const { engine, journal } = this.leaves
    return engine.sequence >= journal.opened.nextSequence && hasRoom(room, markTick)
  }

  /** The answer to a command that needs no record, or finds no room for one; undefined where it is to be recorded. */
  private answerWithoutRecord(command: Command, atEpochMs: number, room: Room, shown: ShownTicket | undefined): Outcome | undefined {
    const { engine } = this.leaves
    const admitted = engine.admit(command, atEpochMs, shown)
    if (admitted !== undefined) return admitted
    if (!hasRoom(room, command)) return refuse(Refusal.journalFull, engine.sequence, atEpochMs)
    // The marks that the timer asked for were made while its command waited.
    if (command.kind !== "MarkTick" || engine.nextTickEpochMs(atEpochMs) <= atEpochMs) return undefined
    return { sequence: engine.sequence, atEpochMs, refusal: Refusal.none, replayed: false, entries: [done] }
  }

  /** Decides a command in the block that is being built. */
  private record(command: Command, atEpochMs: number, block: InFlight): Outcome {
    const { engine } = this.leaves
    const sequence = engine.sequence + 1
    this.builder.add(sequence, atEpochMs, command)
    const { events } = engine.state
    const from = events.length
    const outcome = engine.apply(command, sequence, atEpochMs)
    this.leaves.decided?.(sequence, events.words, from, events.length)
    block.lastSequence = sequence
    return outcome
  }

  /** Reports why the block took no more commands. */
  private markFull(reached: Reached): void {
    if (this.builder.count >= this.options.maxRecords) reached("a block was full by its records")
    else if (this.builder.byteLength >= this.options.fullBytes) reached("a block was full by its size")
  }

  /** Answers a command that was decided without a record, once the state it was decided on is durable. */
  private release(outcome: Outcome, answer: Answer): void {
    this.whenDurable(outcome.sequence, () => answer(outcome))
  }

  private committed(block: InFlight): void {
    if (this.state === "failed") return
    try {
      const first = this.inFlight.shift()
      assert(first === block, "blocks become durable in the order they were written")
      this.durable = block.lastSequence
      this.leaves.stages.disk.record(this.leaves.monotonicNanos() - block.handedAtNanos)
      for (const waiting of block.waiting) waiting()
      this.leaves.committed(block.lastSequence)
    } catch (cause) {
      this.fail({ _tag: "Defect", cause })
      return
    }
    this.askForTurn()
    this.whenIdle()
  }

  /** Stops for good, as after a failure of its own. */
  fail(failure: Failure): void {
    if (this.state === "failed") return
    this.state = "failed"
    this.leaves.failed(failure)
  }
}
