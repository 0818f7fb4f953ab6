/** One price from several sources: tables, and the limits of what a lying source can do. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { aggregate, type Quote, type Rules, type Verdict } from "../../src/oracle/Aggregate.js"

const now = 1_000_000
const rules: Rules = { staleMs: 5_000, outlierBps: 100, minSources: 2 }

/** `[price, weight, ageMs]`. */
type Said = readonly [price: number, weight?: number, ageMs?: number]
const quotesOf = (said: ReadonlyArray<Said>): ReadonlyArray<Quote> =>
  said.map(([price, weight = 1, ageMs = 0]) => ({ price, weight, seenEpochMs: now - ageMs }))

describe("the price", () => {
  test.each<readonly [string, ReadonlyArray<Said>, number | undefined]>([
    ["of nobody", [], undefined],
    ["of one source alone", [[100]], undefined],
    ["of two that agree is the middle", [[100], [100.5]], 100.25],
    ["of two that agree to the edge", [[100], [101]], 100.5],
    ["of two that disagree", [[100], [101.1]], undefined],
    ["of two that disagree, whatever one weighs", [[100], [120, 50]], undefined],
    ["of three is the median", [[100], [100.9], [100.2]], 100.2],
    ["of three, one a hundred times too high", [[100], [10_000], [100.2]], 100.1],
    ["of three, one a hundred times too low", [[100], [1], [100.2]], 100.1],
    ["of three, one of them heavy and wrong", [[100], [130, 90], [100.2]], 100.1],
    ["of three, one a shade too far", [[100], [101.2], [100.1]], 100.05],
    ["of three that all disagree", [[100], [110], [121]], undefined],
    ["of four in two camps", [[100], [100.1], [200], [200.1]], undefined],
    ["of four in two camps that agree within", [[100], [100], [200], [200]], undefined],
    ["of five, two of them in a camp of their own", [[100], [100.4], [100.2], [200], [200]], 100.2],
    ["of five, two of them wrong in two ways", [[100], [100.4], [100.2], [1], [20_000]], 100.2],
    ["goes with the weight", [[100, 5], [100.2], [100.4]], 100],
    ["is halfway where each side has half the weight", [[100, 2], [100.2], [100.4]], 100.1],
    ["leaves out who is silent", [[100], [100.2], [100.8, 9, 5_000]], 100.1],
    ["takes who answered just in time", [[100], [100.2], [100.8, 9, 4_999]], 100.8],
    ["leaves out who answered before the clock was set back", [[100], [100.2], [100.8, 9, -1]], 100.1],
    ["of two, one of them silent", [[100], [100.2, 1, 5_000]], undefined]
  ])("%s", (_, said, price) => {
    const aggregated = aggregate(quotesOf(said), rules, now).price
    if (price === undefined) expect(aggregated).toBeUndefined()
    else expect(aggregated).toBeCloseTo(price, 9)
  })

  test("needs as many sources as it is told", () => {
    const three = quotesOf([[100], [100.1], [100.2]])
    expect(aggregate(three, { ...rules, minSources: 3 }, now).price).toBe(100.1)
    expect(aggregate(three, { ...rules, minSources: 4 }, now).price).toBeUndefined()
  })

  test("is as fresh as the second newest of those who made it, where two must agree", () => {
    const quotes = quotesOf([[100, 1, 10], [100.1, 1, 300], [100.2, 1, 20], [500, 1, 0], [100, 1, 9_000]])
    const { sourceEpochMs, verdicts } = aggregate(quotes, rules, now)
    expect(sourceEpochMs).toBe(now - 20)
    expect(verdicts).toEqual<ReadonlyArray<Verdict>>(["used", "used", "used", "outlier", "stale"])
  })
})

/** The sources used, their weights, and whose age the price has. */
test.each<readonly [string, ReadonlyArray<Said>, number, number]>([
  // The heavy one alone makes the price, so two young ones do not say how old that is.
  ["two light ones that are newer than a heavy one", [[100, 10, 4_000], [100.1, 1, 10], [100.2, 1, 20]], 2, 4_000],
  ["a light one beside two heavy ones", [[100, 5, 300], [100.1, 5, 200], [100.2, 1, 10]], 2, 200],
  ["exactly half of the weight", [[100, 2, 900], [100.1, 1, 10], [100.2, 1, 20]], 2, 900],
  ["more than half of the weight", [[100, 3, 10], [100.1, 1, 20], [100.2, 1, 900]], 2, 20],
  ["two of five of equal weight", [[100, 1, 10], [100.1, 1, 20], [100.2, 1, 500], [100.3, 1, 900], [100.4, 1, 4_000]], 2, 500],
  ["as many as are wanted, though two have the weight", [[100, 9, 10], [100.1, 9, 20], [100.2, 1, 700], [100.3, 1, 900]], 3, 700]
])("the price is no fresher than those that are enough by number and by weight: %s", (_, said, minSources, ageMs) => {
  const { price, sourceEpochMs } = aggregate(quotesOf(said), { ...rules, minSources }, now)
  expect(price).toBeDefined()
  expect(sourceEpochMs).toBe(now - ageMs)
})

