/** Signs the owner out: ends the session that sends it, or every other one of the account. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const EndSession = declare({
  kind: "EndSession",
  code: 30,
  label: "sign-out",
  principals: [Principal.session],
  permission: "owner",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { endSession: { code: 44, lookup: null } },
  fields: {
    remoteAddress: Field.text("as_sent"),
    /** Ends all other sessions of the account in place of the one that sends it. */
    isElsewhere: Field.addedFlag
  },
  share: () => "revocation",
  keeps: "every decision",
  outcome: Done
})
export type EndSession = CommandOf<typeof EndSession>
