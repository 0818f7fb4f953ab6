/**
 * Engines that go on from copies of a journal's states, as a snapshot has them, beside the one that is replayed: whatever a record does to
 * that one it does to them, event for event, and each of them wants to be woken at the same time. What a snapshot leaves out, or has in
 * another order, shows only in what is decided long after it.
 */
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Capacity } from "../../src/engine/State.js"
import type { Committed } from "../../src/sequencer/Feed.js"
import { runRecord } from "../../src/sequencer/Recovery.js"

/** A copy is taken behind so many records, and lives for so many. */
const everyRecords = 96
const livesRecords = 192
/** Where work is left to the next record, a copy is taken sooner: what is half done is what a snapshot may tell in part. */
const soonerRecords = 8
/** So many live at a time; the oldest give way. */
const mostCopies = 6

interface Copy {
  readonly engine: Engine
  /** Behind which record it was taken. */
  readonly takenAt: number
}

/** What the replayed engine made of a record: where its events begin among those of its block, and when it is to be woken next. */
interface Made {
  readonly from: number
  readonly nextDueEpochMs: number
}

export class Copies {
  /** Where a copy first decided otherwise; undefined while none has. */
  fault: string | undefined
  #copies: Array<Copy> = []
  readonly #made = new Map<number, Made>()
  #next: number
  #soonest = 0

  /** `first`: the record behind which the first copy is taken. */
  constructor(readonly capacity: Capacity, first: number) {
    this.#next = first % everyRecords
  }

  /** The replayed engine stands at a record, whose events begin there. */
  note(engine: Engine, from: number): void {
    this.#made.set(engine.sequence, { from, nextDueEpochMs: engine.nextDueEpochMs })
  }

  /** A block that the replayed engine has run. */
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
