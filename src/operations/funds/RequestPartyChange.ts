/**
 * Requests another ledger party for the account, which the signer creates. The present one stays in use until the ledger has
 * confirmed the new one.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { TransferRequested } from "./Transfers.js"

export const RequestPartyChange = declare({
  kind: "RequestPartyChange",
  code: 47,
  label: "change of ledger party",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "account",
  whose: "sender",
  requests: { requestPartyChange: { code: 61, lookup: "request_party_change" } },
  fields: {
    remoteAddress: Field.text("as_sent")
  },
  share: () => "reduction",
  keeps: "every decision",
  outcome: TransferRequested
})
export type RequestPartyChange = CommandOf<typeof RequestPartyChange>
