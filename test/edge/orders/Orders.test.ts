/** Placing, cancelling and reading orders: the commands that reach the engine, and how its decisions are answered. */
import { isDeepStrictEqual } from "node:util"
import { describe, expect, test } from "vitest"
import * as Ids from "../../../src/domain/Ids.js"
import { Refusal } from "../../../src/domain/Refusal.js"
import * as Contract from "../../../src/edge/Contract.js"
import * as Fingerprint from "../../../src/operations/Fingerprint.js"
import { noAutoClose } from "../../../src/operations/accounts/AutoClose.js"
import { Principal } from "../../../src/operations/Header.js"
import { Operation } from "../../../src/operations/Operations.js"
import { none } from "../../../src/domain/None.js"
import type { PlaceOrders } from "../../../src/operations/orders/PlaceOrders.js"
import { decided } from "../FakeEngine.js"
import * as Fake from "../FakeVenue.js"

const place = (fake: Fake.FakeVenue, more: Readonly<Record<string, unknown>> = {}, idempotencyKey = "k") =>
  fake.ask({ target: "/v1/orders", body: Fake.order(fake, more), key: fake.keys.alice, idempotencyKey })
const lastPlacement = (fake: Fake.FakeVenue): PlaceOrders => fake.commands.at(-1) as PlaceOrders

