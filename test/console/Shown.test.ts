/** Which figure stands under which title: a figure under another's title looks as right as the right one. */
import { expect, test } from "vitest"
import { ofBalance } from "../../src/console/parts/BalanceFigures.js"
import { kinds } from "../../src/console/parts/EventKinds.js"
import type * as Contract from "../../src/console/state/Contract.js"
import { securityKinds } from "../../src/engine/Reads.js"
import { built, elements, textOf } from "./Parts.js"

interface Column {
  readonly title: string
  readonly cell: (row: object) => unknown
}

interface Parts {
  readonly ofMarket: ReadonlyArray<Column>
  readonly ofPosition: ReadonlyArray<Column>
  readonly Figures: (props: object) => unknown
  readonly Announced: (props: object) => unknown
}

const { Announced, Figures, ofMarket, ofPosition } = await built<Parts>(`export { ofMarket } from "./parts/MarketColumns.js"
  export { ofPosition } from "./parts/PositionColumns.js"
  export { Announced } from "./parts/market/Announced.js"
  export { Figures } from "./parts/market/Figures.js"`)

const row = (columns: ReadonlyArray<Column>, of: object): Readonly<Record<string, string>> =>
  Object.fromEntries(columns.map(({ cell, title }) => [title, textOf(cell(of))]))

const stats = {
  marketData: { markPrice: "101.0", indexPrice: "102.0", stale: false },
  lastPrice: "103.0",
  change24hBps: "150",
  volume24hQuote: "104.000000",
  predictedFundingRateE9: "50000",
  fundingRateBasisMs: 28_800_000,
  fundingIntervalMs: 3_600_000,
  nextFundingTimeEpochMs: 0
}

test("a balance has each of its amounts under its own name", () => {
  const balance = {
    equity: "1.000000",
    available: "2.000000",
    unrealizedPnl: "3.000000",
    withdrawable: "4.000000",
    initialMargin: "5.000000",
    maintenanceMargin: "6.000000"
  }
  expect(Object.fromEntries(ofBalance(balance as Contract.Balance).map(({ amount, title }) => [title, amount]))).toEqual({
    Equity: "1.000000",
    Available: "2.000000",
    Unrealised: "3.000000",
    Withdrawable: "4.000000",
    "Initial margin": "5.000000",
    "Maintenance margin": "6.000000"
  })
})

test("a position has each of its figures under its own title", () => {
  const position: Partial<Contract.Position> = {
    side: "long",
    quantity: "1.000",
    avgEntryPrice: "2.0",
    markPrice: "3.0",
    liquidationPrice: "4.0",
    initialMargin: "5.000000",
    maintenanceMargin: "6.000000",
    unrealizedPnl: "7.000000"
  }
  expect(row(ofPosition, position)).toEqual({
    Side: "Long",
    Size: "1.000",
    Entry: "2.0",
    Mark: "3.0",
    Liquidation: "4.0",
    Margin: "5.00",
    Unrealised: "7.00"
  })
  expect(row(ofPosition, { ...position, liquidationPrice: null })).toMatchObject({ Liquidation: "none" })
})

/** Of 150 basis points, and of 0.00005 an hour. */
const figures = { "24 hours": "1.50\u00a0%", "Volume, 24 h": "104.00", "Funding, 8 h": "0.0400\u00a0%" }

const marketSession = { state: "open", nextCloseEpochMs: 0, nextOpenEpochMs: 0 }
const market = { marketId: "BTC-USDC-PERP", status: "open", marketSession, market: {} }

test("a market in the list has each of its figures under its own title, in percent as the venue says it in basis points", () => {
  const Market = "BTC-USDC-PERP"
  const Status = "Open"
  expect(row(ofMarket, { market, stats })).toEqual({ Market, Mark: "101.0", ...figures, Status })
  expect(row(ofMarket, { market, stats: undefined })).toEqual({
    Market,
    Mark: "–",
    "24 hours": "–",
    "Volume, 24 h": "–",
    "Funding, 8 h": "–",
    Status
  })
})

/** Each figure of a market at a glance under its name. */
const glance = (told: object | undefined, of: object = market) => {
  const shown = Figures({ feed: { stats: { value: told } }, market: of })
  const names = elements(shown, "dt").map(textOf)
  return Object.fromEntries(elements(shown, "dd").map((each, at) => [names[at]!, textOf(each).trim()]))
}

