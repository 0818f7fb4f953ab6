/** An account's leverage in a market over the real engine. `ask` checks every schema. */
import { describe, expect, test } from "vitest"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId, type Trader } from "./LiveVenue.js"

const make = async (collateral = "1000") => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1, collateral)
  return { venue, alice: alice! }
}

const targetOf = (accountId: string, market = marketId): string => `/v1/accounts/${accountId}/markets/${market}/leverage`

const put = (venue: LiveVenue, { accountId, key }: Trader, leverageX: unknown, idempotencyKey = "l", target = targetOf(accountId)) =>
  venue.ask({ method: "PUT", target, body: { leverageX }, key, idempotencyKey })

const get = async (venue: LiveVenue, { accountId, key }: Trader, target = targetOf(accountId)) => {
  const response = await venue.ask({ target, key })
  return { ...Fake.json(response), status: response.status }
}

describe("PUT leverage", () => {
  test("sets it, and tells the same again under the same key", async () => {
    const { alice, venue } = await make()
    const first = await put(venue, alice, 4)
    expect(Fake.json(first)).toEqual({
      version: "external-leverage-set/v1",
      accountId: alice.accountId,
      marketId,
      leverageX: 4,
      lastSequence: venue.engine.sequence,
      idempotencyKey: "l",
      decidedAtEpochMs: venue.atEpochMs
    })
    await put(venue, alice, 5, "other")
    const { records } = venue
    expect((await put(venue, alice, 4)).body).toBe(first.body)
    expect((await put(venue, alice, 6)).status).toBe(409)
    expect(venue.records).toBe(records)
  })

  test.each([0, -1, 1.5, "5", null])("of %j is none", async (leverageX) => {
    const { alice, venue } = await make()
    const response = await put(venue, alice, leverageX)
    expect([response.status, Fake.json(response).code]).toEqual([400, "invalid_request"])
  })

  test("is refused with what was compared", async () => {
    const { alice, venue } = await make("50")
    await venue.place(alice, { quantity: "5.000" })
    const response = await put(venue, alice, 9)
    expect([response.status, Fake.json(response)]).toMatchObject([422, {
      code: "order_rejected",
      rejectionGuard: "margin_insufficient",
      limit: "50.000000",
      actual: "55.555556"
    }])
  })

  test("knows foreign accounts and markets that there are not", async () => {
    const { alice, venue } = await make()
    const foreign = await put(venue, alice, 2, "f", targetOf("acc_zz"))
    expect([foreign.status, Fake.json(foreign).code]).toEqual([404, "account_not_found"])
    const nowhere = await put(venue, alice, 2, "n", targetOf(alice.accountId, "NO-USDC-PERP"))
    expect([nowhere.status, Fake.json(nowhere).code]).toEqual([404, "market_not_found"])
  })

  test("can be looked up by its key", async () => {
    const { alice, venue } = await make()
    await put(venue, alice, 3, "mine")
    const target = `/v1/accounts/${alice.accountId}/outcomes?idempotencyKey=mine`
    expect(Fake.json(await venue.ask({ target, key: alice.key }))).toMatchObject({ decisions: [{ operation: "set_leverage" }] })
  })
})

describe("GET leverage", () => {
  test("tells what counts, what was set and what the market allows", async () => {
    const { alice, venue } = await make()
    const told = { version: "external-leverage/v1", accountId: alice.accountId, marketId, status: 200 }
    expect(await get(venue, alice)).toMatchObject({ ...told, leverageX: 10, setLeverageX: null, maxLeverageX: 10 })
    await put(venue, alice, 4)
    expect(await get(venue, alice)).toMatchObject({ ...told, leverageX: 4, setLeverageX: 4, maxLeverageX: 10 })
  })

  test("knows foreign accounts and markets that there are not", async () => {
    const { alice, venue } = await make()
    expect(await get(venue, alice, targetOf("acc_zz"))).toMatchObject({ status: 404, code: "account_not_found" })
    expect(await get(venue, alice, targetOf(alice.accountId, "NO-USDC-PERP"))).toMatchObject({ status: 404, code: "market_not_found" })
  })
})

test("positions tell what counts and where they come under liquidation, in both families", async () => {
  const { alice, venue } = await make("100")
  const [bob] = await venue.traders(1)
  await put(venue, alice, 8)
  await venue.place(bob!, { side: "sell", quantity: "2.000" })
  await venue.place(alice, { quantity: "2.000", timeInForce: "IOC" })
  const { accountId, key } = alice
  const [position] = Fake.json(await venue.ask({ target: `/v1/accounts/${accountId}/positions`, key })).positions
  // 200 USDC of position; an eighth of it is more than the market's tenth. At 52.6 equity is 99.9 - 94.8 = 5.1, and 5 % are 5.26.
  const margins = { initialMargin: "25.000000", initialMarginAtoms: "25000000", maintenanceMargin: "10.000000" }
  const liquidation = { liquidationPrice: "52.6", liquidationPriceAtoms: "526" }
  expect(position).toMatchObject({ side: "long", leverageX: 8, ...margins, ...liquidation })
  const [compat] = Fake.json(await venue.ask({ target: "/v2/positions", key }))
  expect(compat).toMatchObject({ leverage: 8, initialMargin: 25, liquidationPrice: 52.6, info: position })
  const [opposite] = Fake.json(await venue.ask({ target: "/v2/positions", key: bob!.key }))
  expect(opposite).toMatchObject({ side: "short", leverage: 10, liquidationPrice: null, info: { liquidationPriceAtoms: null } })
  const balance = Fake.json(await venue.ask({ target: `/v1/accounts/${accountId}/balance`, key }))
  expect(balance).toMatchObject({ available: balance.withdrawable, withdrawable: "74.900000" })
})
