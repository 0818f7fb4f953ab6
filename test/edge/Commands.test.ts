/**
 * Amending, cancelling everything, expiries, the dead-man switch, lookups and fences, over the real engine: the first answer, the answer to
 * a repeat, and what stays untouched. `ask` checks every schema.
 */
import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import * as Histories from "../../src/readmodel/Histories.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId, order, symbol, type Trader } from "./LiveVenue.js"

const make = async (): Promise<{ venue: LiveVenue; alice: Trader; bob: Trader }> => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2)
  return { venue, alice: alice!, bob: bob! }
}
const amendTarget = (orderId: string): string => `/v1/orders/${orderId}/amend`
const body = (trader: Trader, more: Readonly<Record<string, unknown>>) => ({ accountId: trader.accountId, marketId, ...more })

describe("amend", () => {
  test("changes price and total, tells what was decided, and tells it again whatever happened since", async () => {
    const { alice, bob, venue } = await make()
    const placed = await venue.place(alice, { price: "99.0", postOnly: true, expiresAtEpochMs: venue.atEpochMs + 1000 })
    venue.atEpochMs += 10
    const target = amendTarget(placed.orderId)
    const first = await venue.post(alice, target, body(alice, { price: "98.5", quantity: "2.5" }), "amend-1")
    expect(Fake.json(first)).toEqual({
      version: "external-amend-order/v1",
      accepted: true,
      orderId: placed.orderId,
      accountId: alice.accountId,
      marketId,
      status: "open",
      lastSequence: venue.engine.sequence,
      idempotencyKey: "amend-1",
      clientOrderId: placed.clientOrderId,
      side: "buy",
      orderType: "limit",
      timeInForce: "GTC",
      price: "98.5",
      priceAtoms: "985",
      quantity: "2.500",
      quantityAtoms: "2500",
      filledQuantity: "0.000",
      filledQuantityAtoms: "0",
      remainingQuantity: "2.500",
      remainingQuantityAtoms: "2500",
      canceledQuantity: "0.000",
      canceledQuantityAtoms: "0",
      postOnly: true,
      reduceOnly: false,
      selfTradePrevention: "cancel_resting",
      createdAtEpochMs: placed.createdAtEpochMs,
      updatedAtEpochMs: venue.atEpochMs
    })
    await venue.place(bob, { side: "sell", price: "98.5", quantity: "1.000" })
    await venue.post(alice, target, body(alice, { price: "97.0" }))
    await venue.post(alice, `/v1/orders/${placed.orderId}/cancel`, body(alice, {}))
    const { records } = venue
    const again = await venue.post(alice, target, body(alice, { price: "98.5", quantity: "2.500" }), "amend-1")
    expect(again.body).toBe(first.body)
    expect(venue.records).toBe(records)
    const other = await venue.post(alice, target, body(alice, { price: "98.6", quantity: "2.5" }), "amend-1")
    expect([other.status, Fake.json(other).code]).toEqual([409, "idempotency_key_conflict"])
  })

  test("that crosses tells its fills; at or under what is filled it cancels the rest", async () => {
    const { alice, bob, venue } = await make()
    const resting = await venue.place(alice, { price: "99.0", quantity: "2.000" })
    await venue.place(bob, { side: "sell", price: "100.0", quantity: "0.500" })
    const crossed = Fake.json(await venue.post(alice, amendTarget(resting.orderId), body(alice, { price: "100.0" })))
    expect(crossed).toMatchObject({ status: "open", filledQuantity: "0.500", remainingQuantity: "1.500", averageFillPrice: "100.0" })
    const ended = Fake.json(await venue.post(alice, amendTarget(resting.orderId), body(alice, { quantity: "0.5" })))
    expect(ended).toMatchObject({
      status: "canceled",
      cancelReason: "user",
      filledQuantity: "0.500",
      canceledQuantity: "1.500",
      remainingQuantity: "0.000"
    })
    const gone = await venue.post(alice, amendTarget(resting.orderId), body(alice, { quantity: "3" }))
    expect([gone.status, Fake.json(gone).code]).toEqual([404, "not_found"])
  })

  test("that is refused leaves the order as it was, and says what it compared", async () => {
    const { alice, venue } = await make()
    const placed = await venue.place(alice, { price: "99.0" })
    const before = await venue.read(alice, `/v1/orders/${placed.orderId}`)
    const refused = async (more: Readonly<Record<string, unknown>>, idempotencyKey?: string) => {
      const response = await venue.post(alice, amendTarget(placed.orderId), body(alice, more), idempotencyKey)
      const { actual, limit, nearest, rejectionGuard } = Fake.json(response)
      return { status: response.status, rejectionGuard, limit, actual, nearest }
    }
    const tooDear = { status: 422, rejectionGuard: "price_out_of_bounds", limit: "10000.0", actual: "10000.1", nearest: "110.0" }
    expect(await refused({ price: "10000.1" }, "dear")).toEqual(tooDear)
    expect(await refused({ price: "10000.1" }, "dear")).toEqual(tooDear)
    expect(await refused({ price: "0" })).toMatchObject({ status: 422, rejectionGuard: "price_out_of_bounds" })
    expect(await refused({ price: "99999999999" })).toMatchObject({ status: 422, rejectionGuard: "price_out_of_bounds" })
    expect(await refused({ quantity: "100.001" })).toMatchObject({ rejectionGuard: "quantity_out_of_bounds", nearest: "100.000" })
    expect(await refused({ quantity: "99999999999999999" })).toMatchObject({ rejectionGuard: "quantity_out_of_bounds" })
    expect(await venue.read(alice, `/v1/orders/${placed.orderId}`)).toEqual(before)
  })

  test("of a foreign, unknown or wrong market's order finds none, and different unknown ones are different bodies", async () => {
    const { alice, bob, venue } = await make()
    venue.market(parameters("BBB"))
    const placed = await venue.place(alice, { price: "99.0" })
    const code = async (trader: Trader, orderId: string, more: Readonly<Record<string, unknown>>, key?: string) =>
      Fake.json(await venue.post(trader, amendTarget(orderId), body(trader, { price: "98.0", ...more }), key)).code
    expect(await code(bob, placed.orderId, {})).toBe("not_found")
    expect(await code(alice, placed.orderId, { marketId: "BBB-USDC-PERP" })).toBe("not_found")
    expect(await code(alice, placed.orderId, { marketId: "X" }, "k")).toBe("not_found")
    expect(await code(alice, placed.orderId, { marketId: "Y" }, "k")).toBe("idempotency_key_conflict")
    expect(await code(alice, "ord_zz", {})).toBe("not_found")
    expect(await code(alice, "nonsense", {}, "n")).toBe("not_found")
    expect(await code(alice, "rubbish", {}, "n")).toBe("idempotency_key_conflict")
    expect(await code(alice, "nonsense", { price: "98.1" }, "n")).toBe("idempotency_key_conflict")
  })
})

