/** What is remembered under an identity, for a client whose answer was lost. */
import * as Command from "../operations/Operations.js"
import * as Ids from "../domain/Ids.js"
import * as Order from "../domain/Order.js"
import type { EntryOutcome } from "../operations/Operations.js"
import * as Refusal from "../domain/Refusal.js"
import type { Reads, RememberedOutcome } from "../engine/Reads.js"
import type { OperationName } from "./contract/Safety.js"
import * as Encode from "./Encode.js"

const { Operation } = Command

const names: ReadonlyMap<Command.Operation, OperationName> = new Map([
  [Operation.placeV1, "place_order"],
  [Operation.placeBatchV1, "place_order_batch"],
  [Operation.placeV2, "create_order"],
  [Operation.placeBatchV2, "create_orders"],
  [Operation.cancelV1, "cancel_order"],
  [Operation.cancelBatchV1, "cancel_order_batch"],
  [Operation.cancelV2, "cancel_compat_order"],
  [Operation.amendV1, "amend_order"],
  [Operation.cancelAllV1, "cancel_all_orders"],
  [Operation.cancelAllV2, "cancel_all_compat_orders"],
  [Operation.cancelAllAfterV1, "set_cancel_all_after"]
])

const entry = (operation: Command.Operation, decided: EntryOutcome, index: number) => {
  const orderId = decided.orderNumber < 0 ? undefined : Ids.orderId(decided.orderNumber)
  if (decided.refusal !== Refusal.Refusal.none) {
    const { code, guard, recoveryActions, retryable } = Refusal.describe(decided.refusal)
    return { index, accepted: false, orderId, code, rejectionGuard: guard, retryable, recoveryActions }
  }
  switch (operation) {
    case Operation.cancelAllV1:
    case Operation.cancelAllV2:
      return { index, accepted: true, canceledOrders: decided.canceledAtoms }
    case Operation.cancelAllAfterV1:
      return { index, accepted: true }
    default:
      return {
        index,
        accepted: true,
        orderId,
        status: Order.statuses[decided.status],
        cancelReason: decided.cancelReason === 0 ? undefined : Order.cancelReasons[decided.cancelReason],
        filledQuantityAtoms: String(decided.filledAtoms),
        canceledQuantityAtoms: String(decided.canceledAtoms)
      }
  }
}

const decision = ({ operation, outcome }: RememberedOutcome) => ({
  operation: names.get(operation),
  sequence: outcome.sequence,
  decidedAtEpochMs: outcome.atEpochMs,
  entries: outcome.entries.map((decided, index) => entry(operation, decided, index))
})

const isAccepted = ({ outcome }: RememberedOutcome): boolean => outcome.entries.some((decided) => decided.refusal === 0)

/** Nothing is remembered: whether that means that nothing was ever seen. */
const absent = (state: Reads, account: number): "never_seen" | "unknown_expired" =>
  state.hasForgotten(account) ? "unknown_expired" : "never_seen"

/** `external-outcome/v1` of an Idempotency-Key, as JSON. */
export const ofKey = (state: Reads, account: number, accountId: string, idempotencyKey: string): string => {
  const found = state.findOutcomes(account, idempotencyKey)
  return JSON.stringify({
    version: "external-outcome/v1",
    accountId,
    idempotencyKey,
    outcome: found.some(isAccepted) ? "accepted" : found.length > 0 ? "refused" : absent(state, account),
    fenced: state.isFenced(account, idempotencyKey, ""),
    decisions: found.map(decision),
    journalSequence: state.sequence
  })
}

/** `external-outcome/v1` of a clientOrderId, as JSON. */
export const ofClientOrder = (state: Reads, account: number, accountId: string, clientOrderId: string): string => {
  const order = state.findClientOrder(account, clientOrderId)
  return `{"version":"external-outcome/v1","accountId":${Encode.quote(accountId)},"clientOrderId":"${clientOrderId}"`
    + `,"outcome":"${order === undefined ? absent(state, account) : "accepted"}"`
    + `,"fenced":${state.isFenced(account, "", clientOrderId)},"decisions":[]`
    + (order === undefined ? "" : `,"order":${Encode.order(accountId, state.market(order.market).parameters, order)}`)
    + `,"journalSequence":${state.sequence}}`
}
