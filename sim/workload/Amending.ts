/** New terms of orders, valid and invalid. */
import { orderId } from "../../src/domain/Ids.js"
import type { Parameters } from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import type { Intent } from "../faults/Options.js"
import type { NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import { makeOrder } from "./Placing.js"
import type { Drafting, Seat } from "./Seat.js"
import * as Spelling from "./Spelling.js"

/** How often an order with a take-profit or a stop-loss gets a price next to one of these, beyond which it would be refused. */
const triggerShare = 0.5

/**
 * How often it picks an open order that expires, or one that is partly filled, if there is one. An order expires at its time whatever its
 * terms are by then; and a total of a partly filled order differs from its open size.
 */
const oddShare = 0.35
const isOdd = ({ expiresAtEpochMs, filled, status }: NaiveOrder): boolean => status === Order.open && (expiresAtEpochMs !== 0 || filled > 0)

/** The trigger prices that came with an order. */
const triggersOf = (model: NaiveVenue, orderNumber: number): ReadonlyArray<number> => {
  const autoClose = model.brackets.all.find(({ cameWithOrder, number }) => cameWithOrder && number === orderNumber)?.autoClose
  return autoClose === undefined ? [] : [autoClose.takeProfit.priceAtoms, autoClose.stopLoss.priceAtoms].filter((price) => price > 0)
}

/** New terms of one of the trader's open orders, chosen so that every possible result is frequent. */
export const amendOrder = (seat: Seat, intent: Intent): Draft => {
  const { model, nextKey, random, who, wishes } = seat
  const order = (random.chance(oddShare) ? wishes.ofMine(isOdd) : undefined) ?? wishes.myOpen()
  if (order === undefined) return makeOrder(seat, "make")
  const market = model.markets[order.market]!
  const way = Order.sides[order.side]
  const { quantity, price } = order
  const done = order.filled + order.canceled
  const triggers = triggersOf(model, order.number)
  if (triggers.length > 0 && random.chance(triggerShare)) {
    const priceAtoms = wishes.clampPrice(market, random.pick(triggers) + random.pick([-1, 0, 1]) * wishes.unit(market))
    return Calls.amend(who, intent, nextKey(), market.parameters, orderId(order.number), { priceAtoms })
  }
  const changes: ReadonlyArray<() => Calls.Amendment> = [
    () => ({ quantityAtoms: Math.max(1, Math.floor(quantity * (0.3 + 0.6 * random.next()))) }),
    () => ({ quantityAtoms: wishes.clampQuantity(market, quantity * (1 + random.next())) }),
    () => ({ priceAtoms: wishes.clampPrice(market, price + random.between(-3, 3) * wishes.unit(market)) }),
    () => ({ priceAtoms: wishes.crossing(market, way) }),
    () => ({ priceAtoms: wishes.crossing(market, way), quantityAtoms: wishes.clampQuantity(market, quantity * (0.5 + random.next())) }),
    () => ({ quantityAtoms: Math.max(0, done - random.below(2)) }),
    () => ({ quantityAtoms: quantity, priceAtoms: price }),
    () => ({ quantityAtoms: wishes.clampQuantity(market, quantity * 20) }),
    () => ({ quantityAtoms: market.parameters.maxQuantityAtoms })
  ]
  return Calls.amend(who, intent, nextKey(), market.parameters, orderId(order.number), random.pick(changes)())
}

/** New terms for orders that are another's, not open, not existing or in another market, and terms out of bounds. */
const amendBadly = ({ model, nextKey, random, who, wishes }: Seat, intent: Intent): Draft => {
  const foreign = model.markets.flatMap((market) => market.resting.filter((order) => order.account !== who.account).slice(0, 5))
  const dead = wishes.ofMine((order) => order.status !== Order.open)
  const open = wishes.myOpen()
  const other = (order: NaiveOrder): Parameters => model.markets[(order.market + 1) % model.markets.length]!.parameters
  const parametersOf = (order: NaiveOrder): Parameters => model.markets[order.market]!.parameters
  const simMarket = (): Parameters => random.pick(model.markets).parameters
  const ways: Array<() => Draft> = [
    () => Calls.amend(who, intent, nextKey(), simMarket(), random.pick(["ord_zzzzz", "nonsense", "ord_01"]), { quantityAtoms: 5 })
  ]
  if (foreign.length > 0) {
    const order = random.pick(foreign)
    ways.push(() => Calls.amend(who, intent, nextKey(), parametersOf(order), orderId(order.number), { quantityAtoms: order.quantity }))
  }
  if (dead !== undefined) {
    ways.push(() => Calls.amend(who, intent, nextKey(), parametersOf(dead), orderId(dead.number), { quantityAtoms: dead.quantity * 2 }))
  }
  if (open !== undefined) {
    const { maxPriceAtoms, maxQuantityAtoms, priceScale, quantityScale } = parametersOf(open)
    ways.push(
      () => Calls.amend(who, intent, nextKey(), other(open), orderId(open.number), { quantityAtoms: open.quantity }),
      () => Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), { priceAtoms: maxPriceAtoms + 1 }),
      () => Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), { quantityAtoms: maxQuantityAtoms + 1 }),
      () =>
        Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), {
          quantityText: random.pick(Spelling.edgesOf(quantityScale))
        }),
      () =>
        Calls.amend(who, intent, nextKey(), parametersOf(open), orderId(open.number), {
          priceText: random.pick(Spelling.edgesOf(priceScale))
        })
    )
  }
  return random.pick(ways)()
}

export const amending = {
  amend: amendOrder,
  "amend badly": amendBadly
} satisfies Partial<Record<Intent, Drafting>>
