/**
 * The liquidation price of a position: the mark at which its account falls below its maintenance margin while all other marks,
 * collateral and positions stay as they are. Margin is crossed, so this price moves with everything else in the account.
 */
import type { MarketState } from "../Markets.js"
import * as Margin from "../Margin.js"
import type { State } from "../State.js"

/**
 * The highest mark, for a long, or the lowest, for a short, at which `rest` (the account's excess over its maintenance margin
 * without the position) and the position together are below zero; price atoms, 0 where there is none within the market's price
 * bounds.
 *
 * A price atom changes the PnL by `quantity x K`, and the maintenance margin by no more, since no tier requires more than the whole
 * notional. The excess is therefore monotonic in the price, and bisection is exact.
 */
export const priceOf = (
  { factor, parameters }: Pick<MarketState, "factor" | "parameters">,
  quantity: number,
  entryNotional: number,
  rest: number
): number => {
  const { maintenanceMarginTiers, maxPriceAtoms, minPriceAtoms } = parameters
  const isLong = quantity > 0
  const unit = Math.abs(quantity) * factor
  const isUnder = (price: number): boolean => {
    const notional = unit * price
    const pnl = isLong ? notional - entryNotional : entryNotional - notional
    return rest + pnl < Margin.maintenance(maintenanceMarginTiers, notional)
  }
  let under = isLong ? minPriceAtoms : maxPriceAtoms
  let healthy = isLong ? maxPriceAtoms : minPriceAtoms
  if (!isUnder(under)) return 0
  if (isUnder(healthy)) return healthy
  while (Math.abs(healthy - under) > 1) {
    const middle = Math.floor((under + healthy) / 2)
    if (isUnder(middle)) under = middle
    else healthy = middle
  }
  return under
}

/** The liquidation price of a position with the given collateral of its account, whose sums must be up to date; 0 for none. */
export const liquidationPrice = ({ accounts, markets, positions }: State, slot: number, collateral: number): number => {
  const account = positions.account(slot)
  const maintenanceMargin = accounts.sumMaintenanceMargin(account) - positions.maintenanceMargin(slot)
  const rest = accounts.unrealizedPnlWith(account, positions.unrealizedPnl(slot), 0, collateral) - maintenanceMargin
  return priceOf(markets[positions.market(slot)]!, positions.quantity(slot), positions.entryNotional(slot), rest)
}
