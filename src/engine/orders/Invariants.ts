/** Invariants of orders and books, checked by recomputing everything. */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import * as OpenLists from "../OpenLists.js"
import type { State } from "../State.js"
import { Total } from "../Total.js"

/** The first broken invariant as a sentence; undefined when all hold. */
export const firstBroken = (state: State): string | undefined => books(state) ?? quantities(state) ?? openSizes(state) ?? connections(state)

/** Orders of a connection are open and belong to its account; an ended connection is kept only while it has orders. */
const connections = ({ connections, orders }: State): string | undefined => {
  for (const { account, connection, isEnded, orders: numbers } of connections.entries()) {
    if (isEnded && numbers.length === 0) return `connection ${connection} has ended, has no order, and is known`
    for (const number of numbers) {
      const order = orders.find(number)
      if (order === none || orders.status(order) !== Order.open || orders.account(order) !== account) {
        return `order ${number} is to end with connection ${connection} and is none of its open ones`
      }
    }
  }
  return undefined
}

/**
 * Books are not crossed, their best prices lie within the band where the market trades, levels equal the sums of their orders, and
 * orders of one price are in time priority.
 */
const books = (state: State): string | undefined => {
  const { orders } = state
  for (const market of state.markets) {
    const book = state.books[market.index]!
    const id = market.parameters.marketId
    const bid = book.bestPrice(Order.buy)
    const ask = book.bestPrice(Order.sell)
    if (bid !== none && ask !== none && bid >= ask) return `${id} is crossed: ${bid} bid, ${ask} asked`
    if (market.mark !== 0 && !market.isDelisted && !state.clearing.includes(market.index)) {
      if (bid > market.bandHigh) return `${id} has a bid at ${bid}, above the band's top of ${market.bandHigh}`
      if (ask !== none && ask < market.bandLow) return `${id} has an offer at ${ask}, below the band's bottom of ${market.bandLow}`
    }
    let resting = 0
    for (const side of [Order.buy, Order.sell] as const) {
      const sums = new Map<number, Total>()
      let last = none
      for (let order = book.best(side); order !== none; order = book.nextSlot(order)) {
        resting++
        const price = orders.priceAtoms(order)
        const sum = sums.get(price) ?? new Total()
        sum.add(orders.remaining(order))
        sums.set(price, sum)
        if (orders.status(order) !== Order.open || orders.side(order) !== side || orders.market(order) !== market.index) {
          return `order ${orders.number(order)} rests in ${id} and should not`
        }
        // A requeued order has lost the time priority that its number would give it.
        const byNumber = last !== none && !orders.requeued(last) && !orders.requeued(order)
        if (byNumber && orders.priceAtoms(last) === price && orders.number(last) > orders.number(order)) {
          return `${id} has a younger order before an older one at ${price}`
        }
        last = order
      }
      for (const [price, size] of sums) {
        const shown = book.levelSize(side, price)
        if (shown !== size.nearest) return `${id} shows ${shown} at ${price} where orders sum to ${size.nearest}`
      }
      if (sums.size !== book.levelCount(side)) return `${id} counts ${book.levelCount(side)} levels of ${sums.size}`
    }
    if (resting !== book.orderCount) return `${id} counts ${book.orderCount} orders of ${resting}`
  }
  return undefined
}

/** Filled + remaining + cancelled = ordered, and ended orders have nothing remaining. */
const quantities = (state: State): string | undefined => {
  const { orders } = state
  for (let order = 0; order < orders.end; order++) {
    if (!orders.holds(order)) continue
    const remaining = orders.remaining(order)
    if (orders.filled(order) + remaining + orders.canceled(order) !== orders.quantity(order)) {
      return `order ${orders.number(order)} does not add up`
    }
    const isOpen = orders.status(order) === Order.open
    if (isOpen !== (remaining > 0)) return `order ${orders.number(order)} has ${remaining} left and is not so`
  }
  return undefined
}

/** The open sizes kept per position equal the sums over its orders; reduce-only orders fit the position. */
const openSizes = (state: State): string | undefined => {
  const { orders, positions } = state
  let open = 0
  for (let slot = 0; slot < positions.count; slot++) {
    const sums = [0, 0, 0, 0]
    let count = 0
    for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) {
      sums[orders.side(order) + (orders.reduceOnly(order) ? 2 : 0)]! += orders.remaining(order)
      count++
    }
    open += count
    const where = `account ${positions.account(slot)} in market ${positions.market(slot)}`
    if (
      sums[0] !== positions.openBuys(slot) || sums[1] !== positions.openSells(slot) || sums[2] !== positions.reduceBuys(slot)
      || sums[3] !== positions.reduceSells(slot) || count !== positions.openCount(slot)
    ) return `${where} keeps other open sizes than its orders sum to`
    if (!OpenLists.isOfChain(state, slot)) return `${where} has a list of other orders than its chain`
    const quantity = positions.quantity(slot)
    if (sums[2]! > Math.max(0, -quantity) || sums[3]! > Math.max(0, quantity)) return `${where} has reduce-only orders beyond its position`
  }
  return open === state.openOrders ? undefined : `the venue counts ${state.openOrders} open orders of ${open}`
}
