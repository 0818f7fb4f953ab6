/** A trader's orders: across the book and into it, at the limit of its margin, to close its position, in batches. */
import * as Order from "../../src/domain/Order.js"
import type { Intent } from "../faults/Options.js"
import { bankruptcyPrice } from "../model/NaiveLiquidation.js"
import { maintenance, valueOf } from "../model/NaiveMoney.js"
import type { NaiveAccount, NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Calls from "./Calls.js"
import type { Draft, Wish } from "./Calls.js"
import * as Foreign from "./Foreign.js"
import type { Drafting, Seat } from "./Seat.js"

/** How often a trader waits for another account's liquidation, where traders are ruined. */
const waitingShare = 0.4

/**
 * An order that waits for the liquidation of another account's position at its bankruptcy price, where no equity is left, or slightly
 * better. That price stays the same as long as the account has no other position.
 */
const waiting = ({ model, random, who, wishes }: Seat): Wish | undefined => {
  const holding = model.accounts.filter((account) => account.index !== who.account && account.positions.size > 0)
  if (holding.length === 0) return undefined
  const ruined = random.pick(holding)
  const [index, position] = random.pick([...ruined.positions])
  const market = model.markets[index]!
  const { quantity } = position
  const { equity, maintenanceMargin } = model.margin(ruined, undefined)
  if (market.mark === 0 || equity <= 0n || maintenanceMargin === 0n) return undefined
  const own = maintenance(market.parameters, valueOf(market, position))
  const price = Number(bankruptcyPrice(market, quantity, equity, own, maintenanceMargin))
  const better = random.pick([0, 0, 1, wishes.unit(market), 3 * wishes.unit(market), 10 * wishes.unit(market)])
  return wishes.wish(market, {
    side: quantity > 0 ? "buy" : "sell",
    priceAtoms: wishes.clampPrice(market, quantity > 0 ? price + better : price - better),
    quantityAtoms: wishes.clampQuantity(market, Math.abs(quantity))
  })
}

/** An ordinary order near the mark, which mostly rests. */
export const makeOrder = (seat: Seat, intent: Intent): Draft => {
  const { nextKey, random, who, wishes } = seat
  const wish = wishes.options.ruin !== undefined && random.chance(waitingShare) ? waiting(seat) : undefined
  return Calls.place(who, intent, nextKey(), wish ?? wishes.wish(wishes.tradable(), {}))
}

/** Takes what the book has, up to nearly all that the account can carry. */
const plunge = (seat: Seat, intent: Intent, market: NaiveMarket, way: "buy" | "sell"): Draft => {
  const { nextKey, random, who, wishes } = seat
  const price = wishes.crossing(market, way)
  const most = affordable(seat, market, way, price)
  return Calls.place(who, intent, nextKey(), wishes.wish(market, {
    side: way,
    timeInForce: "IOC",
    priceAtoms: price,
    quantityAtoms: wishes.clampQuantity(market, most * (0.3 + 0.7 * random.next()))
  }))
}

/** How often a trader with triggers trades an existing position in parts. */
const partsShare = 0.3

/**
 * Adds a part to a position, with triggers of its own; once there are several, reduces the position, so that their sizes together exceed
 * it. Undefined without a position.
 */
const inParts = ({ model, random, who, wishes }: Seat): Wish | undefined => {
  const position = wishes.closing()
  if (position === undefined) return undefined
  const { market, side, size } = position
  const armed = model.brackets.of(who.account, market.index).filter(({ quantity }) => quantity > 0)
  if (armed.length >= 2) {
    const quantityAtoms = wishes.clampQuantity(market, size * random.pick([0.1, 0.3, 0.5, 0.9]))
    return wishes.wish(market, { side, timeInForce: "IOC", quantityAtoms, priceAtoms: wishes.crossing(market, side) })
  }
  const way = side === "buy" ? "sell" : "buy"
  const priceAtoms = wishes.crossing(market, way)
  return wishes.wish(market, { side: way, priceAtoms, autoClose: wishes.autoClose(market, way === "buy", priceAtoms) })
}

/** An order that reaches across the book. */
export const takeOrder = (seat: Seat, intent: Intent): Draft => {
  const { nextKey, random, who, wishes } = seat
  const part = (wishes.options.autoCloseShare ?? 0) > 0 && random.chance(partsShare) ? inParts(seat) : undefined
  if (part !== undefined) return Calls.place(who, intent, nextKey(), part)
  const market = wishes.tradable()
  const way = wishes.side()
  if (random.chance(wishes.options.ruin?.leverageShare ?? 0)) return plunge(seat, intent, market, way)
  return Calls.place(who, intent, nextKey(), wishes.wish(market, { side: way, priceAtoms: wishes.crossing(market, way) }))
}

/** The largest size for which an account has the margin, exact to the atom by the model. The market's minimum where there is none. */
export const largestBacked = (
  model: NaiveVenue,
  account: NaiveAccount,
  market: NaiveMarket,
  way: "buy" | "sell",
  price: number
): number => {
  const { maxQuantityAtoms, minQuantityAtoms } = market.parameters
  const side = way === "buy" ? Order.buy : Order.sell
  const isBacked = (size: number): boolean => {
    const margin = model.margin(account, { market: market.index, side, price, size })
    return margin.marginEquity - margin.orderLoss >= margin.initialMargin
  }
  let [most, tooMuch] = [minQuantityAtoms, maxQuantityAtoms + 1]
  while (tooMuch - most > 1) {
    const middle = Math.floor((most + tooMuch) / 2)
    if (isBacked(middle)) most = middle
    else tooMuch = middle
  }
  return most
}

const affordable = ({ model, wishes }: Seat, market: NaiveMarket, way: "buy" | "sell", price: number): number =>
  largestBacked(model, wishes.me(), market, way, price)

/** How often an order expires in the same millisecond as another. */
const sameMomentShare = 0.3

/** When open orders expire. */
const moments = (model: NaiveVenue): ReadonlyArray<number> =>
  model.markets.flatMap(({ resting }) => resting.map((order) => order.expiresAtEpochMs)).filter((at) => at !== 0)

/** How often reducing leaves less than an order's minimum. */
const dustShare = 0.3

/** How often a trader whose resting order would lose at once sends another against it that would lose as well. */
const bothLoseShare = 0.4

/** A market where an open order of the trader would lose at once, and the opposite side. */
const losing = ({ model, wishes }: Seat): { readonly market: NaiveMarket; readonly way: "buy" | "sell" } | undefined => {
  for (const order of wishes.me().open) {
    const market = model.markets[order.market]!
    const isBuy = order.side === Order.buy
    if (order.reduceOnly || order.price === 0 || market.mark === 0) continue
    if (isBuy ? order.price > market.mark : order.price < market.mark) return { market, way: isBuy ? "sell" : "buy" }
  }
  return undefined
}

/** As much as the account can just carry, or one atom more: with fine sizes an order exists that uses its margin to the atom. */
const marginEdge = (seat: Seat, intent: Intent): Draft => {
  const { nextKey, random, who, wishes } = seat
  const against = random.chance(bothLoseShare) ? losing(seat) : undefined
  const { market, way } = against ?? { market: wishes.tradable(), way: wishes.side() }
  const price = against !== undefined || random.chance(0.4)
    ? wishes.crossing(market, way)
    : wishes.clampPrice(market, market.mark + wishes.away(way, wishes.unit(market)))
  return Calls.place(who, intent, nextKey(), wishes.wish(market, {
    side: way,
    quantityAtoms: affordable(seat, market, way, price) + random.pick([0, 0, 1]),
    priceAtoms: price
  }))
}

/** Orders of a flood: a full batch. */
const floodOrders = 32

/** Small orders on one side of one market, which all rest; only of the first client, so that it reaches its limit of open orders. */
const flood = (seat: Seat, intent: Intent): Draft => {
  const { model, nextKey, random, who, wishes } = seat
  const [market] = model.markets
  if (who.account !== 0 || market === undefined || market.mark === 0) return makeOrder(seat, intent)
  const way = wishes.side()
  return Calls.placeBatch(who, intent, nextKey(), Array.from({ length: floodOrders }, () =>
    wishes.wish(market, {
      side: way,
      quantityAtoms: market.parameters.minQuantityAtoms,
      priceAtoms: wishes.clampPrice(market, market.mark + wishes.away(way, wishes.unit(market) * random.between(4, 16)))
    })))
}

export const placing = {
  flood,
  make: makeOrder,
  take: takeOrder,
  "market order": ({ nextKey, random, who, wishes }, intent) => {
    const market = wishes.tradable()
    const way = wishes.side()
    return Calls.place(who, intent, nextKey(), wishes.wish(market, {
      side: way,
      type: "market",
      priceAtoms: random.chance(0.4) ? wishes.crossing(market, way) : 0
    }))
  },
  "post only": ({ nextKey, random, who, wishes }, intent) => {
    const market = wishes.tradable()
    const way = wishes.side()
    const price = random.chance(0.3)
      ? wishes.crossing(market, way)
      : wishes.clampPrice(market, market.mark + wishes.away(way, wishes.unit(market) * random.between(0, 5)))
    return Calls.place(who, intent, nextKey(), wishes.wish(market, { side: way, postOnly: true, priceAtoms: price }))
  },
  "reduce only": ({ nextKey, random, who, wishes }, intent) => {
    const position = wishes.closing()
    if (position === undefined) return Calls.place(who, intent, nextKey(), wishes.wish(wishes.tradable(), { reduceOnly: true }))
    const { market, side: way, size } = position
    const { minQuantityAtoms } = market.parameters
    // Leaves less than an order's minimum, or closes it where that is all there is.
    const dust = size < minQuantityAtoms ? size : size - random.pick([1, random.between(1, Math.max(1, minQuantityAtoms - 1))])
    const isDust = size < minQuantityAtoms || (minQuantityAtoms > 1 && size > 2 * minQuantityAtoms && random.chance(dustShare))
    return Calls.place(who, intent, nextKey(), wishes.wish(market, {
      side: way,
      reduceOnly: true,
      quantityAtoms: isDust ? dust : wishes.clampQuantity(market, size * random.pick([0.3, 0.5, 1, 1.01])),
      priceAtoms: random.chance(0.4)
        ? wishes.crossing(market, way)
        : wishes.clampPrice(market, market.mark + wishes.away(way, wishes.unit(market) * random.between(1, 6)))
    }))
  },
  "close whole position": (seat, intent) => {
    const { nextKey, random, who, wishes } = seat
    const position = wishes.closing()
    if (position === undefined) return takeOrder(seat, "take")
    const { market, side: way, size } = position
    return Calls.place(who, intent, nextKey(), wishes.wish(market, {
      side: way,
      reduceOnly: true,
      type: random.pick(["market", "limit"] as const),
      timeInForce: "IOC",
      // Dust as well: a position is never too small to be closed.
      quantityAtoms: Math.min(market.parameters.maxQuantityAtoms, size),
      priceAtoms: wishes.crossing(market, way)
    }))
  },
  flip: (seat, intent) => {
    const { nextKey, who, wishes } = seat
    const position = wishes.closing()
    if (position === undefined) return takeOrder(seat, "take")
    const { market, side: way, size } = position
    return Calls.place(who, intent, nextKey(), wishes.wish(market, {
      side: way,
      quantityAtoms: wishes.clampQuantity(market, size * 2),
      priceAtoms: wishes.crossing(market, way)
    }))
  },
  "margin edge": marginEdge,
  immediate: ({ nextKey, who, wishes }, intent) => {
    const market = wishes.tradable()
    const way = wishes.side()
    return Calls.place(who, intent, nextKey(),
      wishes.wish(market, { side: way, timeInForce: "IOC", priceAtoms: wishes.crossing(market, way) }))
  },
  "bad value": ({ nextKey, who, wishes }, intent) => Calls.place(who, intent, nextKey(), wishes.badWish()),
  "place batch": (seat, intent) => {
    const { nextKey, who, wishes } = seat
    return Foreign.amongOwn(seat, Calls.placeBatch(who, intent, nextKey(), wishes.mixedWishes()))
  },
  "old clientOrderId": ({ nextKey, who, wishes }, intent) => {
    const order = wishes.ofMine((each) => each.clientOrderId !== "")
    return Calls.place(who, intent, nextKey(),
      wishes.wish(wishes.tradable(), order === undefined ? {} : { clientOrderId: order.clientOrderId }))
  },
  "expiring order": ({ model, nextKey, random, time, who, wishes }, intent) =>
    Calls.place(who, intent, nextKey(), wishes.wish(wishes.tradable(), {
      expiresAtEpochMs: random.chance(sameMomentShare) && moments(model).length > 0
        ? random.pick(moments(model))
        : Math.floor(random.chance(0.5) ? time.nowEpochMs() : model.atEpochMs) + random.between(-20, random.pick([100, 500, 3_000, 12_000]))
    }))
} satisfies Partial<Record<Intent, Drafting>>
