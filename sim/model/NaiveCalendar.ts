/**
 * A market's calendar at a moment, evaluated as a person with only the calendar and a wall clock would: it checks whether a time lies in a
 * span of the week and in the hours of its date, and walks from one time at which that may change to the next. A clock that is set back
 * shows nothing new until it has caught up: until then the latest time that it has shown counts.
 */
import type { Session } from "../../src/domain/Session.js"

interface Hours {
  readonly opens: string
  readonly closes: string
}

/** A calendar as the markets file writes it. */
interface Written {
  readonly timeZone: string
  readonly weekly: ReadonlyArray<Hours>
  readonly holidays: ReadonlyArray<string>
  readonly shortenedDays: ReadonlyArray<{ readonly date: string; readonly hours: ReadonlyArray<Hours> }>
  readonly riskIncreasingCutoffMs: number
}

export interface Said {
  readonly session: Session
  readonly untilEpochMs: number
}

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
const weekMs = 7 * dayMs

/** Assumes that clocks are set only at full quarters of an hour, by full quarters, and by no more than some hours. */
const quarterMs = 15 * minuteMs
const mostSetBackMs = 3 * hourMs

/** Days of the week as dates of UTC count them. */
const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

const clockOf = (text: string): number => {
  const [hour = 0, minute = 0, second = 0] = text.split(":").map(Number)
  return hour * hourMs + minute * minuteMs + second * 1_000
}

/** Milliseconds since the beginning of Sunday. */
const ofWeek = (text: string): number => days.indexOf(text.split(" ")[0]!) * dayMs + clockOf(text.split(" ")[1]!)

/** A zone's wall clock; its times are milliseconds as if they were UTC. */
class WallClock {
  readonly #format: Intl.DateTimeFormat
  readonly #offsets = new Map<number, number>()

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric"
    })
  }

  /** The latest time that the clock has shown by a moment. */
  shown(epochMs: number): number {
    const offset = this.#offset(epochMs)
    for (let quarter = Math.floor(epochMs / quarterMs) * quarterMs; quarter > epochMs - mostSetBackMs; quarter -= quarterMs) {
      const before = this.#offset(quarter - 1)
      if (before > offset) return Math.max(epochMs + offset, quarter - 1 + before)
      if (before < offset) return epochMs + offset
    }
    return epochMs + offset
  }

  /** The first moment after `behindMs` at which the clock has shown a time that lies ahead. */
  reaches(wallMs: number, behindMs: number): number {
    let before = behindMs
    let by = behindMs + (wallMs - this.shown(behindMs))
    while (this.shown(by) < wallMs) by += quarterMs
    if (this.shown(by - 1) < wallMs) return by
    while (by - before > 1) {
      const middle = Math.floor((before + by) / 2)
      if (this.shown(middle) < wallMs) before = middle
      else by = middle
    }
    return by
  }

  #offset(epochMs: number): number {
    const quarter = Math.floor(epochMs / quarterMs)
    const known = this.#offsets.get(quarter)
    if (known !== undefined) return known
    const shown = new Map(this.#format.formatToParts(quarter * quarterMs).map(({ type, value }) => [type, Number(value)]))
    const part = (type: Intl.DateTimeFormatPartTypes): number => shown.get(type)!
    const wall = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"))
    this.#offsets.set(quarter, wall - quarter * quarterMs)
    return wall - quarter * quarterMs
  }
}

export class NaiveCalendar {
  readonly #clock: WallClock
  readonly #mostDays: number
  readonly #weekly: ReadonlyArray<readonly [opens: number, closes: number]>

  constructor(readonly calendar: Written) {
    this.#weekly = calendar.weekly.map(({ closes, opens }) => [ofWeek(opens), ofWeek(closes)])
    this.#clock = new WallClock(calendar.timeZone)
    // A week of ordinary dates has a session, and each exception removes one at most.
    this.#mostDays = 8 * (calendar.holidays.length + calendar.shortenedDays.length + 2)
  }

