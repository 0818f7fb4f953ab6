/** Revokes any API key for an operator, including those of demo accounts, which have no owner. Repeating it changes nothing. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const RevokeKeyByOperator = declare({
  kind: "RevokeKeyByOperator",
  code: 63,
  label: "key revocation by an operator",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: { field: "keyId", names: "api_key" },
  requests: { revokeKeyByOperator: { code: 72, lookup: null } },
  fields: { keyId: Field.text("api_key") },
  share: () => "revocation",
  keeps: "every decision",
  outcome: Done
})
export type RevokeKeyByOperator = CommandOf<typeof RevokeKeyByOperator>
