/** The histories through the whole venue: candles as they are served, slightly behind the journal. */
import { Effect, Exit } from "effect"
import { beforeAll, describe, expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import * as Histories from "../../src/readmodel/Histories.js"
import { LiveVenue, symbol } from "./LiveVenue.js"
import { ready } from "./VenueOver.js"

const { accountId: alice, apiKey, venue } = await ready(memoryDisk().layer)
const demo = await venue.ask("POST", "/v1/operator/demo/accounts", { body: { accounts: 1, collateral: "1000000" } })
const [bob] = demo.json.accounts as ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }>

/** Numbers for the orders' ids. */
const numbers = [...Array(100).keys()].values()
const market = "/v1/markets/BTC-USDC-PERP/candles"
const compat = `/v2/markets/${encodeURIComponent("BTC/USDC:USDC")}/candles`
const get = (target: string) => venue.ask("GET", target, { key: "" })

beforeAll(async () => {
  for (const price of ["60010.0", "59990.0", "60005.0"]) {
    await venue.leap(20_000)
    await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price } })
  }
  await venue.leap(1_000)
  return async () => expect(Exit.isSuccess(await venue.stop())).toBe(true)
})

test("candles of the index, in both families", async () => {
  const { json, status } = await get(market)
  expect(status).toBe(200)
  expect(json).toMatchObject({ version: "external-candle-list/v1", marketId: "BTC-USDC-PERP", timeframe: "1m", series: "index" })
  expect(json.freshness).toMatchObject({ status: "fresh", degradedState: "none", backfillStatus: "live", projectorLagMs: 0 })
  const [first, second] = json.candles
  expect(first).toMatchObject({ openTimeEpochMs: 1_767_225_600_000, open: "60000.0", high: "60010.0", low: "59990.0", close: "59990.0" })
  expect(first).toMatchObject({ openAtoms: "600000", volume: "0.000", volumeAtoms: "0" })
  expect(second).toMatchObject({ openTimeEpochMs: 1_767_225_660_000, open: "60005.0", close: "60005.0" })
  expect((await get(compat)).json).toEqual([
    [1_767_225_600_000, 60_000, 60_010, 59_990, 59_990, 0],
    [1_767_225_660_000, 60_005, 60_005, 60_005, 60_005, 0]
  ])
})

test("tuples, which have no freshness, are told only of histories that take in nothing old and are not stale", async () => {
  const current = { sequence: 9, atEpochMs: 9, fills: 0, lagMs: 0, isReplaying: false, isRebuilding: false }
  const told = async (standing: Histories.Standing) => {
    const live = LiveVenue.make(undefined, { histories: { ...Histories.none, candles: () => Effect.succeed({ found: [], standing }) } })
    const targets = ["/v1/markets/AAA-USDC-PERP/candles", `/v2/markets/${encodeURIComponent(symbol)}/candles`]
    return Promise.all(targets.map(async (target) => {
      const { body, status } = await live.ask({ target })
      return status === 503 ? JSON.parse(body).info.dependency : status
    }))
  }
  const standings = [current, { ...current, lagMs: 30_000 }, { ...current, lagMs: 30_001 }, { ...current, lagMs: 1, isReplaying: true }]
  expect(await Promise.all(standings.map(told))).toEqual([[200, 200], [200, 200], [200, "read_model"], [200, "read_model"]])
})

test("the first from a time on, or the latest; each length", async () => {
  const openTimes = async (query: string) => (await get(`${compat}?${query}`)).json.map(([openTime]: ReadonlyArray<number>) => openTime)
  expect(await openTimes("since=1767225600000&limit=1")).toEqual([1_767_225_600_000])
  expect(await openTimes("since=1767225600001&limit=1")).toEqual([1_767_225_660_000])
  expect(await openTimes("limit=1")).toEqual([1_767_225_660_000])
  for (const future of [1_767_225_720_000, 1e15, Number.MAX_SAFE_INTEGER]) expect(await openTimes(`since=${future}`)).toEqual([])
  expect(await openTimes("series=trade")).toEqual([])
  // The first of January 2026 is a Thursday.
  for (const [timeframe, day] of [["1h", "2026-01-01"], ["3d", "2026-01-01"], ["1w", "2025-12-29"], ["1M", "2026-01-01"]] as const) {
    expect(await openTimes(`timeframe=${timeframe}`), timeframe).toEqual([Date.parse(day)])
  }
})

test("how far they are is told in the metrics", async () => {
  const metrics = String((await get("/metrics")).json)
  const journalSequence = (await get(market)).json.freshness.journalSequence
  expect(metrics).toContain(`\nvenue_histories_sequence ${journalSequence}\n`)
  expect(metrics).toContain("\nvenue_histories_lag_ms 0\n")
  expect(metrics).toContain("\nvenue_histories_replaying 0\n")
})

