/** The ring of fills, compared with a plain list of all fills. */
import * as fc from "fast-check"
import { expect, test, vi } from "vitest"
import { anyMarket, none } from "../../src/domain/None.js"
import { type Fill, Fills, fillsKept } from "../../src/engine/Fills.js"
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
    fc.nat({ max: 3 }),
    fc.integer({ min: 1, max: 20 }),
    (list, since, limit, market, account, most) => {
      const { fills, kept } = fill(list)
      const young = kept.filter((one) => one.atEpochMs >= since)
      const inMarket = (one: Drawn | Pick<Fill, "market">): boolean => market === anyMarket || one.market === market
      const own = young.filter((one) => one.makerAccount === account || one.takerAccount === account).filter(inMarket).slice(0, limit)
      const first = fills.ofAccountSince(account, market, since, limit, most)
      const looked = own.length === limit ? young.indexOf(own.at(-1)!) + 1 : young.length
      expect(first === undefined ? undefined : ordinals(first)).toEqual(looked > most ? undefined : ordinals(own))
      if (market === anyMarket) return
      expect(ordinals(fills.ofMarketSince(market, since, limit))).toEqual(ordinals(young.filter(inMarket).slice(0, limit)))
    }
  ))
})

test("an account's fills are found by few at a time, whatever is added and forgotten meanwhile", () => {
  fc.assert(fc.property(
    drawn,
    drawn,
    fc.record({
      account: fc.nat({ max: 3 }),
      market: fc.constantFrom(anyMarket, 0, 1, 2),
      before: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat({ max: 70 })),
      sinceEpochMs: fc.integer({ min: 990, max: 1200 }),
      limit: fc.integer({ min: 1, max: 20 })
    }),
    fc.integer({ min: 1, max: 5 }),
    (list, later, asked, most) => {
      const { fills, kept } = fill(list)
      const found: Array<Fill> = []
      let from: number | undefined
      let ordinal = list.length
      do {
        const step = fills.amongOfAccount({ ...asked, limit: asked.limit - found.length }, most, from)
        expect(step.found.length).toBeLessThanOrEqual(most)
        found.push(...step.found)
        from = step.next
        const next = later[ordinal - list.length]
        if (next !== undefined) fills.add(++ordinal, 2_000, next.market, 10, 5, 64, 65, next.maker, next.taker, 0, 1, 2)
      } while (from !== none)
      const expected = kept.filter((one) =>
        one.ordinal < asked.before && one.atEpochMs >= asked.sinceEpochMs && (asked.market === anyMarket || one.market === asked.market)
        && (one.makerAccount === asked.account || one.takerAccount === asked.account)
      ).reverse().slice(0, asked.limit)
      // What was forgotten meanwhile may be missing, and nothing that is left.
      expect(ordinals(found)).toEqual(ordinals(expected).slice(0, found.length))
      for (const { ordinal } of expected.slice(found.length)) expect(ordinal).toBeLessThan(fills.oldest().ordinal)
    }
  ))
})

test("a market's fills cost as much as are shown, wherever they are and whatever is asked, and an account's no more than is allowed", () => {
  const fills = new Fills()
  for (let ordinal = 0; ordinal < 2 * fillsKept; ordinal++) {
    fills.add(ordinal + 1, ordinal, ordinal % 50_000 === 7 ? 1 : 0, 10, 5, 64, 65, 1, 2, 0, 1, 2)
  }
  const { total } = fills
  const read = vi.spyOn(fills as unknown as { readonly value: (slot: number, at: number) => number }, "value")
  const reads = (ask: () => unknown): number => {
    read.mockClear()
    ask()
    return read.mock.calls.length
  }
  const [aFill, page] = [13, 50]
  for (const market of [0, 1, 7]) {
    for (const before of [Number.POSITIVE_INFINITY, total - fillsKept + 20, total - 100.5, 5]) {
      expect(reads(() => fills.ofMarket(market, before, page))).toBeLessThanOrEqual(page * aFill)
    }
    for (const since of [0, total - 10, total + 10]) {
      expect(reads(() => fills.ofMarketSince(market, since, page))).toBeLessThanOrEqual(page * aFill + 18)
    }
  }
  // Of each it is looked at the time, the market, whose it is and which one is older; and at where it begins.
  const asked = { account: 1, market: 7, before: 5, sinceEpochMs: 0, limit: page }
  expect(reads(() => fills.amongOfAccount(asked, 500))).toBeLessThanOrEqual(500 * 4)
  expect(reads(() => fills.ofAccountSince(9, anyMarket, 0, page, 500))).toBeLessThanOrEqual(18 + 500 * 3)
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
    expect(one.ofMarketSince(1, 1019, 5)).toEqual([last])
    expect(one.ofAccountSince(3, 1, 1019, 5, 5)).toEqual([last])
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
    const ofMarket = Array.from({ length: 1_000 }, (_, at) => 4_502 + 3 * at)
    expect(ordinals(ring.ofMarket(2, Number.POSITIVE_INFINITY, 2_000))).toEqual(ofMarket.toReversed())
    expect(ordinals(ring.ofMarket(2, 7_000, 2))).toEqual([6_998, 6_995])
    expect(ordinals(ring.ofMarketSince(2, 0, 2_000))).toEqual(ofMarket)
    for (let ordinal = 7_500; ordinal < 8_100; ordinal++) ring.add(ordinal + 1, ordinal, ordinal % 3, 1, 5, 64, 65, 1, 2, 0, 1, 2)
    expect(ordinals(ring.ofMarketSince(2, 0, 1))).toEqual([5_102])
  }
})
