/** Lets an agent have a key of the account: the one that holds the device code, and nobody else. */
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
    /** S256 of the verifier that the agent has to show, base64url. */
    codeChallenge: Field.text("secret"),
    /** What the agent calls itself. */
    clientName: Field.text("as_sent"),
    scopes: Field.whole("bits"),
    keyLifetimeSeconds: Field.whole("count"),
    /** How long the key may be fetched from the record on, milliseconds: what the agent has left to wait. */
    grantMs: Field.whole("duration_ms"),
    remoteAddress: Field.text("as_sent")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type ApproveAgent = CommandOf<typeof ApproveAgent>