describe("cancel-all", () => {
  test("counts what it cancelled in one market or all, and repeats its answer", async () => {
    const { alice, bob, venue } = await make()
    venue.market(parameters("BBB"))
    for (const market of [marketId, "BBB-USDC-PERP", "BBB-USDC-PERP"]) await venue.place(alice, { price: "90.0", marketId: market })
    await venue.place(bob, { price: "90.0" })
    const target = "/v1/orders/cancel-all"
    const one = await venue.post(alice, target, { accountId: alice.accountId, marketId: "BBB-USDC-PERP" }, "k")
    expect(Fake.json(one)).toEqual({
      version: "external-cancel-all/v1",
      accountId: alice.accountId,
      marketId: "BBB-USDC-PERP",
      canceledOrders: 2,
      lastSequence: venue.engine.sequence,
      idempotencyKey: "k",
      decidedAtEpochMs: venue.atEpochMs
    })
    expect((await venue.post(alice, target, { accountId: alice.accountId, marketId: "BBB-USDC-PERP" }, "k")).body).toBe(one.body)
    expect((await venue.post(alice, target, { accountId: alice.accountId }, "k")).status).toBe(409)
    expect(Fake.json(await venue.post(alice, target, { accountId: alice.accountId })).canceledOrders).toBe(1)
    expect(Fake.json(await venue.post(alice, target, { accountId: alice.accountId })).canceledOrders).toBe(0)
    expect(await venue.read(bob, "/v2/orders?status=open")).toHaveLength(1)
    expect((await venue.post(alice, target, { accountId: alice.accountId, marketId: "X" })).status).toBe(404)
  })

  test("of another unknown market under the same key is another body", async () => {
    const { alice, venue } = await make()
    const families = [["/v1/orders/cancel-all", { accountId: alice.accountId }, "marketId"], ["/v2/orders/cancel-all", {},
      "symbol"]] as const
    for (const [target, rest, member] of families) {
      const ask = async (name: string) => venue.post(alice, target, { ...rest, [member]: name }, "unknown")
      const first = await ask("X")
      expect([first.status, Fake.json(first).code], target).toEqual([404, "market_not_found"])
      const { records } = venue
      const noId = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, "")
      expect(noId((await ask("X")).body), target).toBe(noId(first.body))
      const other = await ask("Y")
      expect([other.status, Fake.json(other).code], target).toEqual([409, "idempotency_key_conflict"])
      expect(venue.records).toBe(records)
    }
  })
})

