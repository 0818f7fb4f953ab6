/** Every completion up to an offset has been read, and reading continues after it. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const NoteLedgerOffset = declare({
  kind: "NoteLedgerOffset",
  code: 57,
  label: "ledger offset",
  principals: [Principal.ledger],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {
    offset: Field.whole("count"),
    /** The synchronizer's record time there; 0 where the ledger does not report it. */
    recordTimeEpochMs: Field.whole("epoch_ms")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type NoteLedgerOffset = CommandOf<typeof NoteLedgerOffset>
