/** Texts of markets that are kept, compared with what is made and encoded anew after every kind of record that changes a market. */
import { Schema } from "effect"
import { expect, test, vi } from "vitest"
import { MarketSnapshot } from "../../../src/edge/markets/Snapshot.js"
import { CompatMarket, compatTerms } from "../../../src/edge/markets/CompatMarket.js"
import { listedMarkets } from "../../../src/edge/markets/Listed.js"
import * as MarketTexts from "../../../src/edge/markets/MarketTexts.js"
import * as Snapshot from "../../../src/edge/markets/Snapshot.js"
import type { Reads, Trader } from "../../../src/engine/Reads.js"
import { Principal } from "../../../src/operations/Header.js"
import { type Driver, parameters, RandomDriver } from "../../engine/drive.js"

const encodeList = Schema.encodeSync(Schema.Array(MarketSnapshot))
const encodeCompat = Schema.encodeSync(Schema.Array(CompatMarket))
const trader: Trader = {
  principal: Principal.session,
  credential: 0,
  account: 0,
  number: 0,
  tokenSha256: "",
  credentialId: "",
  createdAtEpochMs: 0,
  expiresAtEpochMs: Number.MAX_SAFE_INTEGER
}

/** All texts, made and encoded anew. */
const anew = (state: Reads): ReadonlyArray<string> => {
  const views = listedMarkets(state)
  const snapshots = views.map(Snapshot.make(state))
  const favorites = snapshots.map((each, at) => ({
    ...each,
    market: { ...each.market, favorite: state.isFavorite(trader.account, views[at]!.index) }
  }))
  const listed = (markets: typeof snapshots): string => JSON.stringify({ version: "external-market-list/v1", markets: encodeList(markets) })
  const compat = snapshots.map((info, at) => ({ ...compatTerms(views[at]!), info }))
  return [
    listed(snapshots),
    listed(favorites),
    JSON.stringify(encodeCompat(compat)),
    ...encodeList(favorites).map((each) => JSON.stringify(each))
  ]
}

const kept = (texts: MarketTexts.MarketTexts, state: Reads): ReadonlyArray<string> => [
  texts.list(undefined),
  texts.list(trader),
  texts.compatList(),
  ...listedMarkets(state).map((view) => texts.market(view, trader))
]

/** What an operator, a feed and an owner do to markets, one record each; the random commands in between trade in the first two. */
const records = (driver: Driver): ReadonlyArray<() => unknown> => {
  const idempotencyKey = (): string => driver.nextKey()
  const of = (base: string): number => driver.engine.findMarket(parameters(base).marketId)
  const commodity = { marketType: "commodity", maxLeverageX: 5, initialMarginBps: 2_000 } as const
  const put = (base: string, change: Parameters<typeof parameters>[1], afterMs = 0) => () =>
    driver.send({
      kind: "PutMarket",
      idempotencyKey: idempotencyKey(),
      parameters: parameters(base, change),
      effectiveAtEpochMs: afterMs === 0 ? 0 : driver.atEpochMs + afterMs
    })
  const status = (base: string, to: "open" | "reduce_only" | "halted") => () =>
    driver.send({ kind: "SetMarketStatus", idempotencyKey: idempotencyKey(), market: of(base), status: to })
  const session = (state: "open" | "reduce_only" | "closed") => () =>
    driver.send({
      kind: "SetMarketSession",
      market: of("OIL"),
      state,
      nextOpenEpochMs: driver.atEpochMs + 90_000_000,
      nextCloseEpochMs: driver.atEpochMs + 3_600_000,
      riskIncreasingOrderCutoffEpochMs: driver.atEpochMs + 3_000_000
    })
  const favorite = (base: string, isFavorite: boolean) => () =>
    driver.send({ kind: "SetFavorite", account: trader.account, market: of(base), isFavorite })
  const delist = (base: string, action: "delist" | "withdraw", afterMs = 0) => () =>
    driver.send({
      kind: "DelistMarket",
      idempotencyKey: idempotencyKey(),
      market: of(base),
      action,
      effectiveAtEpochMs: afterMs === 0 ? 0 : driver.atEpochMs + afterMs
    })
  const pass = (ms: number) => () => {
    driver.atEpochMs += ms
    return driver.send({ kind: "PassTime" })
  }
  const dayMs = 86_400_000
  return [
    () => driver.market(parameters("OIL", commodity), 1_000),
    session("open"),
    session("reduce_only"),
    session("closed"),
    pass(3_600_000),
    () => driver.market(parameters("NEW"), 1_000),
    put("NEW", { logoUrl: "https://logos.example/\"new\".png", maxLeverageX: 9 }),
    put("NEW", { maxLeverageX: 5, initialMarginBps: 2_000, underlyingSymbol: "OLD/USD" }, 2 * dayMs),
    status("NEW", "reduce_only"),
    status("NEW", "halted"),
    favorite("NEW", true),
    favorite("AAA", true),
    favorite("NEW", false),
    status("NEW", "open"),
    pass(2 * dayMs),
    delist("NEW", "delist", 8 * dayMs),
    delist("NEW", "withdraw"),
    delist("NEW", "delist", 8 * dayMs),
    pass(8 * dayMs),
    pass(1_000)
  ]
}

test("are as if made anew after whatever changes a market", () => {
  const driver = new RandomDriver(62)
  const { engine } = driver
  const texts = new MarketTexts.MarketTexts(engine)
  const seen = new Set<string>()
  for (const record of records(driver)) {
    record()
    for (let step = 0; step <= 12; step++) {
      const expected = anew(engine)
      expect(kept(texts, engine)).toEqual(expected)
      for (const text of expected.slice(3)) {
        for (
          const [member] of text.matchAll(
            /"(?:announced|delisting)":|"change24hBps":"-?[1-9]|"favorite":true|"state":"[a-z_]+"|"status":"[a-z_]+"|logos\.example/g
          )
        ) seen.add(member.replace(/[1-9]$/, "N").replace("-", ""))
      }
      driver.step()
    }
  }
  // All of that was shown, so that the comparison is of something.
  expect([...seen].sort()).toEqual([
    "\"announced\":",
    "\"change24hBps\":\"N",
    "\"delisting\":",
    "\"favorite\":true",
    "\"state\":\"announced\"",
    "\"state\":\"closed\"",
    "\"state\":\"open\"",
    "\"state\":\"reduce_only\"",
    "\"state\":\"settled\"",
    "\"status\":\"halted\"",
    "\"status\":\"open\"",
    "\"status\":\"reduce_only\"",
    "logos.example"
  ])
})

test("are made once for a market's record, however often they are asked for, and again for that market alone", () => {
  const driver = new RandomDriver(1)
  for (let market = 0; market < 30; market++) driver.market(parameters(`M${market}`), 1_000)
  const { engine } = driver
  const texts = new MarketTexts.MarketTexts(engine)
  const stringify = vi.spyOn(JSON, "stringify")
  const made = (ask: () => void): number => {
    stringify.mockClear()
    ask()
    // The digest's canonical text is made of single values.
    return stringify.mock.calls.filter(([value]) => typeof value === "object").length
  }
  const all = (): void => void [texts.list(undefined), texts.list(trader), texts.compatList()]
  // Of a market its own and its unified shape; for each answer the session that always open markets share.
  expect(made(() => void texts.list(undefined))).toBe(2 * engine.marketCount + 1)
  expect(made(all)).toBe(3)
  driver.send({ kind: "PassTime" })
  expect(made(all)).toBe(3)
  driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 7, status: "halted" })
  expect(made(all)).toBe(2 + 3)
  stringify.mockRestore()
})
