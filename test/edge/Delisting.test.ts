/** A delisting over the real engine: the operator's requests, and what everybody sees of it. `ask` checks every schema. */
import { expect, test } from "vitest"
import * as Fake from "./FakeVenue.js"
import * as SettlementWatch from "../../src/edge/system/SettlementWatch.js"
import { LiveVenue, marketId, symbol, type Trader } from "./LiveVenue.js"

const dayMs = 86_400_000
const target = `/v1/operator/markets/${marketId}/delisting`

const make = async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2, "1000")
  await venue.place(bob!, { side: "sell", quantity: "5.000" })
  await venue.place(alice!, { quantity: "5.000" })
  await venue.place(alice!, { price: "99.0", quantity: "1.000" })
  const operate = async (method: "PUT" | "DELETE", idempotencyKey: string, body?: object, place = target) => {
    const response = await venue.ask({
      method,
      target: place,
      ...(body === undefined ? {} : { body }),
      key: Fake.operatorToken,
      idempotencyKey
    })
    return { ...Fake.json(response), status: response.status }
  }
  const read = async (place: string, key?: string) => Fake.json(await venue.ask({ target: place, ...(key === undefined ? {} : { key }) }))
  const market = async () => (await read(`/v1/markets/${marketId}`)).market
  const outlook = () => read(target, Fake.operatorToken)
  /** Adds records until nothing more is due immediately. */
  const settle = () => {
    while (venue.engine.nextDueEpochMs <= venue.atEpochMs) venue.send({ kind: "PassTime" })
  }
  const own = (trader: Trader, what: string) => read(`/v1/accounts/${trader.accountId}/${what}`, trader.key)
  return { venue, alice: alice!, bob: bob!, operate, read, market, outlook, settle, own }
}

test("is announced a day ahead, shown to everybody, and taken back", async () => {
  const { market, operate, outlook, venue } = await make()
  const earliest = venue.atEpochMs + dayMs
  expect(await operate("PUT", "soon", { effectiveAtEpochMs: earliest - 1 })).toMatchObject({
    status: 400,
    code: "invalid_request",
    rejectionGuard: "notice_required",
    actual: String(earliest - 1),
    nearest: String(earliest)
  })
  expect(await outlook()).toMatchObject({
    version: "operator-delisting/v1",
    marketId,
    delisting: null,
    presentPrice: "100.0",
    openInterest: "5.000",
    openOrders: 1
  })
  const first = await operate("PUT", "then", { effectiveAtEpochMs: earliest })
  expect(first).toMatchObject({ status: 200, operation: "delist_market", marketId, delistedAtEpochMs: earliest })
  expect(await operate("PUT", "then", { effectiveAtEpochMs: earliest })).toEqual(first)
  expect((await operate("PUT", "then", { effectiveAtEpochMs: earliest + 1 })).status).toBe(409)
  expect(await market()).toMatchObject({ status: "open", delisting: { state: "announced", effectiveAtEpochMs: earliest } })
  expect((await market()).delisting.finalPrice).toBeUndefined()
  expect(await operate("DELETE", "not", undefined)).toMatchObject({ status: 200, operation: "withdraw_delisting" })
  expect((await market()).delisting).toBeUndefined()
})

test("closes what is held at the final price; everybody sees how", async () => {
  const { alice, bob, market, operate, outlook, own, read, settle, venue } = await make()
  expect(await operate("PUT", "now", {})).toMatchObject({ status: 200, operation: "delist_market" })
  expect(await market()).toMatchObject({ status: "halted", delisting: { state: "settling", finalPrice: "100.0", finalPriceAtoms: "1000" } })
  settle()
  const settled = { state: "settled", finalPrice: "100.0", settledAtEpochMs: venue.atEpochMs }
  expect(await market()).toMatchObject({ status: "halted", delisting: settled })
  expect(await outlook()).toMatchObject({ delisting: settled, openInterest: "0.000", openOrders: 0 })
  // Funding has ended there.
  expect(await read(`/v1/markets/${marketId}/stats`)).toMatchObject({ nextFundingTimeEpochMs: 0, predictedFundingRateBps: "0" })
  expect((await own(alice, "positions")).positions).toEqual([])
  const orders = (await own(alice, "orders")).orders
  expect(orders[0]).toMatchObject({ status: "canceled", cancelReason: "market_delisted" })
  // A settlement is no trade: it appears neither in the public trades nor in the account's fills.
  expect((await own(alice, "fills")).fills).toHaveLength(1)
  expect((await read(`/v1/markets/${marketId}/trades`)).trades).toHaveLength(1)
  const step = { step: "settlement", quantity: "5.000", price: "100.0", fee: "0.000000", equity: "0.000000" }
  expect((await read(`/v1/markets/${marketId}/liquidations`)).steps).toMatchObject([step])
  expect((await own(alice, "liquidations")).steps).toMatchObject([{ ...step, role: "settled", side: "long" }])
  expect((await own(bob, "liquidations")).steps).toMatchObject([{ ...step, role: "settled", side: "short" }])
  expect((await venue.place(alice, { quantity: "1.000" })).httpStatus).toBe(422)
})

