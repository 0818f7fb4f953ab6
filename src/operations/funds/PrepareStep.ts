/**
 * The transaction of a step as the ledger prepared it, held to the plan before. It is never another one from here on: a step is
 * prepared anew only once this one can provably take no effect any more.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { stepFields, TransferStands } from "./Transfers.js"

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
    /** Fixed for good: from what it is for, so that the ledger takes it once. */
    commandId: Field.text("api_key"),
    /** The prepared transaction, base64. */
    preparedTransaction: Field.text("secret"),
    /** Its hash, as it was computed here, lowercase hex. */
    hash: Field.text("secret"),
    /** The version of the hashing scheme: 2 or 3. Only from 3 on the largest record time is part of the hash. */
    hashingScheme: Field.whole("version"),
    userId: Field.text("plain"),
    synchronizerId: Field.text("plain"),
    /** The only participant that the step is ever executed by. */
    participantId: Field.text("plain"),
    /** The ledger's end before the step was first prepared: from there on its completions are looked for. */
    ledgerEndOffset: Field.whole("count"),
    maxRecordTimeEpochMs: Field.whole("epoch_ms")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: TransferStands
})
export type PrepareStep = CommandOf<typeof PrepareStep>
