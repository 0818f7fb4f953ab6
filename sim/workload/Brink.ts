/** The index price at which an account's equity is just its maintenance margin, and the prices beside it. */
import type { NaiveAccount, NaiveMarket } from "../model/NaiveState.js"
import { marginOf } from "../model/NaiveMoney.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"

/** Whether an account keeps its maintenance margin while a market is marked at a price. */
const keeps = (model: NaiveVenue, account: NaiveAccount, at: NaiveMarket, mark: number): boolean => {
  const markets = model.markets.map((market) => market === at ? { ...market, mark } : market)
  const { equity, maintenanceMargin } = marginOf(markets, account, undefined)
  return equity >= maintenanceMargin
}

/** The last price at which an account keeps it in a market that it holds a position in, and the next, at which it does not. */
export const of = (
  model: NaiveVenue,
  account: NaiveAccount,
  market: NaiveMarket
): { readonly good: number; readonly bad: number } | undefined => {
  const { maxPriceAtoms, minPriceAtoms } = market.parameters
  const isLong = account.positions.get(market.index)!.quantity > 0
  let good = market.mark
  let bad = isLong ? Math.max(minPriceAtoms, Math.floor(market.mark * 0.5)) : Math.min(maxPriceAtoms, market.mark * 2)
  if (!keeps(model, account, market, good) || keeps(model, account, market, bad)) return undefined
  while (Math.abs(good - bad) > 1) {
    const middle = Math.floor((good + bad) / 2)
    if (keeps(model, account, market, middle)) good = middle
    else bad = middle
  }
  return { good, bad }
}

/** One for some account with a position that its market can ruin; undefined where none is near. */
export const find = (
  model: NaiveVenue,
  random: SimRandom
): { readonly market: NaiveMarket; readonly priceAtoms: number } | undefined => {
  const holding = model.accounts.filter((account) => account.positions.size > 0)
  if (holding.length === 0) return undefined
  const account = random.pick(holding)
  const market = model.markets[random.pick([...account.positions.keys()])]!
  const brink = of(model, account, market)
  return brink === undefined ? undefined : { market, priceAtoms: random.pick([brink.good, brink.bad]) }
}
