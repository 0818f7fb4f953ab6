/** Requests a deposit, with all its steps. Nothing moves before its owner has approved each of them. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { amountFields, TransferRequested } from "./Transfers.js"

export const RequestDeposit = declare({
  kind: "RequestDeposit",
  code: 45,
  label: "deposit",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "account",
  whose: "sender",
  requests: { requestDeposit: { code: 59, lookup: "request_deposit" } },
  fields: amountFields,
  share: () => "reduction",
  keeps: "every decision",
  outcome: TransferRequested
})
export type RequestDeposit = CommandOf<typeof RequestDeposit>
