/** The index price at which an account's equity is just its maintenance margin, and the prices beside it. */
import { marginOf, type NaiveMargin, profitOf } from "../model/NaiveMoney.js"
import * as Risk from "../model/NaiveRisk.js"
import type { NaiveAccount, NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"

/** Whether an account keeps its maintenance margin while a market is marked at a price. */
const keeps = (model: NaiveVenue, account: NaiveAccount, at: NaiveMarket, mark: number): boolean => {
  const markets = model.markets.map((market) => market === at ? { ...market, mark } : market)
  const { equity, maintenanceMargin } = marginOf(markets, account, undefined)
  return equity >= maintenanceMargin
}

/** The last price that an account bears, and the next, which it does not. */
export interface Brink {
  readonly good: number
  readonly bad: number
}

/** Between a price that an account bears and a worse one; undefined where it bears both, or neither. */
const between = (borne: number, worse: number, bears: (price: number) => boolean): Brink | undefined => {
  let [good, bad] = [borne, worse]
  if (!bears(good) || bears(bad)) return undefined
  while (Math.abs(good - bad) > 1) {
    const middle = Math.floor((good + bad) / 2)
    if (bears(middle)) good = middle
    else bad = middle
  }
  return { good, bad }
}

/** A price of a market that is so many times worse for its holder than another. */
const farFrom = (
  price: number,
  times: number,
  account: NaiveAccount,
  { index, parameters: { maxPriceAtoms, minPriceAtoms } }: NaiveMarket
): number =>
  account.positions.get(index)!.quantity > 0
    ? Math.max(minPriceAtoms, Math.floor(price / times))
    : Math.min(maxPriceAtoms, price * times)

/** Of a market that an account holds a position in, by its mark: where the account keeps its maintenance margin, and where it does not. */
export const of = (model: NaiveVenue, account: NaiveAccount, market: NaiveMarket): Brink | undefined =>
  between(market.mark, farFrom(market.mark, 2, account, market), (mark) => keeps(model, account, market, mark))

/** What an account has lost in markets that do not live at a time; no less than nothing. */
export const doubtful = (model: NaiveVenue, account: NaiveAccount, atEpochMs: number): bigint => {
  let lost = 0n
  for (const [index, position] of account.positions) {
    const market = model.markets[index]!
    const profit = profitOf(market, position)
    if (profit < 0n && !Risk.isGoing(market, atEpochMs)) lost -= profit
  }
  return lost
}

/** The mark that a market comes to at a time if its index is at a price then. */
const markAt = (market: NaiveMarket, index: number, atEpochMs: number): number => {
  const risk = { ...market.risk, index, premiums: [...market.risk.premiums], fundings: [], marks: [], ticks: [] }
  return Risk.tick({ ...market, risk }, 0, atEpochMs).mark
}

/** What an account has, and what is asked of it, once a market's mark is made of an index at a time. */
const marginAt = (model: NaiveVenue, account: NaiveAccount, market: NaiveMarket, index: number, atEpochMs: number): NaiveMargin => {
  const moved = { ...market, mark: markAt(market, index, atEpochMs) }
  return marginOf(model.markets.map((each) => each === market ? moved : each), account, undefined)
}

/** The same by the index that the market's mark is made of at a time, and by what the account would have with so much more. */
export const sparing = (
  model: NaiveVenue,
  account: NaiveAccount,
  market: NaiveMarket,
  atEpochMs: number,
  spared: bigint
): Brink | undefined =>
  between(market.risk.index, farFrom(market.risk.index, 5, account, market), (index) => {
    const { equity, maintenanceMargin } = marginAt(model, account, market, index, atEpochMs)
    return equity + spared >= maintenanceMargin
  })

/** Whether an account that falls there has less left than two thirds of what is asked of it, so that its positions are closed whole. */
export const isFarUnder = (model: NaiveVenue, account: NaiveAccount, market: NaiveMarket, atEpochMs: number, { bad }: Brink): boolean => {
  const { equity, maintenanceMargin } = marginAt(model, account, market, bad, atEpochMs)
  return 3n * equity < 2n * maintenanceMargin
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
