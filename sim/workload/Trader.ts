/**
 * One client: draws what it means to do, makes the call, and goes on. It knows the market as a good trader
 * does (from the reference model, which follows the journal), so that what it asks for is interesting: near
 * the margin, across the book, exactly its position. It also does all that a client should not.
 */
import { orderId } from "../../src/domain/Ids.js"
import type { Parameters } from "../../src/domain/Market.js"
import { symbol } from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import type { Intent, Options } from "../faults/Options.js"
import type { NaiveAccount, NaiveMarket, NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer, Call } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { SimTime } from "../world/SimTime.js"
import * as Calls from "./Calls.js"
import type { Draft, Identity, Wish } from "./Calls.js"

/** Where clients make their calls. */
export interface Desk {
  readonly time: SimTime
  readonly model: NaiveVenue
  /** Sends a call; tells its last answer, or undefined if it was given up. */
  readonly issue: (draft: Draft, settled: (answer: Answer | undefined) => void) => Call
  /** Whether clients may still begin something new. */
  readonly isOpen: () => boolean
}

export interface Trader {
  readonly start: () => void
}

/** How many of its past calls a trader remembers, to repeat them. */
const memorySize = 40

/** Most pages of a listing that are read one after the other. */
const maxPages = 12

/** Other spellings of a JSON number, all of the same value. */
const spellings: ReadonlyArray<(number: string) => string> = [
  (number) => Number(number).toExponential(),
  (number) => Number(number).toExponential().toUpperCase(),
  (number) => number.includes("e") ? number : `${number}${number.includes(".") ? "00" : ".0"}`,
  (number) => number.includes("e") ? number : `${number}E-0`
]

/** Numbers that JSON can say and clients seldom do: no number at all on most grids, or far out of bounds. */
const oddNumbers = ["-0", "-0.0", "0e5", "1e-7", "1E3", "25e-1", "1e21", "5e-324", "1.5E-300", "1e300", "9007199254740993"]

/** What stands where an amount should and is none. */
const noAmounts = ["-1", "-1e-7", "1e999", "-1E+999", "+5", ".5", "5.", "01", "0x10", "1e", "NaN", "\"5\"", "null", "[5]"]

/** What takes more than one call, each next one depending on what was said. */
type Journey = "twenty duplicates" | "lost reply" | "fence race" | "walk a listing"
type Act = Exclude<Intent, Journey>

const textAt = (answer: Answer | undefined, name: string): string | undefined => {
  const json = answer?.json
  const value = typeof json === "object" && json !== null ? (json as { readonly [name: string]: unknown })[name] : undefined
  return typeof value === "string" ? value : undefined
}