describe("native placement", () => {
  test("asks the engine in atoms", async () => {
    const fake = Fake.make()
    await place(fake, { postOnly: true, selfTradePrevention: "cancel_both" })
    const { fingerprint, ...asked } = lastPlacement(fake)
    expect(isDeepStrictEqual(fingerprint, Fingerprint.noFingerprint)).toBe(false)
    expect(asked).toEqual({
      kind: "PlaceOrders",
      principal: Principal.key,
      operation: Operation.placeV1,
      account: 0,
      credential: 0,
      idempotencyKey: "k",
      connection: none,
      entries: [{
        market: 0,
        clientOrderId: "c-1",
        side: 0,
        type: 0,
        timeInForce: 0,
        priceAtoms: 1005,
        quantityAtoms: 2500,
        postOnly: true,
        reduceOnly: false,
        selfTradePrevention: 2,
        expiresAtEpochMs: 0,
        fault: 0,
        raw: "",
        autoClose: noAutoClose
      }]
    })
  })

  test("a market order is immediate-or-cancel, with or without a worst price", async () => {
    const fake = Fake.make()
    const { price: _price, ...priceless } = Fake.order(fake, { orderType: "market", side: "sell" })
    await fake.ask({ target: "/v1/orders", body: priceless, key: fake.keys.alice, idempotencyKey: "a" })
    expect(lastPlacement(fake).entries[0]).toMatchObject({ type: 1, timeInForce: 1, side: 1, priceAtoms: 0 })
    await place(fake, { orderType: "market", price: "99.5" }, "b")
    expect(lastPlacement(fake).entries[0]).toMatchObject({ type: 1, timeInForce: 1, priceAtoms: 995 })
  })

  test("says what the decision filled and left", async () => {
    const fake = Fake.make()
    fake.next = () => ({
      sequence: 9,
      atEpochMs: 1_700_000_000_009,
      refusal: 0,
      replayed: false,
      entries: [decided(577, {
        status: 2,
        cancelReason: 2,
        filledAtoms: 1000,
        filledNotionalAtoms: 10 * (700 * 1005 + 300 * 1004),
        canceledAtoms: 1500
      })]
    })
    const response = await place(fake, { timeInForce: "IOC" })
    expect(Fake.json(response)).toEqual({
      version: "external-order/v1",
      orderId: "ord_g1",
      accountId: fake.accounts[0],
      marketId: "BTC-USDC-PERP",
      status: "canceled",
      lastSequence: 9,
      idempotencyKey: "k",
      cancelReason: "ioc_remainder",
      clientOrderId: "c-1",
      side: "buy",
      orderType: "limit",
      timeInForce: "IOC",
      price: "100.5",
      priceAtoms: "1005",
      quantity: "0.2500",
      quantityAtoms: "2500",
      filledQuantity: "0.1000",
      filledQuantityAtoms: "1000",
      remainingQuantity: "0.0000",
      remainingQuantityAtoms: "0",
      canceledQuantity: "0.1500",
      canceledQuantityAtoms: "1500",
      averageFillPrice: "100.5",
      averageFillPriceAtoms: "1005",
      postOnly: false,
      reduceOnly: false,
      selfTradePrevention: "cancel_resting",
      createdAtEpochMs: 1_700_000_000_009,
      updatedAtEpochMs: 1_700_000_000_009
    })
  })

  test("the same request gets the same bytes, whatever happened since", async () => {
    const fake = Fake.make()
    const first = await place(fake)
    const { orderId } = Fake.json(first)
    await fake.ask({
      target: `/v1/orders/${orderId}/cancel`,
      body: { accountId: fake.accounts[0], marketId: "BTC-USDC-PERP" },
      key: fake.keys.alice,
      idempotencyKey: "c"
    })
    fake.bumpBook()
    const again = await place(fake)
    expect(again.body).toBe(first.body)
    expect(again.headers["x-request-id"]).not.toBe(first.headers["x-request-id"])
    // Each answer names the record that decided it, and only the repeated one is marked as a repeat.
    const { sequence } = Ids.parseRequestId(first.headers["x-request-id"]!)!
    expect(sequence).toBeGreaterThan(0)
    expect(Ids.parseRequestId(again.headers["x-request-id"]!)).toEqual({ sequence })
    expect([first, again].map(({ headers }) => headers["idempotent-replayed"])).toEqual([undefined, "true"])
    const other = await place(fake, { quantity: "0.26" })
    expect([other.status, Fake.json(other).code]).toEqual([409, "idempotency_key_conflict"])
  })

  test("a repeat says that it is one, whatever the route and whether it is refused or done", async () => {
    const fake = Fake.make()
    const asks: ReadonlyArray<Fake.Ask> = [
      { target: "/v2/order", body: Contract.examples.createOrder.body, key: fake.keys.alice, idempotencyKey: "compat" },
      {
        target: "/v1/orders/ord_1/cancel",
        body: { accountId: fake.accounts[0], marketId: "BTC-USDC-PERP" },
        key: fake.keys.alice,
        idempotencyKey: "refused"
      },
      { method: "PUT", target: "/v1/operator/engine/halt", key: Fake.operatorToken, idempotencyKey: "halt" }
    ]
    for (const ask of asks) {
      const [first, again] = [await fake.ask(ask), await fake.ask(ask)]
      expect([ask.target, again.status]).toEqual([ask.target, first.status])
      expect([ask.target, first, again].map((each) => typeof each === "string" ? each : each.headers["idempotent-replayed"]))
        .toEqual([ask.target, undefined, "true"])
    }
    const undecided = await fake.ask({ target: "/v1/orders", body: {}, key: fake.keys.alice, idempotencyKey: "none" })
    expect(Ids.parseRequestId(undecided.headers["x-request-id"]!)).toEqual({ sequence: undefined })
  })

  test("another spelling of the same number is the same body", async () => {
    const fake = Fake.make()
    const first = await place(fake, { quantity: "0.25", price: "100" })
    const again = await place(fake, { quantity: "0.2500", price: "100.0" })
    expect(again.body).toBe(first.body)
  })

  test("an idempotency key with quotes and backslashes comes back as it was", async () => {
    const fake = Fake.make()
    const key = "a\"b\\c{}"
    expect(Fake.json(await place(fake, {}, key)).idempotencyKey).toBe(key)
  })

  test("nothing is said before it is durable", async () => {
    const fake = Fake.make()
    fake.hold = true
    let answered = 0
    const asked = [
      place(fake),
      fake.ask({ target: "/v1/markets/BTC-USDC-PERP/book" }),
      fake.ask({ target: `/v1/accounts/${fake.accounts[0]}/balance`, key: fake.keys.alice }),
      fake.ask({ target: "/v1/orders/ord_zz", key: fake.keys.alice }),
      fake.ask({ target: "/v1/orders/ord_zz", key: `pk_development_abc_${"x".repeat(43)}` })
    ].map((response) =>
      response.then(({ status }) => {
        answered++
        return status
      })
    )
    for (let turn = 0; turn < 20; turn++) expect((await fake.ask({ target: "/healthz" })).status).toBe(200)
    expect(answered).toBe(0)
    fake.release()
    expect(await Promise.all(asked)).toEqual([200, 200, 200, 404, 401])
  })
})

describe("native batch", () => {
  test("each entry has its own result, in order", async () => {
    const fake = Fake.make()
    const response = await fake.ask({
      target: "/v1/orders/batch",
      body: {
        orders: [
          Fake.order(fake, { clientOrderId: "a" }),
          Fake.order(fake, { clientOrderId: "b", marketId: "DOGE", price: "1.23456789" }),
          Fake.order(fake, { clientOrderId: "c", price: "99999999999" })
        ]
      },
      key: fake.keys.alice,
      idempotencyKey: "k"
    })
    const { outcomes, version } = Fake.json(response)
    expect(version).toBe("external-place-order-batch/v1")
    expect(outcomes.map((entry: any) => [
      entry.index,
      entry.accepted,
      entry.status,
      entry.code,
      entry.marketId,
      entry.price,
      entry.idempotencyKey
    ])).toEqual([
      [0, true, "open", undefined, "BTC-USDC-PERP", "100.5", "k"],
      [1, false, "canceled", "market_not_found", "DOGE", "1.23456789", "k"],
      [2, false, "canceled", "order_rejected", "BTC-USDC-PERP", "99999999999", "k"]
    ])
    expect(lastPlacement(fake).entries[1]).toMatchObject({
      market: -1,
      fault: Refusal.marketNotFound,
      raw: "[\"DOGE\",\"1.23456789\",\"0.25\"]"
    })
  })
})

