/**
 * Cancellation by an operator: one order of any account, or the open orders of an account, a market, or an account in a market,
 * oldest first. A record cancels a bounded number and reports how many are left; to cancel them all, the operator repeats it under
 * other keys until none is left.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** Most orders that one record cancels in this way: a fraction of a millisecond's work. */
export const canceledAtOnce = 64

/**
 * How many orders were cancelled, not counting those that were leaving already, and how many of the selected ones are still open,
 * including leaving ones.
 */
export const OrdersCanceledByOperator = Outcome.declare("OrdersCanceledByOperator", 8, {
  canceledOrders: Field.whole("count"),
  remainingOrders: Field.whole("count")
})
export type OrdersCanceledByOperator = Outcome.OutcomeOf<"OrdersCanceledByOperator", typeof OrdersCanceledByOperator.fields>

export const CancelByOperator = declare({
  kind: "CancelByOperator",
  code: 17,
  label: "cancel by an operator",
  principals: [Principal.operator],
  permission: "operator",
  // Taken under a halt: clients cannot cancel their own orders then, and orders that must not trade again have to go before the
  // halt lifts.
  underHalt: "taken",
  keyScope: "venue",
  whose: { field: "ofAccount", names: "account" },
  requests: { cancelByOperator: { code: 26, lookup: null } },
  fields: {
    /** A single order, whatever the other two fields contain; -1 for all that they select. */
    orderNumber: Field.numberOf("order"),
    /** Whose orders: `none` for anybody's. */
    ofAccount: Field.numberOf("account"),
    /** In which market: `anyMarket` for all, which is only asked of an account. */
    market: Field.numberOf("market"),
    /** Whether the owner is notified: not in records of earlier versions. */
    tellsOwner: Field.addedFlag
  },
  share: () => "operator",
  // Decided again, a late repetition would cancel later orders too.
  keeps: "every decision",
  outcome: OrdersCanceledByOperator
})
export type CancelByOperator = CommandOf<typeof CancelByOperator>
