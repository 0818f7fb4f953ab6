/** The operator's view of markets, and the preview of other parameters, over the real engine. `ask` checks every schema. */
import { expect, test } from "vitest"
import * as Market from "../../src/domain/Market.js"
import { bodyOf, parameters as parametersOf, type PutMarketBody } from "../../src/edge/operator/MarketBody.js"
import { command } from "../../src/edge/operator/Sent.js"
import { Operation, type Outcome } from "../../src/operations/Operations.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId } from "./LiveVenue.js"

const dayMs = 86_400_000
const key = Fake.operatorToken

const make = async (countedAtOnce = 256) => {
  const venue = LiveVenue.make({ orders: 10_000, idempotencyKeys: 10_000, countedAtOnce })
  const [alice, bob] = await venue.traders(2, "60")
  await venue.place(bob!, { side: "sell", quantity: "5.000" })
  await venue.place(alice!, { quantity: "5.000" })
  const listed = async () => Fake.json(await venue.ask({ target: "/v1/operator/markets", key }))
  const preview = async (body: object, of = marketId) => {
    const response = await venue.ask({ method: "POST", target: `/v1/operator/markets/${of}/preview`, body, key })
    return { status: response.status, ...Fake.json(response) }
  }
  const put = async (idempotencyKey: string, body: object, of = marketId) => {
    const response = await venue.ask({ method: "PUT", target: `/v1/operator/markets/${of}`, body, key, idempotencyKey })
    return { status: response.status, ...Fake.json(response) }
  }
  const body = (await listed()).markets.find((each: { readonly marketId: string }) => each.marketId === marketId).parameters
  return { venue, listed, preview, put, body }
}

test("what is read of a market puts the very same market", async () => {
  const { body, listed, preview, put } = await make()
  expect(await preview(body)).toMatchObject({ status: 200, outcome: "at_once", refusal: null, differences: [] })
  const before = await listed()
  expect((await put("same", body)).status).toBe(200)
  expect((await listed()).markets).toEqual(before.markets)
  // The preview takes any parameters, and returns each of them as it was given.
  const odd = {
    ...parameters("AAA"),
    indexStepMaxBps: 7,
    impactNotionalAtoms: 1_234_567,
    fundingCapE9: 7,
    logoUrl: "https://venue.example/a.svg"
  }
  expect(parametersOf(odd.marketId, bodyOf(odd))).toEqual(odd)
  expect(Object.keys(bodyOf(odd)).length).toBe(Object.keys(Market.Parameters.fields).length - 4)
})

test("a preview is what putting comes to, and changes nothing", async () => {
  const { body, listed, preview, put, venue } = await make()
  const tighter = {
    ...body,
    initialMarginBps: 2000,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 1500 }],
    maxLeverageX: 5
  }
  const earliest = venue.atEpochMs + dayMs
  const before = await listed()
  // 500 USDC of notional with 60 of equity: the new parameters need 100 of initial and 75 of maintenance margin.
  const touched = { underInitialMargin: 2, underMaintenanceMargin: 2, openInterest: "5.000", openOrders: 0 }
  const refused = await preview(tighter)
  expect(refused).toMatchObject({ status: 200, outcome: "refused", ...touched })
  expect(refused.refusal).toMatchObject({ code: "invalid_request", rejectionGuard: "notice_required", nearest: String(earliest) })
  expect(refused.differences).toEqual([
    { parameter: "initialMarginBps", from: body.initialMarginBps, to: 2000 },
    { parameter: "maintenanceMarginTiers", from: body.maintenanceMarginTiers, to: tighter.maintenanceMarginTiers },
    { parameter: "maxLeverageX", from: body.maxLeverageX, to: 5 }
  ])
  expect(await preview({ ...tighter, effectiveAtEpochMs: earliest })).toMatchObject({ outcome: "announced", refusal: null, ...touched })
  expect(await preview({ ...body, takerFeeBps: body.takerFeeBps - 1 })).toMatchObject({
    outcome: "at_once",
    withdrawsAnnounced: false,
    underInitialMargin: 0
  })
  expect(await preview({ ...body, takerFeeBps: body.takerFeeBps + 1 })).toMatchObject({
    outcome: "refused",
    refusal: { rejectionGuard: "notice_required", nearest: String(earliest) }
  })
  expect(await preview({ ...body, minQuantity: "6.000", maxQuantity: "10.000" })).toMatchObject({
    outcome: "refused",
    refusal: { rejectionGuard: "position_stranded" }
  })
  expect(await preview({ ...body, priceScale: 2 })).toMatchObject({ outcome: "refused", refusal: { code: "invalid_request" } })
  expect(await preview(body, "NEW-USDC-PERP")).toMatchObject({ outcome: "created", openOrders: 0 })
  expect(await preview({ ...body, effectiveAtEpochMs: earliest }, "NEW-USDC-PERP")).toMatchObject({ outcome: "refused" })
  expect(await preview(body, "nothing")).toMatchObject({ status: 400, code: "invalid_request" })
  expect(await preview({ ...body, maxLeverageX: 0 })).toMatchObject({ status: 400, code: "invalid_request" })
  expect(await listed()).toEqual(before)
  // The same decisions when the parameters are put.
  expect((await put("now", tighter)).rejectionGuard).toBe("notice_required")
  expect((await put("then", { ...tighter, effectiveAtEpochMs: earliest })).announced).toMatchObject({ effectiveAtEpochMs: earliest })
  expect(await preview(body)).toMatchObject({ outcome: "at_once", withdrawsAnnounced: true })
  expect((await listed()).markets[0].announced).toMatchObject({ effectiveAtEpochMs: earliest, maxLeverageX: 5 })
  expect((await put("new", body, "NEW-USDC-PERP")).status).toBe(200)
  expect((await listed()).markets.at(-1)).toMatchObject({ marketId: "NEW-USDC-PERP", status: "draft" })
})

