/**
 * The week of a simulated market: around the time at which a run begins it opens and closes every few seconds, and for some
 * days after that in hours, so that a clock that jumps comes to every kind of moment.
 */
import * as DateTime from "effect/DateTime"
import type { Calendar } from "../../src/sessions/Calendar.js"
import type { Sessions } from "../faults/Options.js"
import type { SimRandom } from "../world/SimRandom.js"

const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
const [secondMs, hourMs, dayMs] = [1_000, 3_600_000, 86_400_000]

/** How long before and after the start sessions last seconds. */
const beforeMs = 20_000
const aroundMs = 240_000
/** Hours from then on, by turns closed and open. */
const laterHours = [0.5, 1.5, 0.75, 3, 1, 18, 2, 30]

/** A local time, in milliseconds as if its clock were that of UTC, as a calendar writes it. */
const textOf = (localMs: number): string => {
  const date = new Date(localMs)
  // Of the days of the week UTC counts Sunday first.
  return `${weekdays[(date.getUTCDay() + 6) % 7]} ${date.toISOString().slice(11, 19)}`
}

export const draw = (
  { cutoffMs, maxClosedMs, maxOpenMs, timeZone }: Sessions,
  startEpochMs: number,
  random: SimRandom
): Calendar => {
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
  // A date that lies in the hours: what a run comes to only by a clock that jumps far.
  const holiday = new Date(Math.floor(started / dayMs) * dayMs + 2 * dayMs).toISOString().slice(0, 10)
  return {
    timeZone,
    weekly: spans.map(([from, to]) => ({ opens: textOf(from), closes: textOf(to) })),
    holidays: random.chance(0.5) ? [holiday] : [],
    shortenedDays: [],
    riskIncreasingCutoffMs: cutoffMs
  }
}
