/** Closing positions by triggers and at once, and orders that rest beside that: the class over the real edge and engine in this process. */
import { afterEach, expect, test } from "vitest"
import { closeAll } from "../edge/http/NodeServed.js"
import { symbol } from "../edge/LiveVenue.js"
import { twoAccounts } from "./Loaded.js"

afterEach(closeAll)

const triggersPath = "v1/accounts/{accountId}/triggers"

/**
 * A venue with an account that trades and another as its counterparty, each with the class; `same` is another client of the first account.
 */
const opened = async () => {
  const { exchange, other, same } = await twoAccounts()
  const buy = async (amount: number, params: object = {}): Promise<void> => {
    await other.createOrder(symbol, "limit", "sell", amount, 100)
    expect(await exchange.createOrder(symbol, "limit", "buy", amount, 100, params)).toMatchObject({ status: "closed" })
  }
  const stopLoss = (amount: number, at: number, params: object = {}, of = exchange) =>
    of.createStopLossOrder(symbol, "market", "sell", amount, undefined, at, params)
  const takeProfit = (amount: number, at: number, params: object = {}) =>
    exchange.createTakeProfitOrder(symbol, "limit", "sell", amount, at - 1, at, params)
  /** The set triggers: id, stop-loss and take-profit. */
  const set = async (of?: string) =>
    (await exchange.fetchOpenOrders(of, undefined, undefined, { trigger: true })).map((
      { id, stopLossPrice, takeProfitPrice }
    ) => [id, stopLossPrice, takeProfitPrice])
  return { exchange, other, same, buy, stopLoss, takeProfit, set }
}

test("a take-profit keeps the stop-loss that is set for the position, and a stop-loss the take-profit", async () => {
  const { buy, exchange, set, stopLoss, takeProfit } = await opened()
  await buy(2)
  const stop = await stopLoss(2, 95)
  expect(stop).toMatchObject({ status: "open", side: "sell", type: "market", amount: 2, stopLossPrice: 95, triggerPrice: 95 })
  const both = await takeProfit(2, 110, { triggerPriceType: "last" })
  expect(both).toMatchObject({ status: "open", stopLossPrice: 95, takeProfitPrice: 110, info: { replacedTriggers: 1 } })
  const moved = await stopLoss(2, 96)
  expect(moved.info).toMatchObject({
    stopLoss: { triggerPrice: "96.0" },
    takeProfit: { triggerPrice: "110.0", triggerBy: "last", limitPrice: "109.0" }
  })
  expect(await set(symbol)).toEqual([[moved.id, 96, 110]])
  // Two calls at the same time do not overwrite each other.
  await Promise.all([stopLoss(2, 97), takeProfit(2, 111)])
  expect((await set()).map(([, ...prices]) => prices)).toEqual([[97, 111]])
  // A refused call changes nothing, and the call that waited behind it goes on.
  const [refused, last] = await Promise.allSettled([stopLoss(2, 105), stopLoss(2, 98)])
  expect(refused).toMatchObject({ status: "rejected", reason: { details: { rejectionGuard: "trigger_invalid" } } })
  expect(last).toMatchObject({ status: "fulfilled", value: { stopLossPrice: 98, takeProfitPrice: 111 } })
  // A limit order without its price does not become a market order.
  const unpriced = exchange.createStopLossOrder(symbol, "limit", "sell", 2, undefined, 99)
  await expect(unpriced).rejects.toMatchObject({ name: "ArgumentsRequired" })
  // A pair has no name of the caller's, so that none is taken and then not found.
  await expect(stopLoss(2, 99, { clientOrderId: "mine" })).rejects.toMatchObject({
    name: "NotSupported",
    message: expect.stringContaining("clientOrderId")
  })
  // A repeated call gets the same answer, with the leg that it kept.
  const once = await stopLoss(2, 94, { idempotencyKey: "once", clientOrderId: undefined })
  expect(await stopLoss(2, 94, { idempotencyKey: "once" })).toEqual(once)
  expect(await exchange.fetchOpenOrders(symbol)).toEqual([])
})

