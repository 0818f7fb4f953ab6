/**
 * Sets the public handle of an account. The chosen name is followed by a dot and the number of the record, so that no two accounts
 * have the same handle, nobody can take over another's, and the handle does not reveal the account.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

const chosenPattern = /^[A-Za-z0-9_-]{3,20}$/

/** Whether a name may be chosen: 3..20 of `[A-Za-z0-9_-]`. */
export const isChosen = (text: string): boolean => chosenPattern.test(text)

/** The handle that a record sets. */
export const handleOf = (chosen: string, sequence: number): string => `${chosen}.${sequence.toString(36)}`

export const SetDisplayHandle = declare({
  kind: "SetDisplayHandle",
  code: 16,
  label: "display handle",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  // It trades nothing.
  underHalt: "taken",
  keyScope: "account",
  whose: "sender",
  requests: { setDisplayHandleV1: { code: 13, lookup: "set_display_handle" } },
  fields: {
    /** What the account chose. */
    chosen: Field.text("as_sent")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type SetDisplayHandle = CommandOf<typeof SetDisplayHandle>
