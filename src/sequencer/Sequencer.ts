/**
 * The single writer. A turn takes what waits in the inbox, stamps sequence and time, runs the engine, and
 * hands one block to the journal; up to four blocks are on their way to the disk at once. Whatever was
 * computed is let out only when the sequence it was computed at is durable.
 *
 * The first failure of any kind stops the writer for good: nothing more is decided, answered or let out,
 * and the process ends. It starts again from the journal.
 */
import { assert } from "../domain/Assert.js"
import type { Reached } from "../domain/Marks.js"
import { Refusal } from "../domain/Refusal.js"
import type { Stages } from "../domain/Stages.js"
import { type Command, entriesOf, type Outcome, refuse, shareOf } from "../operations/Operations.js"
import type { Engine } from "../engine/Engine.js"
import type { ShownTicket } from "../engine/Reads.js"
import * as Block from "../journal/Block.js"
import type { Fenced, Full, Journal, Room, Unknown } from "../journal/Journal.js"
import type * as Context from "effect/Context"
import { Activity } from "./Activity.js"
import { type Bounds, defaultBounds, Inbox } from "./Inbox.js"
import type { FollowerDiffers } from "./Followers.js"
import type { Answer } from "./Submit.js"
import type { Turns } from "./Turns.js"

/** Blocks written and not yet durable. */
const maxInFlight = 4

export interface Options {
  readonly inbox: Bounds
  /** Most records one block takes. */
  readonly maxRecords: number
  /**
   * A turn takes no further command once the commands it took have so many entries: orders to place, orders to cancel. So
   * a turn is short whatever the batches in it, and a cancel that arrives meanwhile is in the next one.
   */
  readonly maxEntries: number
  /** A block takes no further record from this size on, bytes; well below the journal's own bound. */
  readonly fullBytes: number
}

export const defaultOptions: Options = { inbox: defaultBounds, maxRecords: 1024, maxEntries: 256, fullBytes: 512 * 1024 }

/** Why the writer stopped. */
export type Failure = Fenced | Unknown | Full | FollowerDiffers | { readonly _tag: "Defect"; readonly cause: unknown }

/** Told of what comes to the writer and what its turns take: for whoever watches the process from inside. */
export interface Watch {
  /** A command came, and was taken into the inbox or refused for want of room. */
  readonly offered: (command: Command, taken: boolean) => void
  /** A turn took a command at this time, behind this record: `answered` without one of its own, or decided by the next. */
  readonly taken: (command: Command, sequence: number, atEpochMs: number, answered: Outcome | undefined) => void
}

/** What the writer needs from outside. */
export interface Leaves {
  readonly engine: Engine
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly turns: Context.Tag.Service<typeof Turns>
  readonly now: () => number
  /** A clock that nobody sets: how long things take is told by it. */
  readonly monotonicNanos: () => number
  /** Where it counts how long commands wait and blocks take. */
  readonly stages: Stages
  /** Called once, when the writer has stopped for good. */
  readonly failed: (failure: Failure) => void
  /** Called behind each record while the engine stands at it: what it decided are the words of the log from a place on. */
  readonly decided?: (sequence: number, words: Float64Array, from: number, to: number) => void
  /**
   * Called when a block has been handed to the journal, with the events that it came to, which hold until this returns:
   * the engine stands at its last sequence.
   */
  readonly built: (block: Block.Encoded, events: Float64Array, told: Float64Array) => void
  /** Called after each block became durable, with its last sequence. The engine may be ahead of it. */
  readonly committed: (lastSequence: number) => void
  readonly watch?: Watch | undefined
  /** Told of rare branches, where somebody counts them. */
  readonly reached?: Reached | undefined
}

/** A block on its way to the disk, and who waits for it. */
interface InFlight {
  lastSequence: number
  readonly waiting: Array<() => void>
  readonly begunAtNanos: number
  /** When it was handed to the journal. */
  handedAtNanos: number
}

type Phase = "running" | "draining" | "failed"

/**
 * Whether a command finds room on a full disk: see `Room`. A start does as long as anything does, because without its record
 * nothing else is served.
 */
const hasRoom = (room: Room, command: Command): boolean => {
  if (room === "nothing") return false
  const share = shareOf(command)
  if (share === "placement") return false
  return room !== "requests" || share !== "venue" || command.kind === "StartVenue"
}

export class Sequencer {
  /** What came of commands, by market. */
  readonly activity = new Activity()
  private readonly inbox: Inbox
  private readonly builder = new Block.Builder()
  private readonly inFlight: Array<InFlight> = []
  private building: InFlight | undefined
  private state: Phase = "running"
  private turnAsked = false
  private durable: number
  private previousDigest: Uint8Array
  private drained: (() => void) | undefined

  constructor(private readonly leaves: Leaves, private readonly options: Options) {
    const { opened } = leaves.journal
    assert(leaves.engine.sequence === opened.nextSequence - 1, "the engine has replayed the whole journal")
    this.inbox = new Inbox(options.inbox, leaves.reached)
    this.durable = opened.nextSequence - 1
    this.previousDigest = opened.digest
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

  get inboxDepth(): number {
    return this.inbox.depth
  }

  get blocksInFlight(): number {
    return this.inFlight.length
  }

  /** For how long the oldest block in flight has been on its way to the disk, milliseconds; 0 where none is. */
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

  /** Takes nothing more; calls back when all that was taken is durable and answered. Never after a failure. */
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

  /** One turn: decides what waits, as far as a block holds, and sends the block off. */
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
      const next = this.inbox.take()
      if (next === undefined) break
      const { answer, command, offeredAtNanos, shown } = next
      stages.inbox.record(begunAtNanos - offeredAtNanos)
      entries += entriesOf(command)
      const admitted = engine.admit(command, atEpochMs, shown)
      const answered = admitted
        ?? (room === "all" || hasRoom(room, command) ? undefined : refuse(Refusal.journalFull, engine.sequence, atEpochMs))
      this.leaves.watch?.taken(command, engine.sequence, atEpochMs, answered)
      if (answered !== undefined) {
        this.activity.answered(command, answered)
        this.release(answered, answer)
        continue
      }
      const sequence = engine.sequence + 1
      this.builder.add(sequence, atEpochMs, command)
      const from = engine.state.events.length
      const outcome = engine.apply(command, sequence, atEpochMs)
      this.leaves.decided?.(sequence, engine.state.events.words, from, engine.state.events.length)
      this.activity.answered(command, outcome)
      block.lastSequence = sequence
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

  /** Why the block took no more of what waits. */
  private markFull(reached: Reached): void {
    if (this.builder.count >= this.options.maxRecords) reached("a block was full by its records")
    else if (this.builder.byteLength >= this.options.fullBytes) reached("a block was full by its size")
  }

  /** Answers what was decided without a record, once the state it was decided on is durable. */
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

  /** Stops for good, as after any failure of its own. */
  fail(failure: Failure): void {
    if (this.state === "failed") return
    this.state = "failed"
    this.leaves.failed(failure)
  }
}
