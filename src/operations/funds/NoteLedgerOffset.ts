/** Every completion up to an offset was looked at: whoever goes on begins behind it. */
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
    /** The synchronizer's time there; 0 where the ledger does not say. */
    recordTimeEpochMs: Field.whole("epoch_ms")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type NoteLedgerOffset = CommandOf<typeof NoteLedgerOffset>
