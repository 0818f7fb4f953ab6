/** The sessions of calendars, in tables: local hours through daylight saving, over midnight and the week's end, around holidays. */
import * as fs from "node:fs"
import { describe, expect, test } from "vitest"
import * as Session from "../../src/domain/Session.js"
import type { Calendar } from "../../src/sessions/Calendar.js"
import * as Reckoning from "../../src/sessions/Reckoning.js"

const at = (text: string): number => Date.parse(`${text.includes("T") ? text : text.replace(" ", "T")}:00Z`)
const shown = (epochMs: number): string => epochMs === 0 ? "-" : new Date(epochMs).toISOString().slice(0, 16).replace("T", " ")

const calendarOf = (
  timeZone: string,
  weekly: ReadonlyArray<readonly [opens: string, closes: string]>,
  change: Partial<Calendar> = {}
): Calendar => ({
  timeZone,
  weekly: weekly.map(([opens, closes]) => ({ opens, closes })),
  holidays: [],
  shortenedDays: [],
  riskIncreasingCutoffMs: 0,
  ...change
})

/** The sessions after a moment, from opening to close, in UTC. */
const sessions = (calendar: Calendar, from: string, count: number): ReadonlyArray<string> => {
  const reckoning = Reckoning.make(calendar)
  const found: Array<string> = []
  let now = at(from)
  while (found.length < count) {
    const { session, untilEpochMs } = reckoning.at(now)
    expect(untilEpochMs).toBeGreaterThan(now)
    if (session.state === "closed") {
      found.push(`${shown(session.nextOpenEpochMs)} to ${shown(session.nextCloseEpochMs)}`)
      // The close announced before the opening is the one announced during the session.
      expect(reckoning.at(untilEpochMs).session.nextCloseEpochMs).toBe(session.nextCloseEpochMs)
    }
    now = untilEpochMs
  }
  return found
}

const nyse = calendarOf("America/New_York", [
  ["Monday 09:30", "Monday 16:00"],
  ["Tuesday 09:30", "Tuesday 16:00"],
  ["Wednesday 09:30", "Wednesday 16:00"],
  ["Thursday 09:30", "Thursday 16:00"],
  ["Friday 09:30", "Friday 16:00"]
])
const gold = calendarOf("America/New_York", [
  ["Sunday 18:00", "Monday 17:00"],
  ["Monday 18:00", "Tuesday 17:00"],
  ["Tuesday 18:00", "Wednesday 17:00"],
  ["Wednesday 18:00", "Thursday 17:00"],
  ["Thursday 18:00", "Friday 17:00"]
])
const nights = (timeZone: string, opens: string, closes: string): Calendar =>
  calendarOf(timeZone, [[`Saturday ${opens}`, `Sunday ${closes}`]])
const sundays = (timeZone: string, opens: string, closes: string): Calendar =>
  calendarOf(timeZone, [[`Sunday ${opens}`, `Sunday ${closes}`]])

