/** Requests with more decimals than their market has, over the real engine: for a market that is not visible, the grid is not revealed. */
import { describe, expect, test } from "vitest"
import * as MarketBody from "../../../src/edge/operator/MarketBody.js"
import { parameters } from "../../engine/drive.js"
import * as Fake from "../FakeVenue.js"
import { LiveVenue, marketId as openMarketId, order, type Trader } from "../LiveVenue.js"

const marketId = "NEW-USDC-PERP"
const tooFine = "1.123456789"

interface Asked {
  readonly method: string
  readonly target: string
  readonly body: unknown
}

const requests = (alice: Trader): Readonly<Record<string, Asked>> => {
  const { accountId } = alice
  const later = (more: Readonly<Record<string, unknown>>) => order(alice, { marketId, clientOrderId: "later", ...more })
  return {
    "an order's price": { method: "POST", target: "/v1/orders", body: later({ price: tooFine }) },
    "an order's quantity": { method: "POST", target: "/v1/orders", body: later({ clientOrderId: "l2", quantity: tooFine }) },
    "an order's stop": {
      method: "POST",
      target: "/v1/orders",
      body: later({ clientOrderId: "l3", autoClose: { stopLoss: { triggerPrice: tooFine } } })
    },
    "one order of a batch": {
      method: "POST",
      target: "/v1/orders/batch",
      body: { orders: [order(alice, { marketId: openMarketId, clientOrderId: "b1" }), later({ clientOrderId: "b2", price: tooFine })] }
    },
    "an amendment's price": {
      method: "POST",
      target: "/v1/orders/ord_1s/amend",
      body: { accountId, marketId, price: tooFine }
    },
    "a position's take-profit": {
      method: "PUT",
      target: `/v1/accounts/${accountId}/positions/${marketId}/auto-close`,
      body: { takeProfit: { triggerPrice: tooFine } }
    }
  }
}

const make = async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1)
  const ask = async (asked: Asked, idempotencyKey: string) => {
    const response = await venue.ask({ ...asked, key: alice!.key, idempotencyKey: idempotencyKey.replaceAll(" ", "-") })
    return { response, text: response.body.replaceAll(/"requestId":"[^"]*"/g, "") }
  }
  return { alice: alice!, ask, requests: requests(alice!), venue }
}

describe.each(["not there", "a draft"])("of a market that is %s", (before) => {
  test("each is decided, and told that decision again under its key when the market is listed", async () => {
    const { ask, requests, venue } = await make()
    const listed = parameters("NEW", { maxPriceAtoms: 1_000_000, maxPositionQuantityAtoms: 500_000 })
    if (before === "a draft") venue.send({ kind: "PutMarket", idempotencyKey: venue.nextKey(), parameters: listed })
    const first = new Map<string, Awaited<ReturnType<typeof ask>>>()
    for (const [name, asked] of Object.entries(requests)) first.set(name, await ask(asked, name))
    for (const [name, { response, text }] of first) {
      expect([name, response.status]).toEqual([name, name === "one order of a batch" ? 200 : 404])
      expect(text).toMatch(/"code":"(market_not_found|not_found)"/)
    }
    venue.market(listed)
    const { records } = venue
    for (const [name, asked] of Object.entries(requests)) {
      const { response, text } = await ask(asked, name)
      expect([name, response.status, text]).toEqual([name, first.get(name)!.response.status, first.get(name)!.text])
      expect([name, response.headers["idempotent-replayed"]]).toEqual([name, "true"])
    }
    expect(venue.records).toBe(records)
    // Under another key, or once the first answer is forgotten, they are malformed.
    for (const [name, asked] of Object.entries(requests)) {
      expect([name, (await ask(asked, `${name} anew`)).response.status]).toEqual([name, 400])
    }
    venue.atEpochMs += 25 * 3_600_000
    for (const [name, asked] of Object.entries(requests)) {
      // A key that another order of the batch still keeps is remembered longer.
      if (name === "one order of a batch") continue
      const { response } = await ask(asked, name)
      expect([name, response.status, response.headers["idempotent-replayed"]]).toEqual([name, 400, undefined])
    }
    expect(venue.records).toBe(records)
    expect(Fake.json((await ask(requests["an order's price"]!, "anew")).response)).toMatchObject({ code: "invalid_request" })
  })

  test("another body under such a key is malformed, and does nothing", async () => {
    const { alice, ask, requests, venue } = await make()
    const listed = parameters("NEW", { maxPriceAtoms: 1_000_000, maxPositionQuantityAtoms: 500_000 })
    await ask(requests["an order's price"]!, "k")
    venue.market(listed)
    const { records } = venue
    const other = { method: "POST", target: "/v1/orders", body: order(alice, { marketId, clientOrderId: "later", price: "1.987654321" }) }
    expect((await ask(other, "k")).response.status).toBe(400)
    expect(venue.records).toBe(records)
  })
})