describe("an expiry", () => {
  test("is told, cancels what rests when its time has come, and is refused once it is past", async () => {
    const { alice, venue } = await make()
    const expiresAtEpochMs = venue.atEpochMs + 5_000
    const placed = await venue.place(alice, { price: "90.0", expiresAtEpochMs, clientOrderId: "e" }, "e")
    expect(placed).toMatchObject({ status: "open", expiresAtEpochMs })
    const read = () => venue.read(alice, `/v1/orders/${placed.orderId}`)
    expect(await read()).toMatchObject({ status: "open", expiresAtEpochMs })
    venue.atEpochMs = expiresAtEpochMs
    venue.send({ kind: "PassTime" })
    expect(await read()).toMatchObject({ status: "canceled", cancelReason: "expired" })
    expect((await read()).expiresAtEpochMs).toBeUndefined()
    const again = await venue.place(alice, { price: "90.0", expiresAtEpochMs, clientOrderId: "e" }, "e")
    expect(again).toEqual(placed)
    const late = await venue.place(alice, { price: "90.0", expiresAtEpochMs })
    expect(late).toMatchObject({
      httpStatus: 400,
      code: "invalid_request",
      rejectionGuard: "expiry_passed",
      limit: String(venue.atEpochMs),
      actual: String(expiresAtEpochMs)
    })
    const [entry] = Fake.json(await venue.post(alice, "/v1/orders/batch", {
      orders: [order(alice, { clientOrderId: "b", price: "90.0", expiresAtEpochMs: venue.atEpochMs + 1 })]
    })).outcomes
    expect(entry).toMatchObject({ accepted: true, expiresAtEpochMs: venue.atEpochMs + 1 })
  })
})

describe("the dead-man switch", () => {
  test("is set, seen, moved only by a fresh key, fires, and is disarmed", async () => {
    const { alice, bob, venue } = await make()
    const target = `/v1/accounts/${alice.accountId}/orders/cancel-all-after`
    const state = async (trader = alice) => venue.read(trader, `/v1/accounts/${trader.accountId}/orders/cancel-all-after`)
    expect(await state()).toMatchObject({ armed: false, cancelAtEpochMs: null })
    const placed = await venue.place(alice, { price: "90.0" })
    const set = await venue.post(alice, target, { timeoutMs: 5_000 }, "beat-1")
    const cancelAtEpochMs = venue.atEpochMs + 5_000
    expect(Fake.json(set)).toMatchObject({ version: "external-cancel-all-after/v1", timeoutMs: 5_000, cancelAtEpochMs })
    expect(await state()).toMatchObject({ armed: true, cancelAtEpochMs })
    expect(await state(bob)).toMatchObject({ armed: false })
    venue.atEpochMs += 4_000
    expect((await venue.post(alice, target, { timeoutMs: 5_000 }, "beat-1")).body).toBe(set.body)
    expect(await state()).toMatchObject({ cancelAtEpochMs })
    await venue.post(alice, target, { timeoutMs: 5_000 }, "beat-2")
    venue.atEpochMs += 4_000
    venue.send({ kind: "PassTime" })
    expect((await venue.read(alice, `/v1/orders/${placed.orderId}`)).status).toBe("open")
    venue.atEpochMs += 1_000
    venue.send({ kind: "PassTime" })
    expect(await venue.read(alice, `/v1/orders/${placed.orderId}`)).toMatchObject({
      status: "canceled",
      cancelReason: "cancel_all_after"
    })
    expect(await state()).toMatchObject({ armed: false })
    await venue.post(alice, target, { timeoutMs: 600_000 })
    expect(Fake.json(await venue.post(alice, target, { timeoutMs: 0 }))).toMatchObject({ timeoutMs: 0, cancelAtEpochMs: null })
    expect(await state()).toMatchObject({ armed: false })
  })
})

