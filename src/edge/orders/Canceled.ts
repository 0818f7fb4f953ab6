/** What a native cancel answers of an order, alone or in a batch. */
import * as Order from "../../domain/Order.js"
import type { Outcome } from "../../operations/Operations.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import * as Fields from "../http/Fields.js"
import { identity } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"

/** The members of a cancelled order. */
export const fields = {
  ...identity,
  cancelReason: Fields.optional(Fields.CancelReason),
  ...Fields.paired("filledQuantity"),
  ...Fields.paired("canceledQuantity"),
  updatedAtEpochMs: Fields.EpochMs
}

/** Those members as text, behind `version` or `index`. */
export const members = (
  accountId: string,
  market: OrderText.Scales,
  decided: OrderDecided,
  outcome: Outcome,
  idempotencyKey: string
): string =>
  OrderText.identity(
    decided.orderNumber,
    accountId,
    market.marketId,
    Order.statuses[decided.status],
    outcome.sequence,
    idempotencyKey
  )
  + OrderText.reason(decided.cancelReason)
  + OrderText.quantity("filledQuantity", decided.filledAtoms, market.quantityScale)
  + OrderText.quantity("canceledQuantity", decided.canceledAtoms, market.quantityScale)
  + `,"updatedAtEpochMs":${outcome.atEpochMs}`
