/**
 * Changes the price or the total quantity of an open order. It keeps its time priority only where the quantity shrinks
 * at the same price.
 */
import { Refusal } from "../../domain/Refusal.js"
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { OrderDecided } from "./OrderDecided.js"

export const AmendOrder = declare({
  kind: "AmendOrder",
  code: 10,
  label: "amendment",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "refused",
  keyScope: "account",
  whose: "sender",
  requests: { amendV1: { code: 8, lookup: "amend_order" } },
  fields: {
    /** The market that the client named for the order: -1 for one that does not exist. */
    market: Field.numberOf("market"),
    /** The number in the order's id; -1 where the id could not be any order's. */
    orderNumber: Field.numberOf("order"),
    /** The new price; 0: unchanged. */
    priceAtoms: Field.whole("price_atoms"),
    /** The new total; at or below the filled quantity it cancels the rest; -1: unchanged. */
    quantityAtoms: Field.whole("size_atoms"),
    /** A refusal the edge already knows; the engine decides nothing else once it has found the order. */
    fault: Field.code<Refusal>(Object.values(Refusal)),
    /** With a fault, an unknown market or an unknown id: what the client sent. Otherwise empty. */
    raw: Field.text("as_sent")
  },
  share: () => "placement",
  keeps: "until the next",
  outcome: OrderDecided
})
export type AmendOrder = CommandOf<typeof AmendOrder>
