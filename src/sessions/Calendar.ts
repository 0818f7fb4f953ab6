/**
 * A market's trading week as its operator writes it: wall-clock times in a zone of the IANA database, and holidays and shortened days by
 * local date. `Reckoning.ts` computes the session at a given time from it.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const

const clockTime = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"
const TimeOfWeek = Schema.String.pipe(
  Schema.pattern(new RegExp(`^(${weekdays.join("|")}) ${clockTime}$`), {
    message: () => "a time of the week is a day and a time: Sunday 18:00"
  })
)
const TimeOfDay = Schema.String.pipe(
  Schema.pattern(new RegExp(`^(${clockTime}|24:00)$`), { message: () => "a time of day is 00:00 to 24:00" })
)

/** A market's trading week. */
export const Calendar = Schema.Struct({
  /** For example `America/New_York`. */
  timeZone: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)),
  /** When the market opens and closes. A span may cross midnight, and the end of the week from Sunday to Monday. */
  weekly: Schema.Array(Schema.Struct({ opens: TimeOfWeek, closes: TimeOfWeek })).pipe(Schema.minItems(1), Schema.maxItems(256)),
  /** Local dates, from midnight to midnight, on which the market is closed. */
  holidays: Schema.optionalWith(Schema.Array(Schema.String).pipe(Schema.maxItems(1_000)), { default: () => [] }),
  /** Local dates on which the market is open only where the weekly spans and these hours overlap. */
  shortenedDays: Schema.optionalWith(
    Schema.Array(Schema.Struct({
      date: Schema.String,
      hours: Schema.Array(Schema.Struct({ opens: TimeOfDay, closes: TimeOfDay })).pipe(Schema.minItems(1), Schema.maxItems(24))
    })).pipe(Schema.maxItems(1_000)),
    { default: () => [] }
  ),
  /** How long before each close orders that increase risk stop being taken, in milliseconds. */
  riskIncreasingCutoffMs: Schema.Int.pipe(Schema.between(0, 86_400_000))
}).annotations({ identifier: "Calendar" })
export type Calendar = typeof Calendar.Type

export const dayMs = 86_400_000
export const weekMs = 7 * dayMs

/** A half-open span of local time, from the first to before the second. */
export type Span = readonly [from: number, to: number]

/** Milliseconds since midnight. */
const timeOfDay = (text: string): number => {
  const [hours = "0", minutes = "0", seconds = "0"] = text.split(":")
  return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
}

/** Milliseconds since Monday, 00:00. */
const timeOfWeek = (text: string): number => {
  const [day, time = ""] = text.split(" ")
  return weekdays.findIndex((name) => name === day) * dayMs + timeOfDay(time)
}

/** The spans of the week in milliseconds since Monday, 00:00, in order; one that crosses the end of the week is split in two. */
export const weekOf = ({ weekly }: Calendar): ReadonlyArray<Span> =>
  weekly
    .map(({ closes, opens }): Span => [timeOfWeek(opens), timeOfWeek(closes)])
    .flatMap(([from, to]): ReadonlyArray<Span> => from < to ? [[from, to]] : [[from, weekMs], [0, to]])
    .filter(([from, to]) => from < to)
    .sort(([one], [other]) => one - other)

/** A local date as days since 1970-01-01; undefined where there is no such date. */
const dayOf = (date: string): number | undefined => {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date) ?? []
  if (day === undefined) return undefined
  const epochMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  return new Date(epochMs).toISOString().startsWith(date) ? epochMs / dayMs : undefined
}

/** The hours of a shortened day, in milliseconds since midnight. */
const hoursOf = ({ hours }: Calendar["shortenedDays"][number]): ReadonlyArray<Span> =>
  hours.map(({ closes, opens }): Span => [timeOfDay(opens), timeOfDay(closes)])

/** The permitted hours of each exceptional date, by its day number, in milliseconds since midnight. */
export const exceptionsOf = ({ holidays, shortenedDays }: Calendar): ReadonlyMap<number, ReadonlyArray<Span>> =>
  new Map<number, ReadonlyArray<Span>>([
    ...shortenedDays.map((day) => [dayOf(day.date)!, hoursOf(day)] as const),
    ...holidays.map((date) => [dayOf(date)!, []] as const)
  ])

const overlaps = (spans: ReadonlyArray<Span>): boolean => spans.some(([from], index) => index > 0 && spans[index - 1]![1] > from)

/** What is wrong with the dates of a calendar. */
const faultOfDates = ({ holidays, shortenedDays }: Calendar): string | undefined => {
  const dates = [...holidays, ...shortenedDays.map(({ date }) => date)]
  const wrong = dates.find((date) => dayOf(date) === undefined)
  if (wrong !== undefined) return `${wrong} is no date: 2026-12-25 is one`
  const twice = dates.find((date, index) => dates.indexOf(date) !== index)
  if (twice !== undefined) return `${twice} is listed twice among holidays and shortened days`
  for (const day of shortenedDays) {
    const { date } = day
    const spans = hoursOf(day)
    if (spans.some(([from, to]) => from >= to)) return `the hours of ${date} close before they open`
    if (overlaps([...spans].sort(([one], [other]) => one - other))) return `the hours of ${date} overlap`
  }
  return undefined
}

/** The first rule that a calendar breaks, as a sentence; undefined when it is valid. */
export const fault = (calendar: Calendar): string | undefined => {
  const { timeZone, weekly } = calendar
  if (!/^[A-Za-z]/.test(timeZone) || Option.isNone(DateTime.zoneMakeNamed(timeZone))) {
    return `${timeZone} is no time zone of the IANA database that this machine knows`
  }
  const empty = weekly.find(({ closes, opens }) => timeOfWeek(opens) === timeOfWeek(closes))
  if (empty !== undefined) return `the span from ${empty.opens} to ${empty.closes} is empty`
  const week = weekOf(calendar)
  if (overlaps(week)) return "spans of the week overlap"
  if (week.reduce((sum, [from, to]) => sum + to - from, 0) === weekMs) return "the week never closes: a market without sessions is crypto"
  return faultOfDates(calendar)
}
