/** Reads of the compatibility layer over the real engine: unified shapes, exact numbers, listings by time. `ask` checks every schema. */
import { expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Operation } from "../../src/operations/Operations.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import { parameters, plain } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId, symbol } from "./LiveVenue.js"

const encoded = encodeURIComponent(symbol)

/** Alice sold 2.5 at 100.1 and 100.2 to Bob, who wanted 3. */
const traded = async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2) as [any, any]
  venue.atEpochMs += 60_000
  await venue.place(alice, { side: "sell", price: "100.1", quantity: "1.500", clientOrderId: "maker-1" })
  await venue.place(alice, { side: "sell", price: "100.2", quantity: "1.000", clientOrderId: "maker-2" })
  venue.atEpochMs += 1000
  await venue.place(bob, { price: "100.3", quantity: "3.000", clientOrderId: "taker" })
  return { venue, alice, bob }
}

test("a market is the library's, with tick sizes, limits and fees as fractions", async () => {
  const { venue } = await traded()
  const [market] = await venue.read(undefined, "/v2/markets")
  expect(market).toMatchObject({
    id: marketId,
    symbol,
    base: "AAA",
    quote: "USDC",
    settle: "USDC",
    type: "swap",
    spot: false,
    swap: true,
    contract: true,
    linear: true,
    inverse: false,
    active: true,
    contractSize: 1,
    maker: 0.0002,
    taker: 0.0005,
    precision: { amount: 0.001, price: 0.1 },
    limits: { leverage: { min: 1, max: 10 }, amount: { min: 0.001, max: 100 }, price: { min: 0.1, max: 10000 }, cost: {} }
  })
})

test("public trades show the taker's side; own trades their own side, order and fee", async () => {
  const { alice, bob, venue } = await traded()
  const trades = await venue.read(undefined, `/v2/markets/${encoded}/trades`)
  const at = venue.atEpochMs
  expect(trades).toMatchObject([
    { id: "trd_0", timestamp: at, symbol, side: "buy", takerOrMaker: "taker", price: 100.1, amount: 1.5, cost: 150.15 },
    { id: "trd_1", timestamp: at, side: "buy", price: 100.2, amount: 1, cost: 100.2 }
  ])
  expect(trades[0].datetime).toBe(new Date(at).toISOString())
  const makers = await venue.read(alice, "/v2/trades")
  const takers = await venue.read(bob, `/v2/trades?symbol=${encoded}`)
  // Fees are rounded up: 2 and 5 bps of 150.15.
  expect(makers[0]).toMatchObject({
    id: "trd_0",
    side: "sell",
    takerOrMaker: "maker",
    fee: { cost: 0.03003, currency: "USDC", rate: 0.0002 },
    info: { liquidity: "maker", notional: "150.150000", feeAtoms: "30030", feeAsset: "USDC" }
  })
  expect(takers[0]).toMatchObject({ side: "buy", takerOrMaker: "taker", fee: { cost: 0.075075, currency: "USDC", rate: 0.0005 } })
  const orders = await venue.read(bob, "/v2/orders")
  expect(takers.map((trade: any) => trade.order)).toEqual([orders[0].id, orders[0].id])
})

test("an order tells what it filled, at which average and cost", async () => {
  const { bob, venue } = await traded()
  const [order] = await venue.read(bob, "/v2/orders")
  expect(order).toMatchObject({
    symbol,
    status: "open",
    clientOrderId: "taker",
    price: 100.3,
    amount: 3,
    filled: 2.5,
    remaining: 0.5,
    average: 100.1,
    cost: 250.35,
    timeInForce: "GTC"
  })
  expect(await venue.read(bob, `/v2/orders/${order.id}?symbol=${encoded}`)).toEqual(order)
})

test("orders are listed oldest first: the first ones since a time, or the latest ones", async () => {
  const venue = LiveVenue.make()
  venue.market(parameters("BBB"))
  const [alice, bob] = await venue.traders(2) as [any, any]
  const times: Array<number> = []
  for (let index = 0; index < 7; index++) {
    venue.atEpochMs += 10
    times.push(venue.atEpochMs)
    const market = index === 5 ? "BBB-USDC-PERP" : marketId
    await venue.place(alice, { clientOrderId: `c${index}`, price: "90.0", marketId: market })
  }
  const [, , third] = await venue.read(alice, "/v2/orders")
  await venue.post(alice, `/v2/orders/${third.id}/cancel`, { symbol })
  const names = async (query: string) => (await venue.read(alice, `/v2/orders?${query}`)).map((order: any) => order.clientOrderId)
  expect(await names("")).toEqual(["c0", "c1", "c2", "c3", "c4", "c5", "c6"])
  expect(await names("limit=2")).toEqual(["c5", "c6"])
  expect(await names(`since=${times[3]}`)).toEqual(["c3", "c4", "c5", "c6"])
  expect(await names(`since=${times[1]}&limit=2`)).toEqual(["c1", "c2"])
  expect(await names(`since=${times[1]}&limit=2&status=open`)).toEqual(["c1", "c3"])
  expect(await names("status=canceled")).toEqual(["c2"])
  expect(await names("status=open&limit=2")).toEqual(["c5", "c6"])
  expect(await names(`symbol=${encoded}&status=open`)).toEqual(["c0", "c1", "c3", "c4", "c6"])
  expect(await venue.read(bob, "/v2/orders")).toEqual([])
  expect((await venue.ask({ target: "/v2/orders?symbol=X", key: alice.key })).status).toBe(404)
})

