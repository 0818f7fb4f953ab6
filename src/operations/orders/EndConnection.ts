/**
 * Ends an armed stream connection: its open orders are cancelled, a bounded number per record. It names no account: the cancelled
 * orders show whose they were, and without any nobody is affected.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const EndConnection = declare({
  kind: "EndConnection",
  code: 62,
  label: "end of a connection",
  principals: [Principal.venue],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {
    /** The record that armed it. */
    connection: Field.whole(undefined)
  },
  // It only cancels, and no client has caused it to be sent now.
  share: () => "reduction",
  keeps: "every decision",
  outcome: Done
})
export type EndConnection = CommandOf<typeof EndConnection>
