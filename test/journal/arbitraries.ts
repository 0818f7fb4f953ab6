/** Arbitrary commands of every kind, within what the vocabulary allows and far beyond what is sensible. */
import * as fc from "fast-check"
import * as Command from "../../src/operations/Operations.js"
import * as Market from "../../src/domain/Market.js"
import { Refusal } from "../../src/domain/Refusal.js"

/** Plain objects, as a decoder makes them. */
const record = <A>(model: { [K in keyof A]: fc.Arbitrary<A[K]> }): fc.Arbitrary<A> => fc.record<A>(model, { noNullPrototype: true })

/** Any safe integer; -0 is not one that a command can hold. */
const whole = fc.oneof(fc.integer({ min: -2, max: 100 }), fc.maxSafeInteger())

/** Text of any kind: plain, quoted, with control characters, astral, and with lone surrogates. */
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units))
)

const operation = fc.constantFrom(...Object.values(Command.Operation))
const refusal = fc.constantFrom(...Object.values(Refusal))

const placeEntry: fc.Arbitrary<Command.PlaceEntry> = record({
  market: whole,
  clientOrderId: text,
  side: fc.constantFrom(0 as const, 1 as const),
  type: fc.constantFrom(0 as const, 1 as const),
  timeInForce: fc.constantFrom(0 as const, 1 as const),
  priceAtoms: whole,
  quantityAtoms: whole,
  postOnly: fc.boolean(),
  reduceOnly: fc.boolean(),
  selfTradePrevention: fc.constantFrom(0 as const, 1 as const, 2 as const),
  expiresAtEpochMs: whole,
  fault: fc.oneof(fc.constant(Refusal.none), refusal),
  raw: fc.oneof(fc.constant(""), text)
})

export const placeOrders: fc.Arbitrary<Command.PlaceOrders> = record({
  kind: fc.constant("PlaceOrders" as const),
  operation,
  account: whole,
  apiKey: whole,
  idempotencyKey: text,
  entries: fc.array(placeEntry, { maxLength: Command.maxPlaceEntries })
})

const cancelOrders: fc.Arbitrary<Command.CancelOrders> = record({
  kind: fc.constant("CancelOrders" as const),
  operation,
  account: whole,
  apiKey: whole,
  idempotencyKey: text,
  entries: fc.array(record({ market: whole, orderNumber: whole, raw: text }), { maxLength: Command.maxCancelEntries })
})

/** What every client's command begins with. */
const heading = { operation, account: whole, apiKey: whole, idempotencyKey: text }

const amendOrder: fc.Arbitrary<Command.AmendOrder> = record({
  kind: fc.constant("AmendOrder" as const),
  ...heading,
  market: whole,
  orderNumber: whole,
  priceAtoms: whole,
  quantityAtoms: whole,
  fault: refusal,
  raw: text
})

const cancelAllOrders: fc.Arbitrary<Command.CancelAllOrders> = record({
  kind: fc.constant("CancelAllOrders" as const),
  ...heading,
  market: whole,
  raw: text
})

const setCancelAllAfter: fc.Arbitrary<Command.SetCancelAllAfter> = record({
  kind: fc.constant("SetCancelAllAfter" as const),
  ...heading,
  timeoutMs: whole
})

const fenceOutcome: fc.Arbitrary<Command.FenceOutcome> = record({
  kind: fc.constant("FenceOutcome" as const),
  ...heading,
  fencedKey: text,
  fencedClientOrderId: text
})

const parameters: fc.Arbitrary<Market.Parameters> = record({
  marketId: text,
  baseAsset: text,
  quoteAsset: text,
  settlementAsset: fc.constant("USDC" as const),
  underlyingSymbol: text,
  marketType: fc.constant("crypto" as const),
  logoUrl: text,
  priceScale: whole,
  quantityScale: whole,
  minPriceAtoms: whole,
  maxPriceAtoms: whole,
  minQuantityAtoms: whole,
  maxQuantityAtoms: whole,
  maxPositionQuantityAtoms: whole,
  initialMarginBps: whole,
  maintenanceMarginTiers: fc
    .array(record({ notionalThresholdAtoms: whole, maintenanceMarginBps: whole }), { minLength: 1, maxLength: 16 })
    .map(([first, ...rest]) => [first!, ...rest] as const),
  maxLeverageX: whole,
  makerFeeBps: whole,
  takerFeeBps: whole,
  priceBandBps: whole
})

/** Any command. */
export const command: fc.Arbitrary<Command.Command> = fc.oneof(
  placeOrders,
  cancelOrders,
  amendOrder,
  cancelAllOrders,
  setCancelAllAfter,
  fenceOutcome,
  record({ kind: fc.constant("PassTime" as const) }),
  record({ kind: fc.constant("OpenVenue" as const), environment: text, rules: whole }),
  record({ kind: fc.constant("PutMarket" as const), idempotencyKey: text, parameters }),
  record({
    kind: fc.constant("SetMarketStatus" as const),
    idempotencyKey: text,
    market: whole,
    status: fc.constantFrom(...Market.statuses)
  }),
  record({
    kind: fc.constant("SetIndexPrice" as const),
    idempotencyKey: text,
    market: whole,
    priceAtoms: whole,
    sourceEpochMs: whole
  }),
  record({ kind: fc.constant("HaltEngine" as const), idempotencyKey: text }),
  record({ kind: fc.constant("ResumeEngine" as const), idempotencyKey: text }),
  record({
    kind: fc.constant("OpenDemoAccounts" as const),
    idempotencyKey: text,
    collateralAtoms: whole,
    keys: fc.array(
      record({ keyId: text, displayPrefix: text, secretSha256: text, scopes: whole, expiresAtEpochMs: whole }),
      { maxLength: Command.maxDemoAccounts }
    )
  })
)
