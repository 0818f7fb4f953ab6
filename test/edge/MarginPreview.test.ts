/** The preview of a placement over the real engine. `ask` checks every schema. */
import { describe, expect, test } from "vitest"
import { scopeRead } from "../../src/operations/identity/KeyGrant.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId, order, type Trader } from "./LiveVenue.js"

const make = async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2, "1000")
  return { venue, alice: alice!, bob: bob! }
}

const preview = async (venue: LiveVenue, { accountId, key }: Trader, body: object, of = accountId) => {
  const response = await venue.ask({ method: "POST", target: `/v1/accounts/${of}/margin/preview`, body, key })
  return { status: response.status, ...Fake.json(response) }
}

describe("many previews", () => {
  test("of an account are made one a turn, and another's comes in between", async () => {
    const { alice, bob, venue } = await make()
    await Promise.all([alice, bob].map((each) => venue.read(each, "/v1/api-keys/current")))
    const answered: Array<string> = []
    const ask = async (who: Trader, name: string): Promise<void> => {
      expect(await preview(venue, who, order(who))).toMatchObject({ status: 200 })
      answered.push(name)
    }
    await Promise.all([ask(alice, "alice 1"), ask(alice, "alice 2"), ask(alice, "alice 3"), ask(bob, "bob")])
    expect(answered).toEqual(["alice 1", "bob", "alice 2", "alice 3"])
  })

  test("more than 64 that wait are refused, and one whose key is revoked meanwhile tells nothing", async () => {
    const { alice, bob, venue } = await make()
    await Promise.all([alice, bob].map((each) => venue.read(each, "/v1/api-keys/current")))
    const many = Array.from({ length: 66 }, () => preview(venue, alice, order(alice)))
    const late = preview(venue, bob, order(bob))
    const { apiKeys } = venue.engine.state
    apiKeys.setRevokedAt(1, venue.atEpochMs)
    expect((await Promise.all(many)).map(({ status }) => status)).toEqual([...Array(64).fill(200), 503, 503])
    expect((await late).status).toBe(401)
  })
})

