/** Cancels all open orders of an account, or those in one market. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** How many orders one command cancelled. */
export const OrdersCanceled = Outcome.declare("OrdersCanceled", 4, { canceledOrders: Field.whole("count") })
export type OrdersCanceled = Outcome.OutcomeOf<"OrdersCanceled", typeof OrdersCanceled.fields>

export const CancelAllOrders = declare({
  kind: "CancelAllOrders",
  code: 11,
  label: "cancel of all orders",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "refused",
  keyScope: "account",
  whose: "sender",
  requests: {
    cancelAllV1: { code: 9, lookup: "cancel_all_orders" },
    cancelAllV2: { code: 10, lookup: "cancel_all_compat_orders" }
  },
  fields: {
    /** `anyMarket` for all, `none` for one that does not exist. */
    market: Field.numberOf("market"),
    /** With a market that does not exist: its name as sent. Otherwise empty. */
    raw: Field.text("as_sent")
  },
  share: () => "reduction",
  // A cancellation covers the orders open at its time: decided again, a late repetition would cancel later ones too.
  keeps: "every decision",
  outcome: OrdersCanceled
})
export type CancelAllOrders = CommandOf<typeof CancelAllOrders>
