/** What a calendar may contain, and how a start reports an invalid one. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { parseMarkets } from "../../src/Bootstrap.js"
import { parameters } from "../engine/drive.js"

const calendar = {
  timeZone: "America/New_York",
  weekly: [{ opens: "Monday 09:30", closes: "Monday 16:00" }],
  riskIncreasingCutoffMs: 900_000
}

const listed = (change: object, marketType = "equity") => ({
  parameters: parameters("AAA", { marketType: marketType as "equity", indexStepMaxBps: 500 }),
  developmentIndexPriceAtoms: 1000,
  calendar: { ...calendar, ...change }
})

const parsed = (market: object) => Effect.runSync(Effect.either(parseMarkets(JSON.stringify([market]))))

test("a calendar is read, with no holidays where it lists none", () => {
  expect(parsed(listed({}))).toMatchObject({ right: [{ calendar: { ...calendar, holidays: [], shortenedDays: [] } }] })
})

test.each<readonly [string, object, string]>([
  ["a zone that there is not", { timeZone: "America/Atlantis" }, "America/Atlantis is no time zone"],
  ["an offset for a zone", { timeZone: "+02:00" }, "+02:00 is no time zone"],
  ["a span of nothing", { weekly: [{ opens: "Monday 09:30", closes: "Monday 09:30" }] },
    "the span from Monday 09:30 to Monday 09:30 is empty"],
  ["spans that overlap", {
    weekly: [{ opens: "Monday 09:30", closes: "Tuesday 02:00" }, { opens: "Tuesday 01:59", closes: "Tuesday 16:00" }]
  }, "spans of the week overlap"],
  ["spans that overlap over the week's end", {
    weekly: [{ opens: "Sunday 18:00", closes: "Monday 10:00" }, { opens: "Monday 09:30", closes: "Monday 16:00" }]
  }, "spans of the week overlap"],
  ["a span that holds another", {
    weekly: [{ opens: "Monday 09:00", closes: "Monday 16:00" }, { opens: "Monday 10:00", closes: "Monday 11:00" }]
  }, "spans of the week overlap"],
  ["a week that never closes", {
    weekly: [{ opens: "Wednesday 12:00", closes: "Saturday 12:00" }, { opens: "Saturday 12:00", closes: "Wednesday 12:00" }]
  }, "the week never closes"],
  ["no span", { weekly: [] }, "weekly"],
  ["a day that is none", { weekly: [{ opens: "Mon 09:30", closes: "Monday 16:00" }] }, "a time of the week is a day and a time"],
  ["a time that is none", { weekly: [{ opens: "Monday 24:30", closes: "Monday 16:00" }] }, "a time of the week is a day and a time"],
  ["a holiday that is no date", { holidays: ["Christmas"] }, "Christmas is no date"],
  ["a holiday that no calendar has", { holidays: ["2026-02-29"] }, "2026-02-29 is no date"],
  ["a holiday listed twice", { holidays: ["2026-12-25", "2026-12-25"] }, "2026-12-25 is listed twice"],
  ["a shortened holiday", {
    holidays: ["2026-12-25"],
    shortenedDays: [{ date: "2026-12-25", hours: [{ opens: "00:00", closes: "13:00" }] }]
  }, "2026-12-25 is listed twice"],
  ["hours the wrong way round", { shortenedDays: [{ date: "2026-12-24", hours: [{ opens: "13:00", closes: "09:30" }] }] },
    "the hours of 2026-12-24 close before they open"],
  ["hours that overlap", {
    shortenedDays: [{ date: "2026-12-24", hours: [{ opens: "12:00", closes: "14:00" }, { opens: "09:00", closes: "13:00" }] }]
  }, "the hours of 2026-12-24 overlap"],
  ["a cutoff of more than a day", { riskIncreasingCutoffMs: 86_400_001 }, "riskIncreasingCutoffMs"],
  ["a member that there is not", { closedOn: [] }, "closedOn"]
])("%s is refused with a sentence", (_, change, why) => {
  const result = parsed(listed(change))
  expect(result).toMatchObject({ left: { _tag: "MarketsFileInvalid" } })
  expect(String((result as { readonly left: Error }).left.message)).toContain(why)
})

test("crypto has no calendar, and any other type needs one", () => {
  const left = (market: object): string => String((parsed(market) as { readonly left: Error }).left.message)
  expect(left(listed({}, "crypto"))).toContain("AAA-USDC-PERP: a market of the type crypto is always open and has no calendar")
  const { calendar: _, ...without } = listed({}, "forex")
  expect(left(without)).toContain("AAA-USDC-PERP: a market of the type forex trades in sessions and needs a calendar")
})
