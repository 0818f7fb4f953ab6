/**
 * Every refusal in the table can be reached by a request, over the real engine, and states what it compared: the limit, the request's
 * value, and the nearest value that would pass. Refusals that a request cannot reach here are listed with where they are tested instead.
 */
import { expect, test } from "vitest"
import * as Refusal from "../../src/domain/Refusal.js"
import type * as Session from "../../src/domain/Session.js"
import type { Unit } from "../../src/domain/Unit.js"
import { refusalOf } from "../../src/operations/Operations.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { Owner } from "./identity/Owner.js"
import { LiveVenue, marketId, order, symbol, type Trader } from "./LiveVenue.js"
import type { Capacity } from "../../src/engine/State.js"

interface Bench {
  readonly venue: LiveVenue
  readonly alice: Trader
  readonly bob: Trader
  readonly operator: (method: string, target: string, body?: unknown) => Promise<any>
  /** Places a native order of Alice's and gives its answer. */
  readonly place: (more?: Readonly<Record<string, unknown>>) => Promise<any>
}

const bench = async (capacity?: Capacity): Promise<Bench> => {
  const venue = LiveVenue.make(capacity)
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  return {
    venue,
    alice,
    bob,
    place: (more) => venue.place(alice, more),
    operator: async (method, target, body) => {
      const response = await venue.ask({
        method,
        target,
        ...(body === undefined ? undefined : { body }),
        key: Fake.operatorToken,
        idempotencyKey: venue.nextKey()
      })
      return { ...JSON.parse(response.body), httpStatus: response.status }
    }
  }
}

interface Row {
  readonly refusal: keyof typeof Refusal.Refusal
  readonly ask: (bench: Bench) => Promise<any>
  /** The values that were compared; absent for a refusal that compares none. */
  readonly limit?: string
  readonly actual?: string
  readonly nearest?: string
  readonly capacity?: Capacity
}

const post = async ({ alice, venue }: Bench, target: string, body: unknown, key?: string): Promise<any> => {
  const response = await venue.post(alice, target, body, key)
  return { ...JSON.parse(response.body), httpStatus: response.status }
}
const compat = (more: Readonly<Record<string, unknown>>) => ({ symbol, type: "limit", side: "buy", amount: 1, price: 100, ...more })
const putBody = {
  underlyingSymbol: "EEE",
  marketType: "crypto",
  priceScale: 1,
  quantityScale: 3,
  minPrice: "0.1",
  maxPrice: "10.0",
  minQuantity: "0.001",
  maxQuantity: "1.0",
  maxPositionQuantity: "1.0",
  initialMarginBps: 1000,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 500 }],
  maxLeverageX: 10,
  makerFeeBps: 1,
  takerFeeBps: 5
}

/** The market as it is read, without the members that a PUT does not take. */
const asRead = async ({ venue }: Bench): Promise<object> => {
  const { market } = await venue.read(undefined, `/v1/markets/${marketId}`)
  const { change24hBps, favorite, lastPrice, lastPriceAtoms, logoUnavailable, marketId: _, settlementAsset, status, symbol, ...body } =
    market
  return body
}

/** Sends an order to a market whose session is closed or past its cutoff; the next session opens in an hour. */
const inSession = ({ place, venue }: Bench, state: Session.State): Promise<any> => {
  const { atEpochMs } = venue
  venue.send({
    kind: "SetMarketSession",
    market: venue.market({ ...parameters("XAU"), marketType: "commodity" }),
    state,
    nextOpenEpochMs: atEpochMs + 3_600_000,
    nextCloseEpochMs: atEpochMs + 60_000,
    riskIncreasingOrderCutoffEpochMs: atEpochMs
  })
  return place({ marketId: "XAU-USDC-PERP" })
}

