/** What prevents a transfer from continuing, as its owner sees it. */
import type { TransferView } from "../../engine/Reads.js"
import type { Trouble } from "../../funds/Trouble.js"
import { codes, unknownParty } from "../../ledger/Ledger.js"
import * as Errors from "../http/Errors.js"

export const failureOf = (trouble: Trouble, { kind }: Pick<TransferView, "kind">): Errors.Failure => {
  switch (trouble._tag) {
    case "Unreachable":
      return Errors.ledgerUnavailable
    case "Stopped":
      return Errors.ledgerStopped
    case "Withheld":
      return Errors.identityBusy
    case "Declined":
      if (trouble.code === codes.inUse) return Errors.treasuryBusy
      if (trouble.code === codes.pieces) {
        const { largestAtoms = "0" } = trouble
        return Errors.tooManyPieces(kind === "withdrawal" ? "withdrawal_rejected" : "deposit_rejected", largestAtoms)
      }
      // Of a withdrawal the owner chooses the receiver, and nobody else.
      if (kind === "withdrawal" && unknownParty.has(trouble.code)) return Errors.receiverUnknown
      return Errors.ledgerDeclines(kind === "withdrawal" ? "withdrawal_rejected" : "deposit_rejected")
  }
}