test("a listing of orders that would look at too many is refused, not cut", async () => {
  const venue = LiveVenue.make({ orders: 200_000, idempotencyKeys: 200_000 })
  const [alice] = await venue.traders(1) as [any]
  const before = venue.atEpochMs
  const entry: PlaceEntry = { ...plain, priceAtoms: 900, quantityAtoms: 1, timeInForce: Order.ioc }
  const place = (count: number): void => {
    venue.send({
      kind: "PlaceOrders",
      operation: Operation.placeBatchV1,
      account: alice.account,
      idempotencyKey: venue.nextKey(),
      entries: Array.from({ length: count }, () => entry)
    })
  }
  for (let placed = 0; placed < 100_000; placed += 32) place(32)
  const ask = (query: string) => venue.ask({ target: `/v2/orders?limit=2&${query}`, key: alice.key })
  expect((await ask(`since=${before}`)).status).toBe(200)
  place(1)
  const refused = await ask(`since=${before}`)
  expect([refused.status, Fake.json(refused).name]).toEqual([400, "BadRequest"])
  expect((await ask("status=closed")).status).toBe(400)
  expect(Fake.json(await ask("")).map((order: any) => order.status)).toEqual(["canceled", "canceled"])
})

test("a listing of orders that the venue forgets while it looks is made of its histories, and not of those that are left", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1) as [any]
  const since = venue.atEpochMs
  const entry: PlaceEntry = { ...plain, priceAtoms: 900, quantityAtoms: 1, timeInForce: Order.ioc }
  for (let placed = 0; placed < 640; placed += 32) {
    const entries = Array.from({ length: 32 }, () => entry)
    venue.send({ kind: "PlaceOrders", operation: Operation.placeBatchV1, account: alice.account, idempotencyKey: venue.nextKey(), entries })
  }
  const ask = () => venue.ask({ target: `/v2/orders?since=${since}`, key: alice.key })
  expect((await ask()).status).toBe(200)
  const asked = ask()
  expect(venue.engine.hasForgotten(alice.account, "")).toBe(false)
  venue.atEpochMs += 29 * 86_400_000
  // Each record forgets a limited number of orders.
  for (let count = 0; count < 5; count++) {
    venue.send({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 1_000, sourceEpochMs: venue.atEpochMs })
  }
  expect(venue.engine.hasForgotten(alice.account, "")).toBe(true)
  // The order is forgotten by now, and this venue has no histories to read it from.
  const answer = await asked
  expect([answer.status, Fake.json(answer).name]).toEqual([503, "ExchangeNotAvailable"])
})

test("trades are listed since a time, each once, also where many share it", async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2) as [any, any]
  const times: Array<number> = []
  for (let index = 0; index < 12; index++) {
    if (index % 3 === 0) venue.atEpochMs += 5
    times.push(venue.atEpochMs)
    await venue.place(alice, { side: "sell", quantity: `0.00${index % 9 + 1}` })
    await venue.place(bob, { quantity: `0.00${index % 9 + 1}` })
  }
  const ids = async (target: string, trader?: any) => (await venue.read(trader, target)).map((trade: any) => trade.id)
  const all = await ids(`/v2/markets/${encoded}/trades`)
  expect(all).toHaveLength(12)
  for (const since of new Set([0, ...times, venue.atEpochMs + 1])) {
    const expected = all.filter((_: string, index: number) => times[index]! >= since)
    expect(await ids(`/v2/markets/${encoded}/trades?since=${since}`)).toEqual(expected)
    expect(await ids(`/v2/trades?since=${since}&limit=4`, alice)).toEqual(expected.slice(0, 4))
  }
  expect(await ids(`/v2/markets/${encoded}/trades?limit=3`)).toEqual(all.slice(-3))
  expect(await ids("/v2/trades?limit=3", bob)).toEqual(all.slice(-3))
})

