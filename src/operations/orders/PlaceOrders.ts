/** Places 1..32 orders of one account in one writer turn; an entry's refusal changes no sibling. */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import * as AutoClose from "../accounts/AutoClose.js"
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { OrderDecided } from "./OrderDecided.js"

/** Most orders one placement may carry. */
export const maxPlaceEntries = 32

const entry = {
  /** Market index, or -1 where the client named none that exists. */
  market: Field.numberOf("market"),
  /** Empty where the client gave none, which the compatible family allows. */
  clientOrderId: Field.text("as_sent"),
  side: Field.code<Order.Side>([Order.buy, Order.sell]),
  type: Field.code<Order.Type>([Order.limit, Order.market]),
  timeInForce: Field.code<Order.TimeInForce>([Order.gtc, Order.ioc]),
  /** 0 for a market order without a worst price. */
  priceAtoms: Field.whole("price_atoms"),
  quantityAtoms: Field.whole("size_atoms"),
  postOnly: Field.flag,
  reduceOnly: Field.flag,
  selfTradePrevention: Field.code<Order.SelfTradePrevention>([
    Order.cancelResting,
    Order.cancelIncoming,
    Order.cancelBoth
  ]),
  /** When a resting order is cancelled by itself; 0: never. */
  expiresAtEpochMs: Field.whole("epoch_ms"),
  /** A refusal the edge already knows (unknown market, off the grid, beyond any bound); the engine decides nothing else for it. */
  fault: Field.code<Refusal>(Object.values(Refusal)),
  /** With a fault: what the client sent in the offending fields, for whoever looks into it later. Otherwise empty. */
  raw: Field.text("as_sent"),
  /** The take-profit and stop-loss for what the order opens; never with `reduceOnly`. */
  autoClose: Field.record(AutoClose.fields)
}

export type PlaceEntry = Field.Values<typeof entry>

export const PlaceOrders = declare({
  kind: "PlaceOrders",
  code: 1,
  label: "placement",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "refused",
  keyScope: "account",
  whose: "sender",
  requests: {
    placeV1: { code: 1, lookup: "place_order" },
    placeBatchV1: { code: 2, lookup: "place_order_batch" },
    placeV2: { code: 3, lookup: "create_order" },
    placeBatchV2: { code: 4, lookup: "create_orders" }
  },
  fields: {
    entries: Field.list(entry, maxPlaceEntries, "sender"),
    /** The stream connection with which the orders end, by the record that armed it; -1 for orders that stay. */
    connection: Field.addedOfWay(undefined, none)
  },
  // Orders that only reduce positions must be accepted even when those that grow them are not.
  share: (command) => command.entries.every((order) => order.reduceOnly) ? "reduction" : "placement",
  keeps: "every decision",
  outcome: OrderDecided
})
export type PlaceOrders = CommandOf<typeof PlaceOrders>
