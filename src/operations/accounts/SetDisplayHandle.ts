/**
 * Gives an account the name by which others may see it. What the account chose is followed by a dot and the number of the
 * record that set it: so no two accounts are ever called the same, nobody can take another's name, and the name leads
 * nobody to the account.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

const chosenPattern = /^[A-Za-z0-9_-]{3,20}$/

/** Whether an account may choose this: 3..20 of `[A-Za-z0-9_-]`. */
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
