/**
 * Warns operators of a clock that is behind the journal: it was set back, or was ahead when records were made. `/metrics` and
 * `/readyz` show this while it lasts, the log its beginning and end. And of one that goes ahead while the venue runs, when a stop would
 * still keep the damage small.
 */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import { nanosOf } from "../../domain/Stages.js"
import { clockBehindMs, isClockBehind } from "../http/JournalTime.js"
import type { Metrics } from "../http/Metrics.js"
import type { Notice } from "./Notices.js"

type Times = Parameters<typeof clockBehindMs>[0]

/** Who watches a clock for steps ahead reads a monotonic one too, which nobody sets. */
interface Clocks extends Times {
  readonly monotonicMs: () => number
}

export const clocksOf = (clock: Clock.Clock, state: Times["state"]): Clocks => {
  const nanos = nanosOf(clock)
  return { now: () => clock.unsafeCurrentTimeMillis(), monotonicMs: () => nanos() / 1e6, state }
}

/** Why the venue is not ready while its clock is far behind; undefined while it is not. */
export const clockTrouble = (times: Times): string | undefined =>
  isClockBehind(times)
    ? `the clock lies ${clockBehindMs(times)} ms behind the last record: until it has come there, time stands still, and indices and marks `
      + "with it"
    : undefined

/** How far the clock may be ahead of the journal's last record without a word at a start, milliseconds: a day. */
const toldAheadMs = 86_400_000

/**
 * What a start says where the clock is far ahead of the recovered state; undefined where it is not. Nobody else can tell a venue that
 * stood still from one whose clock was set wrong.
 */
export const aheadAtStart = (
  { atEpochMs, sequence }: Pick<Times["state"], "atEpochMs"> & { readonly sequence: number },
  nowMs: number
): string | undefined =>
  sequence === 0 || nowMs - atEpochMs <= toldAheadMs
    ? undefined
    : `the journal's last record was made ${Math.floor((nowMs - atEpochMs) / toldAheadMs)} days before this start, by this machine's `
      + "clock: if the venue did not stand still that long, the clock is wrong, and everything is journaled ahead of time: stop it, and "
      + "see OPERATIONS, The clock"

/** By how much more the clock may advance between two looks than a monotonic one does without a word, milliseconds. */
const mostAheadMs = 60_000

/** A watch over the clock. */
export interface Watch {
  /** Checks the clock; each check returns what has changed since the previous one. */
  readonly look: () => ReadonlyArray<Notice>
  /** How often the clock has gone ahead. */
  readonly stepsAhead: () => number
}

const wentAhead = (ms: number): Notice => ({
  text:
    `the clock went ahead by ${Math.round(ms)} ms more than the time that passed: it was set, or the machine was suspended. If the clock `
    + "is wrong, stop the venue at once, since everything is journaled ahead of time: see OPERATIONS, The clock",
  isWarning: true
})

/** Watches the clock from the first look on. */
export const make = (clocks: Clocks): Watch => {
  let wasBehind = false
  let steps = 0
  let lastLead: number | undefined
  const turns = (): ReadonlyArray<Notice> => {
    const trouble = clockTrouble(clocks)
    const isBehind = trouble !== undefined
    if (isBehind === wasBehind) return []
    wasBehind = isBehind
    return [{ text: trouble ?? "the clock has come to the last record again", isWarning: isBehind }]
  }
  /**
   * By how much the clock went ahead since the last look, beyond the time that passed. One that is behind the journal is compared with
   * where it would be otherwise: it goes ahead of nothing where it is set right.
   */
  const aheadMs = (): number => {
    const lead = clocks.now() - clocks.monotonicMs()
    lastLead ??= lead + clockBehindMs(clocks)
    const ms = lead - lastLead
    if (ms > 0 || clockBehindMs(clocks) === 0) lastLead = lead
    return ms
  }
  return {
    look: () => {
      const ms = aheadMs()
      if (ms > mostAheadMs) steps++
      return ms > mostAheadMs ? [wentAhead(ms), ...turns()] : turns()
    },
    stepsAhead: () => steps
  }
}

/** Registers the count of steps ahead. */
export const register = (metrics: Context.Tag.Service<Metrics>, watch: Watch): void =>
  metrics.counter(
    "venue_clock_steps_ahead_total",
    "How often the clock has gone ahead by over a minute more than the time that passed: it was set, or the machine was suspended.",
    watch.stepsAhead
  )
