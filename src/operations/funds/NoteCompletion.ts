/** A completion of one of the venue's commands in the ledger's stream. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { TransferStands } from "./Transfers.js"

/** Journaled by index: append only. `duplicate` is a refusal because another submission has succeeded. */
export const completionOutcomes = ["accepted", "refused", "duplicate"] as const

export const NoteCompletion = declare({
  kind: "NoteCompletion",
  code: 54,
  label: "completion",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "commandId", names: "ledger_command" },
  requests: {},
  fields: {
    commandId: Field.text("api_key"),
    submissionId: Field.text("api_key"),
    outcome: Field.choice(completionOutcomes),
    /** The ledger's error code where it refused; otherwise empty. */
    guard: Field.text("plain"),
    /** The update in which it was accepted; otherwise empty. */
    updateId: Field.text("api_key"),
    offset: Field.whole("count"),
    /** The synchronizer's record time; 0 where the ledger does not report it. */
    recordTimeEpochMs: Field.whole("epoch_ms")
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: TransferStands
})
export type NoteCompletion = CommandOf<typeof NoteCompletion>
