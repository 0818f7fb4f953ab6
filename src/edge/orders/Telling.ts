/** How a lookup tells of what was decided on one order. */
import * as Order from "../../domain/Order.js"
import type { EntryOutcome } from "../../domain/Outcome.js"

/** Where the decision left the order: members of a lookup's accepted entry. */
export const tellOrder = (decided: EntryOutcome, orderId: string | undefined) => ({
  orderId,
  status: Order.statuses[decided.status],
  cancelReason: decided.cancelReason === 0 ? undefined : Order.cancelReasons[decided.cancelReason],
  filledQuantityAtoms: String(decided.filledAtoms),
  canceledQuantityAtoms: String(decided.canceledAtoms)
})
