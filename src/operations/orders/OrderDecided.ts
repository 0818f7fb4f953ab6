/** The state of an order when a command about it is decided. */
import * as Order from "../../domain/Order.js"
import * as Field from "../Field.js"
import { declare, type OutcomeOf, type Packed } from "../Outcome.js"

/**
 * Written by hand, because every placement and cancellation has this outcome; a property test checks it against the declaration.
 */
const pack = (outcome: OrderDecided, into: Packed): void => {
  const { numbers } = into
  into.codes = code | (outcome.status << 16) | (outcome.cancelReason << 24)
  numbers[0] = outcome.orderNumber
  numbers[1] = outcome.filledAtoms
  numbers[2] = outcome.filledNotionalAtoms
  numbers[3] = outcome.canceledAtoms
  numbers[4] = outcome.priceAtoms
  numbers[5] = outcome.quantityAtoms
}

const unpack = (from: Packed): OrderDecided => {
  const { numbers } = from
  return {
    _tag: "OrderDecided",
    status: ((from.codes >>> 16) & 0xff) as Order.Status,
    cancelReason: ((from.codes >>> 24) & 0xff) as Order.CancelReason,
    orderNumber: numbers[0]!,
    filledAtoms: numbers[1]!,
    filledNotionalAtoms: numbers[2]!,
    canceledAtoms: numbers[3]!,
    priceAtoms: numbers[4]!,
    quantityAtoms: numbers[5]!
  }
}

const code = 2

const fields = {
  status: Field.code<Order.Status>([0, 1, 2]),
  cancelReason: Field.code<Order.CancelReason>(Object.values(Order.CancelReason)),
  orderNumber: Field.numberOf("order"),
  /** Filled by then. */
  filledAtoms: Field.whole("size_atoms"),
  /** Paid or received for it, before fees. */
  filledNotionalAtoms: Field.whole("money_atoms"),
  /** Cancelled or trimmed by then. */
  canceledAtoms: Field.whole("size_atoms"),
  /** The price by then; 0 where it has none. */
  priceAtoms: Field.whole("price_atoms"),
  /** The total by then. */
  quantityAtoms: Field.whole("size_atoms")
}

export type OrderDecided = OutcomeOf<"OrderDecided", typeof fields>

export const OrderDecided = declare("OrderDecided", code, fields, { pack, unpack })
