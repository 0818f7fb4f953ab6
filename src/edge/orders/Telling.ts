/** How a lookup tells of what was decided on one order. */
import * as Ids from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import type { EntryOutcome } from "../../operations/Operations.js"
import { asOrder } from "../http/Submission.js"

/** Where the decision left the order: members of a lookup's accepted entry. */
export const tellOrder = (decided: EntryOutcome) => {
  const order = asOrder(decided)
  return {
    orderId: Ids.orderId(order.orderNumber),
    status: Order.statuses[order.status],
    cancelReason: order.cancelReason === 0 ? undefined : Order.cancelReasons[order.cancelReason],
    filledQuantityAtoms: String(order.filledAtoms),
    canceledQuantityAtoms: String(order.canceledAtoms)
  }
}