test("what is not served: candles of the mark, other lengths, other markets", async () => {
  expect(await get(`${market}?series=mark`)).toMatchObject({ status: 400, json: { code: "operation_not_available", retryable: false } })
  expect(await get(`${compat}?series=mark`)).toMatchObject({
    status: 400,
    json: { name: "NotSupported", retryable: false, info: { code: "operation_not_available" } }
  })
  for (
    const query of ["timeframe=7m", "limit=0", "limit=101", "since=-1", "since=1.5", "since=01", "since=9007199254740992", "series=last",
      "cursor=x"]
  ) {
    expect((await get(`${market}?${query}`)).json.code, query).toBe("invalid_request")
    expect((await get(`${compat}?${query}`)).json.name, query).toBe("BadRequest")
  }
  expect(await get(market.replace("BTC", "NONE"))).toMatchObject({ status: 404, json: { code: "market_not_found" } })
  expect(await get("/v2/markets/NONE/candles")).toMatchObject({ status: 404, json: { name: "BadSymbol" } })
})

describe("episodes of positions", () => {
  const place = async (account: string, key: string, side: "buy" | "sell", price: string, quantity: string) => {
    const body = {
      accountId: account,
      clientOrderId: `h-${numbers.next().value}`,
      marketId: "BTC-USDC-PERP",
      side,
      orderType: "limit",
      price,
      quantity
    }
    const { json, status } = await venue.ask("POST", "/v1/orders", { key, body })
    expect(status, JSON.stringify(json)).toBe(200)
  }
  /** Alice takes Bob's order, or Bob takes hers. */
  const trade = async (side: "buy" | "sell", price: string, quantity: string) => {
    await place(bob!.accountId, bob!.apiKey, side === "buy" ? "sell" : "buy", price, quantity)
    await place(alice!, apiKey!, side, price, quantity)
    await venue.leap(400)
  }
  const history = async (query = "", key = apiKey, account = alice) =>
    await venue.ask("GET", `/v1/accounts/${account}/positions/history${query}`, { key: key! })
  const positions = async () => (await venue.ask("GET", `/v1/accounts/${alice}/positions`, { key: apiKey! })).json.positions

  beforeAll(async () => {
    await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: "60000.0" } })
    await venue.leap(2_000)
    await trade("buy", "60000.0", "0.010")
    await trade("buy", "60010.0", "0.005")
    await trade("sell", "60020.0", "0.015")
    await trade("sell", "60000.0", "0.006")
    // A flip: 0.006 of it close the short, 0.004 open a long.
    await trade("buy", "59990.0", "0.010")
  })

  test("are told with what they came to, the open one under the id that it has among positions", async () => {
    const { json, status } = await history()
    expect(status).toBe(200)
    expect(json).toMatchObject({
      version: "external-position-history/v1",
      accountId: alice,
      marketId: null,
      status: null,
      nextCursor: null
    })
    expect(json.freshness).toMatchObject({ status: "fresh", degradedState: "none" })
    const [open, short, long] = json.episodes
    const [held] = await positions()
    expect(open).toMatchObject({
      positionId: held.positionId,
      side: "long",
      status: "open",
      currentQuantity: "0.004",
      avgEntryPrice: "59990.0",
      avgExitPrice: null,
      closeReason: null,
      closedAtEpochMs: null,
      realizedPnl: held.realizedPnl,
      feesPaid: held.feesPaid,
      lastSequence: held.lastSequence
    })
    expect(short).toMatchObject({
      side: "short",
      status: "closed",
      maxQuantity: "0.006",
      currentQuantity: "0.000",
      avgEntryPrice: "60000.0",
      avgExitPrice: "59990.0",
      realizedPnl: "0.060000",
      closeReason: "user_close",
      lastSequence: open.lastSequence
    })
    // 900.05 of entry notional gives an entry price of 60003.33..: rounded half up to tenths.
    expect(long).toMatchObject({
      side: "long",
      maxQuantity: "0.015",
      avgEntryPrice: "60003.3",
      avgExitPrice: "60020.0",
      realizedPnl: "0.250000"
    })
    // Both bear the fee of the flip, 5 bps of 599.90 rounded up.
    const fees = (await venue.ask("GET", `/v1/accounts/${alice}/fills?limit=1`, { key: apiKey! })).json.fills[0].fee
    expect(Number(open.feesPaidAtoms)).toBe(Math.ceil(Number(fees) * 1e6 * 0.4))
  })

  test("page by page, narrowed by market and status", async () => {
    const all = (await history()).json.episodes.map(({ positionId }: { readonly positionId: string }) => positionId)
    const seen: Array<string> = []
    for (let cursor = ""; seen.length < 10;) {
      const { json } = await history(`?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`)
      seen.push(...json.episodes.map(({ positionId }: { readonly positionId: string }) => positionId))
      if (json.nextCursor === null) break
      cursor = json.nextCursor
      expect(Object.keys(JSON.parse(Buffer.from(cursor, "base64url").toString()))).toEqual(["closeSequence", "openedAtEpochMs",
        "positionId"])
    }
    expect(seen).toEqual(all)
    const ids = async (query: string) =>
      (await history(query)).json.episodes.map(({ positionId }: { readonly positionId: string }) => positionId)
    expect(await ids("?status=open")).toEqual(all.slice(0, 1))
    expect(await ids("?status=closed&marketId=BTC-USDC-PERP")).toEqual(all.slice(1))
    expect(await ids("?status=liquidated")).toEqual([])
    expect(await ids("?marketId=ETH-USDC-PERP")).toEqual([])
  })

  test("are nobody else's, and refuse what is no cursor of theirs", async () => {
    const old = Buffer.from(JSON.stringify({ openedAtEpochMs: 1, positionId: "pos_1" })).toString("base64url")
    for (const query of [`?cursor=${old}`, "?cursor=x", "?limit=0", "?limit=101", "?status=settled", "?side=long"]) {
      expect(await history(query), query).toMatchObject({ status: 400, json: { code: "invalid_request" } })
    }
    expect((await history(`?cursor=${old}`)).json.recoveryActions).toEqual(["restart_from_first_page"])
    for (const account of [bob!.accountId, "acc_nobody"]) {
      expect(await history("", apiKey, account), account).toMatchObject({ status: 400, json: { code: "invalid_request" } })
    }
    expect(await history("?marketId=NONE-USDC-PERP")).toMatchObject({ status: 404, json: { code: "market_not_found" } })
    expect(await history("", "")).toMatchObject({ status: 401 })
  })
})

