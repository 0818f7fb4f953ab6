/** Funding of ended intervals, as a venue reports it that has run for hours. */
import { describe, expect, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { loadedOver } from "./Loaded.js"
import { answered, market, ScriptedVenue } from "./ScriptedVenue.js"

const symbol = "BTC/USDC:USDC"
const hourMs = 3_600_000
const startEpochMs = 1_767_225_600_000

/** The venue's entry for the interval that ended so many hours after the start. */
const interval = (hours: number, fundingRateE9: string) => ({ endedAtEpochMs: startEpochMs + hours * hourMs, fundingRateE9 })

describe("the history of funding rates", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    exchange = new Perpetuum({ hostname: `127.0.0.1:${venue.port}`, enableRateLimit: false })
    venue.script(answered([market]))
    await exchange.loadMarkets()
  })

  afterAll(() => venue.stop())

  const history = { version: "external-funding-history/v1", intervals: [interval(3, "-12500"), interval(2, "0"), interval(1, "4000000")] }

  it("is told oldest first, as fractions per interval", async () => {
    venue.script(answered(history))
    expect(await exchange.fetchFundingRateHistory(symbol, undefined, 3)).toEqual([
      {
        info: history.intervals[2],
        symbol,
        fundingRate: 0.004,
        timestamp: startEpochMs + hourMs,
        datetime: "2026-01-01T01:00:00.000Z"
      },
      {
        info: history.intervals[1],
        symbol,
        fundingRate: 0,
        timestamp: startEpochMs + 2 * hourMs,
        datetime: "2026-01-01T02:00:00.000Z"
      },
      {
        info: history.intervals[0],
        symbol,
        fundingRate: -0.0000125,
        timestamp: startEpochMs + 3 * hourMs,
        datetime: "2026-01-01T03:00:00.000Z"
      }
    ])
    expect(venue.seen[0]!.url).toBe("/v1/markets/BTC-USDC-PERP/funding?limit=3")
  })

  it("from a time on is that of its first intervals, although the venue tells the newest first", async () => {
    venue.script(answered(history))
    const since = startEpochMs + hourMs
    const rates = await exchange.fetchFundingRateHistory(symbol, since, 2)
    expect(rates.map(({ fundingRate }) => fundingRate)).toEqual([0.004, 0])
    expect(venue.seen[0]!.url).toBe(`/v1/markets/BTC-USDC-PERP/funding?since=${since}&limit=500`)
  })

  it("is asked of one market", async () => {
    await expect(exchange.fetchFundingRateHistory()).rejects.toMatchObject({ name: "ArgumentsRequired" })
  })
})

describe("an account's own payments", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    exchange = await loadedOver(venue, [market, { ...market, id: "ETH-USDC-PERP", symbol: "ETH/USDC:USDC", base: "ETH" }])
  })

  afterAll(() => venue.stop())

  const payment = (marketId: string, hours: number, paid: string) => ({
    marketId,
    paid,
    occurredAtEpochMs: startEpochMs + hours * hourMs,
    sequence: 100 + hours
  })
  const payments = [
    payment("ETH-USDC-PERP", 2, "0.500000"),
    payment("BTC-USDC-PERP", 2, "-0.000062"),
    payment("BTC-USDC-PERP", 1, "0.000063")
  ]

  it("are told oldest first, with what was paid below zero", async () => {
    venue.script(answered({ payments }))
    const told = await exchange.fetchFundingHistory(symbol)
    expect(told.map(({ amount, timestamp }) => [timestamp, amount])).toEqual([
      [startEpochMs + hourMs, -0.000063],
      [startEpochMs + 2 * hourMs, 0.000062]
    ])
    expect(told[0]).toMatchObject({ symbol, code: "USDC", id: "BTC-USDC-PERP.101", datetime: "2026-01-01T01:00:00.000Z" })
    expect(venue.seen[0]!.url).toBe("/v1/accounts/acc_1/funding-payments?limit=500")
  })

  it("are those of all markets where none is named, and no more than asked for", async () => {
    venue.script(answered({ payments }))
    const told = await exchange.fetchFundingHistory(undefined, startEpochMs, 2)
    expect(told.map((one) => [one.symbol, one.amount])).toEqual([[symbol, -0.000063], ["ETH/USDC:USDC", -0.5]])
    expect(venue.seen[0]!.url).toBe(`/v1/accounts/acc_1/funding-payments?since=${startEpochMs}&limit=500`)
  })

  it("are read back to a time over all pages, since the venue tells those of all markets and the newest first", async () => {
    venue.script(
      answered({ payments: payments.slice(0, 1), nextCursor: "c1" }),
      answered({ payments: payments.slice(1, 2), nextCursor: "c2" }),
      answered({ payments: payments.slice(2), nextCursor: null })
    )
    const told = await exchange.fetchFundingHistory(symbol, startEpochMs, 1)
    expect(told.map(({ id }) => id)).toEqual(["BTC-USDC-PERP.101"])
    const path = `/v1/accounts/acc_1/funding-payments?since=${startEpochMs}&limit=500`
    expect(venue.seen.map(({ url }) => url)).toEqual([path, `${path}&cursor=c1`, `${path}&cursor=c2`])
  })

  it("are the latest of one market where no time is named, and no page behind those is asked for", async () => {
    venue.script(answered({ payments: payments.slice(0, 1), nextCursor: "c1" }),
      answered({ payments: payments.slice(1), nextCursor: "c2" }))
    const told = await exchange.fetchFundingHistory(symbol, undefined, 1)
    expect(told.map(({ id }) => id)).toEqual(["BTC-USDC-PERP.102"])
    expect(venue.seen).toHaveLength(2)
  })
})

describe("the funding rate", () => {
  it("names no previous time for a market with sessions, whose last interval may have ended days before", async () => {
    const venue = await ScriptedVenue.start()
    const exchange = new Perpetuum({ hostname: `127.0.0.1:${venue.port}`, enableRateLimit: false })
    const of = (marketType: string) => ({ ...market, info: { market: { marketType } } })
    const stats = (nextFundingTimestamp: number) => ({
      timestamp: startEpochMs,
      fundingRate: 0.0001,
      nextFundingRate: 0,
      nextFundingTimestamp,
      interval: "1h",
      info: { version: "external-market-stats/v1", fundingIntervalMs: hourMs }
    })
    const told = async (marketType: string, nextFundingTimestamp: number) => {
      venue.script(answered([of(marketType)]))
      await exchange.loadMarkets(true)
      venue.script(answered(stats(nextFundingTimestamp)))
      const { fundingTimestamp, previousFundingTimestamp } = await exchange.fetchFundingRate(symbol)
      return [fundingTimestamp, previousFundingTimestamp]
    }
    const next = startEpochMs + hourMs
    expect(await told("crypto", next)).toEqual([next, startEpochMs])
    expect(await told("equity", next)).toEqual([next, undefined])
    expect(await told("equity", 0)).toEqual([undefined, undefined])
    await venue.stop()
  })
})
