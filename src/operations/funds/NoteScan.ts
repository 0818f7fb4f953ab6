/**
 * The completions since the step was first prepared, read without a gap, contain no acceptance of its command. Where all
 * submissions were refused, the step is rejected; where the maximum record time is signed and has passed, the transaction and its
 * approval are void, and the step may be prepared again.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { stepFields, TransferStands } from "./Transfers.js"

export const NoteScan = declare({
  kind: "NoteScan",
  code: 55,
  label: "scan of completions",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "transfer", names: "transfer" },
  requests: {},
  fields: {
    ...stepFields,
    /** The hash of the transaction that was searched for. */
    hash: Field.text("secret"),
    throughOffset: Field.whole("count"),
    /** The synchronizer's time at that offset. */
    recordTimeEpochMs: Field.whole("epoch_ms")
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: TransferStands
})
export type NoteScan = CommandOf<typeof NoteScan>
