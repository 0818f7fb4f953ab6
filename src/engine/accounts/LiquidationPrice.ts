/**
 * The liquidation price of a position: the mark at which its account comes under its maintenance margin while all other marks,
 * collateral and positions stay as they are. Margin is crossed, so it moves with everything else that the account has.
 */
import type { MarketState } from "../Markets.js"
import * as Margin from "../Margin.js"
import type { State } from "../State.js"

/**
 * Of a long the highest mark at which `rest`, what the account has beyond its maintenance margin without the position, and the
 * position together are below zero; of a short the lowest. 0 where there is none within the market's price bounds.
 *
 * A price atom moves the profit by `quantity x K`, and the maintenance margin by no more, since no tier asks for more than the
 * whole notional: so what is left moves one way only, and the search by halving is exact.
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

/** The liquidation price of an account's position with the given collateral; its sums are up to date. 0 for none. */
export const liquidationPrice = ({ accounts, markets, positions }: State, slot: number, collateral: number): number => {
  const account = positions.account(slot)
  const pnl = accounts.sumUnrealizedPnl(account) - positions.unrealizedPnl(slot)
  const maintenanceMargin = accounts.sumMaintenanceMargin(account) - positions.maintenanceMargin(slot)
  const rest = collateral + pnl - maintenanceMargin
  return priceOf(markets[positions.market(slot)]!, positions.quantity(slot), positions.entryNotional(slot), rest)
}
