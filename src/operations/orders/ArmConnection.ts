/** Arms a stream connection: orders placed over it from here on are cancelled when it ends. Its number is the record's sequence. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const ArmConnection = declare({
  kind: "ArmConnection",
  code: 61,
  label: "cancel-on-disconnect",
  principals: [Principal.key],
  permission: "trade",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { armConnection: { code: 71, lookup: null } },
  fields: {
    /** The connection's id in its `hello`. */
    connectionId: Field.text("plain")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type ArmConnection = CommandOf<typeof ArmConnection>
