/**
 * The venue's calendar computation compared with a naive one: at many moments of drawn weeks, around every kind of exception and clock
 * change.
 */
import { expect, test } from "vitest"
import { NaiveCalendar } from "../../sim/model/NaiveCalendar.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import * as Calendar from "../../src/sessions/Calendar.js"
import * as Reckoning from "../../src/sessions/Reckoning.js"

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

/**
 * Zones with clock changes, and a moment within a day of one: by an hour and by half an hour, forward and back, near noon and near
 * midnight.
 */
const changes: ReadonlyArray<readonly [timeZone: string, at: string]> = [
  ["America/New_York", "2026-03-08T07:00:00Z"],
  ["America/New_York", "2025-11-02T06:00:00Z"],
  ["Europe/London", "2026-03-29T01:00:00Z"],
  ["Europe/London", "2025-10-26T01:00:00Z"],
  ["Australia/Lord_Howe", "2025-10-04T15:30:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["America/Havana", "2026-03-08T05:00:00Z"],
  ["Asia/Beirut", "2026-03-28T22:00:00Z"],
  ["America/Santiago", "2025-09-07T04:00:00Z"],
  ["America/Santiago", "2026-04-05T03:00:00Z"],
  ["UTC", "2026-01-01T00:00:00Z"]
]

const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 16)

const drawn = (timeZone: string, around: number, random: SimRandom.SimRandom): Calendar.Calendar => {
  const edges = Array.from({ length: 2 * random.between(1, 12) }, () => random.below(7 * 96) * 15 * minuteMs)
  const sorted = [...new Set(edges)].sort((one, other) => one - other)
  const even = sorted.slice(0, sorted.length - sorted.length % 2)
  // Open and closed in turn, or the other way round with one span over the week's end.
  const turned = random.chance(0.5) ? even : [...even.slice(1), even[0]!]
  const text = (time: number): string => `${weekdays[Math.floor(time / dayMs)]} ${clock(time % dayMs)}`
  const date = (by: number): string => new Date(around + by * dayMs).toISOString().slice(0, 10)
  const [holiday, first, second] = random.pick([[-1, 0, 1], [0, 1, 2], [1, -1, 0], [3, -2, 2]] as const)
  const hours = () => {
    const opens = random.below(80)
    return {
      opens: clock(opens * 15 * minuteMs),
      closes: random.chance(0.3) ? "24:00" : clock(random.between(opens + 1, 95) * 15 * minuteMs)
    }
  }
  return {
    timeZone,
    weekly: Array.from({ length: turned.length / 2 }, (_, index) => ({
      opens: text(turned[2 * index]!),
      closes: text(turned[2 * index + 1]!)
    })),
    holidays: random.chance(0.5) ? [date(holiday)] : [],
    shortenedDays: random.chance(0.6) ? [{ date: date(first), hours: [hours()] }, { date: date(second), hours: [hours()] }] : [],
    riskIncreasingCutoffMs: random.pick([0, 1_000, hourMs, dayMs])
  }
}

for (const [timeZone, at] of changes) {
  test(`calendars of ${timeZone} around ${at} come to what a wall clock shows`, () => {
    const random = SimRandom.make("naive calendar", `${timeZone} ${at}`)
    const around = Date.parse(at)
    for (let times = 0; times < 25; times++) {
      const calendar = drawn(timeZone, around, random)
      if (calendar.weekly.length === 0 || Calendar.fault(calendar) !== undefined) continue
      const naive = new NaiveCalendar(calendar)
      const reckoning = Reckoning.make(calendar)
      const moments = [0, 1, -1, ...Array.from({ length: 30 }, () =>
        (random.below(8 * 96) - 4 * 96) * 15 * minuteMs - random.pick([0, 0, 1]))]
      for (const moment of moments) {
        const said = reckoning.at(around + moment)
        expect({ moment, ...naive.at(around + moment) }, JSON.stringify(calendar)).toEqual({ moment, ...said })
      }
    }
  })
}
