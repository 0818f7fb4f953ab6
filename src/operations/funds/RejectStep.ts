/**
 * The current step can never be submitted and never was: the prepared transaction differs from the plan, or the signer refuses for
 * good.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { failureStages, stepFields, TransferStands } from "./Transfers.js"

export const RejectStep = declare({
  kind: "RejectStep",
  code: 56,
  label: "rejection of a step",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "transfer", names: "transfer" },
  requests: {},
  fields: {
    ...stepFields,
    stage: Field.choice(failureStages),
    guard: Field.text("plain")
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: TransferStands
})
export type RejectStep = CommandOf<typeof RejectStep>
