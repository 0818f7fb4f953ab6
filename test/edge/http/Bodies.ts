/** Valid bodies for the hot routes, in the forms that clients may write. */
import * as fc from "fast-check"
import type * as Contract from "../../../src/edge/Contract.js"

const name = fc.oneof(
  fc.constantFrom("acc_1s", "BTC-USDC-PERP", "BTC/USDC:USDC", "ord_1"),
  fc.string({ minLength: 1, maxLength: 128 })
)
const clientOrderId = fc.stringMatching(/^[A-Za-z0-9._:-]{1,64}$/)
const decimal = fc.oneof(
  fc.constantFrom("0", "1", "100.5", "0.0001", "9".repeat(40)),
  fc.tuple(fc.nat(), fc.nat()).map(([whole, part]) => `${whole}.${part}`)
)
const present = { requiredKeys: [] as [] }
const trigger = fc.tuple(
  fc.record({ triggerPrice: decimal }),
  fc.record({ triggerBy: fc.constantFrom("mark", "last", "index"), limitPrice: decimal }, present)
).map(([required, optional]) => ({ ...required, ...optional }))
const autoClose = fc.oneof(
  fc.record({ takeProfit: trigger }),
  fc.record({ stopLoss: trigger }),
  fc.record({ takeProfit: trigger, stopLoss: trigger })
)
const place = fc.oneof(
  fc.tuple(
    fc.record({
      accountId: name,
      marketId: name,
      clientOrderId,
      side: fc.constantFrom("buy", "sell"),
      orderType: fc.constant("limit"),
      price: decimal,
      quantity: decimal
    }),
    fc.record(
      {
        timeInForce: fc.constant("GTC"),
        expiresAtEpochMs: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        postOnly: fc.boolean(),
        reduceOnly: fc.boolean(),
        selfTradePrevention: fc.constantFrom("cancel_resting", "cancel_incoming", "cancel_both")
      },
      present
    )
  ),
  fc.tuple(
    fc.record({
      accountId: name,
      marketId: name,
      clientOrderId,
      side: fc.constantFrom("buy", "sell"),
      orderType: fc.constant("market"),
      quantity: decimal
    }),
    fc.record({ timeInForce: fc.constant("IOC"), price: decimal, postOnly: fc.constant(false) }, present)
  )
).chain(([required, optional]) =>
  ("reduceOnly" in optional && optional.reduceOnly === true ? fc.constant({}) : fc.record({ autoClose }, present))
    .map((closing) => ({ ...required, ...optional, ...closing }))
)
const amount = fc.oneof(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), fc.nat())
const params = fc.record({ clientOrderId, postOnly: fc.boolean(), reduceOnly: fc.boolean() }, present)
const createEntry = fc.tuple(
  fc.record({ symbol: name, type: fc.constant("limit"), side: fc.constantFrom("buy", "sell"), amount, price: amount }),
  fc.record({ params }, present)
).map(([required, optional]) => ({ ...required, ...optional }))
const createMarket = fc.tuple(
  fc.record({ symbol: name, type: fc.constant("market"), side: fc.constantFrom("buy", "sell"), amount }),
  fc.record({ price: amount, params: fc.record({ clientOrderId }, present) }, present)
).map(([required, optional]) => ({ ...required, ...optional }))
const cancelEntry = fc.record({ accountId: name, marketId: name, orderId: name })

/** Valid bodies for every endpoint whose body is decoded by hand: a new one is given its own here. */
export const valid: Readonly<Record<Contract.CommandName, fc.Arbitrary<unknown>>> = {
  placeOrder: place,
  placeOrderBatch: fc.record({ orders: fc.array(place, { minLength: 1, maxLength: 32 }) }),
  cancelOrder: fc.record({ accountId: name, marketId: name }),
  cancelOrderBatch: fc.record({ orders: fc.array(cancelEntry, { minLength: 1, maxLength: 24 }) }),
  createOrder: fc.oneof(createEntry, createMarket),
  createOrders: fc.array(createEntry, { minLength: 1, maxLength: 32 }),
  amendOrder: fc.oneof(
    fc.record({ accountId: name, marketId: name, price: decimal }),
    fc.record({ accountId: name, marketId: name, quantity: decimal }),
    fc.record({ accountId: name, marketId: name, price: decimal, quantity: decimal })
  ),
  cancelAllOrders: fc.record({ accountId: name, marketId: name }, { requiredKeys: ["accountId"] }),
  cancelAllCompatOrders: fc.record({ symbol: name }, present),
  setCancelAllAfter: fc.record({ timeoutMs: fc.oneof(fc.constant(0), fc.integer({ min: 1000, max: 600_000 })) }),
  fenceOutcome: fc.oneof(
    fc.record({ clientOrderId }),
    fc.record({ idempotencyKey: fc.constantFrom("a", "~!\"", "k".repeat(255)) })
  ),
  setProfile: fc.record({ displayHandle: fc.stringMatching(/^[A-Za-z0-9_-]{3,20}$/) }),
  setAutoClose: autoClose,
  setLeverage: fc.record({ leverageX: fc.integer({ min: 1, max: 2_000 }) }),
  cancelCompatOrder: fc.record({ symbol: name })
}
