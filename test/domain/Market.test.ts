/** The rules of markets, one row each, and the moves between statuses, every pair. */
import { readFileSync } from "node:fs"
import { Either, Schema } from "effect"
import { describe, expect, test } from "vitest"
import * as Market from "../../src/domain/Market.js"
import { parameters } from "../engine/drive.js"

const tier = (
  notionalThresholdAtoms: number,
  maintenanceMarginBps: number
): Market.Parameters["maintenanceMarginTiers"][number] => ({
  notionalThresholdAtoms,
  maintenanceMarginBps
})

describe("fault", () => {
  test("the test market is valid", () => {
    expect(Market.fault(parameters("AAA"))).toBe(undefined)
  })

  test.each<[string, Partial<Market.Parameters>, string | undefined]>([
    ["scales that sum to six", { priceScale: 3, quantityScale: 3 }, undefined],
    ["scales beyond the settlement asset's", { priceScale: 4, quantityScale: 3 }, "priceScale + quantityScale must be at most 6"],
    ["an id of another base", { marketId: "BBB-USDC-PERP" }, "marketId must be BASE-QUOTE-PERP"],
    ["an id of another quote", { quoteAsset: "EUR" }, "marketId must be BASE-QUOTE-PERP"],
    ["a lowest price of nothing", { minPriceAtoms: 0 }, "1 <= minPrice <= maxPrice must hold"],
    ["prices that leave none", { minPriceAtoms: 11, maxPriceAtoms: 10 }, "1 <= minPrice <= maxPrice must hold"],
    ["one price only", { minPriceAtoms: 10, maxPriceAtoms: 10 }, undefined],
    ["a lowest quantity of nothing", { minQuantityAtoms: 0 }, "1 <= minQuantity <= maxQuantity must hold"],
    ["quantities that leave none", { minQuantityAtoms: 11, maxQuantityAtoms: 10 }, "1 <= minQuantity <= maxQuantity must hold"],
    ["orders larger than any position", { maxQuantityAtoms: 500_001 }, "maxQuantity must be at most maxPositionQuantity"],
    ["orders as large as any position", { maxQuantityAtoms: 500_000 }, undefined],
    [
      "prices beyond the book's",
      { maxPriceAtoms: 2 ** 31, maxQuantityAtoms: 1, maxPositionQuantityAtoms: 1 },
      "maxPrice must be below 2^31 price atoms"
    ],
    ["the largest price of a book", { maxPriceAtoms: 2 ** 31 - 1, maxQuantityAtoms: 1, maxPositionQuantityAtoms: 1 }, undefined],
    [
      "notionals of exactly 2^53",
      { priceScale: 3, maxPriceAtoms: 2 ** 30, maxPositionQuantityAtoms: 2 ** 23 },
      "maxPrice x maxPositionQuantity must stay below 2^53 money atoms"
    ],
    ["notionals just below 2^53", { priceScale: 3, maxPriceAtoms: 2 ** 30, maxPositionQuantityAtoms: 2 ** 23 - 1 }, undefined],
    [
      "notionals beyond 2^53 by the factor alone",
      { maxPriceAtoms: 2 ** 30, maxPositionQuantityAtoms: 2 ** 23 - 1 },
      "maxPrice x maxPositionQuantity must stay below 2^53 money atoms"
    ],
    ["no initial margin", { initialMarginBps: 0 }, "initialMarginBps must be 1..10000"],
    ["initial margin above the notional", { initialMarginBps: 10_001, maxLeverageX: 1 }, "initialMarginBps must be 1..10000"],
    ["leverage beyond the initial margin", { maxLeverageX: 11 }, "maxLeverageX must be at most 10000 / initialMarginBps"],
    ["a fee of minus nothing", { makerFeeBps: -0 }, "no number may be a negative zero"],
    ["a threshold of minus nothing", { maintenanceMarginTiers: [tier(-0, 50)] }, "no number may be a negative zero"],
    ["no tier", { maintenanceMarginTiers: [] }, "the first maintenance tier must start at 0"],
    [
      "tiers that leave small notionals out",
      { maintenanceMarginTiers: [tier(1, 50)] },
      "the first maintenance tier must start at 0"
    ],
    [
      "tiers of one threshold",
      { maintenanceMarginTiers: [tier(0, 50), tier(0, 60)] },
      "maintenance tiers must ascend strictly in threshold and bps"
    ],
    [
      "tiers of one rate",
      { maintenanceMarginTiers: [tier(0, 50), tier(5, 50)] },
      "maintenance tiers must ascend strictly in threshold and bps"
    ],
    [
      "a first tier of nothing",
      { maintenanceMarginTiers: [tier(0, 0)] },
      "the first tier's bps must lie between 0 and initialMarginBps"
    ],
    [
      "a first tier that is the initial margin",
      { maintenanceMarginTiers: [tier(0, 1000)] },
      "the first tier's bps must lie between 0 and initialMarginBps"
    ],
    ["a first tier just below the initial margin", { maintenanceMarginTiers: [tier(0, 999)] }, undefined],
    [
      "a last tier above the notional",
      { maintenanceMarginTiers: [tier(0, 50), tier(5, 10_001)] },
      "the last tier's bps must be at most 10000"
    ],
    ["a mark band beyond what the margins leave", { markBandBps: 501 },
      "markBandBps must be at most initialMarginBps less the first tier's bps"],
    ["a mark band of all that the margins leave", { markBandBps: 500 }, undefined],
    ["an interval that does not divide a day", { fundingIntervalMs: 7_000_000 },
      "fundingIntervalMs must be at least ten seconds and divide a day"],
    ["an interval under ten seconds", { fundingIntervalMs: 5_000 }, "fundingIntervalMs must be at least ten seconds and divide a day"],
    ["a liquidation fee over a quarter", { liquidationFeeBps: 126 }, "liquidationFeeBps must be at most a quarter of the first tier's bps"],
    ["a liquidation fee of a quarter", { liquidationFeeBps: 125 }, undefined],
    ["a last tier of the whole notional", { maintenanceMarginTiers: [tier(0, 50), tier(5, 10_000)] }, undefined]
  ])("%s", (_, change, expected) => {
    expect(Market.fault(parameters("AAA", change))).toBe(expected)
  })
})