describe("cancels", () => {
  test("one, then again with a new key", async () => {
    const fake = Fake.make()
    const { orderId } = Fake.json(await place(fake))
    const cancel = (idempotencyKey: string, marketId = "BTC-USDC-PERP") =>
      fake.ask({
        target: `/v1/orders/${orderId}/cancel`,
        body: { accountId: fake.accounts[0], marketId },
        key: fake.keys.alice,
        idempotencyKey
      })
    expect((await cancel("x", "ETH-USDC-PERP")).status).toBe(404)
    const first = await cancel("a")
    expect(Fake.json(first)).toMatchObject({
      version: "external-cancel-order/v1",
      accepted: true,
      orderId,
      status: "canceled",
      cancelReason: "user",
      canceledQuantity: "0.2500",
      idempotencyKey: "a"
    })
    expect((await cancel("a")).body).toBe(first.body)
    expect((await cancel("b")).status).toBe(404)
    const read = await fake.ask({ target: `/v1/orders/${orderId}`, key: fake.keys.reader })
    expect(Fake.json(read)).toMatchObject({ status: "canceled", remainingQuantityAtoms: "0", canceledQuantityAtoms: "2500" })
  })

  test("a batch, of which one is unknown and one no order's id", async () => {
    const fake = Fake.make()
    const { orderId } = Fake.json(await place(fake))
    const at = { accountId: fake.accounts[0], marketId: "BTC-USDC-PERP" }
    const response = await fake.ask({
      target: "/v1/orders/batch/cancel",
      body: { orders: [{ ...at, orderId: "ord_zz" }, { ...at, orderId }, { ...at, orderId: "\ud800 nonsense" }] },
      key: fake.keys.alice,
      idempotencyKey: "k"
    })
    const { outcomes, version } = Fake.json(response)
    expect(version).toBe("external-cancel-order-batch/v1")
    expect(outcomes.map((entry: any) => [entry.index, entry.accepted, entry.orderId, entry.status, entry.code])).toEqual([
      [0, false, "ord_zz", "canceled", "not_found"],
      [1, true, orderId, "canceled", undefined],
      [2, false, "\ud800 nonsense", "canceled", "not_found"]
    ])
    expect(fake.commands.at(-1)).toMatchObject({
      operation: Operation.cancelBatchV1,
      entries: [{ market: 0 }, { market: 0, raw: "" }, { orderNumber: -1, raw: "[\"BTC-USDC-PERP\",\"\\ud800 nonsense\"]" }]
    })
  })
})

test("a cancel in another market finds nothing, and the status of its entry says nothing of the order", async () => {
  const fake = Fake.make()
  const { orderId } = Fake.json(await place(fake))
  const response = await fake.ask({
    target: "/v1/orders/batch/cancel",
    body: { orders: [{ accountId: fake.accounts[0], marketId: "ETH-USDC-PERP", orderId }] },
    key: fake.keys.alice,
    idempotencyKey: "k"
  })
  expect(Fake.json(response).outcomes).toMatchObject([{ accepted: false, orderId, status: "canceled", code: "not_found" }])
  const read = await fake.ask({ target: `/v1/orders/${orderId}`, key: fake.keys.reader })
  expect(Fake.json(read).status).toBe("open")
  const { components } = Fake.json(await fake.ask({ target: "/openapi.json" }))
  expect(components.schemas.RefusedCancelEntry.properties.status.description)
    .toBe("Always this, whatever became of the order: it may have been filled, or be open in another market. Read the order.")
})

