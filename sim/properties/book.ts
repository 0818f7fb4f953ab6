/**
 * Safety (I3). The book is never crossed, its levels are the sums of its orders, and every order has traded
 * exactly what price-time priority gives it: a trade that skipped a better price or an older order would leave
 * some order with another fill than the reference model's.
 */
import { broken, holds, type Property } from "./Property.js"

const depth = 100_000

export const book: Property<null> = {
  name: "book-is-price-time-ordered",
  invariant: "I3",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Inspected") return holds
    for (const order of seen.decision?.touchedOrders ?? []) {
      const view = seen.reads.findOrder(order.account, order.number)
      if (view === undefined) return broken(`order ${order.number} traded or rested and is not there`)
      if (view.filledAtoms !== order.filled || BigInt(view.filledNotionalAtoms) !== order.filledNotional) {
        return broken(
          `order ${order.number} has filled ${view.filledAtoms} for ${view.filledNotionalAtoms}, price-time priority gives ${order.filled} for ${order.filledNotional}`
        )
      }
    }
    if (!seen.whole) return holds
    for (let market = 0; market < seen.reads.marketCount; market++) {
      const { asks, bids } = seen.reads.book(market, depth)
      const [bestBid] = bids
      const [bestAsk] = asks
      if (bestBid !== undefined && bestAsk !== undefined && bestBid[0] >= bestAsk[0]) {
        return broken(`market ${market} is crossed: bid ${bestBid[0]}, ask ${bestAsk[0]}`)
      }
      const sums = [new Map<number, number>(), new Map<number, number>()] as const
      for (let account = 0; account < seen.model.accounts.length; account++) {
        for (const order of seen.reads.openOrders(account, market)) {
          const sum = sums[order.side]
          const remaining = order.quantityAtoms - order.filledAtoms - order.canceledAtoms
          sum.set(order.priceAtoms, (sum.get(order.priceAtoms) ?? 0) + remaining)
        }
      }
      for (
        const [levels, sum, isBetter, side] of [
          [bids, sums[0], (a: number, b: number) => a > b, "bid"],
          [asks, sums[1], (a: number, b: number) => a < b, "ask"]
        ] as const
      ) {
        if (levels.length !== sum.size) return broken(`market ${market} shows ${levels.length} ${side} levels, its orders make ${sum.size}`)
        let previous: number | undefined
        for (const [price, size] of levels) {
          if (previous !== undefined && !isBetter(previous, price)) return broken(`market ${market}: ${side} ${price} is out of order`)
          if (sum.get(price) !== size)
            return broken(`market ${market}: ${side} ${price} shows ${size}, its orders sum to ${sum.get(price)}`)
          previous = price
        }
      }
    }
    return holds
  }
}
