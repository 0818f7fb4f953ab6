/** Trailing zeros of a fraction make no other body: a repeat that has more of them than its market has decimals gets the decided answer. */
import { beforeEach, describe, expect, test } from "vitest"
import { LiveVenue, marketId, order, type Trader } from "../LiveVenue.js"

describe("a repeat with more zeros than the market has decimals", () => {
  let venue: LiveVenue
  let alice: Trader
  let bob: Trader

  beforeEach(async () => {
    venue = LiveVenue.make()
    ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
  })

  /** The answers to both bodies under one key, without what differs between any two answers. */
  const both = async (method: string, target: string, ...bodies: ReadonlyArray<object>) => {
    const idempotencyKey = venue.nextKey()
    const answers = []
    for (const body of bodies) {
      const response = await venue.ask({ method, target, body, key: alice.key, idempotencyKey } as never)
      const { requestId: _, ...rest } = JSON.parse(response.body)
      answers.push([response.status, rest])
    }
    return answers
  }
  const same = async (status: number, method: string, target: string, first: object, second: object) => {
    const [one, other] = await both(method, target, first, second)
    expect(one![0]).toBe(status)
    expect(other).toEqual(one)
  }

  test("of an order is told its decision, taken or refused", async () => {
    const body = order(alice, { price: "99.0", quantity: "1.000" })
    await same(200, "POST", "/v1/orders", body, { ...body, price: "99.000", quantity: "1.000000" })
    const tooMuch = order(alice, { price: "99.0", quantity: "900000.000" })
    const [refused, again] = await both("POST", "/v1/orders", tooMuch, { ...tooMuch, price: "99.00" })
    expect(refused![0]).toBeGreaterThanOrEqual(400)
    expect(again).toEqual(refused)
  })

  test("of a batch is told each of its decisions", async () => {
    const orders = [order(alice, { price: "99.0" }), order(alice, { price: "98.0", clientOrderId: "d" })]
    await same(200, "POST", "/v1/orders/batch", { orders }, {
      orders: orders.map((each) => ({ ...each, price: `${String(each["price"])}00` }))
    })
  })

  test("of an amendment is told its decision", async () => {
    const { orderId } = await venue.place(alice, { price: "99.0" })
    const body = { accountId: alice.accountId, marketId, price: "98.0" }
    await same(200, "POST", `/v1/orders/${orderId}/amend`, body, { ...body, price: "98.00" })
  })

  test("of an auto-close is told its decision", async () => {
    await venue.place(bob, { side: "sell" })
    await venue.place(alice)
    const target = `/v1/accounts/${alice.accountId}/positions/${marketId}/auto-close`
    const close = (triggerPrice: string) => ({ stopLoss: { triggerPrice } })
    await same(200, "PUT", target, close("95.0"), close("95.000"))
  })

  test("under a fresh key is refused, as what has too many decimals is", async () => {
    expect(await venue.place(alice, { price: "99.00" })).toMatchObject({ httpStatus: 400 })
  })
})
