/**
 * The session that a calendar gives for a time. Local times are converted by a rule that daylight saving cannot make run backwards: a
 * wall-clock time stands for the first moment at which the zone's clocks show it or a later one. A time that the clocks skip becomes the
 * moment of the skip, and for a time that they show twice it is the first. So a span keeps its wall-clock hours, is as much shorter or
 * longer as the day is, and opens and closes once.
 */
import * as DateTime from "effect/DateTime"
import { remembered } from "../domain/Remembered.js"
import type { Session } from "../domain/Session.js"
import { type Calendar, dayMs, exceptionsOf, type Span, weekMs, weekOf } from "./Calendar.js"

/** A market's session at a time, and until when it stays the same. */
export interface Reckoned {
  readonly session: Session
  readonly untilEpochMs: number
}

/** A calendar prepared for lookups. */
export interface Reckoning {
  readonly at: (epochMs: number) => Reckoned
}

/** 1970-01-01 was a Thursday, three days after Monday. */
const firstWeekday = 3

/** Most conversions remembered for a zone: more than one lookup needs, and the next lookup needs most of them again. */
const mostKnown = 256

/** Most zones whose clocks are remembered. */
const mostZones = 64

interface Clocks {
  readonly local: (epochMs: number) => number
  readonly momentOf: (localMs: number) => number
}

/** A zone's clocks. Local times are in milliseconds, as if the wall clock showed UTC. */
const makeClocks = (timeZone: string): Clocks => {
  const zone = DateTime.zoneUnsafeMakeNamed(timeZone)
  const local = (epochMs: number): number => DateTime.toDate(DateTime.unsafeMakeZoned(epochMs, { timeZone: zone })).getTime()
  const resolve = (localMs: number, disambiguation: "earlier" | "later"): number =>
    DateTime.unsafeMakeZoned(localMs, { timeZone: zone, adjustForTimeZone: true, disambiguation }).epochMillis

  const find = (localMs: number): number => {
    const earlier = resolve(localMs, "earlier")
    if (local(earlier) === localMs) return earlier
    // The clocks skip this time. The skip lies between the moments that the offsets before and after it would give.
    let before = earlier
    let behind = resolve(localMs, "later")
    while (behind - before > 1) {
      const middle = Math.floor((before + behind) / 2)
      if (local(middle) < localMs) before = middle
      else behind = middle
    }
    return behind
  }

  /** The first moment at which the clocks show a time or a later one. */
  const momentOf = remembered(mostKnown, find)
  return { local, momentOf }
}

/** Clocks by zone. Asking the system for a zone's offsets is slow, and all calendars of a zone ask for the same moments. */
const clocksOf = remembered(mostZones, makeClocks)

const intersect = (spans: ReadonlyArray<Span>, within: ReadonlyArray<Span>): ReadonlyArray<Span> =>
  spans.flatMap(([from, to]) =>
    within
      .map(([first, last]): Span => [Math.max(from, first), Math.min(to, last)])
      .filter(([first, last]) => first < last)
  )

/** How many days back a lookup begins: further than a cutoff may lie before its close. */
const daysBack = 2
/** A lookup ends with the third session found: by then the first two are complete. */
const lookedAhead = 3

/** Prepares a valid calendar for lookups. */
export const make = (calendar: Calendar): Reckoning => {
  const { local, momentOf } = clocksOf(calendar.timeZone)
  const week = weekOf(calendar)
  const exceptions = exceptionsOf(calendar)
  // Every further week follows its spans unless one of its dates is an exception.
  const mostDays = 8 * (exceptions.size + lookedAhead + 1)

  /** The open spans of a local day, in local time. */
  const openOn = (day: number): ReadonlyArray<Span> => {
    const midnight = day * dayMs
    const sinceMonday = (((day + firstWeekday) * dayMs) % weekMs + weekMs) % weekMs
    const hours = exceptions.get(day)?.map(([from, to]): Span => [from + midnight, to + midnight]) ?? [[midnight, midnight + dayMs]]
    return intersect(week.map(([from, to]): Span => [midnight - sinceMonday + from, midnight - sinceMonday + to]), hours)
  }

  /** The sessions that close after a moment, in order; spans that meet, as at midnight, are joined. */
  const sessionsBehind = (epochMs: number): ReadonlyArray<Span> => {
    const today = Math.floor(local(epochMs) / dayMs)
    const found: Array<Span> = []
    for (let day = today - daysBack; day < today + mostDays && found.length < lookedAhead; day++) {
      for (const span of openOn(day)) {
        const [from, to] = [momentOf(span[0]), momentOf(span[1])]
        const last = found.at(-1)
        if (last !== undefined && last[1] >= from) found[found.length - 1] = [last[0], to]
        else if (from < to) found.push([from, to])
      }
      while (found.length > 1 && found[0]![1] <= epochMs) found.shift()
    }
    return found.filter(([, to]) => to > epochMs)
  }

  const cutoffOf = ([from, to]: Span): number => Math.max(from, to - calendar.riskIncreasingCutoffMs)

  return {
    at: (epochMs) => {
      const [first, second] = sessionsBehind(epochMs)
      const moments = (opens: Span | undefined) => ({
        nextOpenEpochMs: opens?.[0] ?? 0,
        nextCloseEpochMs: first?.[1] ?? 0,
        riskIncreasingOrderCutoffEpochMs: first === undefined ? 0 : cutoffOf(first)
      })
      if (first === undefined || first[0] > epochMs) {
        return { session: { state: "closed", ...moments(first) }, untilEpochMs: first?.[0] ?? epochMs + dayMs }
      }
      const cutoff = cutoffOf(first)
      return epochMs < cutoff
        ? { session: { state: "open", ...moments(second) }, untilEpochMs: cutoff }
        : { session: { state: "reduce_only", ...moments(second) }, untilEpochMs: first[1] }
    }
  }
}