const rows: ReadonlyArray<Row> = [
  {
    refusal: "engineHalted",
    ask: async (at) => {
      await at.operator("PUT", "/v1/operator/engine/halt")
      return at.place()
    }
  },
  {
    refusal: "tableFull",
    capacity: { orders: 2, idempotencyKeys: 1000 },
    ask: async (at) => {
      for (let count = 0; count < 2; count++) await at.place({ price: "90.0" })
      return at.place({ price: "90.0" })
    }
  },
  {
    refusal: "accountShare",
    // A single order exceeds a thousandth of the room that is left.
    capacity: { orders: 1000, idempotencyKeys: 1000, accountParts: 1000 },
    ask: (at) => at.place({ price: "90.0" })
  },
  {
    refusal: "idempotencyConflict",
    ask: async (at) => {
      await post(at, "/v1/orders", order(at.alice, { price: "90.0" }), "k")
      return post(at, "/v1/orders", order(at.alice, { price: "91.0" }), "k")
    }
  },
  { refusal: "keyUnknown", ask: (at) => at.venue.place({ ...at.alice, key: Fake.issue("nobody's", 1).text }) },
  {
    refusal: "keyExpired",
    ask: (at) => {
      at.venue.atEpochMs = 253_402_300_799_000
      return at.place()
    }
  },
  { refusal: "keyScopeMissing", ask: (at) => post({ ...at, alice: reader(at) }, "/v1/orders", order(at.alice)) },
  { refusal: "keyAccountMismatch", ask: (at) => at.place({ accountId: at.bob.accountId }) },
  {
    refusal: "fenceStands",
    ask: async (at) => {
      await post(at, `/v1/accounts/${at.alice.accountId}/outcomes/fence`, { clientOrderId: "lost" })
      return at.place({ clientOrderId: "lost" })
    }
  },
  {
    refusal: "alreadySeen",
    ask: async (at) => {
      await at.place({ price: "90.0", clientOrderId: "seen" })
      return post(at, `/v1/accounts/${at.alice.accountId}/outcomes/fence`, { clientOrderId: "seen" })
    }
  },
  { refusal: "marketNotFound", ask: (at) => at.place({ marketId: "NO-USDC-PERP" }) },
  {
    refusal: "clientOrderIdInUse",
    ask: async (at) => {
      await at.place({ clientOrderId: "one" })
      return at.place({ clientOrderId: "one" })
    }
  },
  {
    refusal: "marketNotAccepting",
    ask: async (at) => {
      await at.operator("PUT", `/v1/operator/markets/${marketId}/status`, { status: "paused" })
      return at.place()
    },
    actual: "paused"
  },
  { refusal: "sessionClosed", ask: (at) => inSession(at, "closed"), limit: "1700003600000", actual: "1700000000000" },
  { refusal: "sessionCutoff", ask: (at) => inSession(at, "reduce_only"), limit: "1700000000000", actual: "1700000000000" },
  { refusal: "priceOutOfBounds", ask: (at) => at.place({ price: "10000.1" }), limit: "10000.0", actual: "10000.1", nearest: "110.0" },
  { refusal: "priceOutOfBounds", ask: (at) => at.place({ price: "0" }), limit: "0.1", actual: "0.0", nearest: "0.1" },
  {
    refusal: "priceOutOfBounds",
    ask: (at) => at.place({ price: "99999999999" }),
    limit: "10000.0",
    actual: "99999999999.0",
    nearest: "110.0"
  },
  { refusal: "priceOutOfBounds", ask: (at) => at.place({ price: "9".repeat(40) }), actual: "9".repeat(40) },
  { refusal: "priceOutOfBounds", ask: (at) => at.place({ orderType: "market", price: "0" }), actual: "0" },
  {
    refusal: "priceOffGrid",
    ask: (at) => post(at, "/v2/order", compat({ price: 100.05 })),
    limit: "0.1",
    actual: "100.05",
    nearest: "100.1"
  },
  {
    refusal: "quantityOutOfBounds",
    ask: (at) => at.place({ quantity: "100.001" }),
    limit: "100.000",
    actual: "100.001",
    nearest: "100.000"
  },
  { refusal: "quantityOutOfBounds", ask: (at) => at.place({ quantity: "0" }), limit: "0.001", actual: "0.000", nearest: "0.001" },
  {
    refusal: "quantityOffGrid",
    ask: (at) => post(at, "/v2/order", compat({ amount: 1e-7 })),
    limit: "0.001",
    actual: "0.0000001",
    nearest: "0.001"
  },
  {
    refusal: "priceBandExceeded",
    ask: async (at) => {
      await at.venue.place(at.bob, { side: "sell", price: "111.0" })
      return at.place({ price: "112.0" })
    },
    limit: "110.0",
    actual: "112.0",
    nearest: "110.0"
  },
  {
    refusal: "openOrderLimit",
    ask: async (at) => {
      const orders = (batch: number) =>
        Array.from({ length: 25 }, (_, index) => order(at.alice, { clientOrderId: `${batch}.${index}`, price: "90.0", quantity: "0.001" }))
      for (let batch = 0; batch < 8; batch++) await post(at, "/v1/orders/batch", { orders: orders(batch) })
      return at.place({ price: "90.0", quantity: "0.001" })
    },
    limit: "200",
    actual: "201"
  },
  {
    refusal: "positionLimit",
    ask: async (at) => {
      for (let count = 0; count < 5; count++) await at.place({ price: "90.0", quantity: count === 4 ? "99.000" : "100.000" })
      return at.place({ price: "90.0", quantity: "3.000" })
    },
    limit: "500.000",
    actual: "502.000",
    nearest: "1.000"
  },
  {
    refusal: "expiryPassed",
    ask: (at) => at.place({ expiresAtEpochMs: 1_600_000_000_000 }),
    limit: "1700000000000",
    actual: "1600000000000"
  },
  {
    refusal: "reduceOnlyWouldIncrease",
    ask: async (at) => {
      await at.venue.place(at.bob, { side: "sell", quantity: "0.400" })
      await at.place({ quantity: "0.400" })
      return at.place({ side: "sell", reduceOnly: true, price: "110.0", quantity: "1.000" })
    },
    limit: "0.400",
    actual: "1.000",
    nearest: "0.400"
  },
  {
    refusal: "marginInsufficient",
    ask: async (at) => {
      const [poor] = await at.venue.traders(1, "5")
      return at.venue.place(poor!, { quantity: "1.000" })
    },
    limit: "5.000000",
    actual: "10.000000",
    nearest: "0.500"
  },
  {
    refusal: "postOnlyWouldCross",
    ask: async (at) => {
      await at.venue.place(at.bob, { side: "sell", price: "100.5" })
      return at.place({ price: "101.0", postOnly: true })
    },
    limit: "100.5",
    actual: "101.0",
    nearest: "100.4"
  },
  {
    refusal: "noLiquidity",
    ask: async ({ alice, bob, venue }) => {
      await venue.place(bob, { side: "sell", price: "100.1" })
      return JSON.parse((await venue.post(alice, "/v1/orders", order(alice, { orderType: "market" }))).body)
    },
    limit: "100.0",
    actual: "100.1",
    nearest: "100.1"
  },
  {
    refusal: "noLiquidity",
    ask: async ({ alice, venue }) => {
      const { price: _price, ...priceless } = order(alice, { orderType: "market" })
      return JSON.parse((await venue.post(alice, "/v1/orders", priceless)).body)
    }
  },
  {
    refusal: "leverageOutOfBounds",
    ask: async (at) => {
      const { accountId, key } = at.alice
      const target = `/v1/accounts/${accountId}/markets/${marketId}/leverage`
      return Fake.json(await at.venue.ask({ method: "PUT", target, body: { leverageX: 11 }, key, idempotencyKey: "leverage" }))
    },
    limit: "10",
    actual: "11",
    nearest: "10"
  },
  {
    refusal: "triggerInvalid",
    ask: (at) => post(at, "/v1/orders", order(at.alice, { autoClose: { stopLoss: { triggerPrice: "101.0" } } })),
    limit: "100.0",
    actual: "101.0",
    nearest: "99.9"
  },
  {
    refusal: "triggerInvalid",
    ask: (at) => post(at, "/v1/orders", order(at.alice, { autoClose: { takeProfit: { triggerPrice: "0" } } })),
    actual: "0"
  },
  { refusal: "orderNotFound", ask: (at) => post(at, "/v1/orders/ord_zz/cancel", { accountId: at.alice.accountId, marketId }) },
  {
    refusal: "priceBoundsFixed",
    ask: async (at) => {
      await at.venue.place(at.alice, { price: "90.0" })
      const { market } = await at.venue.read(undefined, `/v1/markets/${marketId}`)
      return at.operator("PUT", `/v1/operator/markets/${marketId}`, {
        ...putBody,
        underlyingSymbol: market.underlyingSymbol,
        maxPrice: "95.0"
      })
    },
    limit: "10000.0",
    actual: "95.0",
    nearest: "10000.0"
  },
  {
    refusal: "marketInvalid",
    ask: async (at) => at.operator("PUT", `/v1/operator/markets/${marketId}`, { ...await asRead(at), marketType: "commodity" })
  },
  {
    refusal: "marketScalesFixed",
    ask: async (at) => at.operator("PUT", `/v1/operator/markets/${marketId}`, { ...await asRead(at), priceScale: 2 })
  },
  {
    refusal: "quantityBoundsFixed",
    ask: async (at) =>
      at.operator("PUT", `/v1/operator/markets/${marketId}`, {
        ...await asRead(at),
        maxQuantity: "50.000",
        effectiveAtEpochMs: at.venue.atEpochMs + 2 * 86_400_000
      }),
    limit: "100.000",
    actual: "50.000",
    nearest: "100.000"
  },
  {
    refusal: "positionStranded",
    ask: async (at) => {
      await at.venue.place(at.bob, { side: "sell", price: "100.0", quantity: "0.005" })
      await at.venue.place(at.alice, { price: "100.0", quantity: "0.005" })
      return at.operator("PUT", `/v1/operator/markets/${marketId}`, { ...await asRead(at), minQuantity: "0.010" })
    },
    limit: "0.005",
    actual: "0.010",
    nearest: "0.005"
  },
  {
    refusal: "noticeRequired",
    ask: async (at) => {
      await at.venue.place(at.alice, { price: "90.0" })
      return at.operator("PUT", `/v1/operator/markets/${marketId}`, {
        ...await asRead(at),
        maxPositionQuantity: "200.0",
        effectiveAtEpochMs: at.venue.atEpochMs + 1
      })
    },
    limit: "1700086400000",
    actual: "1700000000001",
    nearest: "1700086400000"
  },
  {
    refusal: "indexPriceOutOfOrder",
    ask: (at) =>
      at.operator("PUT", `/v1/operator/markets/${marketId}/index-price`, { price: "100.0", sourceEpochMs: at.venue.atEpochMs - 3_600_000 }),
    limit: "1700000000000",
    actual: "1699996400000"
  },
  {
    refusal: "delistingTooEarly",
    ask: (at) => at.operator("PUT", `/v1/operator/markets/${marketId}/delisting`, { effectiveAtEpochMs: at.venue.atEpochMs + 1 }),
    limit: "1700086400000",
    actual: "1700000000001",
    nearest: "1700086400000"
  },
  {
    refusal: "marketDelisted",
    ask: async (at) => {
      await at.operator("PUT", `/v1/operator/markets/${marketId}/delisting`, {})
      return at.operator("PUT", `/v1/operator/markets/${marketId}/status`, { status: "open" })
    }
  },
  {
    refusal: "feesInsufficient",
    ask: (at) => at.operator("POST", "/v1/operator/insurance-fund", { amount: "0.5" }),
    limit: "0.000000",
    actual: "0.500000",
    nearest: "0.000000"
  },
  {
    refusal: "indexPriceHeld",
    ask: async (at) => {
      const { market } = await at.venue.read(undefined, `/v1/markets/${marketId}`)
      await at.operator("PUT", `/v1/operator/markets/${marketId}`, {
        ...putBody,
        underlyingSymbol: market.underlyingSymbol,
        maxPrice: "10000.0",
        maxQuantity: "100.0",
        maxPositionQuantity: "500.0"
      })
      return at.operator("PUT", `/v1/operator/markets/${marketId}/index-price`, { price: "105.1" })
    },
    limit: "105.0",
    actual: "105.1"
  },
  { refusal: "marketUnknown", ask: (at) => at.operator("PUT", "/v1/operator/markets/NO-USDC-PERP/status", { status: "open" }) },
  { refusal: "statusMoveRefused", ask: (at) => at.operator("PUT", `/v1/operator/markets/${marketId}/status`, { status: "draft" }) },
  {
    refusal: "indexPriceInvalid",
    ask: (at) => at.operator("PUT", `/v1/operator/markets/${marketId}/index-price`, { price: "20000" }),
    limit: "10000.0",
    actual: "20000.0",
    nearest: "10000.0"
  },
  {
    refusal: "accountNotEnabled",
    ask: async (at) => {
      await at.operator("PUT", `/v1/operator/accounts/${at.alice.accountId}/flags`, { disabled: true })
      return at.place()
    }
  },
  { refusal: "ticketInvalid", ask: (at) => rotate(at, "A".repeat(43)) },
  {
    refusal: "ticketExpired",
    ask: async (at) => {
      const ticket = await mint(at)
      at.venue.atEpochMs += 300_000
      return rotate(at, ticket)
    }
  },
  {
    refusal: "ticketRotated",
    ask: async (at) => {
      const ticket = await mint(at)
      await rotate(at, ticket)
      at.venue.atEpochMs += 10_001
      return rotate(at, ticket)
    }
  },
  {
    refusal: "ticketRevoked",
    ask: async (at) => {
      const ticket = await mint(at)
      await at.venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
      return rotate(at, ticket)
    }
  },
  {
    refusal: "ticketFamilies",
    ask: async (at) => {
      for (let count = 0; count < 64; count++) await mint(at)
      return Fake.json(await at.venue.ask({ method: "POST", target: "/v1/realtime/ticket", key: at.alice.key }))
    }
  },
  {
    refusal: "accountTotalLimit",
    ask: (at) => at.operator("POST", "/v1/operator/demo/accounts", { collateral: "9000000000" }),
    limit: "4503599627.370496",
    actual: "9000000000.000000",
    nearest: "4503599627.370496"
  }
]

