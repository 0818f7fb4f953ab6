/** How markets' sessions are shown, and what is refused because of them, over the real engine. `ask` checks every schema. */
import { expect, test } from "vitest"
import type * as Session from "../../src/domain/Session.js"
import * as Advice from "../../src/edge/system/docs/Advice.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId } from "./LiveVenue.js"

const gold = "XAU-USDC-PERP"
const hourMs = 3_600_000

const make = async () => {
  const venue = LiveVenue.make()
  const index = venue.market({ ...parameters("XAU"), marketType: "commodity", indexStaleMs: 10_000 })
  const [alice] = await venue.traders(1)
  const set = (state: Session.State, opensMs: number, cutoffMs: number, closesMs: number): void =>
    void venue.send({
      kind: "SetMarketSession",
      market: index,
      state,
      nextOpenEpochMs: venue.atEpochMs + opensMs,
      nextCloseEpochMs: venue.atEpochMs + closesMs,
      riskIncreasingOrderCutoffEpochMs: venue.atEpochMs + cutoffMs
    })
  const snapshot = () => venue.read(undefined, `/v1/markets/${gold}`)
  const ready = async () => Fake.json(await venue.ask({ target: "/readyz" }))
  return { venue, alice: alice!, set, snapshot, ready }
}

test("a snapshot tells the session; it and the registry's digest change with it, and the market's sequence", async () => {
  const { set, snapshot, venue } = await make()
  const none = { nextOpenEpochMs: 0, nextCloseEpochMs: 0, riskIncreasingOrderCutoffEpochMs: 0 }
  const before = await snapshot()
  expect(before.market.marketType).toBe("commodity")
  expect(before.marketSession).toEqual({ state: "closed", asOfEpochMs: 0, ...none })
  expect((await venue.read(undefined, `/v1/markets/${marketId}`)).marketSession)
    .toEqual({ state: "open", asOfEpochMs: venue.atEpochMs, ...none })
  const from = venue.atEpochMs
  set("open", 10 * hourMs, 50_000, 60_000)
  const opened = await snapshot()
  const moments = { nextOpenEpochMs: from + 10 * hourMs, nextCloseEpochMs: from + 60_000, riskIncreasingOrderCutoffEpochMs: from + 50_000 }
  expect(opened.marketSession).toEqual({ state: "open", asOfEpochMs: from, ...moments })
  expect([opened.snapshotSequence, opened.readModelDigest === before.readModelDigest]).toEqual([venue.engine.sequence, false])
  venue.atEpochMs += 50_000
  venue.send({ kind: "PassTime" })
  const late = await snapshot()
  expect(late.marketSession).toEqual({ state: "reduce_only", asOfEpochMs: from + 50_000, ...moments })
  expect([late.snapshotSequence, late.readModelDigest === opened.readModelDigest]).toEqual([venue.engine.sequence, false])
})

test("orders are refused by the cutoff and by a closed session, in both families; a cancel is not", async () => {
  const { alice, set, venue } = await make()
  const from = venue.atEpochMs
  set("open", 10 * hourMs, 50_000, 60_000)
  const { orderId } = await venue.place(alice, { marketId: gold })
  venue.atEpochMs += 50_000
  venue.send({ kind: "SetIndexPrice", idempotencyKey: "", market: 1, priceAtoms: 1000, sourceEpochMs: venue.atEpochMs })
  expect(await venue.place(alice, { marketId: gold })).toMatchObject({
    httpStatus: 422,
    code: "order_rejected",
    rejectionGuard: "session_cutoff",
    limit: String(from + 50_000),
    actual: String(from + 50_000)
  })
  venue.atEpochMs += 10_000
  expect(await venue.place(alice, { marketId: gold })).toMatchObject({
    httpStatus: 422,
    code: "order_rejected",
    rejectionGuard: "market_not_accepting",
    limit: String(from + 10 * hourMs),
    actual: String(from + 60_000)
  })
  const { components } = Fake.json(await venue.ask({ target: "/openapi.json" }))
  const { actual, limit } = components.schemas.NativeError422.properties
  expect(limit.description).toContain("for `market_not_accepting` between sessions when the market opens (epoch ms)")
  expect(actual.description).toContain("between sessions the time of the decision (epoch ms)")
  expect(Advice.ofGuard.market_not_accepting).toContain("Between sessions `limit` is when the market opens")
  const compat = await venue.post(alice, "/v2/order", { symbol: "XAU/USDC:USDC", type: "limit", side: "buy", amount: 1, price: 100 })
  expect(Fake.json(compat)).toMatchObject({ name: "OnMaintenance" })
  expect((await venue.post(alice, `/v1/orders/${orderId}/amend`, { accountId: alice.accountId, marketId: gold, quantity: "2.000" })).status)
    .toBe(422)
  const canceled = await venue.ask({
    method: "POST",
    target: "/v1/orders/cancel-all",
    body: { accountId: alice.accountId, marketId: gold },
    key: alice.key,
    idempotencyKey: "cancel"
  })
  expect([canceled.status, Fake.json(canceled).canceledOrders]).toEqual([200, 1])
})

