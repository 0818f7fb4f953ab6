/**
 * How much room a command that reduces risk may take when its account already has its part of a table. Asked only then, before the
 * command is decided: it decides nothing, and what it refuses has no record.
 *
 * Neither an account nor a command that changes nothing costs anything. So room beyond the part is only for what an account really
 * has to reduce, and without a limit only for what is bounded by the orders that it placed.
 */
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { CancelOrders } from "../../operations/orders/CancelOrders.js"
import type { Command } from "../../operations/Operations.js"
import type { State } from "../State.js"
import { findOpen } from "./Cancel.js"
import * as Leaving from "./Leaving.js"

/** `all`: until the table is full for the class. `half`: see `Share.mayReduce`. */
export type Room = "all" | "half" | "none"

/**
 * The number of different orders of a command that are open and its account's own, whichever of its entries names them where they are:
 * others may name the same order in another market.
 */
const foundOf = (state: State, { account, entries }: CancelOrders): number =>
  new Set(entries.flatMap(({ market, orderNumber }) => findOpen(state, account, orderNumber, market) === none ? [] : [orderNumber])).size

/**
 * A cancel is remembered with all its entries, so it is unlimited only where at least half of them cancel an order: otherwise
 * each order placed could be used to remember 24 outcomes. One that finds nothing takes no room at all.
 */
const ofCancel = (state: State, command: CancelOrders): Room => {
  const found = foundOf(state, command)
  return found === 0 || found * 2 >= command.entries.length ? "all" : "half"
}

/** Whether the account has a position in a market that an order of this side would reduce. */
const isReducible = ({ positions }: State, account: number, market: number, side: Order.Side): boolean => {
  const slot = market < 0 ? none : positions.find(account, market)
  if (slot === none) return false
  const quantity = positions.quantity(slot)
  return side === Order.sell ? quantity > 0 : quantity < 0
}

/** Whether the account has an open order, in one market unless `anyMarket`. An order that is leaving the book has ended already. */
const hasOpen = (state: State, account: number, market: number): boolean => {
  const { accounts, orders, positions } = state
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (market !== anyMarket && positions.market(slot) !== market) continue
    for (let order = positions.lastOrder(slot); order !== none; order = orders.accountPrev(order)) {
      if (!Leaving.leaves(state, order)) return true
    }
  }
  return false
}

/** Whether the account has a position, in one market unless `anyMarket`. */
const hasPosition = ({ accounts, positions }: State, account: number, market: number): boolean => {
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if ((market === anyMarket || positions.market(slot) === market) && positions.quantity(slot) !== 0) return true
  }
  return false
}

/** The room beyond its account's part that a command of the class `reduction` may take. */
export const roomBeyondPart = (state: State, command: Command): Room => {
  const { account } = command
  switch (command.kind) {
    case "CancelOrders":
      return ofCancel(state, command)
    // A command that cancels all orders ends at least one, and an order ends once: so their number is bounded by that of placements.
    case "CancelAllOrders":
      return hasOpen(state, account, command.market) ? "all" : "none"
    // Without open orders the switch protects nothing, and disarming it needs an armed one.
    case "SetCancelAllAfter":
      return (command.timeoutMs === 0 ? state.switches.at(account) !== 0 : hasOpen(state, account, anyMarket)) ? "half" : "none"
    case "PlaceOrders":
      return command.entries.some(({ market, side }) => isReducible(state, account, market, side)) ? "half" : "none"
    // Open orders may have brackets, too.
    case "SetAutoClose":
      return hasPosition(state, account, command.market) || hasOpen(state, account, command.market) ? "half" : "none"
    // A fence or a transfer reduces nothing, but an account whose bot has used up its part must still be able to stop what is under way and
    // to fetch its money. An account that never had money may not trade, so that it needs neither.
    case "FenceOutcome":
    case "RequestDeposit":
    case "RequestWithdrawal":
    case "RequestPartyChange":
      return state.standing.isEnabled(account) ? "half" : "none"
    default:
      return "none"
  }
}
