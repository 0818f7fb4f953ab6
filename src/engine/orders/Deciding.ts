/** How commands about orders are decided. */
import * as Market from "../../domain/Market.js"
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { done, refused } from "../../operations/Outcome.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import { amend } from "./Amend.js"
import { isBeingCleared } from "./Band.js"
import { cancel, cancelAll, findOpen } from "./Cancel.js"
import { fence, hasRoomToFence } from "./Fences.js"
import { isForgettable } from "./Forgetting.js"
import { place } from "./Place.js"

/** Whether every entry of a placement finds a slot: a free one, or that of an order which is forgotten first. */
const hasOrderRoom = (state: State, entries: number, atEpochMs: number): boolean => {
  const missing = state.orders.size + entries - state.capacity.orders
  return missing <= 0 || isForgettable(state, state.endedAt(missing - 1), atEpochMs)
}

export const deciders: Deciders<"orders"> = {
  PlaceOrders: {
    admit: (state, { entries }, atEpochMs) => {
      if (!hasOrderRoom(state, entries.length, atEpochMs)) return Refusal.tableFull
      return entries.some(({ market }) => isBeingCleared(state, market)) ? Refusal.marketClearing : Refusal.none
    },
    decide: (state, command) => command.entries.map((_, index) => place(state, command, index))
  },
  CancelOrders: {
    admit: always,
    decide: (state, command) => command.entries.map((entry) => cancel(state, command, entry))
  },
  AmendOrder: {
    admit: (state, { account, market, orderNumber }) => {
      const order = findOpen(state, account, orderNumber, market)
      return order !== none && isBeingCleared(state, state.orders.market(order)) ? Refusal.marketClearing : Refusal.none
    },
    decide: (state, command) => [amend(state, command)]
  },
  CancelAllOrders: {
    admit: always,
    decide: (state, command) => {
      const named = state.markets[command.market]
      if (command.market !== anyMarket && (named === undefined || !Market.isListed(named.status))) {
        return [refused(Refusal.marketNotFound, none)]
      }
      const canceledOrders = cancelAll(state, command.account, command.market, Order.CancelReason.user)
      return [{ _tag: "OrdersCanceled", canceledOrders }]
    }
  },
  SetCancelAllAfter: {
    admit: always,
    decide: (state, command) => {
      const dueEpochMs = command.timeoutMs === 0 ? 0 : state.atEpochMs + command.timeoutMs
      if (dueEpochMs === 0) state.switches.remove(command.account)
      else state.switches.set(command.account, dueEpochMs)
      state.events.event2(Event.SwitchSet, command.account, dueEpochMs)
      return [done]
    }
  },
  FenceOutcome: {
    admit: (state) => hasRoomToFence(state) ? Refusal.none : Refusal.tableFull,
    decide: (state, command) => [fence(state, command)]
  }
}
