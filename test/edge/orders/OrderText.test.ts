/** Concatenated JSON conforms to its schema, for any order and any decision on it. */
import { Schema } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import * as Market from "../../../src/domain/Market.js"
import { Refusal } from "../../../src/domain/Refusal.js"
import { noAutoClose } from "../../../src/operations/accounts/AutoClose.js"
import type { Outcome } from "../../../src/operations/Operations.js"
import { refused as refusedOf } from "../../../src/operations/Outcome.js"
import type { OrderDecided } from "../../../src/operations/orders/OrderDecided.js"
import type { PlaceEntry } from "../../../src/operations/orders/PlaceOrders.js"
import { canceled, CancelResult } from "../../../src/edge/orders/cancelOrder.js"
import { CancelBatchResult, canceledEntry } from "../../../src/edge/orders/cancelOrderBatch.js"
import { AcceptedOrder } from "../../../src/edge/orders/CompatOrder.js"
import { compatPlaced } from "../../../src/edge/orders/createOrder.js"
import { OrderRecord } from "../../../src/edge/orders/OrderRecord.js"
import { averagePriceAtoms } from "../../../src/edge/orders/OrderText.js"
import { placed } from "../../../src/edge/orders/placeOrder.js"
import * as Fake from "../FakeVenue.js"

const scales = fc.nat({ max: 6 }).chain((priceScale) =>
  fc.nat({ max: 6 - priceScale }).map((quantityScale) => ({ marketId: "BTC-USDC-PERP", priceScale, quantityScale }))
)
const atoms = fc.integer({ min: 1, max: 10_000_000 })
const code = <Code extends number>(...codes: ReadonlyArray<Code>) => fc.constantFrom(...codes)
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((at) => String.fromCharCode(at))
const text = fc.string({ minLength: 1, maxLength: 255, unit: visible })

const triggers = fc.record({ priceAtoms: fc.oneof(fc.constant(0), atoms), by: code(0, 1, 2), limitAtoms: fc.oneof(fc.constant(0), atoms) })

const entries: fc.Arbitrary<PlaceEntry> = fc.record({
  market: fc.constant(0),
  clientOrderId: fc.stringMatching(/^[A-Za-z0-9._:-]{0,64}$/),
  side: code(0, 1),
  type: code(0, 1),
  timeInForce: code(0, 1),
  priceAtoms: fc.oneof(fc.constant(0), atoms),
  quantityAtoms: atoms,
  postOnly: fc.boolean(),
  reduceOnly: fc.boolean(),
  selfTradePrevention: code(0, 1, 2),
  expiresAtEpochMs: fc.oneof(fc.constant(0), fc.nat()),
  fault: fc.constant(Refusal.none),
  raw: fc.constant(""),
  autoClose: fc.oneof(fc.constant(noAutoClose), fc.record({ takeProfit: triggers, stopLoss: triggers }))
})

/** A consistent decision: the filled, cancelled and remaining quantities add up to the order's. */
const decisions = (entry: PlaceEntry): fc.Arbitrary<OrderDecided> =>
  fc.record({ filled: fc.nat({ max: entry.quantityAtoms }), rest: fc.boolean(), priceAtoms: atoms, status: code(0, 1, 2) }).map(
    ({ filled, priceAtoms, rest, status }) => ({
      _tag: "OrderDecided",
      orderNumber: 64 * 7,
      status,
      cancelReason: status === 2 ? 1 : 0,
      filledAtoms: filled,
      filledNotionalAtoms: filled * priceAtoms,
      canceledAtoms: rest ? entry.quantityAtoms - filled : 0,
      priceAtoms: entry.priceAtoms,
      quantityAtoms: entry.quantityAtoms
    })
  )

const outcomes = fc.record({ sequence: fc.nat(), atEpochMs: fc.nat({ max: 4_000_000_000_000 }) }).map(
  (at): Outcome => ({ ...at, refusal: 0, replayed: false, entries: [] })
)