const mint = async ({ alice, venue }: Bench): Promise<string> =>
  Fake.json(await venue.ask({ method: "POST", target: "/v1/realtime/ticket", key: alice.key })).ticket

const rotate = async ({ venue }: Bench, ticket: string): Promise<any> =>
  Fake.json(await venue.ask({ method: "PUT", target: "/v1/realtime/ticket", body: { ticket } }))

/** A key of Alice's that may only read. */
const reader = (at: Bench): Trader => {
  const issued = Fake.issue("reader", 1)
  at.venue.engine.state.apiKeys.issue({
    ...issued.grant,
    account: at.alice.account,
    createdAtEpochMs: at.venue.atEpochMs,
    revokedAtEpochMs: 0
  })
  return { ...at.alice, key: issued.text }
}

/** An owner with money but no party, and their requests. */
const owned = async ({ operator, venue }: Bench) => {
  const owner = await Owner.open(venue)
  await operator("POST", "/v1/operator/demo/credits", { accountId: owner.accountId, amount: "100" })
  return async (target: string, amountAtoms: string, more: object = {}) => {
    const told = await owner.ask(target, { body: { asset: "USDC", amountAtoms, ...more }, idempotencyKey: venue.nextKey() })
    return { ...told.body, httpStatus: told.status }
  }
}
const deposits = "/v1/accounts/{account}/deposits"
const withdrawals = "/v1/accounts/{account}/withdrawals"
const to = { destinationPartyId: `somebody::1220${"0".repeat(64)}` }

