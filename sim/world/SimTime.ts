/**
 * The one true time of a simulation and everything that is to happen in it: a heap of moments. Idle time
 * costs nothing: time jumps from moment to moment. Equal moments come in an order drawn from the seed, behind what the run itself
 * does then.
 *
 * Faults: none. What a process reads off its clock may be wrong (see `SimClock`); this never is.
 */
import type { SimRandom } from "./SimRandom.js"

/** Takes back what was planned; true if it had not happened. */
export type Cancel = () => boolean

export interface SimTime {
  /** Milliseconds since the epoch, of the true time. */
  readonly nowEpochMs: () => number
  /** Plans something `delayMs` from now (0 is fine: after what runs now). */
  readonly after: (delayMs: number, action: () => void) => Cancel
  /** Plans something at a moment of the true time; at once if that has passed. */
  readonly at: (epochMs: number, action: () => void) => Cancel
  /** The same time, with ties broken by another generator. Who plans through it shifts nobody else's ties. */
  readonly withTies: (ties: SimRandom) => SimTime
  /**
   * The same time, where what is planned through it comes before all else of its moment, in the order in which it was planned. Steps of
   * a run are planned so: a run from the script of these steps plans them otherwise, and meets the same moments in the same order.
   */
  readonly ahead: SimTime
  /** Goes to the next moment and lives it. False if there is none. */
  readonly advance: () => boolean
  /** When the next moment is, or Infinity. */
  readonly nextEpochMs: () => number
}

interface Moment {
  readonly atEpochMs: number
  readonly tie: number
  readonly order: number
  action: (() => void) | undefined
}

const before = (a: Moment, b: Moment): boolean =>
  a.atEpochMs !== b.atEpochMs ? a.atEpochMs < b.atEpochMs : a.tie !== b.tie ? a.tie < b.tie : a.order < b.order

/** Comes before all that a generator draws. */
const firstTie = (): number => -1

/** Time starting at `startEpochMs`; `schedule` breaks ties. */
export const make = (startEpochMs: number, schedule: SimRandom): SimTime => {
  let now = startEpochMs
  let order = 0
  const heap: Array<Moment> = []

  const push = (moment: Moment): void => {
    let at = heap.length
    heap.push(moment)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(moment, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = moment
  }

  const pop = (): Moment | undefined => {
    const top = heap[0]
    const last = heap.pop()
    if (top === undefined || last === undefined || heap.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return top
  }

  const dropCancelled = (): void => {
    while (heap.length > 0 && heap[0]!.action === undefined) pop()
  }

  const advance = (): boolean => {
    dropCancelled()
    const moment = pop()
    if (moment === undefined) return false
    now = moment.atEpochMs
    const { action } = moment
    moment.action = undefined
    if (action !== undefined) action()
    return true
  }

  const nextEpochMs = (): number => {
    dropCancelled()
    return heap[0]?.atEpochMs ?? Number.POSITIVE_INFINITY
  }

  const through = (tie: () => number): SimTime => {
    const at = (epochMs: number, action: () => void): Cancel => {
      const moment: Moment = { atEpochMs: Math.max(now, epochMs), tie: tie(), order: order++, action }
      push(moment)
      return () => {
        const pending = moment.action !== undefined
        moment.action = undefined
        return pending
      }
    }
    return {
      nowEpochMs: () => now,
      after: (delayMs, action) => at(now + delayMs, action),
      at,
      withTies: (ties) => through(ties.next),
      get ahead() {
        return ahead
      },
      advance,
      nextEpochMs
    }
  }

  const ahead = through(firstTie)
  return through(schedule.next)
}
