/** How often the venue may count a market as halted for want of a counterparty, and that what it counts in one block is within that. */
import { expect, test } from "vitest"
import { exhaustedWithin, isHalt } from "../../sim/properties/metrics.js"
import * as Market from "../../src/domain/Market.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Event } from "../../src/engine/EventLog.js"
import { Activity } from "../../src/sequencer/Activity.js"
import { complete } from "../engine/commands.js"

test("a delisting that takes effect in one block behind an unfinished deleveraging is counted, and allowed for", () => {
  const market = 2
  const activity = new Activity()
  const words: Array<number> = []
  const told = (event: number, ...fields: ReadonlyArray<number>): void => void words.push(event, fields.length, ...fields)
  told(Event.DeleveragingBegun, 1, market, 10, 1, 1, 1, 1)
  told(Event.Deleveraged, 1, 5, market, 4, 1, 1)
  told(Event.MarketStatusSet, market, Market.statuses.indexOf("halted"))
  activity.built(Float64Array.from(words))
  expect(activity.exhausted(market)).toBe(1)
  expect(exhaustedWithin(true, 0, 0)).toEqual([0, 1])
})

test.each([[true, 3, 2, 0, 6], [false, 3, 2, 3, 5], [false, 0, 0, 0, 0]])(
  "delisted: %s, %d steps, %d halts of the operator's: from %d to %d",
  (isGone, times, halts, least, most) => expect(exhaustedWithin(isGone, times, halts)).toEqual([least, most])
)

test("only halts that were not refused are counted", () => {
  const halt = complete({ kind: "SetMarketStatus", idempotencyKey: "", market: 0, status: "halted" })
  expect(isHalt(halt, [{ refusal: Refusal.none }])).toBe(true)
  expect(isHalt(halt, [{ refusal: Refusal.marketUnknown }])).toBe(false)
  expect(isHalt(complete({ kind: "SetMarketStatus", idempotencyKey: "", market: 0, status: "open" }), [{ refusal: Refusal.none }])).toBe(
    false
  )
})
