/** Malformed requests: broken in their body, their key, their credential or their address. */
import { accountId, orderId } from "../../src/domain/Ids.js"
import * as Requests from "../reading/Requests.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import { makeOrder } from "./Placing.js"
import type { Seat } from "./Seat.js"
import * as Spelling from "./Spelling.js"
import * as Twist from "./Twist.js"

/** An order of /v2 with a malformed amount. */
const misspelled = ({ nextKey, random, who, wishes }: Seat): Draft =>
  Calls.spelled(
    Calls.createOrder(who, "malformed", nextKey(), Calls.compatBody(wishes.wish(wishes.tradable(), {}))),
    () => random.pick(Spelling.noAmounts)
  )

/** One of its past commands under a new key, with one member broken, left out, unknown, or given twice. */
const brokenSomewhere = ({ nextKey, past, pickPast, random }: Seat): Draft | undefined => {
  if (past.length === 0) return undefined
  const draft = { ...pickPast(), intent: "malformed", idempotencyKey: nextKey() }
  return Requests.read(draft)._tag === "asked" ? Twist.broken(draft, random) : undefined
}

/** A request without a required member; all its members are valid. */
const lacking = ({ nextKey, random, who, wishes }: Seat): Draft => {
  const { market, ...wish } = wishes.wish(wishes.tradable(), { type: "limit" })
  const order = wishes.myOpen()
  const compat = (more: object): Draft => {
    const { price: _, ...body } = Calls.compatBody({ market, ...wish })
    return Calls.createOrder(who, "malformed", nextKey(), { ...body, ...more })
  }
  const ways: ReadonlyArray<() => Draft> = [
    () => compat({}),
    () => compat({ price: null }),
    () => compat({ type: "market", params: { postOnly: true } }),
    () => Calls.place(who, "malformed", nextKey(), { market, ...wish, priceAtoms: 0 }),
    () => Calls.amend(who, "malformed", nextKey(), market, orderId(order?.number ?? 1), {}),
    () => Calls.fence(who, "malformed", nextKey(), {} as { readonly idempotencyKey: string })
  ]
  return { ...random.pick(ways)(), scope: undefined, persistent: false }
}

/** A request that names another account in all places, or in one of them: its credential is not valid for that account. */
const foreign = ({ model, nextKey, past, pickPast, random, who }: Seat): Draft | undefined => {
  const other = random.pick(model.accounts)
  if (past.length === 0 || other.index === who.account) return undefined
  const draft = pickPast()
  const places = draft.body.split(who.accountId).length - 1
  const only = places > 1 && random.chance(0.6) ? random.below(places) : undefined
  let place = 0
  const named = (text: string): string =>
    text.replaceAll(who.accountId, (own) => only === undefined || place++ === only ? accountId(other.born) : own)
  return { ...draft, intent: "malformed", idempotencyKey: nextKey(), target: named(draft.target), body: named(draft.body) }
}

/** A native order with a text that only resembles a decimal. */
const noDecimal = (seat: Seat): Draft => {
  const { random } = seat
  const good = makeOrder(seat, "malformed")
  const body = { ...JSON.parse(good.body) as object, [random.pick(["price", "quantity"])]: random.pick(Spelling.noDecimals) }
  return { ...good, body: JSON.stringify(body), scope: undefined, persistent: false }
}

/** How often the order named in a path has too long a name. */
const longNameShare = 0.2
/** One character more than a name may have, up to the maximum of a path's part. */
const tooLong = [129, 130, 1_000, 4_096] as const

/** A cancel that is valid but for the name of its order, whose name may also have exactly the maximum length. */
const longName = ({ naming, nextKey, wishes, who }: Seat): Draft => {
  const market = wishes.tradable().parameters
  const name = "x".repeat(naming.chance(0.5) ? 128 : naming.pick(tooLong))
  return naming.chance(0.7)
    ? Calls.cancelOrder(who, "malformed", nextKey(), market.marketId, name)
    : Calls.cancelCompat(who, "malformed", nextKey(), market, name)
}

/** How often an order expires at a time that is none. */
const noExpiryShare = 0.2

/** A valid order with one thing in it broken. */
export const malformed = (seat: Seat): Draft => {
  const { random, who } = seat
  if (seat.naming.chance(longNameShare)) {
    const draft = longName(seat)
    return Requests.read(draft)._tag === "asked" ? draft : { ...draft, scope: undefined, persistent: false }
  }
  if (random.chance(0.15)) return lacking(seat)
  if (random.chance(0.2)) return noDecimal(seat)
  if (random.chance(0.2)) return { ...misspelled(seat), scope: undefined, persistent: false }
  const drawn = random.chance(0.5) ? random.pick([brokenSomewhere, brokenSomewhere, foreign])(seat) : undefined
  // A request that names no account is not another account's.
  if (drawn !== undefined && Requests.read(drawn)._tag !== "asked") return { ...drawn, scope: undefined, persistent: false }
  const good = makeOrder(seat, "malformed")
  const body = JSON.parse(good.body) as { [name: string]: unknown }
  const odd: ReadonlyArray<Partial<Draft>> = [
    { body: good.body.slice(0, random.below(good.body.length)) },
    { body: "[]" },
    { body: "null" },
    { body: "" },
    { body: JSON.stringify({ ...body, colour: "blue" }) },
    { body: JSON.stringify({ ...body, quantity: 5 }) },
    { body: JSON.stringify({ ...body, side: "hold" }) },
    { body: good.body.replace("{", `{"side": "sell" ,`) },
    { target: `${good.target}?side=sell` },
    { body: JSON.stringify({ ...body, clientOrderId: "no spaces allowed" }) },
    { body: JSON.stringify({ ...body, timeInForce: "IOC", postOnly: true }) },
    { body: `{"a":${"[".repeat(100)}${"]".repeat(100)}}` },
    { idempotencyKey: undefined },
    { idempotencyKey: "not visible \u00e9" },
    { credential: "wrong", token: `${who.apiKey.slice(0, -1)}${who.apiKey.endsWith("A") ? "B" : "A"}` },
    { credential: "wrong", token: "pk_nonsense" },
    { credential: "none", token: "" },
    { target: "/v1/nowhere", endpoint: "" },
    { target: "/v2/nowhere", endpoint: "" },
    { method: "PATCH", endpoint: "" },
    { method: "DELETE", endpoint: "" },
    { target: "/v1/orders/%zz", endpoint: "" },
    { target: "/v2/%ff/cancel", endpoint: "" },
    { target: `${good.target}/`, endpoint: "" },
    { contentType: "" },
    { contentType: "text/plain" },
    { contentType: "application/jsonp" },
    { contentType: "application/json; charset=latin1" },
    { contentType: "application/json ; charset=UTF-8" },
    { contentType: "Application/JSON" },
    { body: `${good.body}${" ".repeat(65_536 - good.body.length)}` },
    { body: `${good.body}${" ".repeat(65_537 - good.body.length)}` }
  ]
  const drawnOdd = random.pick(odd)
  const change = seat.expiring.chance(noExpiryShare) ? { body: JSON.stringify({ ...body, expiresAtEpochMs: 0 }) } : drawnOdd
  const draft = { ...good, ...change, persistent: false }
  // Some of these are valid orders in an odd form, and are carried out like any other.
  return draft.credential === "trader" && Requests.read(draft)._tag === "asked"
    ? { ...draft, intent: "make" }
    : { ...draft, scope: undefined }
}