test("the markets that come with the venue are valid", () => {
  const listed = JSON.parse(readFileSync("fixtures/markets.json", "utf8")) as ReadonlyArray<{ parameters: Market.Parameters }>
  expect(listed.length).toBeGreaterThan(0)
  for (const market of listed) {
    expect(
      Market.fault(Schema.decodeUnknownSync(Market.ListedParameters, { onExcessProperty: "error" })(market.parameters))
    ).toBe(undefined)
  }
})

test("parameters are put in one order of members, whatever order they came in", () => {
  const ordinary = parameters("AAA", { indexStepMaxBps: 500 })
  const reversed = Object.fromEntries(Object.entries(ordinary).reverse())
  const decoded = Schema.decodeUnknownSync(Market.ListedParameters)(reversed)
  expect(JSON.stringify(Market.inOrder(decoded))).toBe(JSON.stringify(Market.inOrder(ordinary)))
})

test.each<[string, unknown]>([
  ["a lower-case id", { marketId: "btc-USDC-PERP" }],
  ["another settlement asset", { settlementAsset: "EURC" }],
  ["another market type", { marketType: "bond" }],
  ["a fraction of an atom", { maxPriceAtoms: 1.5 }],
  ["a negative bound", { minPriceAtoms: -1 }],
  ["a fee above a tenth", { takerFeeBps: 1001 }],
  ["a rebate", { makerFeeBps: -1 }],
  ["a band of nothing", { priceBandBps: 0 }],
  ["a band down to zero", { priceBandBps: 10_000 }],
  ["seventeen tiers", { maintenanceMarginTiers: Array.from({ length: 17 }, (_, index) => tier(index, index + 1)) }]
])("%s is not decoded", (_, change) => {
  expect(Either.isLeft(Schema.decodeUnknownEither(Market.Parameters)({ ...parameters("AAA"), ...change as object }))).toBe(true)
})

test("a market moves draft, backfilling, open, and then among the other statuses and never back", () => {
  const allowed: Record<Market.Status, ReadonlyArray<Market.Status>> = {
    draft: ["draft", "backfilling"],
    backfilling: ["backfilling", "open"],
    open: ["open", "paused", "halted", "cancel_only", "reduce_only"],
    paused: ["open", "paused", "halted", "cancel_only", "reduce_only"],
    halted: ["open", "paused", "halted", "cancel_only", "reduce_only"],
    cancel_only: ["open", "paused", "halted", "cancel_only", "reduce_only"],
    reduce_only: ["open", "paused", "halted", "cancel_only", "reduce_only"]
  }
  for (const from of Market.statuses) {
    expect(Market.statuses.filter((to) => Market.mayMove(from, to)), from).toEqual(allowed[from])
    expect(Market.isListed(from), from).toBe(from !== "draft" && from !== "backfilling")
  }
})

test("a notional is in money atoms whatever the scales, and the symbol names what settles", () => {
  expect(Market.notionalFactor({ priceScale: 1, quantityScale: 3 })).toBe(100)
  expect(Market.notionalFactor({ priceScale: 3, quantityScale: 3 })).toBe(1)
  expect(Market.notionalFactor({ priceScale: 0, quantityScale: 0 })).toBe(1_000_000)
  expect(Market.symbol(parameters("BTC"))).toBe("BTC/USDC:USDC")
})

test("an average price is rounded half up below zero, too", () => {
  const market = parameters("BTC", { priceScale: 1, quantityScale: 4 })
  const divisor = BigInt(Market.notionalFactor(market)) * 10n
  for (const price of [-500n, -5n, -1n, 0n, 1n, 500n]) expect(Market.averagePriceAtoms(market, price * divisor, 10n)).toBe(price)
  const half = divisor / 2n
  expect(Market.averagePriceAtoms(market, -5n * divisor + half, 10n)).toBe(-4n)
  expect(Market.averagePriceAtoms(market, -5n * divisor + half - 1n, 10n)).toBe(-5n)
})