test("a pair is read and cancelled by its id, and its end is told from its being elsewhere", async () => {
  const { buy, exchange, set, stopLoss, takeProfit } = await opened()
  await buy(2)
  const stop = await stopLoss(2, 95)
  const { id } = await takeProfit(2, 110)
  for (const found of [await exchange.fetchOrder(id!, symbol), await exchange.fetchOrder(id!), await exchange.fetchOpenOrder(id!)]) {
    expect(found).toMatchObject({ id, symbol, status: "open", type: "limit", amount: 2, reduceOnly: true, stopLossPrice: 95 })
  }
  const gone = { name: "OrderNotFound", message: expect.stringContaining(`there are ${id}`) }
  await expect(exchange.fetchOrder(stop.id!, symbol)).rejects.toMatchObject(gone)
  await expect(exchange.cancelOrder(stop.id!, symbol)).rejects.toMatchObject(gone)
  for (
    const call of [
      () => exchange.cancelOrders([id!], symbol),
      () => exchange.editOrder(id!, symbol, "limit", "sell", 1),
      () => exchange.fetchOrders(symbol, undefined, undefined, { trigger: true })
    ]
  ) await expect(call()).rejects.toMatchObject({ name: "NotSupported" })
  for (let asked = 0; asked < 2; asked++) {
    expect(await exchange.cancelOrder(id!, symbol, { idempotencyKey: "cancel" })).toMatchObject({ id, status: "canceled" })
  }
  expect(await set()).toEqual([])
  await expect(exchange.cancelOrder(id!, symbol)).rejects.toMatchObject({ name: "OrderNotFound" })
  // The venue can only cancel all triggers of a position together.
  const own = await stopLoss(2, 95)
  await exchange.createOrder(symbol, "limit", "buy", 1, 99, { stopLoss: 94 })
  await expect(exchange.cancelOrder(own.id!, symbol)).rejects.toMatchObject({ name: "NotSupported" })
  expect(await set()).toEqual([[own.id, 95, undefined]])
  expect(await exchange.cancelAllOrders(symbol, { trigger: true })).toMatchObject([{ status: "canceled", info: { canceledTriggers: 2 } }])
  expect([await set(), (await exchange.fetchOpenOrders()).length]).toEqual([[], 1])
  expect(await exchange.cancelAllOrders(undefined, { stop: true })).toMatchObject([{ info: { canceledTriggers: 0 } }])
})

test("a stop-loss that an order has brought is kept where it closes the whole position, and never lost where it does not", async () => {
  const { buy, set, stopLoss, takeProfit } = await opened()
  await buy(1, { stopLoss: 95 })
  const [[brought]] = await set() as [[string]]
  expect(await takeProfit(1, 110)).toMatchObject({ stopLossPrice: 95, takeProfitPrice: 110 })
  await buy(1, { stopLoss: 94 })
  const before = await set()
  expect(before).toHaveLength(2)
  expect(before.map(([id]) => id)).not.toContain(brought)
  await expect(takeProfit(2, 111)).rejects.toMatchObject({ name: "InvalidOrder", message: expect.stringContaining("name both") })
  expect(await set()).toEqual(before)
  const named = await stopLoss(2, 93, { takeProfitPrice: 112 })
  expect(await set()).toEqual([[named.id, 93, 112]])
})

test("a stop-loss that was set for a position before it grew is not widened to all of it in silence", async () => {
  const { buy, set, stopLoss, takeProfit } = await opened()
  await buy(1)
  const stop = await stopLoss(1, 95, { idempotencyKey: "stop" })
  await buy(1)
  await expect(takeProfit(2, 110)).rejects.toMatchObject({ name: "InvalidOrder", message: expect.stringContaining("name both") })
  expect(await set()).toEqual([[stop.id, 95, undefined]])
  // Triggers that the call itself names apply to the whole position.
  expect(await stopLoss(2, 94)).toMatchObject({ amount: 2, stopLossPrice: 94 })
})

test("what another program sets between the look and the setting is not lost in silence", async () => {
  const { buy, exchange, same, set, stopLoss, takeProfit } = await opened()
  await buy(2)
  const request = exchange.request.bind(exchange)
  exchange.request = async (path: string, ...rest: ReadonlyArray<any>) => {
    const answer = await request(path, ...rest)
    if (path === triggersPath) {
      exchange.request = request
      await stopLoss(2, 95, {}, same)
    }
    return answer
  }
  const error = await takeProfit(2, 110).then(() => undefined, (cause: unknown) => cause)
  expect(error).toMatchObject({ name: "ExchangeError", message: expect.stringContaining("somebody else"), order: { takeProfitPrice: 110 } })
  expect((await set()).map(([, ...prices]) => prices)).toEqual([[undefined, 110]])
})

