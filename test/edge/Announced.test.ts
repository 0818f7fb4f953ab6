/** Announced parameters over the real engine. `ask` checks every schema. */
import { expect, test } from "vitest"
import * as Market from "../../src/domain/Market.js"
import { AnnouncedTerms } from "../../src/edge/markets/Snapshot.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId } from "./LiveVenue.js"

const dayMs = 86_400_000

const make = async (countedAtOnce = 256) => {
  const venue = LiveVenue.make({ orders: 10_000, idempotencyKeys: 10_000, countedAtOnce })
  const [alice, bob] = await venue.traders(2, "60")
  await venue.place(bob!, { side: "sell", quantity: "5.000" })
  await venue.place(alice!, { quantity: "5.000" })
  const details = Fake.json(await venue.ask({ target: `/v1/markets/${marketId}` })).market
  const { maxLeverageX: _, ...risk } = parameters("AAA")
  const body = {
    underlyingSymbol: details.underlyingSymbol,
    marketType: "crypto",
    priceScale: details.priceScale,
    quantityScale: details.quantityScale,
    minPrice: details.minPrice,
    maxPrice: details.maxPrice,
    minQuantity: details.minQuantity,
    maxQuantity: details.maxQuantity,
    maxPositionQuantity: details.maxPositionQuantity,
    initialMarginBps: 2000,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 1500 }],
    maxLeverageX: 5,
    makerFeeBps: details.makerFeeBps,
    takerFeeBps: details.takerFeeBps,
    priceBandBps: details.priceBandBps,
    indexStaleMs: risk.indexStaleMs,
    fundingCapE9: risk.fundingCapE9
  }
  const put = async (idempotencyKey: string, more: object = {}) => {
    const response = await venue.ask({
      method: "PUT",
      target: `/v1/operator/markets/${marketId}`,
      body: { ...body, ...more },
      key: Fake.operatorToken,
      idempotencyKey
    })
    return { ...Fake.json(response), status: response.status }
  }
  const announced = async () =>
    Fake.json(await venue.ask({ target: `/v1/operator/markets/${marketId}/announced`, key: Fake.operatorToken }))
  const market = async () => Fake.json(await venue.ask({ target: `/v1/markets/${marketId}` }))
  return { venue, put, announced, market }
}

test("tighter margins need notice; announced, everybody sees them, and the operator whom they touch", async () => {
  const { announced, market, put, venue } = await make()
  const earliest = venue.atEpochMs + dayMs
  expect(await put("now")).toMatchObject({
    status: 400,
    code: "invalid_request",
    rejectionGuard: "notice_required",
    nearest: String(earliest)
  })
  expect(await announced()).toMatchObject({ version: "operator-announced/v1", marketId, announced: null })
  expect((await market()).market.announced).toBeUndefined()
  // 500 USDC of notional with 60 of equity: the announced terms need 100 of initial and 75 of maintenance margin.
  const touched = { underInitialMargin: 2, underMaintenanceMargin: 2 }
  const first = await put("then", { effectiveAtEpochMs: earliest })
  expect(first).toMatchObject({ status: 200, operation: "put_market", announced: { effectiveAtEpochMs: earliest, ...touched } })
  const terms = { effectiveAtEpochMs: earliest, initialMarginBps: 2000, maxLeverageX: 5 }
  expect(await announced()).toMatchObject({ announced: { ...terms, ...touched } })
  const snapshot = await market()
  expect(snapshot.market.announced).toMatchObject(terms)
  expect(snapshot.snapshotSequence).toBe(first.sequence)
  // The repeated request gets the same answer; another time under the same key is another request.
  expect(await put("then", { effectiveAtEpochMs: earliest })).toEqual(first)
  expect((await put("then", { effectiveAtEpochMs: earliest + 1 })).status).toBe(409)
})

test("what is announced of a market that there is not is nothing", async () => {
  const { venue } = await make()
  const target = "/v1/operator/markets/NO-USDC-PERP/announced"
  const response = await venue.ask({ target, key: Fake.operatorToken })
  expect([response.status, Fake.json(response).code]).toEqual([404, "market_not_found"])
  expect((await venue.ask({ target: `/v1/operator/markets/${marketId}/announced` })).status).toBe(401)
})

test("where more came to a market than a record counts, the answer leaves the counts out, and they are read part by part", async () => {
  const { announced, put, venue } = await make(1)
  const first = await put("then", { effectiveAtEpochMs: venue.atEpochMs + dayMs })
  expect(first).toMatchObject({ status: 200, announced: { effectiveAtEpochMs: venue.atEpochMs + dayMs } })
  expect(Object.keys(first.announced as object)).toEqual(["effectiveAtEpochMs"])
  expect(await put("then", { effectiveAtEpochMs: venue.atEpochMs + dayMs })).toEqual(first)
  expect(await announced()).toMatchObject({
    announced: { initialMarginBps: 2000, underInitialMargin: 2, underMaintenanceMargin: 2 },
    journalSequence: first.sequence
  })
})

