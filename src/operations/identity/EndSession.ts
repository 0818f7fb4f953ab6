/** Signs the owner out: the session that it comes by ends, or every other one of the account. */
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
    /** Ends all others of the account instead, and the session that it comes by stays. */
    isElsewhere: Field.addedFlag
  },
  share: () => "revocation",
  keeps: "every decision",
  outcome: Done
})
export type EndSession = CommandOf<typeof EndSession>
