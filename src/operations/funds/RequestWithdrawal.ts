/** Requests a withdrawal: the amount leaves the account's collateral at once and is held until the ledger has decided. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { amountFields, TransferRequested } from "./Transfers.js"

export const RequestWithdrawal = declare({
  kind: "RequestWithdrawal",
  code: 46,
  label: "withdrawal",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "account",
  whose: "sender",
  requests: { requestWithdrawal: { code: 60, lookup: "request_withdrawal" } },
  fields: {
    ...amountFields,
    /**
     * The receiving party, whose form is checked at the edge. Empty where it is the venue's own treasury, which the ledger and the
     * signer know and the journal does not.
     */
    destinationPartyId: Field.text("api_key"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "reduction",
  keeps: "every decision",
  outcome: TransferRequested
})
export type RequestWithdrawal = CommandOf<typeof RequestWithdrawal>