export const make = (desk: Desk, who: Identity, random: SimRandom, options: Options["workload"]): Trader => {
  const { model, time } = desk
  const past: Array<Draft> = []
  let keys = 0
  let clientOrderIds = 0

  const nextKey = (): string => `${who.client}-k${keys++}`
  const nextClientOrderId = (): string => `${who.client}.${clientOrderIds++}`

  const me = (): NaiveAccount => model.accounts[who.account]!
  const tradable = (): NaiveMarket => {
    const markets = model.markets.filter((market) => market.mark > 0)
    return random.pick(markets.length === 0 ? model.markets : markets)
  }
  const held = (market: NaiveMarket): number => me().positions.get(market.index)?.quantity ?? 0
  const unit = (market: NaiveMarket): number => Math.max(1, Math.round(market.mark / 2_000))
  const clampPrice = (market: NaiveMarket, price: number): number =>
    Math.min(market.parameters.maxPriceAtoms, Math.max(market.parameters.minPriceAtoms, Math.round(price)))
  const clampQuantity = (market: NaiveMarket, quantity: number): number =>
    Math.min(market.parameters.maxQuantityAtoms, Math.max(market.parameters.minQuantityAtoms, Math.floor(quantity)))

  /** A size whose notional is a share of what the account could carry. */
  const ordinaryQuantity = (market: NaiveMarket): number => {
    const perAtom = Math.max(1, market.mark) * Number(market.factor)
    const carry = (options.collateral * 1e6 * 10_000) / market.parameters.initialMarginBps
    return clampQuantity(market, (carry * (0.002 + 0.06 * random.next() ** 2)) / perAtom)
  }

  const side = (): "buy" | "sell" => (random.next() < 0.5 ? "buy" : "sell")
  const away = (of: "buy" | "sell", by: number): number => (of === "buy" ? -by : by)

  const wish = (market: NaiveMarket, change: Partial<Wish>): Wish => {
    const way = change.side ?? side()
    const steps = Math.floor(12 * random.next() ** 2)
    return {
      market: market.parameters,
      side: way,
      type: "limit",
      priceAtoms: clampPrice(market, market.mark + away(way, unit(market) * steps)),
      quantityAtoms: ordinaryQuantity(market),
      clientOrderId: nextClientOrderId(),
      ...(random.chance(0.3)
        ? { selfTradePrevention: random.pick(["cancel_resting", "cancel_incoming", "cancel_both"] as const) }
        : {}),
      ...change
    }
  }

  const crossing = (market: NaiveMarket, way: "buy" | "sell"): number =>
    clampPrice(market, market.mark - away(way, unit(market) * random.between(0, 10)))

  const ofMine = (filter: (order: NaiveOrder) => boolean): NaiveOrder | undefined => {
    const found = me().placed.slice(-80).filter(filter)
    return found.length === 0 ? undefined : random.pick(found)
  }
  const myOpen = (): NaiveOrder | undefined => {
    const { open } = me()
    return open.length === 0 ? undefined : random.pick(open)
  }
  const marketIdOf = (order: NaiveOrder): string => model.markets[order.market]!.parameters.marketId

  /** A reduce-only or closing side for what is held; undefined when flat. */
  const closing = (): { readonly market: NaiveMarket; readonly side: "buy" | "sell"; readonly size: number } | undefined => {
    const positions = [...me().positions.keys()]
    if (positions.length === 0) return undefined
    const market = model.markets[random.pick(positions)]!
    const quantity = held(market)
    return { market, side: quantity > 0 ? "sell" : "buy", size: Math.abs(quantity) }
  }

  const makeOrder = (intent: Intent): Draft => Calls.place(who, intent, nextKey(), wish(tradable(), {}))

  const takeOrder = (intent: Intent): Draft => {
    const market = tradable()
    const way = side()
    return Calls.place(who, intent, nextKey(), wish(market, { side: way, priceAtoms: crossing(market, way) }))
  }

  const badWish = (): Wish => {
    const market = tradable()
    const { parameters } = market
    const odd: ReadonlyArray<Partial<Wish>> = [
      { priceAtoms: parameters.maxPriceAtoms + random.between(1, 5) },
      { priceAtoms: Math.max(1, parameters.minPriceAtoms - 1) },
      { quantityAtoms: parameters.maxQuantityAtoms + 1 },
      { quantityAtoms: parameters.maxQuantityAtoms },
      { priceText: `1.${"0".repeat(parameters.priceScale)}1` },
      { quantityText: `1.${"0".repeat(parameters.quantityScale)}5` },
      { quantityText: "0" },
      { market: { ...parameters, marketId: "NONE-USDC-PERP" } },
      { priceAtoms: clampPrice(market, (market.mark * (10_000 + parameters.priceBandBps)) / 10_000 + random.between(-1, 1)), side: "buy" },
      { priceAtoms: clampPrice(market, (market.mark * (10_000 - parameters.priceBandBps)) / 10_000 + random.between(-1, 1)), side: "sell" },
      { quantityText: "99999999999999999999" }
    ]
    return wish(market, random.pick(odd))
  }

  const marginEdge = (intent: Intent): Draft => {
    const market = tradable()
    const way = side()
    const margin = model.margin(me(), undefined)
    const free = Number(margin.marginEquity - margin.orderLoss - margin.initialMargin)
    const perAtom = (Math.max(1, market.mark) * Number(market.factor) * market.parameters.initialMarginBps) / 10_000
    const sameWay = held(market) > 0 === (way === "buy") ? 0 : 2 * Math.abs(held(market))
    const quantity = Math.max(0, free) / perAtom + sameWay + random.between(-2, 2)
    return Calls.place(who, intent, nextKey(), wish(market, {
      side: way,
      quantityAtoms: clampQuantity(market, quantity),
      priceAtoms: random.chance(0.5) ? crossing(market, way) : clampPrice(market, market.mark + away(way, unit(market)))
    }))
  }

  const mixedWishes = (): ReadonlyArray<Wish> => {
    const count = random.chance(0.1) ? 32 : random.between(1, 6)
    const wishes: Array<Wish> = []
    for (let index = 0; index < count; index++) {
      const kind = random.next()
      const market = tradable()
      const way = side()
      wishes.push(
        kind < 0.15
          ? badWish()
          : kind < 0.3
          ? wish(market, { side: way, priceAtoms: crossing(market, way) })
          : kind < 0.4 && wishes.length > 0
          ? wish(market, { clientOrderId: random.pick(wishes).clientOrderId })
          : wish(market, {})
      )
    }
    return wishes
  }

  /** The endpoint layer of /v2 takes limit orders on the grid only: what has no number form is left out. */
  const compatWishes = (): ReadonlyArray<Wish> => {
    const wishes = mixedWishes().filter((each) => each.type === "limit" && each.priceText === undefined && each.quantityText === undefined)
    return wishes.length === 0 ? [wish(tradable(), {})] : wishes
  }

  /** A draft of /v2 whose numbers, now and then, are spelled as no library does or are odd ones. */
  const oddlySpelled = (draft: Draft): Draft =>
    random.chance(0.6)
      ? draft
      : Calls.spelled(draft, (number) => random.chance(0.25) ? random.pick(oddNumbers) : random.pick(spellings)(number))

  const twist = (draft: Draft): Draft => {
    const body = JSON.parse(draft.body) as { [name: string]: unknown }
    const other = (changed: object): Draft => ({ ...draft, intent: "key with another body", body: JSON.stringify(changed) })
    switch (draft.endpoint) {
      case "placeOrder":
      case "createOrder":
        return other({ ...body, side: body["side"] === "buy" ? "sell" : "buy" })
      case "cancelAllOrders":
        return other({ ...body, marketId: body["marketId"] === "NONE-USDC-PERP" ? "NULL-USDC-PERP" : "NONE-USDC-PERP" })
      case "cancelOrder":
        return other({ ...body, marketId: "NONE-USDC-PERP" })
      case "setCancelAllAfter":
        return other({ timeoutMs: body["timeoutMs"] === 0 ? 1_500 : 0 })
    }
    return Calls.place(who, "key with another body", draft.idempotencyKey ?? nextKey(), wish(tradable(), {}))
  }

  const readSomething = (): Draft => {
    const market = random.pick(model.markets).parameters
    const order = ofMine(() => true)
    const number = order?.number ?? 999_999
    const reads: ReadonlyArray<() => Draft> = [
      () => Calls.read(who, "getBook", `/v1/markets/${market.marketId}/book`, "none"),
      () => Calls.read(who, "getCompatBook", `/v2/markets/${encodeURIComponent(symbol(market))}/book?limit=${random.between(1, 20)}`, "none"),
      () => Calls.read(who, "getMarket", `/v1/markets/${market.marketId}`, "none"),
      () => Calls.read(who, "listMarkets", "/v1/markets", "none"),
      () => Calls.read(who, "listCompatMarkets", "/v2/markets", "none"),
      () => Calls.read(who, "getOrder", `/v1/orders/${orderId(number)}`, "trader"),
      () => Calls.read(who, "getCompatOrder", `/v2/orders/${orderId(number)}`, "trader"),
      () => Calls.read(who, "getBalance", `/v1/accounts/${who.accountId}/balance`, "trader"),
      () => Calls.read(who, "listPositions", `/v1/accounts/${who.accountId}/positions`, "trader"),
      () => Calls.read(who, "listOrders", `/v1/accounts/${who.accountId}/orders?status=open`, "trader"),
      () => Calls.read(who, "listOrders", `/v1/accounts/${who.accountId}/orders?limit=${random.between(1, 20)}`, "trader"),
      () => Calls.read(who, "listFills", `/v1/accounts/${who.accountId}/fills`, "trader"),
      () => Calls.read(who, "listTrades", `/v1/markets/${market.marketId}/trades`, "none"),
      () => Calls.read(who, "getStats", `/v1/markets/${market.marketId}/stats`, "none"),
      () => Calls.read(who, "getCancelAllAfter", `/v1/accounts/${who.accountId}/orders/cancel-all-after`, "trader"),
      () => Calls.read(who, "getCompatStats", `/v2/markets/${encodeURIComponent(symbol(market))}/stats`, "none"),
      () => Calls.read(who, "getCompatTicker", `/v2/markets/${encodeURIComponent(symbol(market))}/ticker`, "none"),
      () => Calls.read(who, "listCompatTrades", `/v2/markets/${encodeURIComponent(symbol(market))}/trades?limit=${random.between(1, 50)}`, "none"),
      () => Calls.read(who, "listCompatOrders", `/v2/orders?since=${Math.max(0, model.atEpochMs - random.below(5_000))}`, "trader"),
      () => Calls.read(who, "listCompatOwnTrades", `/v2/trades?symbol=${encodeURIComponent(symbol(market))}`, "trader"),
      () => Calls.read(who, "listCompatPositions", "/v2/positions", "trader"),
      () => Calls.read(who, "getCompatBalance", "/v2/balance", "trader"),
      () => Calls.read(who, "getCompatTime", "/v2/time", "none"),
      () => Calls.read(who, "getCurrentApiKey", "/v1/api-keys/current", "trader"),
      () => Calls.read(who, "getHealth", "/healthz", "none"),
      () => Calls.read(who, "getReadiness", "/readyz", "none")
    ]
    return random.pick(reads)()
  }

  /** An order of /v2 with something that is no amount where one should be. */
  const misspelled = (): Draft =>
    Calls.spelled(
      Calls.createOrder(who, "malformed", nextKey(), Calls.compatBody(wish(tradable(), {}))),
      () => random.pick(noAmounts)
    )

  const malformed = (): Draft => {
    if (random.chance(0.2)) return { ...misspelled(), scope: undefined, persistent: false }
    const good = makeOrder("malformed")
    const body = JSON.parse(good.body) as { [name: string]: unknown }
    const odd: ReadonlyArray<Partial<Draft>> = [
      { body: good.body.slice(0, random.below(good.body.length)) },
      { body: "[]" },
      { body: "null" },
      { body: "" },
      { body: JSON.stringify({ ...body, colour: "blue" }) },
      { body: JSON.stringify({ ...body, quantity: 5 }) },
      { body: JSON.stringify({ ...body, side: "hold" }) },
      { body: JSON.stringify({ ...body, price: "1e5" }) },
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
      { method: "PATCH", endpoint: "" }
    ]
    return { ...good, scope: undefined, persistent: false, ...random.pick(odd) }
  }

  /** New terms of one of its open orders, so that every way it may go is frequent. */
  const amendOrder = (intent: Intent): Draft => {
    const order = myOpen()
    if (order === undefined) return makeOrder("make")
    const market = model.markets[order.market]!
    const way = Order.sides[order.side]
    const { quantity, price } = order
    const done = order.filled + order.canceled
    const changes: ReadonlyArray<() => Calls.Amendment> = [
      () => ({ quantityAtoms: Math.max(1, Math.floor(quantity * (0.3 + 0.6 * random.next()))) }),
      () => ({ quantityAtoms: clampQuantity(market, quantity * (1 + random.next())) }),
      () => ({ priceAtoms: clampPrice(market, price + random.between(-3, 3) * unit(market)) }),
      () => ({ priceAtoms: crossing(market, way) }),
      () => ({ priceAtoms: crossing(market, way), quantityAtoms: clampQuantity(market, quantity * (0.5 + random.next())) }),
      () => ({ quantityAtoms: Math.max(0, done - random.below(2)) }),
      () => ({ quantityAtoms: quantity, priceAtoms: price }),
      () => ({ quantityAtoms: clampQuantity(market, quantity * 20) })
    ]
    return Calls.amend(who, intent, nextKey(), market.parameters, orderId(order.number), random.pick(changes)())
  }

  const amendBadly = (intent: Intent): Draft => {
    const foreign = model.markets.flatMap((market) => market.resting.filter((order) => order.account !== who.account).slice(0, 5))
    const dead = ofMine((order) => order.status !== Order.open)
    const open = myOpen()
    const other = (order: NaiveOrder): Parameters => model.markets[(order.market + 1) % model.markets.length]!.parameters
    const parametersOf = (order: NaiveOrder): Parameters => model.markets[order.market]!.parameters
    const ways: Array<() => Draft> = [
      () => Calls.amend(who, intent, nextKey(), simMarket(), random.pick(["ord_zzzzz", "nonsense", "ord_01"]), { quantityAtoms: 5 })
    ]
    const simMarket = (): Parameters => random.pick(model.markets).parameters
    if (foreign.length > 0) {
      const order = random.pick(foreign)
      ways.push(() => Calls.amend(who, intent, nextKey(), parametersOf(order), orderId(order.number), { quantityAtoms: order.quantity }))
    }
    if (dead !== undefined) {
      ways.push(() => Calls.amend(who, intent, nextKey(), parametersOf(dead), orderId(dead.number), { quantityAtoms: dead.quantity * 2 }))
    }
    if (open !== undefined) {
      const { maxPriceAtoms, maxQuantityAtoms } = parametersOf(open)
      ways.push(
        () => Calls.amend(who, intent, nextKey(), other(open), orderId(open.number), { quantityAtoms: open.quantity }),
        () => Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), { priceAtoms: maxPriceAtoms + 1 }),
        () => Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), { quantityAtoms: maxQuantityAtoms + 1 }),
        () => Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), { quantityText: "1.00000000005" }),
        () => Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), { quantityText: "99999999999999999999" })
      )
    }
    return random.pick(ways)()
  }

  const drafts: Readonly<Record<Act, (intent: Intent) => Draft>> = {
    make: makeOrder,
    take: takeOrder,
    "market order": (intent) => {
      const market = tradable()
      const way = side()
      return Calls.place(who, intent, nextKey(), wish(market, {
        side: way,
        type: "market",
        priceAtoms: random.chance(0.4) ? crossing(market, way) : 0
      }))
    },
    "post only": (intent) => {
      const market = tradable()
      const way = side()
      const price = random.chance(0.3) ? crossing(market, way) : clampPrice(market, market.mark + away(way, unit(market) * random.between(0, 5)))
      return Calls.place(who, intent, nextKey(), wish(market, { side: way, postOnly: true, priceAtoms: price }))
    },
    "reduce only": (intent) => {
      const position = closing()
      if (position === undefined) return Calls.place(who, intent, nextKey(), wish(tradable(), { reduceOnly: true }))
      const { market, side: way, size } = position
      return Calls.place(who, intent, nextKey(), wish(market, {
        side: way,
        reduceOnly: true,
        quantityAtoms: clampQuantity(market, size * random.pick([0.3, 0.5, 1, 1.01])),
        priceAtoms: random.chance(0.4) ? crossing(market, way) : clampPrice(market, market.mark + away(way, unit(market) * random.between(1, 6)))
      }))
    },
    "close whole position": (intent) => {
      const position = closing()
      if (position === undefined) return takeOrder("take")
      const { market, side: way, size } = position
      return Calls.place(who, intent, nextKey(), wish(market, {
        side: way,
        reduceOnly: true,
        type: random.pick(["market", "limit"] as const),
        timeInForce: "IOC",
        quantityAtoms: clampQuantity(market, size),
        priceAtoms: crossing(market, way)
      }))
    },
    flip: (intent) => {
      const position = closing()
      if (position === undefined) return takeOrder("take")
      const { market, side: way, size } = position
      return Calls.place(who, intent, nextKey(), wish(market, {
        side: way,
        quantityAtoms: clampQuantity(market, size * 2),
        priceAtoms: crossing(market, way)
      }))
    },
    "margin edge": marginEdge,
    immediate: (intent) => {
      const market = tradable()
      const way = side()
      return Calls.place(who, intent, nextKey(), wish(market, { side: way, timeInForce: "IOC", priceAtoms: crossing(market, way) }))
    },
    "bad value": (intent) => Calls.place(who, intent, nextKey(), badWish()),
    "place batch": (intent) => Calls.placeBatch(who, intent, nextKey(), mixedWishes()),
    "v2 batch": (intent) => oddlySpelled(Calls.createOrders(who, intent, nextKey(), compatWishes().map(Calls.compatBody))),
    "v2 order": (intent) => {
      const market = tradable()
      const way = side()
      return oddlySpelled(Calls.createOrder(who, intent, nextKey(), Calls.compatBody(wish(market, {
        side: way,
        type: random.pick(["limit", "limit", "market"] as const),
        ...(random.chance(0.5) ? { priceAtoms: crossing(market, way) } : {})
      }))))
    },
    "v2 with timeInForce": (intent) => {
      const body = Calls.compatBody(wish(tradable(), {}))
      const top = { ...body, timeInForce: "GTC" }
      const inner = { ...body, params: { ...body.params, timeInForce: "IOC" } }
      return random.chance(0.5)
        ? Calls.createOrder(who, intent, nextKey(), random.pick([top, inner]))
        : Calls.createOrders(who, intent, nextKey(), [body, random.pick([top, inner])])
    },
    "cancel own": (intent) => {
      const order = myOpen()
      if (order === undefined) return makeOrder("make")
      return Calls.cancelOrder(who, intent, nextKey(), marketIdOf(order), orderId(order.number))
    },
    "cancel foreign": (intent) => {
      const markets = model.markets.filter((market) => market.resting.some((order) => order.account !== who.account))
      if (markets.length === 0) return makeOrder("make")
      const order = random.pick(random.pick(markets).resting.filter((each) => each.account !== who.account))
      return Calls.cancelOrder(who, intent, nextKey(), marketIdOf(order), orderId(order.number))
    },
    "cancel dead": (intent) => {
      const order = ofMine((each) => each.status !== Order.open)
      const open = myOpen()
      if (open !== undefined && random.chance(0.2)) {
        const other = model.markets[(open.market + 1) % model.markets.length]!
        return Calls.cancelOrder(who, intent, nextKey(), other.parameters.marketId, orderId(open.number))
      }
      if (order === undefined || random.chance(0.3)) {
        return Calls.cancelOrder(who, intent, nextKey(), "BTC-USDC-PERP", random.pick(["ord_zzzzz", "nonsense", "ord_", "ord_01"]))
      }
      return Calls.cancelOrder(who, intent, nextKey(), marketIdOf(order), orderId(order.number))
    },
    "cancel batch": (intent) => {
      const count = random.between(1, 8)
      const orders: Array<{ readonly marketId: string; readonly orderId: string }> = []
      for (let index = 0; index < count; index++) {
        const order = random.chance(0.7) ? myOpen() : ofMine(() => true)
        orders.push(order === undefined
          ? { marketId: "BTC-USDC-PERP", orderId: "ord_zzzz" }
          : { marketId: marketIdOf(order), orderId: orderId(order.number) })
      }
      return Calls.cancelBatch(who, intent, nextKey(), orders)
    },
    "v2 cancel": (intent) => {
      const order = random.chance(0.8) ? myOpen() : ofMine(() => true)
      const parameters: Parameters = order === undefined ? model.markets[0]!.parameters : model.markets[order.market]!.parameters
      return Calls.cancelCompat(who, intent, nextKey(), parameters, orderId(order?.number ?? 999_999))
    },
    "same key again": () => past.length === 0 ? makeOrder("make") : random.pick(past),
    "key with another body": () => past.length === 0 ? makeOrder("make") : twist(random.pick(past)),
    "old clientOrderId": (intent) => {
      const order = ofMine((each) => each.clientOrderId !== "")
      return Calls.place(who, intent, nextKey(), wish(tradable(), order === undefined ? {} : { clientOrderId: order.clientOrderId }))
    },
    amend: amendOrder,
    "amend badly": amendBadly,
    "cancel all": (intent) => {
      const market = random.pick(model.markets).parameters
      const ways: ReadonlyArray<() => Draft> = [
        () => Calls.cancelAll(who, intent, nextKey(), undefined),
        () => Calls.cancelAll(who, intent, nextKey(), market.marketId),
        () => Calls.cancelAll(who, intent, nextKey(), random.pick(["NONE-USDC-PERP", "NULL-USDC-PERP"])),
        () => Calls.cancelAllCompat(who, intent, nextKey(), random.chance(0.5) ? market : undefined)
      ]
      return random.pick(ways)()
    },
    "dead-man switch": (intent) => Calls.cancelAllAfter(who, intent, nextKey(), random.pick([0, 1_000, 1_000, 1_500, 3_000, 600_000])),
    "expiring order": (intent) =>
      Calls.place(who, intent, nextKey(), wish(tradable(), {
        expiresAtEpochMs: Math.floor(random.chance(0.5) ? time.nowEpochMs() : model.atEpochMs) + random.between(-20, random.pick([100, 500, 3_000]))
      })),
    fence: (intent) => {
      const order = ofMine((each) => each.clientOrderId !== "")
      const ahead = random.below(6)
      const identities: ReadonlyArray<{ readonly idempotencyKey: string } | { readonly clientOrderId: string }> = [
        { idempotencyKey: past.length === 0 ? "never" : random.pick(past).idempotencyKey ?? "never" },
        { idempotencyKey: `${who.client}-k${keys + 1 + ahead}` },
        { clientOrderId: order?.clientOrderId ?? "never" },
        { clientOrderId: `${who.client}.${clientOrderIds + ahead}` }
      ]
      return Calls.fence(who, intent, nextKey(), random.pick(identities))
    },
    "look up": () => {
      const order = ofMine((each) => each.clientOrderId !== "")
      const draft = past.length === 0 ? undefined : random.pick(past)
      const ways: ReadonlyArray<() => Draft> = [
        () => Calls.lookUp(who, "idempotencyKey", draft?.idempotencyKey ?? "never"),
        () => Calls.lookUp(who, "idempotencyKey", `never-${random.below(1_000)}`),
        () => Calls.lookUp(who, "clientOrderId", order?.clientOrderId ?? "never"),
        () => Calls.lookUp(who, "clientOrderId", `${who.client}.${clientOrderIds + 1_000}`)
      ]
      return random.pick(ways)()
    },
    read: readSomething,
    malformed
  }

  const pause = (): number => -Math.log(1 - random.next()) * options.meanPauseMs

  const remember = (draft: Draft): void => {
    if (draft.scope === undefined || !draft.persistent) return
    past.push(draft)
    if (past.length > memorySize) past.shift()
  }

  /** Something whose answer may be lost, under a key that nothing else has. */
  const original = (intent: Journey): Draft => {
    const draft = random.pick([makeOrder, takeOrder, takeOrder, drafts["place batch"], drafts["v2 order"], amendOrder, drafts["cancel own"]])(intent)
    remember(draft)
    return { ...draft, intent, persistent: false }
  }

  /** The clientOrderId of a draft's only order, if it has one. */
  const clientOrderIdOf = (draft: Draft): string | undefined =>
    draft.endpoint === "placeOrder" ? (JSON.parse(draft.body) as { readonly clientOrderId: string }).clientOrderId : undefined

  const journeys: Readonly<Record<Journey, (intent: Journey, next: () => void) => void>> = {
    "twenty duplicates": (intent, next) => {
      const draft = makeOrder(intent)
      remember(draft)
      let outstanding = 20
      for (let index = 0; index < 20; index++) {
        desk.issue(draft, () => {
          outstanding--
          if (outstanding === 0) next()
        })
      }
    },
    // Asks once, looks up what became of it, makes sure of what was never seen, and sends the original late.
    "lost reply": (intent, next) => {
      const draft = original(intent)
      const key = draft.idempotencyKey ?? ""
      const clientOrderId = random.chance(0.3) ? clientOrderIdOf(draft) : undefined
      const lookUp = clientOrderId === undefined
        ? Calls.lookUp(who, "idempotencyKey", key)
        : Calls.lookUp(who, "clientOrderId", clientOrderId)
      desk.issue(draft, (first) => {
        if (first?.status === 200 && random.chance(0.7)) return next()
        desk.issue(lookUp, (found) => {
          if (textAt(found, "outcome") !== "never_seen" || random.chance(0.2)) return next()
          const identity = clientOrderId === undefined ? { idempotencyKey: key } : { clientOrderId }
          desk.issue(Calls.fence(who, intent, nextKey(), identity), () => {
            desk.issue(draft, () => desk.issue(lookUp, next))
          })
        })
      })
    },
    // The fence is sent while the original is on its way: one of the two wins, and it stays so.
    "fence race": (intent, next) => {
      const draft = original(intent)
      const clientOrderId = random.chance(0.3) ? clientOrderIdOf(draft) : undefined
      const identity = clientOrderId === undefined ? { idempotencyKey: draft.idempotencyKey ?? "" } : { clientOrderId }
      let outstanding = 2
      const ended = (): void => {
        outstanding--
        if (outstanding === 0) desk.issue({ ...draft, persistent: true }, next)
      }
      const fence = (): void => {
        desk.issue(Calls.fence(who, intent, nextKey(), identity), ended)
      }
      const send = (): void => {
        desk.issue(draft, ended)
      }
      time.after(random.next() * 10, fence)
      time.after(random.next() * 10, send)
    },
    "walk a listing": (_, next) => {
      const market = random.pick(model.markets).parameters
      const limit = random.pick([1, 2, 3, 10, 40])
      const [endpoint, target, credential] = random.pick([
        ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}`, "trader"],
        ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}&status=open`, "trader"],
        ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}&marketId=${market.marketId}`, "trader"],
        ["listFills", `/v1/accounts/${who.accountId}/fills?limit=${limit}`, "trader"],
        ["listTrades", `/v1/markets/${market.marketId}/trades?limit=${limit}`, "none"]
      ] as const)
      const turn = (pages: number, cursor: string | undefined): void => {
        if (pages === maxPages || !desk.isOpen()) return next()
        const at = cursor === undefined ? target : `${target}&cursor=${encodeURIComponent(cursor)}`
        const page = { ...Calls.read(who, endpoint, at, credential), intent: "walk a listing", persistent: true }
        desk.issue(page, (answer) => {
          const following = textAt(answer, "nextCursor")
          if (following === undefined) return next()
          turn(pages + 1, following)
        })
      }
      turn(0, undefined)
    }
  }

  const isJourney = (intent: Intent): intent is Journey => intent in journeys

  const act = (): void => {
    if (!desk.isOpen()) return
    const intent = random.weighted(options.weights)
    const next = (): void => {
      time.after(pause(), act)
    }
    if (isJourney(intent)) return journeys[intent](intent, next)
    const draft = drafts[intent](intent)
    remember(draft)
    desk.issue(draft, next)
  }

  return {
    start: () => {
      for (let lane = 0; lane < options.concurrency; lane++) time.after(pause(), act)
    }
  }
}