test("once it has taken effect nothing of the market changes", async () => {
  const { operate, venue } = await make()
  await operate("PUT", "now", {})
  const delisted = { status: 400, code: "invalid_request", rejectionGuard: "market_delisted" }
  expect(await operate("PUT", "again", {})).toMatchObject(delisted)
  expect(await operate("DELETE", "back")).toMatchObject(delisted)
  expect(await operate("PUT", "open", { status: "open" }, `/v1/operator/markets/${marketId}/status`)).toMatchObject(delisted)
  expect(await operate("PUT", "price", { price: "101.0" }, `/v1/operator/markets/${marketId}/index-price`)).toMatchObject(delisted)
  expect((await operate("PUT", "none", {}, "/v1/operator/markets/NO-USDC-PERP/delisting")).status).toBe(404)
  expect((await venue.ask({ target })).status).toBe(401)
  const compat = Fake.json(await venue.ask({ target: "/v2/markets" })).find((each: { readonly symbol: string }) => each.symbol === symbol)
  expect(compat.active).toBe(false)
})

test("its index is nothing to be told of any more, and no price of a stream is taken for it", async () => {
  const { operate, read, venue } = await make()
  await operate("PUT", "now", {})
  expect((await read("/readyz")).markets).toEqual([])
  const { session } = Fake.json(await venue.ask({ method: "POST", target: "/v1/operator/index-stream", key: Fake.operatorToken }))
  const records = venue.records
  const sent = Fake.json(
    await venue.ask({
      method: "POST",
      target: "/v1/operator/index-stream/prices",
      key: Fake.operatorToken,
      body: { session, sequence: 1, prices: [{ marketId, price: "101.0", sourceEpochMs: venue.atEpochMs }] }
    })
  )
  expect(sent.prices).toEqual([{ marketId, outcome: "refused", code: "invalid_request" }])
  expect(venue.records).toBe(records)
})

test("one whose settlement waits is told to the operator, by metrics and by the log, until it has ended", async () => {
  const { alice, bob, operate, outlook, settle, venue } = await make()
  const look = SettlementWatch.make(venue.engine)
  // The text of the metrics is reused for 200 ms.
  const gauge = async () => {
    venue.atEpochMs += 200
    return gaugeIn((await venue.ask({ target: "/metrics" })).body as string)
  }
  const gaugeIn = (text: string) => /^venue_settlement_waiting.*$/m.exec(text)?.[0]
  const leave = (atoms: number): void => {
    for (const { accountId } of [alice, bob]) venue.engine.state.accounts.setCollateral(venue.engine.findAccount(accountId), atoms)
  }
  expect([look(), await gauge()]).toEqual([[], undefined])
  await operate("PUT", "now", {})
  // Both accounts are in debt, so neither is ranked to bear the other's deficit.
  leave(-1_000_000)
  settle()
  const again = venue.engine.state.markets[0]!.delisting!.againAtEpochMs
  expect(again).toBeGreaterThan(venue.atEpochMs)
  expect(await outlook()).toMatchObject({ delisting: { state: "settling" }, openInterest: "5.000", againAtEpochMs: again })
  expect(look()).toEqual([{
    text: expect.stringContaining(`${marketId} waits: nobody is left to bear a deficit in it, and 5.000 is open`),
    isWarning: true
  }])
  expect([look(), await gauge()]).toEqual([[], `venue_settlement_waiting{market="${marketId}"} 1`])
  leave(1_000_000_000)
  venue.atEpochMs = again
  settle()
  expect(look()).toEqual([{ text: `the settlement of ${marketId} has ended`, isWarning: false }])
  expect([look(), await gauge(), (await outlook()).againAtEpochMs]).toEqual([[], undefined, undefined])
})
