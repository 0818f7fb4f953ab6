/** Requests with more decimals than their market has, over the real engine: of a market that is not to be seen nothing is told of its grid. */
import { describe, expect, test } from "vitest"
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
    // Under another key, and when the first the first is forgotten, they are malformed.
    for (const [name, asked] of Object.entries(requests)) {
      expect([name, (await ask(asked, `${name} anew`)).response.status]).toEqual([name, 400])
    }
    venue.atEpochMs += 25 * 3_600_000
    for (const [name, asked] of Object.entries(requests)) {
      // One that another order of its batch still has is remembered on.
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