const decided = entries.chain((entry) => fc.tuple(fc.constant(entry), decisions(entry), outcomes, scales, text))
const strict = { onExcessProperty: "error" } as const

test("native orders", () => {
  fc.assert(fc.property(decided, ([entry, decision, outcome, market, key]) => {
    const value: unknown = JSON.parse(placed("acc_1", market, entry, decision, outcome, key))
    const order = Schema.decodeUnknownSync(OrderRecord, strict)(value)
    const sum = [order.filledQuantityAtoms, order.remainingQuantityAtoms, order.canceledQuantityAtoms].map(Number)
    expect(sum.reduce((left, right) => left + right)).toBe(entry.quantityAtoms)
    expect(order.idempotencyKey).toBe(key)
    expect(order.priceAtoms).toBe(entry.priceAtoms === 0 ? undefined : String(entry.priceAtoms))
    expect(order.clientOrderId).toBe(entry.clientOrderId === "" ? undefined : entry.clientOrderId)
  }))
})

test("orders of the compatibility layer", () => {
  fc.assert(fc.property(decided, ([entry, decision, outcome, market, key]) => {
    const value: unknown = JSON.parse(compatPlaced("BTC/USDC:USDC", "acc_1", market, entry, decision, outcome, key))
    const order = Schema.decodeUnknownSync(AcceptedOrder, strict)(value)
    expect(order).toMatchObject({ status: "open", filled: 0, remaining: order.amount })
    expect(Math.round(order.amount * 10 ** market.quantityScale)).toBe(entry.quantityAtoms)
    expect(order.info.idempotencyKey).toBe(key)
  }))
})

test("cancels, and their entries in a batch", () => {
  fc.assert(fc.property(decided, fc.string({ minLength: 1 }), ([, decision, outcome, market, key], orderId) => {
    Schema.decodeUnknownSync(CancelResult, strict)(JSON.parse(canceled("acc_1", market, decision, outcome, key)))
    const accepted = canceledEntry(0, "acc_1", market, orderId, market.marketId, decision, outcome, key)
    const missing = refusedOf(Refusal.orderNotFound, decision.orderNumber)
    const refused = canceledEntry(1, "acc_1", market, orderId, market.marketId, missing, outcome, key)
    const batch: unknown = JSON.parse(`{"version":"external-cancel-order-batch/v1","outcomes":[${accepted},${refused}]}`)
    const { outcomes } = Schema.decodeUnknownSync(CancelBatchResult, strict)(batch)
    expect(outcomes.map((entry) => [entry.index, entry.accepted])).toEqual([[0, true], [1, false]])
    expect(outcomes[1]!.orderId).toBe(orderId)
  }))
})

test("the average price is the nearest on the grid, half up, and exact where all fills were at one price", () => {
  fc.assert(fc.property(scales, atoms, fc.integer({ min: 1, max: 1_000_000 }), fc.nat(), (market, filled, price, spread) => {
    const divisor = filled * Market.notionalFactor(market)
    fc.pre(price * divisor + divisor < Number.MAX_SAFE_INTEGER)
    expect(averagePriceAtoms(price * divisor, filled, market)).toBe(price)
    const notional = price * divisor + (spread % divisor)
    const expected = (2n * BigInt(notional) + BigInt(divisor)) / (2n * BigInt(divisor))
    expect(averagePriceAtoms(notional, filled, market)).toBe(Number(expected))
  }))
})

test("texts that need escaping are escaped", async () => {
  const fake = Fake.make()
  const response = await fake.ask({
    target: "/v1/orders/batch",
    body: { orders: [Fake.order(fake, { marketId: "\"}\\\u0000\ud800\u2028é" })] },
    key: fake.keys.alice,
    idempotencyKey: "\"\\"
  })
  expect(Fake.json(response).outcomes[0]).toMatchObject({ marketId: "\"}\\\u0000\ud800\u2028é", idempotencyKey: "\"\\" })
})