/** Refusals of deposits and withdrawals. */
const ofMoney: ReadonlyArray<Row> = [
  { refusal: "depositAmountInvalid", ask: async (at) => (await owned(at))(deposits, "1.5") },
  { refusal: "depositAssetUnsupported", ask: async (at) => (await owned(at))(deposits, "1000000", { asset: "BTC" }) },
  {
    refusal: "depositBelowMinimum",
    ask: async (at) => (await owned(at))(deposits, "999999"),
    limit: "1.000000",
    actual: "0.999999",
    nearest: "1.000000"
  },
  {
    refusal: "depositInProgress",
    ask: async (at) => {
      const ask = await owned(at)
      await ask(deposits, "1000000")
      return ask(deposits, "1000000")
    }
  },
  {
    refusal: "depositTotalLimit",
    ask: async (at) => (await owned(at))(deposits, "9007199254740991"),
    limit: "4503599527.370496",
    actual: "9007199254.740991"
  },
  { refusal: "withdrawalAmountInvalid", ask: async (at) => (await owned(at))(withdrawals, "0", to) },
  { refusal: "withdrawalAssetUnsupported", ask: async (at) => (await owned(at))(withdrawals, "1000000", { asset: "BTC", ...to }) },
  {
    refusal: "withdrawalBelowMinimum",
    ask: async (at) => (await owned(at))(withdrawals, "1", to),
    limit: "1.000000",
    actual: "0.000001",
    nearest: "1.000000"
  },
  {
    refusal: "withdrawableInsufficient",
    ask: async (at) => (await owned(at))(withdrawals, "100000001", to),
    limit: "100.000000",
    actual: "100.000001",
    nearest: "100.000000"
  },
  {
    refusal: "withdrawalsStopped",
    ask: async (at) => {
      await at.operator("PUT", "/v1/operator/withdrawals/stop")
      return (await owned(at))(withdrawals, "1000000", to)
    }
  },
  {
    refusal: "withdrawalLimit",
    ask: async (at) => {
      const ask = await owned(at)
      for (let count = 0; count < 8; count++) await ask(withdrawals, "1000000", to)
      return ask(withdrawals, "1000000", to)
    },
    limit: "8",
    actual: "9"
  },
  {
    refusal: "transferNotFound",
    ask: async ({ venue }) => (await (await Owner.open(venue)).ask(`${deposits}/dep_1`)).body
  },
  {
    refusal: "partyMissing",
    ask: async ({ venue }) =>
      (await (await Owner.open(venue)).ask("/v1/accounts/{account}/ledger-party", { method: "PUT", idempotencyKey: "p" })).body
  },
  {
    refusal: "stepConflict",
    ask: async (at) => {
      const owner = await Owner.open(at.venue)
      const body = { asset: "USDC", amountAtoms: "1000000" }
      const { depositId } = (await owner.ask(deposits, { body, idempotencyKey: "d" })).body
      await owner.ask(`${deposits}/${depositId}`, { method: "DELETE" })
      return (await owner.ask(`${deposits}/${depositId}`, { method: "DELETE" })).body
    }
  }
]

