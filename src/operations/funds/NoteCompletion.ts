/** A completion of a command of the venue's, as the ledger has it in its stream. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { TransferStands } from "./Transfers.js"

/** Journaled as places in this list: add at the end. `duplicate` is a refusal that says that another submission has succeeded. */
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
    /** The ledger's code where it refused it; otherwise empty. */
    guard: Field.text("plain"),
    /** The update that it was accepted in; empty where it was not. */
    updateId: Field.text("api_key"),
    offset: Field.whole("count"),
    /** The synchronizer's time of it; 0 where the ledger does not say. */
    recordTimeEpochMs: Field.whole("epoch_ms")
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: TransferStands
})
export type NoteCompletion = CommandOf<typeof NoteCompletion>
