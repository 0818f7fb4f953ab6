/**
 * Cancels a transfer whose current step has not been approved: it ends as rejected, and the held amount of a withdrawal is
 * returned.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { TransferStands } from "./Transfers.js"

export const CancelTransfer = declare({
  kind: "CancelTransfer",
  code: 48,
  label: "cancellation of a transfer",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { cancelTransfer: { code: 62, lookup: null } },
  fields: {
    transfer: Field.numberOf("transfer")
  },
  share: () => "reduction",
  keeps: "every decision",
  outcome: TransferStands
})
export type CancelTransfer = CommandOf<typeof CancelTransfer>
