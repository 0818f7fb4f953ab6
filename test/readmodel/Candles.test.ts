/** Candles compared with a naive model: bucket limits by the calendar, and each coarser candle as the fold of the finer ones within it. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type Candle, Candles, type CandleRow, seriesNames } from "../../src/readmodel/Candles.js"
import { bucketOf, type Timeframe, timeframes } from "../../src/readmodel/Timeframes.js"

const at = (text: string): number => Date.parse(text)

describe("a bucket begins", () => {
  test.each<readonly [Timeframe, string, string, string]>([
    ["1m", "2026-03-01T12:34:59.999Z", "2026-03-01T12:34:00Z", "2026-03-01T12:35:00Z"],
    ["5m", "2026-03-01T12:34:00Z", "2026-03-01T12:30:00Z", "2026-03-01T12:35:00Z"],
    ["8h", "2026-03-01T15:59:59.999Z", "2026-03-01T08:00:00Z", "2026-03-01T16:00:00Z"],
    ["1d", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"],
    ["3d", "1970-01-03T23:59:59.999Z", "1970-01-01T00:00:00Z", "1970-01-04T00:00:00Z"],
    ["3d", "2026-03-01T00:00:00Z", "2026-02-27T00:00:00Z", "2026-03-02T00:00:00Z"],
    // The first of March 2026 is a Sunday.
    ["1w", "2026-03-01T23:59:59.999Z", "2026-02-23T00:00:00Z", "2026-03-02T00:00:00Z"],
    ["1w", "2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"],
    ["1M", "2028-02-29T23:59:59.999Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
    ["1M", "2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"]
  ])("%s at %s", (timeframe, moment, from, to) => {
    expect(bucketOf(timeframe, at(moment))).toEqual({ fromEpochMs: at(from), toEpochMs: at(to) })
  })
})

interface Trade {
  readonly atEpochMs: number
  readonly priceAtoms: number
  readonly sizeAtoms: number
}

/** Times advance by anything from nothing to months, often exactly to the start of a minute. */
const trades = fc.array(
  fc.record({
    step: fc.oneof(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 0, max: 5_000_000_000 }), fc.constantFrom("minute", "before it")),
    priceAtoms: fc.integer({ min: 1, max: 2 ** 53 - 1 }),
    sizeAtoms: fc.integer({ min: 1, max: 2 ** 53 - 1 })
  }),
  { minLength: 1, maxLength: 60 }
).map((steps) => {
  let now = at("2025-11-28T00:00:00Z")
  return steps.map(({ priceAtoms, sizeAtoms, step }): Trade => {
    const minute = (Math.floor(now / 60_000) + 1) * 60_000
    now = typeof step === "number" ? now + step : step === "minute" ? minute : minute - 1
    return { atEpochMs: now, priceAtoms, sizeAtoms }
  })
})

const grouped = <A>(all: ReadonlyArray<A>, by: (one: A) => number): ReadonlyArray<readonly [number, ReadonlyArray<A>]> => {
  const groups = new Map<number, Array<A>>()
  for (const one of all) groups.set(by(one), [...groups.get(by(one)) ?? [], one])
  return [...groups]
}

/** Candles computed at once from all trades of a bucket. */
const naive = (timeframe: Timeframe, made: ReadonlyArray<Trade>): ReadonlyArray<Candle> => {
  return grouped(made, ({ atEpochMs }) => bucketOf(timeframe, atEpochMs).fromEpochMs).map(([openTimeEpochMs, within]) => ({
    openTimeEpochMs,
    openAtoms: within[0]!.priceAtoms,
    highAtoms: Math.max(...within.map(({ priceAtoms }) => priceAtoms)),
    lowAtoms: Math.min(...within.map(({ priceAtoms }) => priceAtoms)),
    closeAtoms: within.at(-1)!.priceAtoms,
    volumeAtoms: within.reduce((sum, { sizeAtoms }) => sum + BigInt(sizeAtoms), 0n)
  }))
}

const stored = (rows: ReadonlyArray<CandleRow>): ReadonlyMap<string, CandleRow> =>
  new Map(rows.map((row) => [`${row.series}/${row.market}/${row.timeframe}/${row.openTimeEpochMs}`, row]))

const candlesOf = (rows: ReadonlyMap<string, CandleRow>, timeframe: Timeframe): ReadonlyArray<Candle> =>
  [...rows.values()].filter((row) => row.timeframe === timeframes.indexOf(timeframe))
    .map(({ market: _market, series: _series, timeframe: _timeframe, ...candle }) => candle)
    .sort((one, other) => one.openTimeEpochMs - other.openTimeEpochMs)

test("any candle is the fold of what is in it, however the batches fall and wherever it is gone on from", () => {
  fc.assert(fc.property(trades, fc.infiniteStream(fc.nat(9)), (made, chance) => {
    let candles = new Candles()
    let rows: ReadonlyMap<string, CandleRow> = new Map()
    const keep = (): void => void (rows = new Map([...rows, ...stored(candles.take())]))
    for (const { atEpochMs, priceAtoms, sizeAtoms } of made) {
      candles.add("trade", 3, priceAtoms, sizeAtoms, atEpochMs)
      const drawn = chance.next().value
      if (drawn < 4) keep()
      if (drawn === 0) {
        const latest = timeframes.flatMap((timeframe) =>
          candlesOf(rows, timeframe).slice(-1).map((candle) => ({
            ...candle,
            series: seriesNames.indexOf("trade"),
            market: 3,
            timeframe: timeframes.indexOf(timeframe)
          }))
        )
        candles = new Candles(latest)
      }
    }
    keep()
    for (const timeframe of timeframes) expect(candlesOf(rows, timeframe)).toEqual(naive(timeframe, made))
    // Minutes make up everything: each coarser candle is the fold of its minutes.
    const minutes = candlesOf(rows, "1m")
    for (const timeframe of timeframes) {
      const folded = grouped(minutes, ({ openTimeEpochMs }) => bucketOf(timeframe, openTimeEpochMs).fromEpochMs).map(
        ([openTimeEpochMs, within]): Candle => ({
          openTimeEpochMs,
          openAtoms: within[0]!.openAtoms,
          highAtoms: Math.max(...within.map(({ highAtoms }) => highAtoms)),
          lowAtoms: Math.min(...within.map(({ lowAtoms }) => lowAtoms)),
          closeAtoms: within.at(-1)!.closeAtoms,
          volumeAtoms: within.reduce((sum, { volumeAtoms }) => sum + volumeAtoms, 0n)
        })
      )
      expect(candlesOf(rows, timeframe)).toEqual(folded)
    }
  }), { numRuns: 60 })
})

test("candles of other atoms are forgotten, those of other markets are not", () => {
  const candles = new Candles()
  candles.add("index", 0, 10, 0, 0)
  candles.add("index", 1, 10, 0, 0)
  candles.add("index", 0, 11, 0, 60_000)
  expect(candles.waiting).toBe(1)
  candles.forget(0)
  candles.add("index", 0, 1_200, 0, 60_000)
  expect(candles.take().filter(({ timeframe }) => timeframe === 0).map(({ market, openAtoms }) => [market, openAtoms])).toEqual([[1, 10], [
    0,
    1_200
  ]])
  expect(candles.take()).toEqual([])
})
