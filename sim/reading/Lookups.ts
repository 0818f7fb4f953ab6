/** The names of requests in lookups, by the contract. */
import { Operation } from "../../src/operations/Operations.js"

const names: ReadonlyMap<number, string> = new Map<number, string>([
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
  [Operation.cancelAllAfterV1, "set_cancel_all_after"],
  [Operation.setDisplayHandleV1, "set_display_handle"],
  [Operation.setLeverageV1, "set_leverage"],
  [Operation.setAutoCloseV1, "set_auto_close"],
  [Operation.cancelAutoCloseV1, "cancel_auto_close"],
  [Operation.cancelTriggersV1, "cancel_triggers"],
  [Operation.requestDeposit, "request_deposit"],
  [Operation.requestWithdrawal, "request_withdrawal"],
  [Operation.requestPartyChange, "request_party_change"]
])

/** The name of an operation; undefined where it cannot be looked up. */
export const nameOf = (operation: number | undefined): string | undefined => names.get(operation ?? -1)

/** Whether requests of that name place orders. */
export const places = (name: string): boolean => /^(place_order|create_order)/.test(name)