  at(epochMs: number): Said {
    const { riskIncreasingCutoffMs } = this.calendar
    if (!this.#isOpen(epochMs)) {
      const opens = this.#turns(epochMs)
      const closes = opens === undefined ? undefined : this.#turns(opens)
      if (opens === undefined || closes === undefined) return { session: this.#said("closed", 0, 0, 0), untilEpochMs: epochMs + dayMs }
      const cutoff = Math.max(opens, closes - riskIncreasingCutoffMs)
      return { session: this.#said("closed", opens, closes, cutoff), untilEpochMs: opens }
    }
    const closes = this.#turns(epochMs)!
    const opens = this.#turns(closes) ?? 0
    const cutoff = this.#openSince(epochMs, closes - riskIncreasingCutoffMs)
    return epochMs < cutoff
      ? { session: this.#said("open", opens, closes, cutoff), untilEpochMs: cutoff }
      : { session: this.#said("reduce_only", opens, closes, cutoff), untilEpochMs: closes }
  }

  #said(state: Session["state"], nextOpenEpochMs: number, nextCloseEpochMs: number, riskIncreasingOrderCutoffEpochMs: number): Session {
    return { state, nextOpenEpochMs, nextCloseEpochMs, riskIncreasingOrderCutoffEpochMs }
  }

  #isOpen(epochMs: number): boolean {
    const wall = this.#clock.shown(epochMs)
    const clock = ((wall % dayMs) + dayMs) % dayMs
    const week = new Date(wall).getUTCDay() * dayMs + clock
    return this.#hoursOf(wall).some(([from, to]) => from <= clock && clock < to)
      && this.#weekly.some(([opens, closes]) => (week - opens + weekMs) % weekMs < (closes - opens + weekMs) % weekMs)
  }

  /** The open hours of a time's date, since its midnight: on an ordinary date all of them. */
  #hoursOf(wall: number): ReadonlyArray<readonly [from: number, to: number]> {
    const { holidays, shortenedDays } = this.calendar
    const date = new Date(wall).toISOString().slice(0, 10)
    if (holidays.includes(date)) return []
    const shortened = shortenedDays.find((day) => day.date === date)
    return shortened === undefined ? [[0, dayMs]] : shortened.hours.map(({ closes, opens }) => [clockOf(opens), clockOf(closes)])
  }

  /** The times of a date at which the market may open or close, in order: its midnight, its hours, and the week's. */
  #timesOf(midnight: number): ReadonlyArray<number> {
    const hours = this.#hoursOf(midnight)
    const weekday = new Date(midnight).getUTCDay() * dayMs
    const week = hours.length === 0 ? [] : this.#weekly.flat().map((time) => time - weekday).filter((time) => time >= 0 && time < dayMs)
    return [0, ...hours.flat(), ...week].map((time) => midnight + time).sort((one, other) => one - other)
  }

  /** When a closed market opens next, or an open one closes; undefined where it never does. */
  #turns(epochMs: number): number | undefined {
    const isOpen = this.#isOpen(epochMs)
    const first = Math.floor(this.#clock.shown(epochMs) / dayMs) * dayMs
    let at = epochMs
    for (let day = 0; day < this.#mostDays; day++) {
      for (const time of this.#timesOf(first + day * dayMs)) {
        if (time <= this.#clock.shown(at)) continue
        at = this.#clock.reaches(time, at)
        if (this.#isOpen(at) !== isOpen) return at
      }
    }
    return undefined
  }

  /** When the session that is open at `openMs` began, but no earlier than `earliestMs`. */
  #openSince(openMs: number, earliestMs: number): number {
    if (openMs <= earliestMs) return earliestMs
    let since = earliestMs
    for (;;) {
      const turned = this.#turns(since)
      if (turned === undefined || turned > openMs) return since
      since = turned
    }
  }
}