test.each<readonly [string, Calendar, string, ReadonlyArray<string>]>([
  ["a week's end", nyse, "2026-07-10 20:00", ["2026-07-13 13:30 to 2026-07-13 20:00", "2026-07-14 13:30 to 2026-07-14 20:00"]],
  ["New York goes forward over a weekend", nyse, "2026-03-06 21:00", ["2026-03-09 13:30 to 2026-03-09 20:00"]],
  ["New York goes back over a weekend", nyse, "2026-10-30 20:00", ["2026-11-02 14:30 to 2026-11-02 21:00"]],
  ["gold opens on Sunday by the time that Sunday has", gold, "2026-03-06 22:00", ["2026-03-08 22:00 to 2026-03-09 21:00"]],
  ["a day's pause", gold, "2026-07-13 21:00", ["2026-07-13 22:00 to 2026-07-14 21:00"]],
  ["the year's end", gold, "2025-12-31 22:00", ["2025-12-31 23:00 to 2026-01-01 22:00"]],
  // New York, 2026-03-08: 02:00 EST is 03:00 EDT, at 07:00 UTC.
  ["a night over the gap is an hour shorter", nights("America/New_York", "22:00", "06:00"), "2026-03-07 12:00", [
    "2026-03-08 03:00 to 2026-03-08 10:00",
    "2026-03-15 02:00 to 2026-03-15 10:00"
  ]],
  ["an opening in the gap is the moment of the skip", sundays("America/New_York", "02:30", "12:00"), "2026-03-08 00:00", [
    "2026-03-08 07:00 to 2026-03-08 16:00"
  ]],
  ["a close in the gap is the moment of the skip", sundays("America/New_York", "00:30", "02:30"), "2026-03-08 00:00", [
    "2026-03-08 05:30 to 2026-03-08 07:00"
  ]],
  ["an opening in the gap comes before what is behind it", sundays("America/New_York", "02:45", "03:15"), "2026-03-08 00:00", [
    "2026-03-08 07:00 to 2026-03-08 07:15"
  ]],
  ["a span in the gap is none", sundays("America/New_York", "02:10", "02:50"), "2026-03-08 00:00", [
    "2026-03-15 06:10 to 2026-03-15 06:50"
  ]],
  // New York, 2026-11-01: 02:00 EDT is 01:00 EST, at 06:00 UTC.
  ["a night over the overlap is an hour longer", nights("America/New_York", "22:00", "06:00"), "2026-10-31 12:00", [
    "2026-11-01 02:00 to 2026-11-01 11:00"
  ]],
  ["an opening that comes twice is the first", sundays("America/New_York", "01:30", "12:00"), "2026-11-01 00:00", [
    "2026-11-01 05:30 to 2026-11-01 17:00"
  ]],
  ["a close that comes twice is the first", sundays("America/New_York", "00:30", "01:30"), "2026-11-01 00:00", [
    "2026-11-01 04:30 to 2026-11-01 05:30",
    "2026-11-08 05:30 to 2026-11-08 06:30"
  ]],
  ["a close at the end of what comes twice is behind it", sundays("America/New_York", "00:30", "02:00"), "2026-11-01 00:00", [
    "2026-11-01 04:30 to 2026-11-01 07:00"
  ]],
  // London, 2026-03-29: 01:00 GMT is 02:00 BST, at 01:00 UTC.
  ["London changes three weeks behind New York", nights("Europe/London", "22:00", "06:00"), "2026-03-28 12:00", [
    "2026-03-28 22:00 to 2026-03-29 05:00"
  ]],
  // Sydney, 2026-10-04: 02:00 AEST is 03:00 AEDT, at 2026-10-03 16:00 UTC; back on 2026-04-05 at 2026-04-04 16:00 UTC.
  ["Sydney goes forward in October", nights("Australia/Sydney", "22:00", "06:00"), "2026-10-03 00:00", [
    "2026-10-03 12:00 to 2026-10-03 19:00"
  ]],
  ["Sydney goes back in April", nights("Australia/Sydney", "22:00", "06:00"), "2026-04-04 00:00", ["2026-04-04 11:00 to 2026-04-04 20:00"]],
  // Lord Howe Island moves by half an hour: 2026-04-05, 02:00 +11:00 is 01:30 +10:30, at 2026-04-04 15:00 UTC.
  ["half an hour that comes twice", sundays("Australia/Lord_Howe", "01:45", "12:00"), "2026-04-04 00:00", [
    "2026-04-04 14:45 to 2026-04-05 01:30"
  ]],
  ["half an hour that is skipped", sundays("Australia/Lord_Howe", "02:15", "12:00"), "2026-10-03 00:00", [
    "2026-10-03 15:30 to 2026-10-04 01:00"
  ]],
  // Havana skips midnight: 2026-03-08, 00:00 is 01:00, at 05:00 UTC; and on 2026-11-01 01:00 is 00:00 again, at 05:00 UTC.
  ["midnight is skipped within a span", nights("America/Havana", "22:00", "06:00"), "2026-03-07 12:00", [
    "2026-03-08 03:00 to 2026-03-08 10:00"
  ]],
  ["midnight comes twice within a span", nights("America/Havana", "22:00", "06:00"), "2026-10-31 12:00", [
    "2026-11-01 02:00 to 2026-11-01 11:00"
  ]],
  ["a zone without daylight saving", nights("Asia/Tokyo", "22:00", "06:00"), "2026-03-28 00:00", ["2026-03-28 13:00 to 2026-03-28 21:00"]],
  ["a zone of three quarters of an hour", sundays("Asia/Kathmandu", "00:00", "12:00"), "2026-03-28 00:00", [
    "2026-03-28 18:15 to 2026-03-29 06:15"
  ]],
  // Samoa had no 30 December 2011: 29 December ended at 10:00 UTC of the 30th.
  ["a day that there was not", calendarOf("Pacific/Apia", [["Friday 09:00", "Friday 17:00"]]), "2011-12-29 12:00", [
    "2012-01-05 19:00 to 2012-01-06 03:00"
  ]],
  ["days that a span goes over, and a day that there was not", calendarOf("Pacific/Apia", [["Thursday 09:00", "Saturday 17:00"]]),
    "2011-12-29 12:00", ["2011-12-29 19:00 to 2011-12-31 03:00"]]
])("%s", (_, calendar, from, expected) => {
  expect(sessions(calendar, from, expected.length)).toEqual(expected)
})

