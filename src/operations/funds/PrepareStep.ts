/**
 * A step's transaction as prepared by the ledger and checked against the plan. It stays the same from here on: the step is only
 * prepared again once this transaction provably can no longer take effect.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { paysOut, stepFields, TransferStands } from "./Transfers.js"

export const PrepareStep = declare({
  kind: "PrepareStep",
  code: 51,
  label: "preparation",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "transfer", names: "transfer" },
  requests: {},
  fields: {
    ...stepFields,
    /** Derived from the step's purpose and never changed, so that the ledger executes it at most once. */
    commandId: Field.text("api_key"),
    /** The prepared transaction, base64. */
    preparedTransaction: Field.text("secret"),
    /** Its hash as computed by the venue, lowercase hex. */
    hash: Field.text("secret"),
    /** The version of the hashing scheme: 2 or 3. Only from 3 on the hash covers the maximum record time. */
    hashingScheme: Field.whole("version"),
    userId: Field.text("plain"),
    synchronizerId: Field.text("plain"),
    /** The only participant by which the step may be executed. */
    participantId: Field.text("plain"),
    /** The ledger's end offset before the step was first prepared: its completions come after it. */
    ledgerEndOffset: Field.whole("count"),
    maxRecordTimeEpochMs: Field.whole("epoch_ms")
  },
  // It does not get the last room, which is for cancels: it may be as large as eighty of them, and is made for whoever asks. On a full disk
  // it leaves room to prices and marks, too (see `Room`).
  share: (command) => paysOut(command) ? "payout" : "placement",
  keeps: "every decision",
  outcome: TransferStands
})
export type PrepareStep = CommandOf<typeof PrepareStep>
