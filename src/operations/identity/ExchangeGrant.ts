/**
 * Issues the key that an owner approved for an agent. The agent has shown its device code and its verifier; the code is used up.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { KeyIssued } from "./Credentials.js"
import { keyFields } from "./KeyGrant.js"

export const ExchangeGrant = declare({
  kind: "ExchangeGrant",
  code: 33,
  label: "key exchange",
  principals: [Principal.agent],
  permission: "proof",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "deviceSha256", names: "grant" },
  requests: { exchangeGrant: { code: 47, lookup: null } },
  fields: {
    deviceSha256: Field.text("secret"),
    ...keyFields,
    remoteAddress: Field.text("as_sent")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: KeyIssued
})
export type ExchangeGrant = CommandOf<typeof ExchangeGrant>