describe("the leaderboard", () => {
  const board = async (query = "") => await get(`/v1/leaderboard${query}`)

  test("ranks what was realised less fees and funding, under pseudonyms", async () => {
    await venue.leap(61_000)
    const { json, status } = await board()
    expect(status).toBe(200)
    expect(json).toMatchObject({
      version: "external-leaderboard/v1",
      windowKind: "daily",
      metricKind: "projected_realized_pnl",
      periodStartEpochMs: Date.parse("2026-01-01"),
      periodEndEpochMs: Date.parse("2026-01-02"),
      nextCursor: null
    })
    const [first, second] = json.entries
    expect(json.entries).toHaveLength(2)
    const { episodes } = (await venue.ask("GET", `/v1/accounts/${alice}/positions/history`, { key: apiKey! })).json
    const sum = (member: string) => episodes.reduce((total: number, each: Record<string, string>) => total + Number(each[member]), 0)
    // Alice was the taker, and paid more in fees than she won.
    expect(second).toMatchObject({ rank: 2, participantKind: "human", fillCount: 5, realizedPnlAtoms: String(sum("realizedPnlAtoms")) })
    expect(second.feesPaidAtoms).toBe(String(sum("feesPaidAtoms")))
    expect(Number(second.scoreAtoms)).toBe(Number(second.realizedPnlAtoms) - Number(second.feesPaidAtoms))
    expect(Number(first.scoreAtoms)).toBeGreaterThanOrEqual(Number(second.scoreAtoms))
    for (const { displayHandle } of json.entries) expect(displayHandle).toMatch(/^trader-[0-9a-f]{12}$/)
    expect(JSON.stringify(json)).not.toContain(alice)
    expect(json.scoreHistogram).toHaveLength(10)
    expect(json.scoreHistogram.reduce((total: number, { accountCount }: { readonly accountCount: number }) => total + accountCount, 0))
      .toBe(2)
    expect(json.scoreHistogram[0]).toMatchObject({ percentileUpperBoundBps: 1_000, minimumScoreAtoms: second.scoreAtoms })
    expect(json.scoreHistogram[9]).toMatchObject({ percentileUpperBoundBps: 10_000, maximumScoreAtoms: first.scoreAtoms })
  })

  test("a page goes on in the board that it began with, while that is kept", async () => {
    const first = (await board("?limit=1&window=all_time")).json
    await venue.leap(120_000)
    const later = (await board("?limit=1&window=all_time")).json
    expect(BigInt(later.boardVersion)).toBeGreaterThan(BigInt(first.boardVersion))
    const second = (await board(`?limit=1&window=all_time&cursor=${first.nextCursor}`)).json
    expect(second).toMatchObject({ boardVersion: first.boardVersion, markEpochMs: first.markEpochMs, nextCursor: null })
    expect(second.entries[0].rank).toBe(2)
    const stale = { status: 400, json: { code: "invalid_request", recoveryActions: ["restart_from_first_page"] } }
    expect(await board(`?window=weekly&cursor=${first.nextCursor}`)).toMatchObject(stale)
    await venue.leap(600_000)
    expect(await board(`?limit=1&window=all_time&cursor=${first.nextCursor}`)).toMatchObject(stale)
    for (const query of ["?window=hourly", "?metric=volume", "?limit=0", "?limit=101", "?cursor=x", "?marketId=BTC-USDC-PERP"]) {
      expect(await board(query), query).toMatchObject({ status: 400, json: { code: "invalid_request" } })
    }
  })

  test("leaves out those who only load the venue", async () => {
    await venue.ask("PUT", `/v1/operator/accounts/${bob!.accountId}/flags`, { body: { load_harness: true } })
    await venue.ask("PUT", `/v1/operator/accounts/${alice}/flags`, { body: { bot: true } })
    await venue.leap(61_000)
    expect((await board("?window=monthly")).json.entries).toMatchObject([{ rank: 1, participantKind: "bot" }])
  })
})
