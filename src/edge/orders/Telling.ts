/** How a lookup shows the decision on one order. */
import * as Ids from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"

/** Where the decision left the order: members of a lookup's accepted entry. */
export const tellOrder = (order: OrderDecided) => ({
  orderId: Ids.orderId(order.orderNumber),
  status: Order.statuses[order.status],
  cancelReason: order.cancelReason === 0 ? undefined : Order.cancelReasons[order.cancelReason],
  filledQuantityAtoms: String(order.filledAtoms),
  canceledQuantityAtoms: String(order.canceledAtoms)
})