test("a closed market is not stale, however old its index; an open one is, and neither makes the venue unready", async () => {
  const { ready, set, venue } = await make()
  venue.atEpochMs += 60_000
  const closed = await ready()
  expect(closed).toMatchObject({ status: "ready", details: { staleMarkets: 0 } })
  expect(closed.details.oldestIndexAgeMs).toBe(60_000)
  expect(closed.markets).toMatchObject([{ marketId, indexStale: false }, {
    marketId: gold,
    session: { state: "closed" },
    indexAgeMs: 60_000,
    indexStale: false
  }])
  expect(closed.markets[0].session).toBeUndefined()
  expect((await venue.ask({ target: "/metrics" })).body).toContain(`venue_index_stale{market="${gold}"} 0`)
  // The text of the metrics is reused for a moment.
  venue.atEpochMs += 2_000
  set("open", 10 * hourMs, hourMs, hourMs)
  expect(await ready()).toMatchObject({ status: "ready", details: { staleMarkets: 1 }, markets: [{}, { indexStale: true }] })
  expect((await venue.ask({ target: "/metrics" })).body).toContain(`venue_index_stale{market="${gold}"} 1`)
})

test("the unified listing says whether a market can be traded now", async () => {
  const { set, venue } = await make()
  const active = async (): Promise<boolean> =>
    (await venue.read(undefined, "/v2/markets")).find(({ symbol }: { readonly symbol: string }) => symbol === "XAU/USDC:USDC").active
  expect(await active()).toBe(false)
  set("reduce_only", hourMs, 0, hourMs)
  expect(await active()).toBe(true)
})

test("an operator makes a market of any type, which stays closed until it has a calendar", async () => {
  const { venue } = await make()
  const put = (marketType: string, idempotencyKey: string) =>
    venue.ask({
      method: "PUT",
      target: "/v1/operator/markets/SPX-USDC-PERP",
      body: {
        underlyingSymbol: "SPX",
        marketType,
        priceScale: 1,
        quantityScale: 3,
        minPrice: "0.1",
        maxPrice: "1000.0",
        minQuantity: "0.001",
        maxQuantity: "1.000",
        maxPositionQuantity: "5.000",
        initialMarginBps: 1000,
        maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 500 }],
        maxLeverageX: 10,
        makerFeeBps: 2,
        takerFeeBps: 5
      },
      key: Fake.operatorToken,
      idempotencyKey
    })
  expect((await put("bond", "bond")).status).toBe(400)
  expect((await put("index", "index")).status).toBe(200)
  const index = venue.engine.findMarket("SPX-USDC-PERP")
  for (const status of ["backfilling", "open"] as const)
    venue.send({ kind: "SetMarketStatus", idempotencyKey: status, market: index, status })
  expect((await venue.read(undefined, "/v1/markets/SPX-USDC-PERP")).marketSession.state).toBe("closed")
  expect((await put("crypto", "crypto")).status).toBe(400)
})

test("funding is next paid at the first end of an interval in a known session; 0 where none is known", async () => {
  const { set, venue } = await make()
  const from = venue.atEpochMs
  const end = Math.ceil((from + 1) / hourMs) * hourMs
  const told = async () => {
    const [{ nextFundingTimeEpochMs }, { nextFundingDatetime, nextFundingTimestamp }] = await Promise.all([
      venue.read(undefined, `/v1/markets/${gold}/stats`),
      venue.read(undefined, "/v2/markets/XAU%2FUSDC:USDC/stats")
    ])
    expect([nextFundingTimestamp, nextFundingDatetime]).toEqual([nextFundingTimeEpochMs, new Date(nextFundingTimeEpochMs).toISOString()])
    return nextFundingTimeEpochMs
  }
  expect(await told()).toBe(0)
  // It closes at the very end of its second interval, and opens a quarter before an hour of the next day.
  const [closes, opens] = [end + hourMs - from, end + 20 * hourMs - 900_000 - from]
  set("open", opens, closes, closes)
  expect(await told()).toBe(end)
  venue.atEpochMs = end
  expect(await told()).toBe(end + 20 * hourMs)
  venue.atEpochMs = end + hourMs
  venue.send({ kind: "PassTime" })
  expect(await told()).toBe(end + 20 * hourMs)
  // A session that is over before any interval ends pays nothing, and an opening that is overdue tells nothing.
  const now = venue.atEpochMs
  set("closed", hourMs - 900_000, hourMs - 1, hourMs - 1)
  expect(await told()).toBe(0)
  set("closed", hourMs - 900_000, hourMs + 1, hourMs + 1)
  expect(await told()).toBe(now + hourMs)
  venue.atEpochMs = now + hourMs - 900_000
  expect(await told()).toBe(0)
})