describe("an outcome", () => {
  const lookup = (venue: LiveVenue, trader: Trader, query: string) =>
    venue.read(trader, `/v1/accounts/${trader.accountId}/outcomes?${query}`)

  test("is found by key: accepted, refused, or never seen, and only by its own account", async () => {
    const { alice, bob, venue } = await make()
    const placed = await venue.place(alice, { price: "90.0" }, "place")
    expect(await lookup(venue, alice, "idempotencyKey=place")).toEqual({
      version: "external-outcome/v1",
      accountId: alice.accountId,
      idempotencyKey: "place",
      outcome: "accepted",
      fenced: false,
      decisions: [{
        operation: "place_order",
        sequence: placed.lastSequence,
        decidedAtEpochMs: placed.createdAtEpochMs,
        entries: [{
          index: 0,
          accepted: true,
          orderId: placed.orderId,
          status: "open",
          filledQuantityAtoms: "0",
          canceledQuantityAtoms: "0"
        }]
      }],
      journalSequence: venue.engine.sequence
    })
    await venue.place(alice, { price: "10000.1" }, "refused")
    expect(await lookup(venue, alice, "idempotencyKey=refused")).toMatchObject({
      outcome: "refused",
      decisions: [{ entries: [{ accepted: false, code: "order_rejected", rejectionGuard: "price_out_of_bounds", retryable: false }] }]
    })
    for (const [trader, key] of [[bob, "place"], [alice, "nothing"]] as const) {
      expect(await lookup(venue, trader, `idempotencyKey=${key}`)).toMatchObject({ outcome: "never_seen", decisions: [] })
    }
  })

  test("of every operation is named, one decision for each that used the key", async () => {
    const { alice, venue } = await make()
    const accountId = alice.accountId
    const { orderId } = await venue.place(alice, { price: "90.0", clientOrderId: "1" }, "k")
    // A cancel is remembered only if it finds an order.
    const other = async (): Promise<string> => (await venue.place(alice, { price: "90.0" })).orderId
    const compat = { symbol, type: "limit", side: "buy", amount: 1, price: 90 }
    const calls: ReadonlyArray<readonly [string, unknown]> = [
      ["/v1/orders/batch", { orders: [order(alice, { clientOrderId: "2", price: "90.0" })] }],
      ["/v2/order", compat],
      ["/v2/orders", [compat]],
      [amendTarget(orderId), body(alice, { quantity: "0.5" })],
      [`/v1/orders/${orderId}/cancel`, body(alice, {})],
      ["/v1/orders/batch/cancel", { orders: [{ ...body(alice, {}), orderId: await other() }] }],
      [`/v2/orders/${await other()}/cancel`, { symbol }],
      [`/v1/accounts/${accountId}/orders/cancel-all-after`, { timeoutMs: 0 }],
      ["/v1/orders/cancel-all", { accountId }]
    ]
    for (const [target, sent] of calls) await venue.post(alice, target, sent, "k")
    await other()
    await venue.post(alice, "/v2/orders/cancel-all", {}, "k")
    const { decisions, outcome } = await lookup(venue, alice, "idempotencyKey=k")
    expect(outcome).toBe("accepted")
    expect(decisions.map((decision: any) => decision.operation)).toEqual([
      "place_order",
      "place_order_batch",
      "create_order",
      "create_orders",
      "cancel_order",
      "cancel_order_batch",
      "cancel_compat_order",
      "amend_order",
      "cancel_all_orders",
      "cancel_all_compat_orders",
      "set_cancel_all_after"
    ])
    expect(decisions.find((decision: any) => decision.operation === "cancel_all_orders").entries).toEqual([
      { index: 0, accepted: true, canceledOrders: 3 }
    ])
  })

  test("is found by clientOrderId, with the order as it is now", async () => {
    const { alice, bob, venue } = await make()
    const { orderId } = await venue.place(alice, { price: "90.0", clientOrderId: "mine" })
    await venue.post(alice, `/v1/orders/${orderId}/cancel`, body(alice, {}))
    expect(await lookup(venue, alice, "clientOrderId=mine")).toMatchObject({
      outcome: "accepted",
      clientOrderId: "mine",
      decisions: [],
      order: { orderId, status: "canceled", cancelReason: "user" }
    })
    expect(await lookup(venue, bob, "clientOrderId=mine")).toMatchObject({ outcome: "never_seen" })
  })

  test("that may have been forgotten is not called never seen", async () => {
    const known: Array<Histories.Standing> = []
    const clientOrder = () =>
      known[0] === undefined ? Histories.none.clientOrder(0, "") : Effect.succeed({ found: undefined, standing: known[0] })
    const venue = LiveVenue.make(undefined, { histories: { ...Histories.none, clientOrder } })
    const [alice] = await venue.traders(1) as [Trader]
    const { orderId } = await venue.place(alice, { price: "90.0" }, "old")
    await venue.post(alice, `/v1/orders/${orderId}/cancel`, body(alice, {}), "old-cancel")
    venue.atEpochMs += 49 * 3_600_000
    venue.send({ kind: "PassTime" })
    expect(await lookup(venue, alice, "idempotencyKey=old")).toMatchObject({ outcome: "unknown_expired", decisions: [] })
    // Only the histories can still know of such an order, so the outcome is unknown until they answer.
    const other = `/v1/accounts/${alice.accountId}/outcomes?clientOrderId=other`
    expect(Fake.json(await venue.ask({ target: other, key: alice.key }))).toMatchObject({ code: "dependency_unavailable", retryable: true })
    const { atEpochMs, engine: { sequence } } = venue
    known.push({ sequence, atEpochMs, fills: 0, lagMs: 0, isReplaying: false, isRebuilding: false })
    expect(await lookup(venue, alice, "clientOrderId=other")).toMatchObject({ outcome: "unknown_expired" })
  })

  test("that was never seen is fenced, so that a late original cannot land", async () => {
    const { alice, bob, venue } = await make()
    const target = (trader: Trader): string => `/v1/accounts/${trader.accountId}/outcomes/fence`
    const fenced = await venue.post(alice, target(alice), { idempotencyKey: "lost" }, "fence-1")
    expect(Fake.json(fenced)).toEqual({
      version: "external-outcome-fence/v1",
      accountId: alice.accountId,
      fenced: true,
      fencedIdempotencyKey: "lost",
      holdsUntilEpochMs: venue.atEpochMs + 86_400_000,
      lastSequence: venue.engine.sequence,
      idempotencyKey: "fence-1",
      decidedAtEpochMs: venue.atEpochMs
    })
    expect((await venue.post(alice, target(alice), { idempotencyKey: "lost" }, "fence-1")).body).toBe(fenced.body)
    expect(await lookup(venue, alice, "idempotencyKey=lost")).toMatchObject({ outcome: "never_seen", fenced: true })
    const late = await venue.place(alice, { price: "90.0" }, "lost")
    expect(late).toMatchObject({ httpStatus: 409, code: "idempotency_key_conflict", rejectionGuard: "fenced" })
    expect((await venue.place(bob, { price: "90.0" }, "lost")).httpStatus).toBe(200)

    await venue.post(alice, target(alice), { clientOrderId: "lost-order" })
    expect(await lookup(venue, alice, "clientOrderId=lost-order")).toMatchObject({ outcome: "never_seen", fenced: true })
    expect(await venue.place(alice, { clientOrderId: "lost-order" })).toMatchObject({ httpStatus: 409, rejectionGuard: "fenced" })

    await venue.place(alice, { price: "90.0", clientOrderId: "landed" }, "landed")
    for (const identity of [{ idempotencyKey: "landed" }, { clientOrderId: "landed" }]) {
      const response = await venue.post(alice, target(alice), identity)
      expect([response.status, Fake.json(response).rejectionGuard]).toEqual([409, "already_seen"])
    }
    expect(await venue.read(alice, "/v2/orders?status=open")).toHaveLength(1)
  })
})

