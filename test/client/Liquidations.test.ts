/** What changes a position without a trade of its owner's: the class over the real edge and engine in this process. */
import type { Liquidation } from "ccxt"
import { afterEach, expect, test } from "vitest"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import * as Fake from "../edge/FakeVenue.js"
import { closeAll, serve } from "../edge/http/NodeServed.js"
import { LiveVenue, marketId, symbol } from "../edge/LiveVenue.js"

afterEach(closeAll)

/** A venue with three accounts: the first is long 5.000 at 100.0, the second short, the third has orders alone. */
const opened = async () => {
  const venue = LiveVenue.make()
  const traders = await venue.traders(3, "60")
  const baseURL = `http://127.0.0.1:${(await serve(venue.application)).port}`
  const [long, short, third] = traders.map(({ key }) => new Perpetuum({ apiKey: key, baseURL, enableRateLimit: false }))
  await short!.createOrder(symbol, "limit", "sell", 5, 100)
  await long!.createOrder(symbol, "limit", "buy", 5, 100)
  const settle = (): void => {
    while (venue.engine.nextDueEpochMs <= venue.atEpochMs) venue.send({ kind: "PassTime" })
  }
  return { venue, long: long!, short: short!, third: third!, settle }
}

const told = ({ contracts, info, price, quoteValue, side }: Liquidation) => [info.role, info.step, side, contracts, price, quoteValue]

test("a liquidation, and a deleveraging against another, are told to both sides and in public", async () => {
  const { long, settle, short, third, venue } = await opened()
  await third.createOrder(symbol, "limit", "buy", 1, 91)
  for (const priceAtoms of [910, 850]) {
    for (let second = 0; second < 20; second++) {
      venue.atEpochMs += 1_000
      venue.send({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms, sourceEpochMs: venue.atEpochMs })
      venue.send({ kind: "MarkTick" })
      settle()
    }
  }
  const own = await long.fetchMyLiquidations()
  expect(own.map(told)).toEqual([
    ["liquidated", "order", "sell", 1, 88.1, undefined],
    ["liquidated", "deleveraging", "sell", 4, 87.4, 349.6]
  ])
  expect(own[0]).toMatchObject({ symbol, baseValue: 1, contractSize: 1, datetime: long.iso8601(own[0]!.timestamp) })
  expect((await short.fetchMyLiquidations()).map(told)).toEqual([["counterparty", "deleveraging", "buy", 4, 87.4, 349.6]])
  // Who took the order has a trade.
  expect(await third.fetchMyLiquidations()).toEqual([])
  expect(await third.fetchMyTrades()).toHaveLength(1)
  expect((await third.fetchLiquidations(symbol)).map(told)).toEqual(own.map(told).map(([, ...rest]) => [undefined, ...rest]))
  // The first from a time on, or the latest.
  const since = own[0]!.timestamp!
  expect(await long.fetchMyLiquidations(symbol, since, 1)).toEqual(own.slice(0, 1))
  expect(await long.fetchMyLiquidations(undefined, since + 1)).toEqual(own.slice(1))
  expect(await long.fetchMyLiquidations(symbol, undefined, 1)).toEqual(own.slice(1))
})

test("a settlement is told to each side as its own", async () => {
  const { long, settle, short, venue } = await opened()
  await venue.ask({
    method: "PUT",
    target: `/v1/operator/markets/${marketId}/delisting`,
    body: {},
    key: Fake.operatorToken,
    idempotencyKey: "delist"
  })
  settle()
  expect((await long.fetchMyLiquidations(symbol)).map(told)).toEqual([["settled", "settlement", "sell", 5, 100, 500]])
  expect((await short.fetchMyLiquidations(undefined, 1)).map(told)).toEqual([["settled", "settlement", "buy", 5, 100, 500]])
  expect(await short.fetchLiquidations(symbol)).toEqual([])
  expect(await long.fetchMyTrades()).toHaveLength(1)
})
