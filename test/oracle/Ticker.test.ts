/** Tickers as exchanges send them, and malformed ones. */
import { expect, test } from "vitest"
import { priceOf, seenOf, type Ticker } from "../../src/oracle/Ticker.js"

const now = 1_000_000

test.each<readonly [string, Ticker, number | undefined]>([
  ["the last trade between the best prices", { bid: 99, ask: 101, last: 100.5 }, 100.5],
  ["the bid where the last trade was below", { bid: 99, ask: 101, last: 90 }, 99],
  ["the offer where the last trade was above", { bid: 99, ask: 101, last: 9_000 }, 101],
  ["the middle without a trade", { bid: 99, ask: 101 }, 100],
  ["the last trade without a book", { last: 100 }, 100],
  ["the last trade with half a book", { bid: 99, last: 100 }, 100],
  ["the last trade in a crossed book", { bid: 101, ask: 99, last: 100 }, 100],
  ["nothing", {}, undefined],
  ["half a book alone", { bid: 99 }, undefined],
  ["zero", { bid: 0, ask: 0, last: 0 }, undefined],
  ["a negative price", { last: -100 }, undefined],
  ["no number", { last: Number.NaN }, undefined],
  ["without end", { last: Number.POSITIVE_INFINITY }, undefined],
  ["a text", { bid: "99", ask: "101", last: "100" }, undefined],
  ["null", { bid: null, ask: null, last: null }, undefined],
  ["zero beside good ones", { bid: 0, ask: 101, last: 100 }, 100],
  ["a ticker that is made now", { last: 100, timestamp: now }, 100],
  ["a ticker of a clock that is ahead", { last: 100, timestamp: now + 5_000 }, 100],
  ["a ticker that is nearly a minute old", { last: 100, timestamp: now - 59_999 }, 100],
  ["a frozen ticker", { last: 100, timestamp: now - 60_000 }, undefined]
])("%s", (_, ticker, price) => {
  expect(priceOf(ticker, now)).toBe(price)
})

test.each<readonly [string, unknown, number]>([
  ["its own time", now - 7_000, now - 7_000],
  ["the whole millisecond of it", now - 0.5, now - 1],
  ["when it was got, where its clock is ahead", now + 5_000, now],
  ["when it was got, where it has none", undefined, now],
  ["when it was got, where it has no number", "yesterday", now]
])("a ticker is of %s", (_, timestamp, seen) => {
  expect(seenOf({ last: 100, timestamp }, now)).toBe(seen)
})
