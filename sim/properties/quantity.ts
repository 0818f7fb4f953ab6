/**
 * Safety (I4). Filled + remaining + cancelled = ordered, with nothing remaining once an order has ended; and
 * nothing ever happens to an order that has ended.
 */
import type { OrderView } from "../../src/engine/Reads.js"
import { canceled, closed, open } from "../../src/domain/Order.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The state of each ended order when it ended, by number. */
type Ended = Map<number, OrderView>

const stateOf = (view: OrderView): string =>
  `${view.status}/${view.cancelReason}/${view.filledAtoms}/${view.filledNotionalAtoms}/${view.canceledAtoms}/${view.updatedAtEpochMs}/${view.lastSequence}`

const isSame = (one: OrderView, other: OrderView): boolean =>
  one.status === other.status && one.cancelReason === other.cancelReason && one.filledAtoms === other.filledAtoms
  && one.filledNotionalAtoms === other.filledNotionalAtoms && one.canceledAtoms === other.canceledAtoms
  && one.updatedAtEpochMs === other.updatedAtEpochMs && one.lastSequence === other.lastSequence

const judge = (ended: Ended, view: OrderView): Verdict => {
  const name = `order ${view.orderNumber}`
  const remaining = view.quantityAtoms - view.filledAtoms - view.canceledAtoms
  if (view.filledAtoms < 0 || view.canceledAtoms < 0 || remaining < 0) {
    return broken(`${name}: filled ${view.filledAtoms} + canceled ${view.canceledAtoms} is more than ${view.quantityAtoms}`)
  }
  if (view.status === open && remaining === 0) return broken(`${name} is open with nothing remaining`)
  if (view.status === closed && view.filledAtoms !== view.quantityAtoms)
    return broken(`${name} is closed and filled ${view.filledAtoms} of ${view.quantityAtoms}`)
  if (view.status === canceled && remaining !== 0) return broken(`${name} is canceled with ${remaining} remaining`)
  if (view.status === canceled && view.cancelReason === 0) return broken(`${name} is canceled for no reason`)
  const before = ended.get(view.orderNumber)
  if (before !== undefined && !isSame(before, view)) return broken(`${name} had ended as ${stateOf(before)} and is ${stateOf(view)}`)
  if (before === undefined && view.status !== open) ended.set(view.orderNumber, view)
  return holds
}

export const quantity: Property<Ended> = {
  name: "quantities-add-up-and-ended-orders-rest",
  invariant: "I4",
  kind: "safety",
  initial: () => new Map(),
  observe: (ended, seen) => {
    if (seen._tag !== "Inspected") return holds
    const orders = seen.whole ? seen.model.orders.values() : seen.decision?.touchedOrders ?? []
    for (const order of orders) {
      // A forgotten order may be gone; the comparison with the model checks that it is remembered long enough.
      const view = seen.reads.findOrder(order.account, order.number)
      if (view === undefined) continue
      const verdict = judge(ended, view)
      if (verdict !== undefined) return verdict
    }
    return holds
  }
}