test("a market at a glance has each of its figures under its own name, and no price where there is none", () => {
  expect(glance(stats)).toEqual({ Mark: "101.0", Index: "102.0", Last: "103.0", ...figures, Status: "Open" })
  expect(Object.values(glance(undefined)).slice(0, -1)).toEqual(["–", "–", "–", "–", "–", "–"])
  // The venue says zero of what nobody has traded yet, or of what has no index yet.
  const none = { ...stats, lastPrice: "0.0", marketData: { markPrice: "0.0", indexPrice: "0.0", stale: false } }
  expect(glance(none)).toMatchObject({ Mark: "–", Index: "–", Last: "–" })
  expect(row(ofMarket, { market, stats: none })).toMatchObject({ Mark: "–" })
})

test("a delisting is told with its time, and once it has taken effect with the final price, wherever the market is", () => {
  const effectiveAtEpochMs = Date.UTC(2026, 11, 3)
  const at = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }).format(effectiveAtEpochMs)
  const told = (status: string, delisting: object) => {
    const of = { ...market, status, market: { delisting: { effectiveAtEpochMs, ...delisting } } }
    return [glance(stats, of)["Status"], row(ofMarket, { market: of, stats })["Status"]]
  }
  expect(told("open", { state: "announced" })).toEqual([`Open delisting at ${at}`, `Open delisting at ${at}`])
  const price = `Halted delisted at ${at}, final price 1,101.0`
  for (const state of ["settling", "settled"]) expect(told("halted", { state, finalPrice: "1101.0" })).toEqual([price, price])
})

test("announced terms are told beside the present ones, those that change alone and each by its unit", () => {
  const tiers = (...bps: ReadonlyArray<number>) =>
    bps.map((maintenanceMarginBps, at) => ({ notionalThresholdAtoms: String(at * 1_500_000_000), maintenanceMarginBps }))
  const now = {
    underlyingSymbol: "BTC1000",
    logoUrl: "a",
    minQuantity: "0.001",
    maxQuantity: "1000.000",
    initialMarginBps: 500,
    maintenanceMarginTiers: tiers(250),
    maxLeverageX: 20,
    makerFeeBps: 0,
    fundingIntervalMs: 3_600_000,
    fundingCapE9: 40_000_000
  }
  const announced = {
    ...now,
    effectiveAtEpochMs: Date.UTC(2026, 11, 3),
    underlyingSymbol: "BTC2000",
    logoUrl: "b",
    maxQuantity: "2000.000",
    initialMarginBps: 1_000,
    maintenanceMarginTiers: tiers(250, 500),
    maxLeverageX: 10,
    fundingIntervalMs: 28_800_000,
    fundingCapE9: 7_500_000
  }
  const shown = Announced({ market: { ...now, announced } })
  expect(elements(shown, "time").map((each) => each.props["dateTime"])).toEqual(["2026-12-03T00:00:00.000Z"])
  const values = elements(shown, "dd").map(textOf)
  expect(Object.fromEntries(elements(shown, "dt").map((each, at) => [textOf(each), values[at]]))).toEqual({
    "Underlying symbol": "BTC2000, now BTC1000",
    "Max quantity": "2,000.000, now 1,000.000",
    "Initial margin": "10.00\u00a0%, now 5.00\u00a0%",
    "Maintenance margin tiers": "2.50\u00a0% from 0.00, 5.00\u00a0% from 1,500.00, now 2.50\u00a0% from 0.00",
    "Max leverage": "10x, now 20x",
    "Funding interval": "8 h, now 1 h",
    "Funding cap": "0.7500\u00a0%, now 4.0000\u00a0%"
  })
  const sooner = Announced({ market: { ...now, announced: { ...now, effectiveAtEpochMs: 0, fundingIntervalMs: 90_000 } } })
  expect(elements(sooner, "dd").map(textOf)).toEqual(["90 s, now 1 h"])
  for (const market of [now, { ...now, announced: { ...now, logoUrl: "b" } }]) expect(Announced({ market })).toBeNull()
})

/** How a part of a kind's name is said in words, where it is said otherwise. */
const said: Readonly<Record<string, string>> = {
  canceled: "cancelled",
  elsewhere: "everywhere else",
  family: "tickets",
  requested: "asked for",
  set: "changed",
  step: "transaction",
  user: "agents’"
}

test("each security event that the venue notes is told by all the parts of its name, and none in the words of another", () => {
  expect(Object.keys(kinds).toSorted()).toEqual(securityKinds.toSorted())
  const unsaid = Object.entries(kinds).flatMap(([kind, words]) =>
    kind.split("_").filter((part) => !words.toLowerCase().includes(said[part] ?? part)).map((part) => `${kind}: ${words} lacks ${part}`)
  )
  expect(unsaid).toEqual([])
  expect(new Set(Object.values(kinds)).size).toBe(securityKinds.length)
})