test.each(["BTC-EUR-PERP", "USDC-USDC-PERP", "USDC-EUR-PERP"])(
  "%s, whose figures would be no amounts of USDC, is neither put nor previewed",
  async (of) => {
    const { body, listed, preview, put } = await make()
    const before = await listed()
    const refused = { status: 400, code: "invalid_request", rejectionGuard: "market_assets_invalid" }
    expect(await preview(body, of)).toMatchObject(refused)
    expect(await put("odd", body, of)).toMatchObject(refused)
    expect(await listed()).toEqual(before)
  }
)

/** A request to put a market, as an earlier version decided it whatever its assets were. */
const decidedBefore = (venue: LiveVenue, key: string, of: string, body: PutMarketBody): Outcome => {
  const { effectiveAtEpochMs = 0, ...rest } = body
  const market = parametersOf(of, rest) as Market.Parameters
  const sent = { ...Market.withoutDefaults(market), ...(effectiveAtEpochMs === 0 ? undefined : { effectiveAtEpochMs }) }
  const values = { parameters: market, effectiveAtEpochMs }
  return venue.run(command("PutMarket", Operation.putMarket, { "idempotency-key": key }, sent, values))
}

test("a market in euros that the venue has already is previewed and put as any other", async () => {
  const { body, preview, put, venue } = await make()
  const euro = "BTC-EUR-PERP"
  const { sequence } = decidedBefore(venue, "before", euro, body)
  expect(await put("before", body, euro)).toMatchObject({ status: 200, sequence })
  const other = { ...body, logoUrl: "https://venue.example/a.svg" }
  expect(await preview(other, euro)).toMatchObject({ status: 200, outcome: "at_once" })
  expect((await put("now", other, euro)).status).toBe(200)
  expect(venue.engine.market(venue.engine.findMarket(euro)).parameters).toMatchObject({ quoteAsset: "EUR", logoUrl: other.logoUrl })
})

test("a request for a market in euros that was decided before gets its decision again, also where it made none", async () => {
  const { body, put, venue } = await make()
  const announced = { ...body, effectiveAtEpochMs: venue.atEpochMs + dayMs }
  const euro = "BTC-EUR-PERP"
  expect(decidedBefore(venue, "before", euro, announced).entries).toHaveLength(1)
  expect(await put("before", announced, euro)).toMatchObject({ status: 404, code: "market_not_found" })
  expect(await put("now", announced, euro)).toMatchObject({ rejectionGuard: "market_assets_invalid" })
})

test("whom it touches is counted part by part, and comes to the same", async () => {
  const { body, preview } = await make(1)
  const tighter = {
    ...body,
    initialMarginBps: 2000,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 1500 }],
    maxLeverageX: 5
  }
  expect(await preview(tighter)).toMatchObject({ underInitialMargin: 2, underMaintenanceMargin: 2 })
})

test.each([
  ["indexStaleMs", 366 * dayMs],
  ["indexStepMaxBps", 1_000_000],
  ["fundingCapE9", 1_000_000_000]
])("%s of an operator is %i at most, as in a markets file", async (name, most) => {
  const { body, preview, put } = await make()
  expect(await preview({ ...body, [name]: most })).toMatchObject({ status: 200 })
  const refused = await put("more", { ...body, [name]: most + 1 })
  expect(refused).toMatchObject({ status: 400, code: "invalid_request", safeMessage: expect.stringContaining(name) })
})

test("nobody but the operator sees drafts and previews", async () => {
  const { body, venue } = await make()
  const listed = await venue.ask({ target: "/v1/operator/markets" })
  const previewed = await venue.ask({ method: "POST", target: `/v1/operator/markets/${marketId}/preview`, body })
  expect([listed.status, previewed.status]).toEqual([401, 401])
})