const elsewhere: Readonly<Record<string, string>> = {
  inboxFull: "the sequencer's own tests: an inbox that is full",
  journalFull: "FullDisk.test.ts: a disk that is full",
  keyRevoked: "identity/AgentConnect.test.ts: an owner revokes a key",
  ...Object.fromEntries(
    ["passkeyUnknown", "signCountWentBack", "passkeyKnown"].map((name) => [name, "identity/Forged.test.ts: responses that prove nothing"])
  ),
  ...Object.fromEntries(
    ["lastPasskey", "passkeyNotFound", "passkeyLimit", "sessionEnded"].map((
      name
    ) => [name, "identity/Passkeys.test.ts: an owner's passkeys"])
  ),
  ...Object.fromEntries(
    ["grantOver", "grantTaken", "keyNotFound", "keyLimit"].map((name) => [name, "identity/AgentConnect.test.ts: agents and their keys"])
  ),
  transferInProgress: "engine/Funds.test.ts: a change of party while a transfer is unfinished",
  withdrawalToTreasury: "../funds/Withdrawals.test.ts: a withdrawal to the venue's own treasury",
  passkeyTooNew: "../funds/Withdrawals.test.ts: a passkey in its first day",
  ...Object.fromEntries(
    ["ledgerFactKnown", "ledgerFactConflict", "ledgerFactOutOfBounds"].map((name) => [name, "engine/Funds.test.ts: nobody sends them"])
  ),
  marketClearing: "Band.test.ts: a market with more to cancel than one record does",
  markBehind: "Freshness.test.ts: a market whose index has moved and whose mark has not",
  connectionEnded: "socket/Disconnects.test.ts: an order that comes behind the end of its connection",
  connectionLimit: "socket/Disconnects.test.ts: more connections than an account may have",
  fenced: "UpgradeRules2.test.ts: an order that rules 2 refused is told so in their words"
}

