/** What the ledger answered to a submission. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { stepFields, TransferStands } from "./Transfers.js"

/**
 * Journaled as places in this list: add at the end. `accepted` is taken in, and not decided yet; `unknown` is anything but a definite
 * answer; `refused` a definite one that ends this submission and no other; of `not_sent` it is certain that nothing left the venue;
 * `duplicate` says that another submission of the command has succeeded or is under way, and so nothing of this one.
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
    /** The ledger's code where it refused it; otherwise empty. */
    guard: Field.text("plain")
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: TransferStands
})
export type NoteSubmission = CommandOf<typeof NoteSubmission>
