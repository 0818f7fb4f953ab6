/** The current step is about to be submitted. From here on the ledger may have it, until its result is known. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { paysOut, stepFields, TransferStands } from "./Transfers.js"

export const BeginSubmission = declare({
  kind: "BeginSubmission",
  code: 52,
  label: "submission",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "transfer", names: "transfer" },
  requests: {},
  fields: {
    ...stepFields,
    submissionId: Field.text("api_key")
  },
  // Where an approval found room, so does this: what has been signed for it counts in the treasury's limits already.
  share: (command) => paysOut(command) ? "reduction" : "placement",
  keeps: "every decision",
  outcome: TransferStands
})
export type BeginSubmission = CommandOf<typeof BeginSubmission>
