/**
 * The owner approves one transaction by a passkey. The assertion was verified at the edge; its parts are kept, so that the signer
 * can be asked again after a crash and can verify it itself.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { paysOut, stepFields, TransferStands } from "./Transfers.js"

export const ApproveStep = declare({
  kind: "ApproveStep",
  code: 49,
  label: "approval",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { approveStep: { code: 63, lookup: null } },
  fields: {
    ...stepFields,
    /** The hash of the approved transaction, as prepared. */
    hash: Field.text("secret"),
    credentialId: Field.text("api_key"),
    /** The authenticator's counter in this assertion. */
    signCount: Field.whole("count"),
    /** The assertion's parts, base64url, and what the challenge was derived from besides the transaction. */
    clientData: Field.text("secret"),
    authenticatorData: Field.text("secret"),
    signature: Field.text("secret"),
    nonce: Field.text("secret"),
    remoteAddress: Field.text("as_sent")
  },
  share: (command) => paysOut(command) ? "reduction" : "placement",
  keeps: "every decision",
  outcome: TransferStands
})
export type ApproveStep = CommandOf<typeof ApproveStep>