test("stats and ticker agree with what was traded", async () => {
  const { venue } = await traded()
  const stats = await venue.read(undefined, `/v2/markets/${encoded}/stats`)
  expect(stats).toMatchObject({
    symbol,
    timestamp: venue.atEpochMs,
    high: 100.2,
    low: 100.1,
    last: 100.2,
    baseVolume: 2.5,
    quoteVolume: 250.35,
    openInterestAmount: 2.5,
    openInterestValue: 250,
    markPrice: 100,
    indexPrice: 100,
    fundingRate: 0,
    nextFundingRate: 0,
    nextFundingTimestamp: Math.ceil(venue.atEpochMs / 3_600_000) * 3_600_000,
    interval: "1h"
  })
  expect(stats.info).toEqual(await venue.read(undefined, `/v1/markets/${marketId}/stats`))
  expect(stats.info).toMatchObject({ volume24hQuoteAtoms: "250350000", volume24hQuote: "250.350000", lastPrice: "100.2" })
  const ticker = await venue.read(undefined, `/v2/markets/${encoded}/ticker`)
  expect(ticker).toMatchObject({
    bid: 100.3,
    bidVolume: 0.5,
    high: 100.2,
    low: 100.1,
    vwap: 100.1,
    open: 100.1,
    last: 100.2,
    close: 100.2,
    change: 0.1,
    average: 100.15,
    quoteVolume: 250.35
  })
  expect(ticker.ask).toBeUndefined()
})

test("a market without trades has zeroes in its stats and gaps in its ticker", async () => {
  const venue = LiveVenue.make()
  expect(await venue.read(undefined, `/v2/markets/${encoded}/stats`)).toMatchObject({ high: 0, low: 0, last: 0, quoteVolume: 0 })
  const ticker = await venue.read(undefined, `/v2/markets/${encoded}/ticker`)
  expect(Object.keys(ticker).sort()).toEqual(
    ["baseVolume", "datetime", "indexPrice", "info", "markPrice", "quoteVolume", "symbol", "timestamp"]
  )
})

test("positions and balance are the native ones in numbers", async () => {
  const { alice, bob, venue } = await traded()
  const [long] = await venue.read(bob, `/v2/positions?symbol=${encoded}`)
  expect(long).toMatchObject({
    symbol,
    side: "long",
    contracts: 2.5,
    contractSize: 1,
    entryPrice: 100.1,
    markPrice: 100,
    notional: 250,
    initialMargin: 25,
    initialMarginPercentage: 0.1,
    maintenanceMargin: 12.5,
    unrealizedPnl: -0.35,
    marginMode: "cross",
    hedged: false
  })
  expect((await venue.read(alice, "/v2/positions"))[0]).toMatchObject({ side: "short", contracts: 2.5, unrealizedPnl: 0.35 })
  const balance = await venue.read(bob, "/v2/balance")
  const { info, USDC } = balance
  expect(USDC).toEqual({ free: balance.free.USDC, used: balance.used.USDC, total: balance.total.USDC })
  expect([USDC.free, USDC.total]).toEqual([Number(info.available), Number(info.equity)])
  expect(Math.round((USDC.free + USDC.used - USDC.total) * 1e6)).toBe(0)
})

test("cancel-all cancels what the account has open, in one market or in all, and repeats its answer", async () => {
  const venue = LiveVenue.make()
  venue.market(parameters("BBB"))
  const [alice, bob] = await venue.traders(2) as [any, any]
  for (const market of [marketId, marketId, "BBB-USDC-PERP"]) await venue.place(alice, { price: "90.0", marketId: market })
  await venue.place(bob, { price: "90.0" })
  const first = await venue.post(alice, "/v2/orders/cancel-all", { symbol }, "k")
  expect(Fake.json(first)).toMatchObject({ symbol, canceled: 2, info: { marketId, canceledOrders: 2, idempotencyKey: "k" } })
  const { records } = venue
  expect((await venue.post(alice, "/v2/orders/cancel-all", { symbol }, "k")).body).toBe(first.body)
  expect(venue.records).toBe(records)
  expect(Fake.json(await venue.post(alice, "/v2/orders/cancel-all", {}))).toMatchObject({ canceled: 1 })
  expect(await venue.read(bob, "/v2/orders?status=open")).toHaveLength(1)
  expect((await venue.post(alice, "/v2/orders/cancel-all", { symbol: "X" })).status).toBe(404)
})

test("the clock is the venue's", async () => {
  const venue = LiveVenue.make()
  venue.atEpochMs = 1_767_225_600_123
  expect(await venue.read(undefined, "/v2/time")).toEqual({ timestamp: 1_767_225_600_123, datetime: "2026-01-01T00:00:00.123Z" })
})