test("what is announced while it is counted is counted instead, and what is withdrawn is not", async () => {
  const { announced, put, venue } = await make(1)
  const at = venue.atEpochMs + dayMs
  await put("first", { effectiveAtEpochMs: at })
  const counting = announced()
  await put("second", {
    effectiveAtEpochMs: at,
    initialMarginBps: 1000,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 500 }]
  })
  expect(await counting).toMatchObject({ announced: { initialMarginBps: 1000, underInitialMargin: 0, underMaintenanceMargin: 0 } })
  const withdrawn = announced()
  const details = Fake.json(await venue.ask({ target: `/v1/markets/${marketId}` })).market
  expect(
    await put("third", {
      initialMarginBps: details.initialMarginBps,
      maintenanceMarginTiers: details.maintenanceMarginTiers,
      maxLeverageX: details.maxLeverageX,
      markBandBps: details.markBandBps,
      impactNotional: details.impactNotional,
      liquidationFeeBps: details.liquidationFeeBps
    })
  ).toMatchObject({ status: 200 })
  expect(await withdrawn).toMatchObject({ announced: null })
})

test("whatever may be announced has a member in what everybody is shown", () => {
  // Assets follow from the id; type, scales and price bounds never change while anybody could be affected.
  const fixed = ["marketId", "baseAsset", "quoteAsset", "settlementAsset", "marketType", "priceScale", "quantityScale", "minPriceAtoms",
    "maxPriceAtoms"]
  const announceable = Object.keys(Market.Parameters.fields).filter((name) => !fixed.includes(name))
  const shown = announceable.map((name) => name.replace(/Atoms$/, "")).toSorted()
  expect(Object.keys(AnnouncedTerms.fields).filter((name) => name !== "effectiveAtEpochMs").toSorted()).toEqual(shown)
})

test("another underlying of a market with positions needs notice, and everybody sees which one is to come", async () => {
  const { announced, market, put, venue } = await make()
  const { initialMarginBps, maintenanceMarginTiers, maxLeverageX, ...risk } = (await market()).market
  const { impactNotional, liquidationFeeBps, markBandBps } = risk
  const present = { initialMarginBps, maintenanceMarginTiers, maxLeverageX, markBandBps, impactNotional, liquidationFeeBps }
  const at = venue.atEpochMs + dayMs
  const { sequence } = await announced().then(({ journalSequence }) => ({ sequence: journalSequence }))
  expect(await put("now", { ...present, underlyingSymbol: "PEPE/USD" })).toMatchObject({
    status: 400,
    code: "invalid_request",
    rejectionGuard: "notice_required",
    nearest: String(at)
  })
  expect((await announced()).journalSequence).toBe(sequence)
  expect((await market()).market.underlyingSymbol).toBe(risk.underlyingSymbol)
  const next = { ...present, effectiveAtEpochMs: at, underlyingSymbol: "PEPE/USD", logoUrl: "https://example.com/pepe.svg" }
  expect((await put("then", next)).status).toBe(200)
  const terms = { effectiveAtEpochMs: at, underlyingSymbol: "PEPE/USD", logoUrl: "https://example.com/pepe.svg" }
  expect((await market()).market.announced).toMatchObject(terms)
  expect((await announced()).announced).toMatchObject(terms)
  const listed = Fake.json(await venue.ask({ target: "/v1/operator/markets", key: Fake.operatorToken })).markets
  expect(listed[0].announced).toMatchObject(terms)
  // Other terms alone name neither.
  expect((await put("others", { ...present, effectiveAtEpochMs: at, makerFeeBps: 3 })).status).toBe(200)
  expect(Object.keys((await market()).market.announced)).not.toContain("underlyingSymbol")
  expect(Object.keys((await market()).market.announced)).not.toContain("logoUrl")
})

test("higher fees need notice while anybody has a position or an order, and lower ones do not", async () => {
  const { announced, market, put, venue } = await make()
  const { initialMarginBps, maintenanceMarginTiers, maxLeverageX, ...risk } = (await market()).market
  const { impactNotional, liquidationFeeBps, makerFeeBps, markBandBps, takerFeeBps } = risk
  const present = { initialMarginBps, maintenanceMarginTiers, maxLeverageX, markBandBps, impactNotional, liquidationFeeBps }
  const { journalSequence } = await announced()
  const nearest = String(venue.atEpochMs + dayMs)
  for (const [key, higher] of Object.entries({ maker: { makerFeeBps: makerFeeBps + 1 }, taker: { takerFeeBps: takerFeeBps + 1 } })) {
    expect(await put(key, { ...present, ...higher })).toMatchObject({ status: 400, rejectionGuard: "notice_required", nearest })
  }
  expect((await announced()).journalSequence).toBe(journalSequence)
  expect((await market()).market).toMatchObject({ makerFeeBps, takerFeeBps })
  expect(await put("then", { ...present, takerFeeBps: takerFeeBps + 1, effectiveAtEpochMs: Number(nearest) })).toMatchObject({
    status: 200
  })
  expect(await put("lower", { ...present, takerFeeBps: takerFeeBps - 1 })).toMatchObject({ status: 200 })
  expect((await market()).market).toMatchObject({ takerFeeBps: takerFeeBps - 1 })
})
