/** Approves a key of the account for the agent that holds the device code. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const ApproveAgent = declare({
  kind: "ApproveAgent",
  code: 31,
  label: "agent approval",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { approveAgent: { code: 45, lookup: null } },
  fields: {
    /** SHA-256 of the device code, lowercase hex. */
    deviceSha256: Field.text("secret"),
    /** The S256 challenge of the agent's PKCE verifier, base64url (RFC 7636). */
    codeChallenge: Field.text("secret"),
    /** What the agent calls itself. */
    clientName: Field.text("as_sent"),
    scopes: Field.whole("bits"),
    keyLifetimeSeconds: Field.whole("count"),
    /** How long after the record the key may be fetched, milliseconds: the rest of the agent's waiting time. */
    grantMs: Field.whole("duration_ms"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type ApproveAgent = CommandOf<typeof ApproveAgent>