describe("a market that is not listed yet", () => {
  const draft = parameters("CCC")
  const early = async () => {
    const { alice, venue } = await make()
    venue.send({ kind: "PutMarket", idempotencyKey: "draft", parameters: draft })
    return { alice, venue, index: venue.engine.findMarket(draft.marketId) }
  }
  const list = (venue: LiveVenue, market: number): void => {
    for (const status of ["backfilling", "open"] as const) {
      venue.send({ kind: "SetMarketStatus", idempotencyKey: venue.nextKey(), market, status })
    }
    venue.send({ kind: "SetIndexPrice", idempotencyKey: "", market, priceAtoms: 1000, sourceEpochMs: venue.atEpochMs })
  }

  test("is refused like one that does not exist, and the refusal is repeated once it is listed", async () => {
    const { alice, index, venue } = await early()
    const calls: ReadonlyArray<readonly [string, (market: string, symbolOf: string) => unknown]> = [
      ["/v1/orders", (market) => order(alice, { marketId: market })],
      ["/v1/orders/batch", (market) => ({ orders: [order(alice, { marketId: market })] })],
      ["/v2/order", (_, symbolOf) => ({ symbol: symbolOf, type: "limit", side: "buy", amount: 1, price: 100 })],
      ["/v2/orders", (_, symbolOf) => [{ symbol: symbolOf, type: "limit", side: "buy", amount: 1, price: 100 }]],
      ["/v1/orders/ord_zz/cancel", (market) => ({ accountId: alice.accountId, marketId: market })],
      ["/v1/orders/ord_zz/amend", (market) => ({ accountId: alice.accountId, marketId: market, price: "1.0" })],
      ["/v1/orders/cancel-all", (market) => ({ accountId: alice.accountId, marketId: market })],
      ["/v2/orders/cancel-all", (_, symbolOf) => ({ symbol: symbolOf })]
    ]
    const plain = (text: string): string =>
      text.replaceAll(/"(requestId|orderId|id|idempotencyKey)":"[^"]*"|"lastSequence":\d+/g, "").replaceAll("DDD", "CCC")
    const before: Array<string> = []
    for (const [target, sent] of calls) {
      const response = await venue.post(alice, target, sent(draft.marketId, "CCC/USDC:USDC"), `early-${target}`)
      before.push(response.body)
      const missing = await venue.post(alice, target, sent("DDD-USDC-PERP", "DDD/USDC:USDC"))
      expect(plain(response.body), target).toBe(plain(missing.body))
      expect(response.status).toBe(missing.status)
    }
    list(venue, index)
    for (const [at, [target, sent]] of calls.entries()) {
      // A cancel that found no order is not remembered, and is decided anew.
      if (target.endsWith("/cancel")) continue
      const { records } = venue
      const response = await venue.post(alice, target, sent(draft.marketId, "CCC/USDC:USDC"), `early-${target}`)
      const noId = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, "")
      expect(noId(response.body), target).toBe(noId(before[at]!))
      expect(venue.records).toBe(records)
    }
    expect((await venue.place(alice, { marketId: draft.marketId })).httpStatus).toBe(200)
  })

  test("tells nothing of its grid", async () => {
    const { alice, venue } = await early()
    for (const more of [{ price: "100.123456" }, { quantity: "0.00000001" }, { price: "0" }, { quantity: "99999999999999999" }]) {
      expect(await venue.place(alice, { marketId: draft.marketId, ...more })).toMatchObject({ httpStatus: 404, code: "market_not_found" })
    }
  })
})
