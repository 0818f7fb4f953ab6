/**
 * Another body for a call under the same key, for every operation of clients and for what an operator does while
 * they trade: one thing in it is changed, to something that the operation takes too. A venue that forgets to compare that one thing answers as if it were
 * the same request.
 */
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft } from "./Calls.js"

/** A command's body, as it was sent. */
export type Body = { readonly [name: string]: unknown } | ReadonlyArray<Entry>
type Entry = { readonly [name: string]: unknown }

/** Markets that do not exist. */
const noMarkets = ["NONE-USDC-PERP", "NULL-USDC-PERP"] as const
const noSymbols = ["NONE/USDC:USDC", "NULL/USDC:USDC"] as const

/** The one of two that it is not. */
const other = <A>([one, another]: readonly [A, A], value: unknown): A => value === one ? another : one

const otherSide = (entry: Entry): Entry => ({ ...entry, side: other(["buy", "sell"], entry["side"]) })
const otherMarket = (entry: Entry): Entry => ({ ...entry, marketId: other(noMarkets, entry["marketId"]) })
const otherSymbol = (entry: Entry): Entry => ({ ...entry, symbol: other(noSymbols, entry["symbol"]) })

/** A list with one of its entries changed, or with one less, where more are left. */
const otherList = (entries: ReadonlyArray<Entry>, change: (entry: Entry) => Entry, random: SimRandom): ReadonlyArray<Entry> => {
  if (entries.length > 1 && random.chance(0.3)) return random.chance(0.5) ? entries.slice(1) : entries.slice(0, -1)
  const at = random.below(entries.length)
  return entries.map((entry, index) => index === at ? change(entry) : entry)
}

/** New terms that the amendment did not ask for: another total, or another price. */
const otherTerms = (body: Entry, random: SimRandom): Entry => {
  const name = body["price"] === undefined || random.chance(0.5) ? "quantity" : "price"
  return { ...body, [name]: Number(body[name]) === 1 ? "2" : "1" }
}

/** The same number but for its last digit, which never becomes a zero. */
const otherPrice = (price: string): string => price.slice(0, -1) + (price.endsWith("1") ? "2" : "1")

const changes: Readonly<Record<string, (body: never, random: SimRandom) => Body>> = {
  placeOrder: otherSide,
  createOrder: otherSide,
  placeOrderBatch: (body: { readonly orders: ReadonlyArray<Entry> }, random) => ({ orders: otherList(body.orders, otherSide, random) }),
  createOrders: (body: ReadonlyArray<Entry>, random) => otherList(body, otherSide, random),
  cancelOrder: otherMarket,
  cancelCompatOrder: otherSymbol,
  cancelOrderBatch: (body: { readonly orders: ReadonlyArray<Entry> }, random) => ({ orders: otherList(body.orders, otherMarket, random) }),
  amendOrder: otherTerms,
  cancelAllOrders: otherMarket,
  cancelAllCompatOrders: otherSymbol,
  setCancelAllAfter: (body: Entry) => ({ timeoutMs: body["timeoutMs"] === 0 ? 1_500 : 0 }),
  fenceOutcome: (body: Entry, random) =>
    body["idempotencyKey"] === undefined || random.chance(0.2)
      ? { clientOrderId: other(["another", "still.another"], body["clientOrderId"]) }
      : { idempotencyKey: other(["another", "still.another"], body["idempotencyKey"]) },
  setProfile: (body: Entry) => ({ displayHandle: other(["another_name", "still_another"], body["displayHandle"]) }),
  putMarket: (body: Entry) => ({ ...body, makerFeeBps: other([1, 2], body["makerFeeBps"]) }),
  setMarketStatus: (body: Entry) => ({ status: other(["open", "paused"], body["status"]) }),
  setIndexPrice: (body: { readonly price: string }) => ({ price: otherPrice(body.price) })
}

/** Every operation that is given another body. */
export const operations: ReadonlyArray<string> = Object.keys(changes)

/** A call again under its key, with another body. */
export const twisted = (draft: Draft, random: SimRandom): Draft => ({
  ...draft,
  intent: "key with another body",
  body: JSON.stringify(anotherBody(draft.endpoint, JSON.parse(draft.body) as Body, random))
})

/** Another body for an endpoint's command, never the same request. */
export const anotherBody = (endpoint: string, body: Body, random: SimRandom): Body => {
  const change = changes[endpoint]
  if (change === undefined) throw new Error(`there is no other body for ${endpoint}`)
  return change(body as never, random)
}