describe("of a market without decimals", () => {
  const whole = { marketId: "NEW-USDC-PERP", price: "1000.0", quantity: "5.0" }
  const placing = (alice: Trader, more: Readonly<Record<string, unknown>>): Asked => ({
    method: "POST",
    target: "/v1/orders",
    body: order(alice, { ...whole, ...more })
  })
  const makeWhole = async () => {
    const made = await make()
    made.venue.market(
      parameters("NEW", {
        priceScale: 0,
        quantityScale: 0,
        minPriceAtoms: 10,
        maxPriceAtoms: 2_000,
        maxQuantityAtoms: 100,
        maxPositionQuantityAtoms: 500
      })
    )
    return made
  }

  test("an order is taken as answers write it, and is the same one without the zero", async () => {
    const { alice, ask } = await makeWhole()
    const first = await ask(placing(alice, {}), "k")
    expect([first.response.status, Fake.json(first.response)]).toMatchObject([200, {
      price: "1000.0",
      quantity: "5.0",
      quantityAtoms: "5"
    }])
    const again = await ask(placing(alice, { price: "1000", quantity: "5" }), "k")
    expect([again.response.status, again.response.headers["idempotent-replayed"], again.text]).toEqual([200, "true", first.text])
    // Amended and stop orders show the values as they were sent, too.
    const { orderId, price, quantity } = Fake.json(first.response) as Readonly<Record<string, string>>
    const body = { accountId: alice.accountId, marketId: whole.marketId, price, quantity }
    expect((await ask({ method: "POST", target: `/v1/orders/${orderId}/amend`, body }, "amended")).response.status).toBe(200)
    const stopped = placing(alice, { clientOrderId: "s", autoClose: { stopLoss: { triggerPrice: "900.0" } } })
    expect((await ask(stopped, "stopped")).response.status).toBe(200)
  })

  test("the nearest value that a refusal names is taken, and finer ones are not", async () => {
    const { alice, ask } = await makeWhole()
    for (const [quantity, status] of [["101", 422], ["5.5", 400], ["5.00", 400]] as const) {
      const { response } = await ask(placing(alice, { quantity, clientOrderId: `of-${quantity}` }), `refused-${quantity}`)
      const { nearest } = Fake.json(response) as { readonly nearest: string }
      const { response: taken } = await ask(placing(alice, { quantity: nearest, clientOrderId: `near-${quantity}` }), `nearest-${quantity}`)
      expect([quantity, response.status, nearest, taken.status]).toEqual([quantity, status, nearest, 200])
    }
  })

  test("its parameters are put back as they are read, as those of every scale", () => {
    for (let scale = 0; scale <= 6; scale++) {
      const market = parameters("NEW", { priceScale: scale, quantityScale: 6 - scale, indexStepMaxBps: 1_000_000 })
      expect(MarketBody.parameters(market.marketId, MarketBody.bodyOf(market))).toEqual(market)
    }
  })
})