describe("whatever is said", () => {
  const anyPrice = fc.oneof(
    fc.double({ min: 1e-9, max: 1e12, noNaN: true }),
    fc.double({ min: 90, max: 110, noNaN: true }),
    fc.constantFrom(100, 100.5, 10_000, 1)
  )
  const quote = (price: fc.Arbitrary<number>): fc.Arbitrary<Quote> =>
    fc.record({ price, weight: fc.integer({ min: 1, max: 100 }), seenEpochMs: fc.integer({ min: now - 8_000, max: now }) })
  const anyRules = fc.record({
    staleMs: fc.constant(5_000),
    outlierBps: fc.integer({ min: 1, max: 500 }),
    minSources: fc.integer({ min: 2, max: 4 })
  })

  test("a price is one that enough sources stand around, more than half of those that answered, and the order says nothing", () => {
    const cases = fc.array(quote(anyPrice), { maxLength: 9 }).chain((quotes) =>
      fc.tuple(fc.constant(quotes), fc.shuffledSubarray(quotes, { minLength: quotes.length }))
    )
    fc.assert(fc.property(cases, anyRules, ([quotes, shuffled], rules) => {
      const aggregated = aggregate(quotes, rules, now)
      const { price, verdicts } = aggregated
      const other = aggregate(shuffled, rules, now)
      expect([other.price, other.sourceEpochMs]).toEqual([price, aggregated.sourceEpochMs])
      if (price === undefined) return
      const used = quotes.filter((_, index) => verdicts[index] === "used")
      const fresh = verdicts.filter((verdict) => verdict !== "stale").length
      expect(used.length).toBeGreaterThanOrEqual(rules.minSources)
      expect(2 * used.length).toBeGreaterThan(fresh)
      expect(price).toBeGreaterThanOrEqual(Math.min(...used.map((each) => each.price)))
      expect(price).toBeLessThanOrEqual(Math.max(...used.map((each) => each.price)))
      expect(used.every(({ seenEpochMs }) => seenEpochMs > now - rules.staleMs)).toBe(true)
      const weightOf = (some: ReadonlyArray<Quote>): number => some.reduce((sum, { weight }) => sum + weight, 0)
      const isEnough = (since: number): boolean => {
        const young = used.filter(({ seenEpochMs }) => seenEpochMs >= since)
        return young.length >= rules.minSources && 2 * weightOf(young) > weightOf(used)
      }
      expect([isEnough(aggregated.sourceEpochMs), isEnough(aggregated.sourceEpochMs + 1)]).toEqual([true, false])
    }), { numRuns: 2_000 })
  })

  test("liars who are fewer than the honest move nothing beyond what the honest say, by more than the outliers' bound", () => {
    const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }))
    const cases = fc.integer({ min: 10, max: 500 }).chain((outlierBps) => {
      const bound = outlierBps / 10_000
      const truth = share.map((of) => 100 * (1 + of * bound / 3))
      // Most lies are near the bound, on both sides, where they may be used.
      const lie = fc.oneof(anyPrice, share.map((of) => 100 * (1 + 3 * of * bound)), share.map((of) => 100 / (1 + 3 * of * bound)))
      return fc.array(quote(truth), { minLength: 2, maxLength: 5 }).chain((truths) =>
        fc.tuple(fc.constant(bound), fc.constant(truths), fc.array(quote(lie), { maxLength: truths.length - 1 }))
      )
    })
    fc.assert(fc.property(cases, ([bound, truths, lies]) => {
      const fresh = [...truths, ...lies].map((each) => ({ ...each, seenEpochMs: now }))
      const { price } = aggregate(fresh, { staleMs: 5_000, outlierBps: bound * 10_000, minSources: 2 }, now)
      const honest = truths.map((each) => each.price)
      expect(price).toBeDefined()
      expect(price).toBeGreaterThanOrEqual(Math.min(...honest) / (1 + bound) - 1e-9)
      expect(price).toBeLessThanOrEqual(Math.max(...honest) * (1 + bound) + 1e-9)
    }), { numRuns: 5_000 })
  })

  test("where the honest themselves differ by the outliers' bound, some may be left out first, and a liar moves the price further", () => {
    const said: ReadonlyArray<Said> = [[101], [100], [101], [100], [101.95], [102.05], [102.43, 50]]
    const { price, verdicts } = aggregate(quotesOf(said), rules, now)
    expect(verdicts).toEqual<ReadonlyArray<Verdict>>(["used", "outlier", "used", "outlier", "used", "used", "used"])
    expect(price).toBe(102.43)
  })
})