const all = [...rows, ...ofMoney]

test.each(all)("$refusal", async ({ actual, ask, capacity, limit, nearest, refusal }) => {
  const described = Refusal.describe(Refusal.Refusal[refusal])
  const answer = await ask(await bench(capacity))
  // The compatibility envelope carries the native one in `info`.
  const native = answer.info ?? answer
  expect(native).toMatchObject({ code: described.code, retryable: described.retryable, recoveryActions: described.recoveryActions })
  expect(native.rejectionGuard).toBe(described.guard)
  expect({ limit: native.limit, actual: native.actual, nearest: native.nearest }).toEqual({ limit, actual, nearest })
})

test("no refusal is left out", () => {
  const reached = new Set([...all.map((row) => row.refusal as string), ...Object.keys(elsewhere)])
  expect(Object.keys(Refusal.Refusal).filter((name) => name !== "none" && !reached.has(name))).toEqual([])
})

/** How a compared value is written in each unit, in a market with one price and three size decimals. */
const forms: Partial<Readonly<Record<Unit, RegExp>>> = {
  // A value off the grid, or beyond any price, is returned as it was sent.
  price_atoms: /^\d+(?:\.\d{1,2})?$/,
  size_atoms: /^\d+\.\d{3,7}$/,
  money_atoms: /^\d+\.\d{6}$/,
  epoch_ms: /^\d{13}$/,
  count: /^\d+$/,
  leverage: /^\d+$/,
  market_status: /^[a-z_]+$/
}

test("what compares something is told with numbers in its unit, and nothing else is", () => {
  for (const [code, { compares, name, nearestIn = compares }] of Refusal.all) {
    const told = all.filter((row) => Refusal.Refusal[row.refusal] === code)
      .flatMap(({ actual, limit, nearest }) => [[limit, compares], [actual, compares], [nearest, nearestIn]] as const)
      .filter(([value]) => value !== undefined)
    if (compares === undefined || name === "PasskeyTooNew") expect(told, name).toEqual([])
    else {
      expect(told.length, name).toBeGreaterThan(0)
      for (const [value, unit] of told) expect(value, name).toMatch(forms[unit!]!)
    }
  }
})

/** Names of the library's error classes that this release can answer, each with a request that does. */
const names: Readonly<Record<string, (at: Bench) => Promise<any>>> = {
  InvalidOrder: (at) => post(at, "/v2/order", compat({ price: 0.05 })),
  InsufficientFunds: async (at) => {
    const [poor] = await at.venue.traders(1, "5")
    return post({ ...at, alice: poor! }, "/v2/order", compat({}))
  },
  OrderNotFound: (at) => post(at, "/v2/orders/ord_zz/cancel", { symbol }),
  NotSupported: (at) => post(at, "/v2/order", compat({ timeInForce: "GTC" })),
  BadRequest: (at) => post(at, "/v2/order", compat({ side: "hold" })),
  BadSymbol: (at) => post(at, "/v2/order", compat({ symbol: "X" })),
  AuthenticationError: (at) => post({ ...at, alice: { ...at.alice, key: "nonsense" } }, "/v2/order", compat({})),
  PermissionDenied: (at) => post({ ...at, alice: reader(at) }, "/v2/order", compat({})),
  DuplicateOrderId: async (at) => {
    await post(at, "/v2/order", compat({ params: { clientOrderId: "one" } }))
    return post(at, "/v2/order", compat({ params: { clientOrderId: "one" } }))
  },
  OnMaintenance: async (at) => {
    await at.operator("PUT", "/v1/operator/engine/halt")
    return post(at, "/v2/order", compat({}))
  },
  ExchangeNotAvailable: async () => {
    const full = await bench({ orders: 1, idempotencyKeys: 1000 })
    await post(full, "/v2/order", compat({}))
    return post(full, "/v2/order", compat({}))
  }
}

