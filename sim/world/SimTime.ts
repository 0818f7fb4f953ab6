/**
 * The one true time of a simulation and everything planned in it: a heap of moments. Idle time costs nothing: time jumps from moment to
 * moment. Ties come in an order drawn from the seed, after the run's own steps of that moment.
 *
 * Faults: none. A process's clock may be wrong (see `SimClock`); this never is.
 */
import type { SimRandom } from "./SimRandom.js"

/** Cancels a planned action; true if it had not run. */
export type Cancel = () => boolean

export interface SimTime {
  /** Milliseconds since the epoch, of the true time. */
  readonly nowEpochMs: () => number
  /** Plans something `delayMs` from now (0 is fine: after what runs now). */
  readonly after: (delayMs: number, action: () => void) => Cancel
  /** Plans something at a moment of the true time; at once if that has passed. */
  readonly at: (epochMs: number, action: () => void) => Cancel
  /** A view of this time with ties broken by another generator. Actions planned through it do not shift other ties. */
  readonly withTies: (ties: SimRandom) => SimTime
  /**
   * A view of this time. Actions planned through it come before all others of their moment, in the order of planning. A run's steps are
   * planned this way: a run from the script of these steps plans them at other times, and still executes them in the same order.
   */
  readonly ahead: SimTime
  /** Goes to the next moment and runs it. False if there is none. */
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

/** Comes before every tie that a generator draws. */
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