describe("a preview", () => {
  test("tells what the same placement comes to, and writes nothing", async () => {
    const { alice, bob, venue } = await make()
    await venue.place(bob, { side: "sell", price: "100.0", quantity: "1.000" })
    await venue.place(bob, { side: "sell", price: "101.0", quantity: "0.500" })
    const body = order(alice, { price: "101.0", quantity: "2.000" })
    // The first use of a key is journaled, whatever the request; it is not part of what is counted here.
    await venue.read(alice, "/v1/api-keys/current")
    const { records } = venue
    const told = await preview(venue, alice, body)
    expect(venue.records).toBe(records)
    expect(told).toEqual({
      status: 200,
      version: "external-margin-preview/v1",
      accountId: alice.accountId,
      marketId,
      accepted: true,
      refusal: null,
      order: {
        status: "open",
        cancelReason: null,
        filledQuantity: "1.500",
        filledQuantityAtoms: "1500",
        remainingQuantity: "0.500",
        remainingQuantityAtoms: "500",
        canceledQuantity: "0.000",
        canceledQuantityAtoms: "0",
        averageFillPrice: "100.3",
        averageFillPriceAtoms: "1003",
        // 5 bps of 100 and of 50.5 USDC.
        fees: "0.075250",
        feesAtoms: "75250"
      },
      before: expect.objectContaining({ equity: "1000.000000", positionQuantity: "0.000", liquidationPrice: null }),
      after: expect.objectContaining({
        // At the mark, the 0.500 bought at 101.0 are worth 0.5 USDC less.
        equity: "999.424750",
        initialMargin: "20.000000",
        maintenanceMargin: "7.500000",
        orderLoss: "0.500000",
        available: "978.924750",
        positionQuantity: "1.500",
        liquidationPrice: null
      }),
      journalSequence: venue.engine.sequence
    })
    const placed = await venue.place(alice, body)
    expect(placed).toMatchObject({ averageFillPriceAtoms: "1003", filledQuantity: "1.500", remainingQuantity: "0.500" })
    const balance = Fake.json(await venue.ask({ target: `/v1/accounts/${alice.accountId}/balance`, key: alice.key }))
    for (const name of ["equity", "marginEquity", "initialMargin", "maintenanceMargin", "orderLoss", "available"]) {
      expect(balance[name], name).toBe(told.after[name])
    }
  })

  test("of a refused order says why, as the placement would", async () => {
    const { alice, venue } = await make()
    await venue.place(alice, { price: "90.0", quantity: "100.000" })
    expect(await preview(venue, alice, order(alice, { price: "90.0", quantity: "0.001" }))).toMatchObject({
      status: 200,
      accepted: false,
      refusal: { code: "order_rejected", rejectionGuard: "margin_insufficient", limit: "1000.000000", actual: "1000.010000" },
      order: null,
      after: null
    })
    // A refusal by the edge is reported the same way.
    const large = { accepted: false, refusal: { rejectionGuard: "price_out_of_bounds", actual: "99999999999999999999.0" } }
    expect(await preview(venue, alice, order(alice, { price: "99999999999999999999.0" }))).toMatchObject(large)
  })

  test("of an order that is cancelled at once", async () => {
    const { alice, venue } = await make()
    const told = await preview(venue, alice, order(alice, { timeInForce: "IOC" }))
    expect(told.order).toMatchObject({ status: "canceled", cancelReason: "ioc_remainder", averageFillPrice: null, fees: "0.000000" })
  })

  test.each([
    ["an immediate order", { timeInForce: "IOC" }],
    ["a market order", { orderType: "market", price: undefined }]
  ])("of %s that finds too little says that nothing remains of it", async (_, change) => {
    const { alice, bob, venue } = await make()
    await venue.place(bob, { side: "sell", price: "100.0", quantity: "0.500" })
    const body = order(alice, { price: "100.0", quantity: "2.000", ...change })
    const amounts = {
      status: "canceled",
      cancelReason: "ioc_remainder",
      filledQuantity: "0.500",
      canceledQuantity: "1.500",
      remainingQuantity: "0.000"
    }
    expect((await preview(venue, alice, body)).order).toMatchObject({ ...amounts, remainingQuantityAtoms: "0" })
    expect(await venue.place(alice, body)).toMatchObject(amounts)
  })

  test("needs a key that may read, and no more", async () => {
    const { alice, venue } = await make()
    const issued = Fake.issue("reader", 1)
    venue.engine.state.apiKeys.issue({
      ...issued.grant,
      scopes: scopeRead,
      account: alice.account,
      createdAtEpochMs: venue.atEpochMs,
      revokedAtEpochMs: 0
    })
    expect(await preview(venue, { ...alice, key: issued.text }, order(alice))).toMatchObject({ status: 200, accepted: true })
    expect(await preview(venue, { ...alice, key: "" }, order(alice))).toMatchObject({ status: 401 })
  })

  test.each<[string, (alice: Trader) => object, number, string]>([
    ["another account in the body", (alice) => order(alice, { accountId: "acc_zz" }), 400, "invalid_request"],
    ["a market that there is not", (alice) => order(alice, { marketId: "NO-USDC-PERP" }), 404, "market_not_found"],
    ["an autoClose without a trigger", (alice) => order(alice, { autoClose: {} }), 400, "invalid_request"],
    ["a member that is unknown", (alice) => order(alice, { colour: "blue" }), 400, "invalid_request"],
    ["too many decimals", (alice) => order(alice, { quantity: "0.0001" }), 400, "invalid_request"],
    ["a market order that rests", (alice) => order(alice, { orderType: "market", timeInForce: "GTC" }), 400, "invalid_request"]
  ])("with %s is refused", async (_, body, status, code) => {
    const { alice, venue } = await make()
    expect(await preview(venue, alice, body(alice))).toMatchObject({ status, code })
  })

  test("of another's account is told of no account", async () => {
    const { alice, bob, venue } = await make()
    expect(await preview(venue, alice, order(bob), bob.accountId)).toMatchObject({ status: 404, code: "account_not_found" })
  })
})
