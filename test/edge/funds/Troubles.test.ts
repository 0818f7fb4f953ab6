/** What an owner is told of a transfer that does not go on: which failure, and whose matter it is. */
import { expect, test } from "vitest"
import { failureOf } from "../../../src/edge/funds/Troubles.js"
import { Declined, Stopped, type Trouble, Unreachable, Withheld } from "../../../src/funds/Trouble.js"
import { codes } from "../../../src/ledger/Ledger.js"

const declined = (code: string) => new Declined({ code, detail: "d", largestAtoms: "7000000" })

type Kind = "deposit" | "withdrawal" | "party_change"

const rows: ReadonlyArray<readonly [trouble: Trouble, kind: Kind, name: string]> = [
  [new Unreachable({ whom: "ledger", detail: "d" }), "withdrawal", "LedgerUnavailable"],
  [new Stopped({ reason: "signer_refused", detail: "d" }), "deposit", "LedgerStopped"],
  [new Withheld({ refusal: "r" }), "deposit", "IdentityBusy"],
  [declined(codes.inUse), "withdrawal", "TreasuryBusy"],
  [declined(codes.pieces), "withdrawal", "WithdrawalInPieces"],
  [declined(codes.pieces), "deposit", "DepositInPieces"],
  [declined("UNKNOWN_INFORMEES"), "withdrawal", "WithdrawalReceiverUnknown"],
  [declined("UNKNOWN_RECIPIENTS"), "withdrawal", "WithdrawalReceiverUnknown"],
  [declined("PARTY_NOT_KNOWN_ON_LEDGER"), "withdrawal", "WithdrawalReceiverUnknown"],
  // The party of a deposit is the venue's own work: its owner has nothing to put right in it.
  [declined("UNKNOWN_INFORMEES"), "deposit", "DepositDeclined"],
  [declined("UNKNOWN_INFORMEES"), "party_change", "DepositDeclined"],
  [declined(codes.notFound), "withdrawal", "WithdrawalDeclined"],
  [declined(codes.notFound), "deposit", "DepositDeclined"]
]

test("each trouble is told as what it is", () => {
  expect(rows.map(([trouble, kind]) => failureOf(trouble, { kind }).description.name)).toEqual(rows.map(([, , name]) => name))
})

test("an owner who withdraws is never told to see to the party that pays, which is the venue's", () => {
  const told = rows.filter(([trouble, kind]) => trouble._tag === "Declined" && trouble.code !== codes.pieces && kind === "withdrawal")
    .map(([trouble, kind]) => failureOf(trouble, { kind }).description.safeMessage)
  expect(told.filter((text) => text.includes("party that pays"))).toEqual([])
})
