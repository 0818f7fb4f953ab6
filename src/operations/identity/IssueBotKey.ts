/** Issues a key to one of the venue's own bots, whose workload has proved its identity. Its earlier keys are not affected. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { KeyIssued } from "./Credentials.js"
import { keyFields } from "./KeyGrant.js"

/** The lifetime of a bot's key, milliseconds. */
export const botKeyMs = 7 * 24 * 60 * 60 * 1000

export const IssueBotKey = declare({
  kind: "IssueBotKey",
  code: 39,
  label: "bot key",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: { field: "ofAccount", names: "account" },
  requests: { issueBotKey: { code: 53, lookup: null } },
  fields: {
    ofAccount: Field.numberOf("account"),
    ...keyFields,
    /** Who the workload proved to be, as its issuer names it. */
    subject: Field.text("as_sent")
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: KeyIssued
})
export type IssueBotKey = CommandOf<typeof IssueBotKey>