describe("days that are otherwise", () => {
  test.each<readonly [string, Calendar, string, ReadonlyArray<string>]>([
    ["a holiday", { ...nyse, holidays: ["2026-12-25"] }, "2026-12-24 21:00", ["2026-12-28 14:30 to 2026-12-28 21:00"]],
    ["holidays in a row", { ...nyse, holidays: ["2026-12-25", "2026-12-28", "2026-12-29"] }, "2026-12-24 21:00", [
      "2026-12-30 14:30 to 2026-12-30 21:00"
    ]],
    ["a holiday within a span cuts it at both midnights", { ...gold, holidays: ["2026-07-14"] }, "2026-07-13 21:00", [
      "2026-07-13 22:00 to 2026-07-14 04:00",
      "2026-07-15 04:00 to 2026-07-15 21:00"
    ]],
    ["a holiday on which a span opens", { ...gold, holidays: ["2026-07-12"] }, "2026-07-11 00:00", [
      "2026-07-13 04:00 to 2026-07-13 21:00"
    ]],
    ["a holiday on the day of the change", { ...nights("America/New_York", "22:00", "06:00"), holidays: ["2026-11-01"] },
      "2026-10-31 12:00", ["2026-11-01 02:00 to 2026-11-01 04:00", "2026-11-08 03:00 to 2026-11-08 11:00"]],
    ["a shortened day", {
      ...nyse,
      shortenedDays: [{ date: "2026-11-27", hours: [{ opens: "00:00", closes: "13:00" }] }],
      holidays: ["2026-11-26"]
    }, "2026-11-25 21:00", ["2026-11-27 14:30 to 2026-11-27 18:00", "2026-11-30 14:30 to 2026-11-30 21:00"]],
    ["a day with a pause", {
      ...nyse,
      shortenedDays: [{ date: "2026-11-27", hours: [{ opens: "10:00", closes: "11:00" }, { opens: "12:00", closes: "24:00" }] }]
    }, "2026-11-26 21:00", ["2026-11-27 15:00 to 2026-11-27 16:00", "2026-11-27 17:00 to 2026-11-27 21:00"]],
    ["hours that open nothing", { ...nyse, shortenedDays: [{ date: "2026-11-27", hours: [{ opens: "17:00", closes: "20:00" }] }] },
      "2026-11-26 21:00", ["2026-11-30 14:30 to 2026-11-30 21:00"]],
    ["spans that touch are one", calendarOf("UTC", [["Monday 09:00", "Monday 12:00"], ["Monday 12:00", "Monday 16:00"]]),
      "2026-07-12 00:00", ["2026-07-13 09:00 to 2026-07-13 16:00"]],
    ["a span over the week's end is one", calendarOf("UTC", [["Saturday 10:00", "Tuesday 09:00"]]), "2026-07-09 00:00", [
      "2026-07-11 10:00 to 2026-07-14 09:00"
    ]]
  ])("%s", (_, calendar, from, expected) => {
    expect(sessions(calendar, from, expected.length)).toEqual(expected)
  })
})

describe("what a session is at a moment", () => {
  const quarter = { ...gold, riskIncreasingCutoffMs: 900_000 }

  test.each<readonly [string, Session.State, string, string, string, string]>([
    ["2026-07-10 20:44", "open", "2026-07-12 22:00", "2026-07-10 20:45", "2026-07-10 21:00", "2026-07-10 20:45"],
    ["2026-07-10 20:45", "reduce_only", "2026-07-12 22:00", "2026-07-10 20:45", "2026-07-10 21:00", "2026-07-10 21:00"],
    ["2026-07-10 20:59", "reduce_only", "2026-07-12 22:00", "2026-07-10 20:45", "2026-07-10 21:00", "2026-07-10 21:00"],
    ["2026-07-10 21:00", "closed", "2026-07-12 22:00", "2026-07-13 20:45", "2026-07-13 21:00", "2026-07-12 22:00"],
    ["2026-07-12 21:59", "closed", "2026-07-12 22:00", "2026-07-13 20:45", "2026-07-13 21:00", "2026-07-12 22:00"],
    ["2026-07-12 22:00", "open", "2026-07-13 22:00", "2026-07-13 20:45", "2026-07-13 21:00", "2026-07-13 20:45"]
  ])("at %s it is %s", (now, state, opens, cutoff, closes, until) => {
    const { session, untilEpochMs } = Reckoning.make(quarter).at(at(now))
    expect(session.state).toBe(state)
    expect([session.nextOpenEpochMs, session.riskIncreasingOrderCutoffEpochMs, session.nextCloseEpochMs, untilEpochMs].map(shown))
      .toEqual([opens, cutoff, closes, until])
  })

  test("a session shorter than its cutoff only ever reduces", () => {
    const { session, untilEpochMs } = Reckoning.make({ ...nyse, riskIncreasingCutoffMs: 86_400_000 }).at(at("2026-07-13 13:30"))
    expect(session.state).toBe("reduce_only")
    expect([session.riskIncreasingOrderCutoffEpochMs, session.nextCloseEpochMs, untilEpochMs].map(shown))
      .toEqual(["2026-07-13 13:30", "2026-07-13 20:00", "2026-07-13 20:00"])
  })

  test("without a cutoff it is open to the close", () => {
    const { session, untilEpochMs } = Reckoning.make(nyse).at(at("2026-07-13 13:30"))
    expect([session.state, shown(session.riskIncreasingOrderCutoffEpochMs), shown(untilEpochMs)])
      .toEqual(["open", "2026-07-13 20:00", "2026-07-13 20:00"])
  })
})