test("a position that is larger than an order may be is closed in parts, which are told as one", async () => {
  const { buy, exchange, other } = await opened()
  const grow = async (): Promise<void> => {
    await buy(100)
    await buy(65)
  }
  await grow()
  await expect(exchange.closePosition(symbol, undefined, { clientOrderId: "one" })).rejects.toMatchObject({ name: "InvalidOrder" })
  await expect(exchange.closePosition(symbol)).rejects.toMatchObject({ name: "InvalidOrder", details: { rejectionGuard: "no_liquidity" } })
  await other.createOrder(symbol, "limit", "buy", 100, 100)
  await other.createOrder(symbol, "limit", "buy", 65, 99)
  const closed = await exchange.closePosition(symbol, "long", { idempotencyKey: "close" })
  expect(closed).toMatchObject({ status: "closed", side: "sell", reduceOnly: true, amount: 165, filled: 165, remaining: 0, cost: 16_435 })
  expect(closed.info.closing).toMatchObject([{ filledQuantity: "100.000" }, { orderId: closed.id, filledQuantity: "65.000" }])
  expect(await exchange.fetchPositions()).toEqual([])
  expect(await exchange.closePosition(symbol, "long", { idempotencyKey: "close" })).toMatchObject({ id: closed.id, filled: 165 })
  await grow()
  await other.createOrder(symbol, "limit", "buy", 20, 100)
  expect(await exchange.closePosition(symbol)).toMatchObject({ status: "canceled", amount: 165, filled: 20, remaining: 145 })
})

test("all open orders are told where no limit is given", async () => {
  const { exchange } = await opened()
  const grid = Array.from({ length: 150 },
    (_, at) => ({ symbol, type: "limit", side: "buy", amount: 1, price: 91 + (at % 80) / 10 } as const))
  for (let at = 0; at < grid.length; at += 32) await exchange.createOrders(grid.slice(at, at + 32))
  expect(new Set((await exchange.fetchOpenOrders(symbol)).map(({ id }) => id)).size).toBe(150)
  expect(await exchange.fetchOpenOrders(symbol, undefined, 20)).toHaveLength(20)
})

test("a flag that is neither true nor false is refused, and nothing is placed or cancelled", async () => {
  const { exchange, other } = await opened()
  await other.createOrder(symbol, "limit", "sell", 1, 100)
  for (const name of ["postOnly", "reduceOnly"]) {
    for (const value of ["true", 1]) {
      const params = { [name]: value }
      await expect(exchange.createOrder(symbol, "limit", "buy", 1, 100, params)).rejects.toMatchObject({ name: "BadRequest" })
      const entry = { symbol, type: "limit", side: "buy", amount: 1, price: 100, params } as const
      await expect(exchange.createOrders([entry])).rejects.toMatchObject({ name: "BadRequest" })
    }
  }
  await expect(other.cancelAllOrders(symbol, { trigger: "true" })).rejects.toMatchObject({ name: "BadRequest" })
  await expect(other.fetchOpenOrders(symbol, undefined, undefined, { stop: 1 })).rejects.toMatchObject({ name: "BadRequest" })
  expect(await exchange.createOrder(symbol, "limit", "buy", 1, 99, { postOnly: false })).toMatchObject({ status: "open", postOnly: false })
  expect([await exchange.fetchPositions(), (await other.fetchOpenOrders()).length]).toEqual([[], 1])
})

test("what a trigger price sets follows from its direction, and never from where the mark is", async () => {
  const { buy, exchange, other, set } = await opened()
  await buy(2)
  const triggered = (side: "buy" | "sell", triggerPrice: number, triggerDirection?: string, of = exchange) =>
    of.createOrder(symbol, "market", side, 2, undefined, { triggerPrice, triggerDirection, reduceOnly: true })
  for (const direction of [undefined, "up"]) {
    await expect(triggered("sell", 95, direction)).rejects.toMatchObject({
      name: "NotSupported",
      message: expect.stringContaining("stopLossPrice or takeProfitPrice")
    })
  }
  expect(await triggered("sell", 95, "descending")).toMatchObject({ stopLossPrice: 95, takeProfitPrice: undefined })
  expect(await triggered("sell", 110, "ascending")).toMatchObject({ stopLossPrice: 95, takeProfitPrice: 110 })
  expect(await triggered("buy", 105, "ascending", other)).toMatchObject({ stopLossPrice: 105, takeProfitPrice: undefined })
  // The mark has passed this one: it is refused, and what is set stays.
  await expect(triggered("sell", 105, "descending")).rejects.toMatchObject({ details: { rejectionGuard: "trigger_invalid" } })
  expect((await set()).map(([, ...prices]) => prices)).toEqual([[95, 110]])
})
