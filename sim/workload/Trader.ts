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
import type { NaiveOrder } from "../model/NaiveState.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { Draft, Identity } from "./Calls.js"
import type { Desk } from "./Desk.js"
import type { Journey } from "./Journeys.js"
import * as Journeys from "./Journeys.js"
import * as Spelling from "./Spelling.js"
import * as Twist from "./Twist.js"
import * as Wishes from "./Wishes.js"

export interface Trader {
  readonly start: () => void
}

/** How many of its past calls a trader remembers, to repeat them. */
const memorySize = 40

/** What takes one call. */
type Act = Exclude<Intent, Journey>

export const make = (desk: Desk, who: Identity, random: SimRandom, options: Options["workload"]): Trader => {
  const { model, time } = desk
  const past: Array<Draft> = []
  let keys = 0
  let clientOrderIds = 0

  const nextKey = (): string => `${who.client}-k${keys++}`

  const wishes = Wishes.make(model, who, random, options, () => `${who.client}.${clientOrderIds++}`)
  const { away, badWish, clampPrice, clampQuantity, closing, compatWishes, crossing, held } = wishes
  const { marketIdOf, me, mixedWishes, myOpen, ofMine, side, tradable, unit, wish } = wishes

  const makeOrder = (intent: Intent): Draft => Calls.place(who, intent, nextKey(), wish(tradable(), {}))

  const takeOrder = (intent: Intent): Draft => {
    const market = tradable()
    const way = side()
    return Calls.place(who, intent, nextKey(), wish(market, { side: way, priceAtoms: crossing(market, way) }))
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

  /** A draft of /v2 whose numbers, now and then, are spelled as no library does or are odd ones. */
  const oddlySpelled = (draft: Draft): Draft =>
    random.chance(0.6)
      ? draft
      : Calls.spelled(draft, (number) => random.chance(0.25) ? random.pick(Spelling.oddNumbers) : random.pick(Spelling.spellings)(number))

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
      () => random.pick(Spelling.noAmounts)
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
    "key with another body": () => past.length === 0 ? makeOrder("make") : Twist.twisted(random.pick(past), random),
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

  const journeys = Journeys.make(desk, who, random, {
    nextKey,
    make: makeOrder,
    risky: [makeOrder, takeOrder, takeOrder, drafts["place batch"], drafts["v2 order"], amendOrder, drafts["cancel own"]],
    remember
  })
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
