/** The ledger's answer to a submission. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { stepFields, TransferStands } from "./Transfers.js"

/**
 * Journaled by index: append only. `accepted`: taken in for processing, not decided; `unknown`: no definite answer; `refused`: a
 * definite one about this submission only; `not_sent`: certainly never left the venue, or was turned away by a ledger in trouble of its
 * own, which did nothing with it; `duplicate`: another submission of the command has succeeded or is in progress, which says nothing about
 * this one.
 */
export const submissionOutcomes = ["accepted", "unknown", "refused", "not_sent", "duplicate"] as const

export const NoteSubmission = declare({
  kind: "NoteSubmission",
  code: 53,
  label: "answer to a submission",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "transfer", names: "transfer" },
  requests: {},
  fields: {
    ...stepFields,
    submissionId: Field.text("api_key"),
    outcome: Field.choice(submissionOutcomes),
    /** The ledger's error code where it refused; otherwise empty. */
    guard: Field.text("plain")
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: TransferStands
})
export type NoteSubmission = CommandOf<typeof NoteSubmission>