/** The local time in a zone, directly from the platform. */
const clockOf = (timeZone: string) => {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, weekday: "long", hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
  return (epochMs: number): string => {
    const parts = new Map(format.formatToParts(epochMs).map(({ type, value }) => [type, value]))
    return `${parts.get("weekday")} ${parts.get("hour")}:${parts.get("minute")}`
  }
}

/**
 * Minute by minute over the days of a change. Except in an hour that the clocks show twice, the market is open exactly when the clocks show
 * one of its hours.
 */
test.each<readonly [string, string, number]>([
  ["America/New_York", "2026-03-06 00:00", 5],
  ["America/New_York", "2026-10-30 00:00", 5],
  ["Europe/Berlin", "2026-03-27 00:00", 5],
  ["Europe/Berlin", "2026-10-23 00:00", 5],
  ["Australia/Lord_Howe", "2026-04-03 00:00", 5],
  ["Africa/Casablanca", "2026-02-13 00:00", 5],
  ["America/Santiago", "2026-09-04 00:00", 5]
])("the hours of %s around %s are those of its clocks", (timeZone, from, days) => {
  const reckoning = Reckoning.make(calendarOf(timeZone, [
    ["Friday 20:00", "Saturday 04:30"],
    ["Saturday 21:15", "Sunday 07:00"],
    ["Monday 08:00", "Monday 12:00"]
  ]))
  const isHour = (clock: string): boolean => {
    const [day, time] = clock.split(" ") as [string, string]
    return day === "Friday" && time >= "20:00" || day === "Saturday" && (time < "04:30" || time >= "21:15")
      || day === "Sunday" && time < "07:00"
      || day === "Monday" && time >= "08:00" && time < "12:00"
  }
  const show = clockOf(timeZone)
  const otherwise: Array<string> = []
  for (let minute = 0; minute < days * 1_440; minute++) {
    const now = at(from) + minute * 60_000
    const clock = show(now)
    const { state } = reckoning.at(now).session
    if (state !== (isHour(clock) ? "open" : "closed")) otherwise.push(`${shown(now)}, where clocks show ${clock}: ${state}`)
  }
  expect(otherwise).toEqual([])
})

test("the bundled market for gold closes at 17:00 before every holiday, and early on the others of the year", () => {
  const markets: ReadonlyArray<{ readonly calendar?: Calendar }> = JSON.parse(fs.readFileSync("fixtures/markets.json", "utf8"))
  const calendar = markets.find((market) => market.calendar !== undefined)!.calendar!
  const reckoning = Reckoning.make(calendar)
  expect(calendar.holidays.length).toBeGreaterThan(0)
  for (const holiday of calendar.holidays) {
    // In New York 17:30 of the day before in winter and 18:30 in summer, and the holiday's midnight or an hour later.
    const [eve, over] = [at(`${holiday} 00:00`) - 90 * 60_000, at(`${holiday} 00:00`) + 29 * 3_600_000]
    const { session } = reckoning.at(eve)
    expect(session.state, holiday).toBe("closed")
    expect(session.nextOpenEpochMs, holiday).toBeGreaterThanOrEqual(over)
  }
  expect(sessions(calendar, "2026-12-30 22:30", 2)).toEqual(["2026-12-30 23:00 to 2026-12-31 22:00",
    "2027-01-03 23:00 to 2027-01-04 22:00"])
  expect(sessions(calendar, "2026-11-26 20:00", 1)).toEqual(["2026-11-26 23:00 to 2026-11-27 18:45"])
  // A Monday opens again in the evening, and a Friday does not.
  expect(sessions(calendar, "2027-01-17 20:00", 2)).toEqual(["2027-01-17 23:00 to 2027-01-18 19:30",
    "2027-01-18 23:00 to 2027-01-19 22:00"])
  expect(sessions(calendar, "2026-06-18 21:00", 2)).toEqual(["2026-06-18 22:00 to 2026-06-19 18:30",
    "2026-06-21 22:00 to 2026-06-22 21:00"])
})