test.each(Object.keys(names))("the compatibility layer answers %s", async (name) => {
  const answer = await names[name]!(await bench())
  expect(answer).toMatchObject({ name, info: { version: "external-rest-error/v1" } })
  expect(answer.code).toBe(answer.info.code)
})

test("refusals are remembered with what they compared, alone and in batches", async () => {
  const at = await bench()
  const calls: ReadonlyArray<readonly [string, unknown]> = [
    ["/v1/orders", order(at.alice, { price: "10000.1" })],
    ["/v1/orders/batch", { orders: [order(at.alice, { price: "10000.1" }), order(at.alice, { price: "9".repeat(40) })] }],
    ["/v2/order", compat({ price: 100.05 })],
    ["/v2/orders", [compat({ price: 100.05 }), compat({ amount: 1e-7 })]]
  ]
  const noId = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, "")
  const first: Array<string> = []
  for (const [target, body] of calls) first.push(noId((await at.venue.post(at.alice, target, body, `k${target}`)).body))
  // The operator widens the market in between: the decision stays as it was.
  const widened = parameters("AAA", { maxPriceAtoms: 200_000 })
  expect(at.venue.send({ kind: "PutMarket", idempotencyKey: "wider", parameters: widened }).entries.map(refusalOf)).toEqual([0])
  for (const [index, [target, body]] of calls.entries()) {
    expect(noId((await at.venue.post(at.alice, target, body, `k${target}`)).body), target).toBe(first[index])
  }
  expect(JSON.parse(first[1]!).outcomes).toMatchObject([
    { rejectionGuard: "price_out_of_bounds", limit: "10000.0", nearest: "110.0" },
    { rejectionGuard: "price_out_of_bounds", actual: "9".repeat(40) }
  ])
  expect(JSON.parse(first[3]!)).toMatchObject([
    { rejectionGuard: "price_out_of_bounds", limit: "0.1", actual: "100.05", nearest: "100.1" },
    { rejectionGuard: "quantity_out_of_bounds", limit: "0.001", actual: "0.0000001", nearest: "0.001" }
  ])
})

test("what was there when it was decided is told again after the market has moved", async () => {
  const at = await bench()
  const { alice, bob, venue } = at
  const tell = async (more: object, key: string) =>
    (await venue.post(alice, "/v1/orders", order(alice, { clientOrderId: key, ...more }), key)).body.replace(/"requestId":"[^"]*"/, "")
  await venue.place(bob, { side: "sell", price: "100.1" })
  const unmet = await tell({ orderType: "market" }, "unmet")
  await at.operator("PUT", `/v1/operator/markets/${marketId}/status`, { status: "reduce_only" })
  const grown = await tell({}, "grown")
  expect([unmet, grown]).toEqual([
    expect.stringContaining(`"no_liquidity","limit":"100.0","actual":"100.1","nearest":"100.1"`),
    expect.stringContaining(`"market_not_accepting","actual":"reduce_only"`)
  ])
  await at.operator("PUT", `/v1/operator/markets/${marketId}/status`, { status: "open" })
  await venue.place(bob, { side: "sell", price: "100.0" })
  expect([await tell({ orderType: "market" }, "unmet"), await tell({}, "grown")]).toEqual([unmet, grown])
})

const native = (status: number, code: string, rejectionGuard: string | undefined, more: object = {}) => ({
  httpStatus: status,
  code,
  ...(rejectionGuard === undefined ? undefined : { rejectionGuard }),
  ...more
})

