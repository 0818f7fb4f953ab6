/**
 * The week of a simulated market: around the start of a run it opens and closes every few seconds, and for some days after that every few
 * hours, so that a clock that jumps meets every kind of moment.
 */
import * as DateTime from "effect/DateTime"
import type { Calendar } from "../../src/sessions/Calendar.js"
import type { Sessions } from "../faults/Options.js"
import type { SimRandom } from "../world/SimRandom.js"

const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
const [secondMs, hourMs, dayMs] = [1_000, 3_600_000, 86_400_000]

/** How long before and after the start sessions last only seconds. */
const beforeMs = 20_000
const aroundMs = 240_000
/** Hours of the later periods, closed and open in turn. */
const laterHours = [0.5, 1.5, 0.75, 3, 1, 18, 2, 30]

/** A local time, in milliseconds as if it were UTC, in a calendar's form. */
const textOf = (localMs: number): string => {
  const date = new Date(localMs)
  // UTC days of the week begin with Sunday.
  return `${weekdays[(date.getUTCDay() + 6) % 7]} ${date.toISOString().slice(11, 19)}`
}

/** The date of a local time. */
const dateOf = (localMs: number): string => new Date(localMs).toISOString().slice(0, 10)
const clockOf = (localMs: number): string => new Date(localMs).toISOString().slice(11, 19)

/** The day of the start with a pause in its sessions soon, and the next day with hours of its own. */
const shortened = (started: number, random: SimRandom): Calendar["shortenedDays"] => {
  const closes = started + random.between(2, 30) * secondMs
  const opens = random.between(0, 12) * hourMs
  return [
    {
      date: dateOf(started),
      hours: [
        { opens: "00:00", closes: clockOf(closes) },
        { opens: clockOf(closes + random.between(1, 20) * secondMs), closes: "24:00" }
      ]
    },
    { date: dateOf(started + dayMs), hours: [{ opens: clockOf(opens), closes: clockOf(opens + random.between(1, 11) * hourMs) }] }
  ]
}

/** Sundays on which clocks change, back or forth, by an hour or half an hour. */
const changes: ReadonlyArray<readonly [timeZone: string, date: string]> = [
  ["Europe/London", "2025-10-26"],
  ["America/New_York", "2025-11-02"],
  ["America/New_York", "2026-03-08"],
  ["Europe/London", "2026-03-29"],
  ["Australia/Lord_Howe", "2026-04-05"]
]
/** How often a market of a run with such dates is closed until the change, and how often its first session then continues past midnight. */
const closedShare = 0.5
const overMidnightShare = 0.3

/** A week whose next session is on the day on which the clocks change, and opens or closes at about that time. */
const untilTheChange = (started: number, cutoffMs: number, random: SimRandom): Calendar => {
  const [timeZone, date] = random.pick(changes)
  const sunday = Date.parse(date)
  const quarters = Array.from({ length: 4 }, () => random.between(0, 16)).sort((one, other) => one - other)
  const at = (index: number): string => textOf(sunday + (quarters[index]! + index) * hourMs / 4)
  const first = Math.floor(started / dayMs) - 1
  return {
    timeZone,
    weekly: random.chance(overMidnightShare)
      ? [{ opens: at(1), closes: textOf(sunday + dayMs + hourMs) }]
      : [{ opens: at(0), closes: at(1) }, { opens: at(2), closes: at(3) }],
    holidays: Array.from({ length: sunday / dayMs - first }, (_, index) => dateOf((first + index) * dayMs)),
    shortenedDays: [],
    riskIncreasingCutoffMs: cutoffMs
  }
}

export const draw = (
  { cutoffMs, dates, maxClosedMs, maxOpenMs, timeZone }: Sessions,
  startEpochMs: number,
  random: SimRandom
): Calendar => {
  const others = random.split("dates")
  const isAway = dates === "until the clocks change" && others.chance(closedShare)
  if (isAway) return untilTheChange(startEpochMs, cutoffMs, others)
  const zone = DateTime.zoneUnsafeMakeNamed(timeZone)
  const started = DateTime.toDate(DateTime.unsafeMakeZoned(startEpochMs, { timeZone: zone })).getTime()
  const spans: Array<readonly [number, number]> = []
  let at = Math.floor(started / secondMs) * secondMs - beforeMs
  const last = at + aroundMs
  while (at < last) {
    const open = random.between(1, maxOpenMs / secondMs) * secondMs
    spans.push([at, at + open])
    at += open + random.between(1, maxClosedMs / secondMs) * secondMs
  }
  laterHours.forEach((hours, index) => {
    if (index % 2 === 1) spans.push([at, at + hours * hourMs])
    at += hours * hourMs
  })
  // A date in the later period: a run reaches it only by a long jump of the clock.
  const holiday = dateOf(started + 2 * dayMs)
  return {
    timeZone,
    weekly: spans.map(([from, to]) => ({ opens: textOf(from), closes: textOf(to) })),
    holidays: random.chance(0.5) ? [holiday] : [],
    shortenedDays: dates === "shortened" ? shortened(Math.floor(started / secondMs) * secondMs, others) : [],
    riskIncreasingCutoffMs: cutoffMs
  }
}
