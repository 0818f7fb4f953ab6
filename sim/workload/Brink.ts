/** The index price at which an account's equity just equals its maintenance margin, and the adjacent prices. */
import { marginOf, type NaiveMargin, profitOf } from "../model/NaiveMoney.js"
import * as Risk from "../model/NaiveRisk.js"
import type { NaiveAccount, NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"

/** Whether an account keeps its maintenance margin at a mark of a market. */
const keeps = (model: NaiveVenue, account: NaiveAccount, at: NaiveMarket, mark: number): boolean => {
  const markets = model.markets.map((market) => market === at ? { ...market, mark } : market)
  const { equity, maintenanceMargin } = marginOf(markets, account, undefined)
  return equity >= maintenanceMargin
}

/** The last price at which an account keeps its margin, and the next, at which it does not. */
export interface Brink {
  readonly good: number
  readonly bad: number
}

/** The brink between a good and a worse price; undefined where the account keeps its margin at both, or at neither. */
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

/** A price worse for the holder of a position by a factor. */
const farFrom = (
  price: number,
  times: number,
  account: NaiveAccount,
  { index, parameters: { maxPriceAtoms, minPriceAtoms } }: NaiveMarket
): number =>
  account.positions.get(index)!.quantity > 0
    ? Math.max(minPriceAtoms, Math.floor(price / times))
    : Math.min(maxPriceAtoms, price * times)

/** The brink of an account in a market where it holds a position, in terms of the mark. */
export const of = (model: NaiveVenue, account: NaiveAccount, market: NaiveMarket): Brink | undefined =>
  between(market.mark, farFrom(market.mark, 2, account, market), (mark) => keeps(model, account, market, mark))

/** An account's unrealized loss in markets that are not live at a time; at least 0. */
export const doubtful = (model: NaiveVenue, account: NaiveAccount, atEpochMs: number): bigint => {
  let lost = 0n
  for (const [index, position] of account.positions) {
    const market = model.markets[index]!
    const profit = profitOf(market, position)
    if (profit < 0n && !Risk.isGoing(market, atEpochMs)) lost -= profit
  }
  return lost
}

/** A market's mark at a time if its index has a price then. */
const markAt = (market: NaiveMarket, index: number, atEpochMs: number): number => {
  const risk = { ...market.risk, index, premiums: [...market.risk.premiums], fundings: [], marks: [], ticks: [] }
  return Risk.tick({ ...market, risk }, 0, atEpochMs).mark
}

/** An account's equity and requirements after a market's mark is made of an index at a time. */
const marginAt = (model: NaiveVenue, account: NaiveAccount, market: NaiveMarket, index: number, atEpochMs: number): NaiveMargin => {
  const moved = { ...market, mark: markAt(market, index, atEpochMs) }
  return marginOf(model.markets.map((each) => each === market ? moved : each), account, undefined)
}

/** The brink in terms of the index from which the mark is made at a time, for an account with `spared` money atoms more. */
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

/** Whether an account at its brink has less than two thirds of its maintenance margin, so that its positions are closed in full. */
export const isFarUnder = (model: NaiveVenue, account: NaiveAccount, market: NaiveMarket, atEpochMs: number, { bad }: Brink): boolean => {
  const { equity, maintenanceMargin } = marginAt(model, account, market, bad, atEpochMs)
  return 3n * equity < 2n * maintenanceMargin
}

/** The brink of a random account in a random market where it holds a position; undefined where none is near. */
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
