/** The ring of fills, compared with a plain list of all fills. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { anyMarket, none } from "../../src/domain/None.js"
import { type Fill, Fills } from "../../src/engine/Fills.js"
import { encoded } from "./Sections.js"

const capacity = 16

interface Drawn {
  readonly market: number
  readonly maker: number
  readonly taker: number
  readonly afterMs: number
}

const drawn: fc.Arbitrary<ReadonlyArray<Drawn>> = fc.array(
  fc.record({
    market: fc.nat({ max: 2 }),
    maker: fc.nat({ max: 3 }),
    taker: fc.nat({ max: 3 }),
    afterMs: fc.constantFrom(0, 0, 1, 7)
  }).filter(({ maker, taker }) => maker !== taker),
  { maxLength: 60 }
)

const fill = (list: ReadonlyArray<Drawn>) => {
  const fills = new Fills(capacity)
  const all: Array<Pick<Fill, "ordinal" | "market" | "makerAccount" | "takerAccount" | "atEpochMs">> = []
  let atEpochMs = 1000
  for (const [ordinal, { afterMs, maker, market, taker }] of list.entries()) {
    atEpochMs += afterMs
    fills.add(ordinal + 1, atEpochMs, market, 10, 5, 64, 65, maker, taker, 0, 1, 2)
    all.push({ ordinal, market, makerAccount: maker, takerAccount: taker, atEpochMs })
  }
  const kept = all.slice(-capacity)
  return { fills, kept, last: all.length }
}

const ordinals = (list: ReadonlyArray<{ readonly ordinal: number }>) => list.map((one) => one.ordinal)

test("newest first before any ordinal, of a market and of an account, in one market or all", () => {
  fc.assert(fc.property(
    drawn,
    fc.nat({ max: 70 }),
    fc.integer({ min: 1, max: 20 }),
    fc.nat({ max: 2 }),
    fc.nat({ max: 3 }),
    (list, at, limit, market, account) => {
      const { fills, kept } = fill(list)
      for (const before of [at, Number.POSITIVE_INFINITY]) {
        const older = kept.filter((one) => one.ordinal < before).reverse()
        const own = older.filter((one) => one.makerAccount === account || one.takerAccount === account)
        expect(ordinals(fills.ofMarket(market, before, limit))).toEqual(
          ordinals(older.filter((one) => one.market === market).slice(0, limit))
        )
        expect(ordinals(fills.ofAccount(account, anyMarket, before, limit))).toEqual(ordinals(own.slice(0, limit)))
        expect(ordinals(fills.ofAccount(account, market, before, limit))).toEqual(
          ordinals(own.filter((one) => one.market === market).slice(0, limit))
        )
      }
    }
  ))
})

test("oldest first from any time on, also where many share it or have been forgotten", () => {
  fc.assert(fc.property(
    drawn,
    fc.integer({ min: 990, max: 1200 }),
    fc.integer({ min: 1, max: 20 }),
    fc.constantFrom(anyMarket, 0, 1, 2),
    fc.constantFrom(none, 0, 1, 2, 3),
    (list, since, limit, market, account) => {
      const { fills, kept } = fill(list)
      const expected = kept
        .filter((one) => one.atEpochMs >= since)
        .filter((one) => market === anyMarket || one.market === market)
        .filter((one) => account === none || one.makerAccount === account || one.takerAccount === account)
        .slice(0, limit)
      expect(ordinals(fills.since(market, account, since, limit))).toEqual(ordinals(expected))
    }
  ))
})

test("a fill that was kept comes back whole, also from a dump", () => {
  const fills = new Fills(capacity)
  for (let index = 0; index < 20; index++) fills.add(index, 1000 + index, 1, 10 + index, 5, 64, 65, 2, 3, 1, -1, 2)
  const last: Fill = {
    ordinal: 19,
    sequence: 19,
    atEpochMs: 1019,
    market: 1,
    priceAtoms: 29,
    sizeAtoms: 5,
    makerOrder: 64,
    takerOrder: 65,
    makerAccount: 2,
    takerAccount: 3,
    takerSide: 1,
    makerFeeAtoms: -1,
    takerFeeAtoms: 2
  }
  for (const one of [fills, Fills.decode(encoded(fills))]) {
    expect(one.ofMarket(1, Number.POSITIVE_INFINITY, 1)).toEqual([last])
    expect(one.since(1, 3, 1019, 5)).toEqual([last])
    expect(one.ofAccount(2, anyMarket, Number.POSITIVE_INFINITY, 100)).toHaveLength(capacity)
  }
})

test("a ring of more than one chunk keeps the latest fills, also behind a restart", () => {
  const fills = new Fills(3_000)
  for (let ordinal = 0; ordinal < 7_500; ordinal++) fills.add(ordinal + 1, ordinal, ordinal % 3, ordinal, 5, 64, 65, 1, 2, 0, 1, 2)
  for (const ring of [fills, Fills.decode(encoded(fills))]) {
    const kept = ring.ofAccount(1, anyMarket, Number.POSITIVE_INFINITY, 10_000)
    expect(ordinals(kept)).toEqual(Array.from({ length: 3_000 }, (_, back) => 7_499 - back))
    expect(kept.every(({ market, ordinal, priceAtoms }) => priceAtoms === ordinal && market === ordinal % 3)).toBe(true)
    expect(ordinals(ring.ofMarket(2, Number.POSITIVE_INFINITY, 2))).toEqual([7_499, 7_496])
  }
})