describe("the compatibility layer", () => {
  const body = {
    symbol: "BTC/USDC:USDC",
    type: "limit",
    side: "sell",
    amount: 0.25,
    price: 100.5,
    params: { clientOrderId: "c", postOnly: true }
  }

  test("places the thin view, reads the whole order, cancels", async () => {
    const fake = Fake.make()
    const placed = await fake.ask({ target: "/v2/order", body, key: fake.keys.alice, idempotencyKey: "k" })
    const order = Fake.json(placed)
    expect(order).toMatchObject({
      symbol: "BTC/USDC:USDC",
      status: "open",
      clientOrderId: "c",
      side: "sell",
      type: "limit",
      timeInForce: "GTC",
      price: 100.5,
      amount: 0.25,
      filled: 0,
      remaining: 0.25,
      postOnly: true,
      reduceOnly: false,
      info: { version: "external-order/v1", marketId: "BTC-USDC-PERP", idempotencyKey: "k" }
    })
    const read = Fake.json(await fake.ask({ target: `/v2/orders/${order.id}?symbol=BTC%2FUSDC:USDC`, key: fake.keys.alice }))
    expect(read).toMatchObject({ id: order.id, status: "open", info: { quantityAtoms: "2500" } })
    const otherMarket = await fake.ask({ target: `/v2/orders/${order.id}?symbol=ETH%2FUSDC:USDC`, key: fake.keys.alice })
    expect([otherMarket.status, Fake.json(otherMarket).name]).toEqual([404, "OrderNotFound"])
    const foreign = await fake.ask({ target: `/v2/orders/${order.id}`, key: fake.keys.bob })
    expect(Fake.json(foreign).name).toBe("OrderNotFound")
    const cancel = (key: string, idempotencyKey: string) =>
      fake.ask({ target: `/v2/orders/${order.id}/cancel`, body: { symbol: "BTC/USDC:USDC" }, key, idempotencyKey })
    expect(Fake.json(await cancel(fake.keys.bob, "x")).name).toBe("OrderNotFound")
    const canceled = await cancel(fake.keys.alice, "c")
    expect(Fake.json(canceled)).toMatchObject({
      id: order.id,
      status: "canceled",
      amount: 0.25,
      filled: 0,
      remaining: 0.25,
      info: { cancelReason: "user" }
    })
    expect((await cancel(fake.keys.alice, "c")).body).toBe(canceled.body)
    expect(Fake.json(await cancel(fake.keys.alice, "d")).name).toBe("OrderNotFound")
  })

  test("a batch keeps its good siblings and tells numbers off the grid from numbers out of bounds", async () => {
    const fake = Fake.make()
    const response = await fake.ask({
      target: "/v2/orders",
      body: [
        body,
        { ...body, price: 100.55 },
        { ...body, amount: 0.00001 },
        { ...body, price: 1e21 },
        { ...body, symbol: "DOGE/USDC:USDC" }
      ],
      key: fake.keys.alice,
      idempotencyKey: "k"
    })
    expect(Fake.json(response).map((entry: any) => [
      entry.index,
      entry.accepted,
      entry.name,
      entry.rejectionGuard,
      entry.info.marketId
    ])).toEqual([
      [0, true, undefined, undefined, "BTC-USDC-PERP"],
      [1, false, "InvalidOrder", "price_out_of_bounds", "BTC-USDC-PERP"],
      [2, false, "InvalidOrder", "quantity_out_of_bounds", "BTC-USDC-PERP"],
      [3, false, "InvalidOrder", "price_out_of_bounds", "BTC-USDC-PERP"],
      [4, false, "BadSymbol", undefined, "DOGE/USDC:USDC"]
    ])
    expect(lastPlacement(fake).entries.map((entry) => entry.fault)).toEqual([
      Refusal.none,
      Refusal.priceOffGrid,
      Refusal.quantityOffGrid,
      Refusal.priceOutOfBounds,
      Refusal.marketNotFound
    ])
  })

  test("numbers that print shortest on the grid are on the grid", async () => {
    const fake = Fake.make()
    for (const [amount, atoms] of [[0.1, 1000], [0.3, 3000], [1e-4, 1], [100, 1_000_000], [0.0003, 3]] as const) {
      await fake.ask({ target: "/v2/order", body: { ...body, amount }, key: fake.keys.alice, idempotencyKey: `k${amount}` })
      expect(lastPlacement(fake).entries[0]).toMatchObject({ quantityAtoms: atoms, fault: 0 })
    }
    await fake.ask({ target: "/v2/order", body: { ...body, amount: 0.1 + 0.2 }, key: fake.keys.alice, idempotencyKey: "sum" })
    expect(lastPlacement(fake).entries[0]).toMatchObject({
      fault: Refusal.quantityOffGrid,
      raw: "[\"BTC/USDC:USDC\",100.5,0.30000000000000004]"
    })
  })
})

test("refusals of batch entries are counted by name", async () => {
  const fake = Fake.make()
  await fake.ask({
    target: "/v1/orders/batch",
    body: { orders: [Fake.order(fake, { marketId: "X" })] },
    key: fake.keys.alice,
    idempotencyKey: "k"
  })
  expect((await fake.ask({ target: "/metrics" })).body).toContain("venue_refusals_total{name=\"MarketNotFound\"} 1")
})
