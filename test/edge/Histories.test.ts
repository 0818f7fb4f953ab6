/** The histories through the whole venue: candles as they are served, behind the journal by a moment. */
import { Exit } from "effect"
import { beforeAll, expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { ready } from "./VenueOver.js"

const { venue } = await ready(memoryDisk().layer)

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

test("the first from a time on, or the latest; each length", async () => {
  const openTimes = async (query: string) => (await get(`${compat}?${query}`)).json.map(([openTime]: ReadonlyArray<number>) => openTime)
  expect(await openTimes("since=1767225600000&limit=1")).toEqual([1_767_225_600_000])
  expect(await openTimes("since=1767225600001&limit=1")).toEqual([1_767_225_660_000])
  expect(await openTimes("limit=1")).toEqual([1_767_225_660_000])
  expect(await openTimes("since=1767225720000")).toEqual([])
  expect(await openTimes("series=trade")).toEqual([])
  // The first of January 2026 is a Thursday.
  for (const [timeframe, day] of [["1h", "2026-01-01"], ["3d", "2026-01-01"], ["1w", "2025-12-29"], ["1M", "2026-01-01"]] as const) {
    expect(await openTimes(`timeframe=${timeframe}`), timeframe).toEqual([Date.parse(day)])
  }
})

test("what is not served: candles of the mark, other lengths, other markets", async () => {
  expect(await get(`${market}?series=mark`)).toMatchObject({ status: 400, json: { code: "operation_not_available", retryable: false } })
  expect(await get(`${compat}?series=mark`)).toMatchObject({
    status: 400,
    json: { name: "NotSupported", retryable: false, info: { code: "operation_not_available" } }
  })
  for (const query of ["timeframe=7m", "limit=0", "limit=101", "since=-1", "since=1.5", "series=last", "cursor=x"]) {
    expect((await get(`${market}?${query}`)).json.code, query).toBe("invalid_request")
    expect((await get(`${compat}?${query}`)).json.name, query).toBe("BadRequest")
  }
  expect(await get(market.replace("BTC", "NONE"))).toMatchObject({ status: 404, json: { code: "market_not_found" } })
  expect(await get("/v2/markets/NONE/candles")).toMatchObject({ status: 404, json: { name: "BadSymbol" } })
})
