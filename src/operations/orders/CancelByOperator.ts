/**
 * Cancels on an operator's word: one order of any account, or the oldest part of what an account, a market, or an account
 * in a market has open. A record cancels a bounded number of them and tells how many are left: to cancel them all, the
 * operator asks again under another key until none is.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** Most orders that one record ends so: a fraction of a millisecond's work. */
export const canceledAtOnce = 64

/**
 * How many orders one command cancelled, without those that were leaving already, and how many of those it meant are open behind it,
 * with those that leave.
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
  // Nobody can cancel for himself then, and what may not trade on must go before the halt lifts.
  underHalt: "taken",
  keyScope: "venue",
  whose: { field: "ofAccount", names: "account" },
  requests: { cancelByOperator: { code: 26, lookup: null } },
  fields: {
    /** The one order that is meant, whatever the other two say; -1 for all that they do. */
    orderNumber: Field.numberOf("order"),
    /** Whose orders: `none` for anybody's. */
    ofAccount: Field.numberOf("account"),
    /** In which market: `anyMarket` for all, which is only asked of an account. */
    market: Field.numberOf("market"),
    /** Whether the account's owner is told: not so in records of earlier programs. */
    tellsOwner: Field.addedFlag
  },
  share: () => "operator",
  // Decided anew, a late repetition would cancel what came after.
  keeps: "every decision",
  outcome: OrdersCanceledByOperator
})
export type CancelByOperator = CommandOf<typeof CancelByOperator>
