/** Cancels 1..24 orders of one account in one writer turn. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { OrderDecided } from "./OrderDecided.js"

/** Most orders one cancel may name. */
export const maxCancelEntries = 24

const entry = {
  /** The market that the client named for the order: `none` for one that does not exist, `anyMarket` where it named none. */
  market: Field.numberOf("market"),
  /** The number in the order's id; -1 where the id could not be any order's. */
  orderNumber: Field.numberOf("order"),
  /** Where the market or the id is unknown: what the client sent for them. Otherwise empty. */
  raw: Field.text("as_sent")
}

export type CancelEntry = Field.Values<typeof entry>

export const CancelOrders = declare({
  kind: "CancelOrders",
  code: 2,
  label: "cancel",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "refused",
  keyScope: "account",
  whose: "sender",
  requests: {
    cancelV1: { code: 5, lookup: "cancel_order" },
    cancelBatchV1: { code: 6, lookup: "cancel_order_batch" },
    cancelV2: { code: 7, lookup: "cancel_compat_order" }
  },
  fields: { entries: Field.list(entry, maxCancelEntries, "sender") },
  share: () => "reduction",
  keeps: "what it did",
  outcome: OrderDecided
})
export type CancelOrders = CommandOf<typeof CancelOrders>
