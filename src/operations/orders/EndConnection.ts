/**
 * A connection of the stream has ended that asked for it: its open orders are cancelled, so many of them in a record. It names no account:
 * what it cancels tells whose it was, and where it cancels nothing nothing has happened to anybody.
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
  // It cancels, and it is nobody's fault that it comes.
  share: () => "reduction",
  keeps: "every decision",
  outcome: Done
})
export type EndConnection = CommandOf<typeof EndConnection>
