/** Index prices that fire triggers: some of those that wait for one kind of price, and a price just before the last of them. */
import type { NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"

/** Kinds of prices that follow an operator's index: the mark, at the next tick, and the index itself. */
const followers = [0, 2]
/** Most triggers that one price fires, of those that are nearest. */
const mostFired = 4

export interface Firing {
  readonly market: NaiveMarket
  readonly priceAtoms: number
  /** A price that keeps some of the fired triggers fired but not the last one; undefined where all have the same price. */
  readonly backAtoms: number | undefined
}

/** A price of some market that fires triggers; undefined where none is waiting. */
export const find = ({ brackets, markets }: NaiveVenue, random: SimRandom): Firing | undefined => {
  const waiting = brackets.all.filter(({ again, quantity }) => quantity > 0 && again === 0).flatMap(({ autoClose, isLong, market }) =>
    [autoClose.takeProfit, autoClose.stopLoss]
      .map(({ by, priceAtoms }, place) => ({ market, by, priceAtoms, isRising: isLong === (place === 0) }))
      .filter(({ by, priceAtoms }) => priceAtoms !== 0 && followers.includes(by))
  )
  if (waiting.length === 0) return undefined
  const { by, isRising, market } = random.pick(waiting)
  const prices = waiting
    .filter((each) => each.market === market && each.by === by && each.isRising === isRising)
    .map(({ priceAtoms }) => priceAtoms)
    .sort((one, other) => isRising ? one - other : other - one)
    .slice(0, random.between(1, mostFired))
  const last = prices.at(-1)!
  return { market: markets[market]!, priceAtoms: last, backAtoms: prices.findLast((price) => price !== last) }
}
