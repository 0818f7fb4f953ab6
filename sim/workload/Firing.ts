/** Index prices that fire what closes positions by itself: some of the triggers that wait for one price, and a step back from the last. */
import type { NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"

/** Prices that follow an operator's index: the mark, with the next tick, and the index itself. */
const followers = [0, 2]
/** How many triggers one price fires at most, of those that wait for the nearest. */
const mostFired = 4

export interface Firing {
  readonly market: NaiveMarket
  readonly priceAtoms: number
  /** A price that some of those that it fires wait for, and the last of them does not; undefined where all wait for one. */
  readonly backAtoms: number | undefined
}

/** A price of some market that fires something; undefined where nothing waits for any. */
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
