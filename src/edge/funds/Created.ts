/**
 * A transfer that was just requested, rendered from the request and its outcome alone, so that a repetition gets the same answer.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { type StepName, type TransferKind, transferKinds } from "../../operations/funds/Transfers.js"
import type { Outcome } from "../../operations/Operations.js"
import type { Shown } from "./TransferRecord.js"

/** All steps of a kind of transfer; a deposit after the first one omits the first step. */
const steps: Readonly<Record<TransferKind, ReadonlyArray<StepName>>> = {
  deposit: ["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"],
  withdrawal: ["treasury_withdrawal"],
  party_change: ["owner_account_acceptance"]
}

const ids = { deposit: Ids.depositId, withdrawal: Ids.withdrawalId, party_change: Ids.partyChangeId } as const

export const created = ({ atEpochMs, entries: [entry] }: Outcome, asked: Pick<Shown, "amountAtoms" | "partyId">): Shown => {
  assert(entry?._tag === "TransferRequested", "a request comes to a transfer")
  const kind = transferKinds[entry.kind]!
  return {
    ...asked,
    number: entry.transfer,
    kind,
    account: entry.account,
    id: ids[kind](entry.transfer),
    steps: steps[kind].slice(-entry.steps).map((name) => ({ name })),
    failure: null,
    requestedAtEpochMs: atEpochMs,
    updatedAtEpochMs: atEpochMs,
    status: kind === "withdrawal" ? "requested" : "bound",
    ledgerOutcome: undefined
  }
}
