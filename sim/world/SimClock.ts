/**
 * The clock of one simulated process. Sleeping follows the true time, as a monotonic timer does, and so do its nanoseconds, which
 * nobody sets; what the clock reads is the true time plus an offset that faults move.
 *
 * Fault model: the reading jumps forward or back by up to hours, or freezes and later thaws (which is a jump).
 * Sleeps are never early and never lost, save by the crash of the process, which abandons them all.
 */
import { Clock, Duration, Effect } from "effect"
import type { Cancel, SimTime } from "./SimTime.js"

export interface SimClock extends Clock.Clock {
  /** Moves the reading by an offset in milliseconds, either way. */
  readonly jump: (offsetMs: number) => void
  /** Stops the reading where it is. */
  readonly freeze: () => void
  /** Lets the reading go on from where it stopped. */
  readonly thaw: () => void
  /** The reading, without counting as told: for observers of the process. */
  readonly seen: () => number
  /** The earliest and latest readings told since the last call of this. */
  readonly takeTold: () => { readonly lowest: number; readonly highest: number }
  /** Reads the true time again. */
  readonly heal: () => void
  /** How often the reading was moved ahead. */
  readonly movedAhead: () => number
  /** Whether nobody has moved, stopped or healed the reading since this true time. */
  readonly isUntouchedSince: (atEpochMs: number) => boolean
  /** Abandons every sleeper: the process has died. */
  readonly abandon: () => void
}

/** A real timer cannot be set further ahead; such a sleep never ends. */
const maxTimerMs = 2 ** 31 - 1

/** What of a clock tells its time. */
const clockOf = (millis: () => number, nanos: () => bigint): Omit<Clock.Clock, "sleep"> => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: millis,
  unsafeCurrentTimeNanos: nanos,
  currentTimeMillis: Effect.sync(millis),
  currentTimeNanos: Effect.sync(nanos)
})

/** A clock over the true time. A sleeper's wake-up is run through `wake`, the process's own ready list. */
export const make = (time: SimTime, wake: (task: () => void) => void): SimClock => {
  let offsetMs = 0
  let frozenAtEpochMs: number | undefined
  /** The true time at which the reading was last moved, stopped or let go on. */
  let touchedAtEpochMs = 0
  let ahead = 0
  let abandoned = false
  const begunAtEpochMs = time.nowEpochMs()
  let lowest = Number.POSITIVE_INFINITY
  let highest = 0

  // Clocks read whole milliseconds; the true time is finer.
  const read = (): number => Math.floor(frozenAtEpochMs ?? Math.max(0, time.nowEpochMs() + offsetMs))
  const tell = (): number => {
    const told = read()
    lowest = Math.min(lowest, told)
    highest = Math.max(highest, told)
    return told
  }
  const touch = (): void => {
    touchedAtEpochMs = time.nowEpochMs()
  }
  const moving = (move: () => void): void => {
    const before = read()
    touch()
    move()
    if (read() > before) ahead++
  }
  const monotonicNanos = (): bigint => BigInt(Math.floor((time.nowEpochMs() - begunAtEpochMs) * 1e6))
  const plan = (task: () => void, millis: number): Cancel =>
    millis > maxTimerMs ? () => false : time.after(millis, () => {
      if (!abandoned) wake(task)
    })

  return {
    ...clockOf(tell, monotonicNanos),
    seen: read,
    takeTold: () => {
      const taken = { lowest, highest }
      lowest = Number.POSITIVE_INFINITY
      highest = 0
      return taken
    },
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        const cancel = plan(() => resume(Effect.void), Duration.toMillis(duration))
        return Effect.sync(() => {
          cancel()
        })
      }),
    isUntouchedSince: (atEpochMs) => frozenAtEpochMs === undefined && touchedAtEpochMs < atEpochMs,
    movedAhead: () => ahead,
    jump: (by) =>
      moving(() => {
        if (frozenAtEpochMs === undefined) offsetMs += by
        else frozenAtEpochMs = Math.max(0, frozenAtEpochMs + by)
      }),
    freeze: () => {
      touch()
      frozenAtEpochMs = read()
    },
    thaw: () => {
      touch()
      if (frozenAtEpochMs === undefined) return
      offsetMs = frozenAtEpochMs - time.nowEpochMs()
      frozenAtEpochMs = undefined
    },
    heal: () =>
      moving(() => {
        offsetMs = 0
        frozenAtEpochMs = undefined
      }),
    abandon: () => {
      abandoned = true
    }
  }
}
