/**
 * Engines that continue from copies of a journal's states, as a snapshot holds them, beside the replayed engine: each must produce the
 * same events from every record, and the same next wake-up time. What a snapshot omits or reorders shows only in decisions long after it.
 */
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Capacity } from "../../src/engine/State.js"
import type { Committed } from "../../src/sequencer/Feed.js"
import { runRecord } from "../../src/sequencer/Recovery.js"

/** Records between two copies, and for how many records a copy lives. */
const everyRecords = 96
const livesRecords = 192
/** A copy is taken sooner where a record leaves work to the next: a snapshot might hold unfinished work only in part. */
const soonerRecords = 8
/** Most copies at a time; the oldest are dropped. */
const mostCopies = 6

interface Copy {
  readonly engine: Engine
  /** The record after which it was taken. */
  readonly takenAt: number
}

/** The replayed engine's result of a record: where its events begin among those of its block, and its next wake-up time. */
interface Made {
  readonly from: number
  readonly nextDueEpochMs: number
}

export class Copies {
  /** The first difference of a copy; undefined while there is none. */
  fault: string | undefined
  #copies: Array<Copy> = []
  readonly #made = new Map<number, Made>()
  #next: number
  #soonest = 0

  /** `first`: the record after which the first copy is taken. */
  constructor(readonly capacity: Capacity, first: number) {
    this.#next = first % everyRecords
  }

  /** Notes the result of the record at which the replayed engine stands; its events begin at `from`. */
  note(engine: Engine, from: number): void {
    this.#made.set(engine.sequence, { from, nextDueEpochMs: engine.nextDueEpochMs })
  }

  /** Applies a block that the replayed engine has run to the copies. */
  take({ block, events }: Committed, engine: Engine): void {
    if (this.fault !== undefined) return
    for (const copy of this.#copies) {
      this.fault ??= this.#differs(copy, { block, events })
    }
    this.#made.clear()
    this.#copies = this.#copies.filter(({ takenAt }) => engine.sequence - takenAt < livesRecords)
    const { nextDueEpochMs, sequence, state } = engine
    const isHalfDone = sequence >= this.#soonest && nextDueEpochMs <= state.atEpochMs
    if (sequence < this.#next && !isHalfDone) return
    this.#next = sequence + everyRecords
    this.#soonest = sequence + soonerRecords
    if (this.#copies.length === mostCopies) this.#copies.shift()
    const copied = new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), this.capacity))
    this.#copies.push({ engine: copied, takenAt: sequence })
  }

  #differs({ engine, takenAt }: Copy, { block, events }: Pick<Committed, "block" | "events">): string | undefined {
    for (const record of block.records) {
      const { from, nextDueEpochMs } = this.#made.get(record.sequence)!
      const to = this.#made.get(record.sequence + 1)?.from ?? events.length
      engine.state.events.clear()
      const which = `a copy of what stood behind record ${takenAt}`
      try {
        runRecord(engine, record)
      } catch (error) {
        return `${which} fails at record ${record.sequence}: ${String(error)}`
      }
      const { length, words } = engine.state.events
      const isSame = length === to - from && words.subarray(0, length).every((word, index) => word === events[from + index])
      if (!isSame) return `${which} decides record ${record.sequence} otherwise`
      if (engine.nextDueEpochMs !== nextDueEpochMs) {
        return `${which} wakes at ${engine.nextDueEpochMs} behind record ${record.sequence}, and not at ${nextDueEpochMs}`
      }
    }
    return undefined
  }
}