const teaching: ReadonlyArray<readonly [string, (at: Bench) => Promise<any>, object]> = [
  ["a price between two steps", (at) => post(at, "/v1/orders", order(at.alice, { price: "100.05" })),
    native(400, "invalid_request", "price_out_of_bounds", {
      limit: "0.1",
      actual: "100.05",
      nearest: "100.1",
      safeMessage: "price: has more than 1 decimals, steps are of 0.1; the nearest is 100.1."
    })],
  ["a quantity below a lot", (at) => post(at, "/v1/orders", order(at.alice, { quantity: "0.0000001" })),
    native(400, "invalid_request", "quantity_out_of_bounds", { limit: "0.001", actual: "0.0000001", nearest: "0.001" })],
  ["the same in a batch", (at) => post(at, "/v1/orders/batch", { orders: [order(at.alice), order(at.alice, { quantity: "1.00049" })] }),
    native(400, "invalid_request", "quantity_out_of_bounds", {
      limit: "0.001",
      nearest: "1.000",
      safeMessage: expect.stringMatching(/^orders\[1\]\.quantity: /)
    })],
  ["a trigger between two steps", (at) => post(at, "/v1/orders", order(at.alice, { autoClose: { stopLoss: { triggerPrice: "90.05" } } })),
    native(400, "invalid_request", "trigger_invalid", { limit: "0.1", actual: "90.05", nearest: "90.1" })],
  ["too much for the margin", async (at) => {
    const [poor] = await at.venue.traders(1, "5")
    return post({ ...at, alice: poor! }, "/v1/orders", order(poor!, { quantity: "1.000" }))
  }, native(422, "order_rejected", "margin_insufficient", {
    limit: "5.000000",
    actual: "10.000000",
    nearest: "0.500",
    safeMessage: "The account's margin does not cover this order. The largest quantity that would have been accepted is 0.500."
  })],
  ["less than nothing behind it", async (at) => {
    const [poor] = await at.venue.traders(1, "5")
    return post({ ...at, alice: poor! }, "/v1/orders", order(poor!, { quantity: "1.000", price: "110.0" }))
  }, native(422, "order_rejected", "margin_insufficient", {
    limit: "-5.000000",
    actual: "10.000000",
    nearest: "0.250",
    safeMessage: expect.stringContaining(Refusal.backingBelowZero)
  })],
  ["a symbol where the id is wanted", (at) => at.place({ marketId: symbol }),
    native(404, "market_not_found", undefined, { safeMessage: expect.stringContaining(` ${marketId}, `) })],
  ["another venue's name where the symbol is wanted", (at) => post(at, "/v2/order", compat({ symbol: marketId.replace("-PERP", "") })), {
    httpStatus: 404,
    name: "BadSymbol",
    message: expect.stringContaining(` ${symbol}, `)
  }],
  ...([
    ["DELETE", "/v1/operator/withdrawals/stop?accept=99999999999999999999", undefined, "accept"],
    ["POST", "/v1/operator/demo/accounts", { collateral: "99999999999999999999" }, "collateral"],
    ["POST", "/v1/operator/insurance-fund", { amount: "99999999999999999999" }, "amount"]
  ] as const).map(([method, target, body, member]) =>
    [`${target} with too much`, (at: Bench) => at.operator(method, target, body),
      native(400, "invalid_request", undefined, { safeMessage: `${member}: must be no more than 9007199254.740991 USDC.` })] as const
  ),
  ["an amount that is too fine", (at) => at.operator("DELETE", "/v1/operator/withdrawals/stop?accept=0.0000001"),
    native(400, "invalid_request", undefined, { safeMessage: "accept: must be USDC with at most 6 decimals." })]
]

test("what is nearly right is refused with what would be, and a bound below zero is explained, in a batch too", async () => {
  const at = await bench()
  for (const [what, ask, expected] of teaching) expect(await ask(at), what).toMatchObject(expected)
  const [poor] = await at.venue.traders(1, "5")
  const alone = { ...at, alice: poor! }
  const { outcomes } = await post(alone, "/v1/orders/batch", { orders: [order(poor!, { quantity: "1.000", price: "110.0" })] })
  const [compatible] = JSON.parse((await at.venue.post(poor!, "/v2/orders", [compat({ price: 110 })])).body)
  const told = { limit: "-5.000000", nearest: "0.250", safeMessage: Refusal.backingBelowZero }
  expect([outcomes[0], compatible, compatible.info]).toMatchObject([told, told, told])
})

test("a batch that is turned away for one market is told which, and one of the others is taken", async () => {
  const at = await bench()
  const held = "EEE-USDC-PERP"
  await at.operator("PUT", `/v1/operator/markets/${held}`, putBody)
  await at.operator("PUT", `/v1/operator/markets/${held}/index-price`, { price: "5.0" })
  for (const status of ["backfilling", "open"]) await at.operator("PUT", `/v1/operator/markets/${held}/status`, { status })
  await at.operator("PUT", `/v1/operator/markets/${held}/index-price`, { price: "6.0" })
  const of = (market: string, clientOrderId: string) =>
    order(at.alice, { marketId: market, price: "5.0", quantity: "0.100", clientOrderId })
  const batch = (...markets: ReadonlyArray<string>) =>
    post(at, "/v1/orders/batch", { orders: markets.map((market, index) => of(market, `of-${index}`)) })
  const { safeMessage } = Refusal.describe(Refusal.Refusal.markBehind)
  expect(await batch(marketId, held)).toMatchObject({
    httpStatus: 503,
    rejectionGuard: "mark_behind",
    safeMessage: `${safeMessage} The batch waits for ${held}.`
  })
  expect(await batch(held), "one order").toMatchObject({ httpStatus: 503, safeMessage })
  expect(await post(at, "/v2/orders", [compat({ price: 5, amount: 0.1 }), compat({ price: 5, amount: 0.1, symbol: "EEE/USDC:USDC" })]))
    .toMatchObject({ httpStatus: 503, message: expect.stringContaining(held), info: { safeMessage: expect.stringContaining(held) } })
  expect((await batch(marketId)).outcomes[0]).toMatchObject({ accepted: true })
})
