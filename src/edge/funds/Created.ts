/** A transfer as it stands when it was just asked for: made of the request and of what it came to alone, so that a repeated one gets the same. */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import type { TransferView } from "../../engine/Reads.js"
import { type StepName, type TransferKind, transferKinds } from "../../operations/funds/Transfers.js"
import type { Outcome } from "../../operations/Operations.js"

const stepsOf = (kind: TransferKind, count: number): ReadonlyArray<StepName> => {
  const all: Readonly<Record<TransferKind, ReadonlyArray<StepName>>> = {
    deposit: ["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"],
    withdrawal: ["treasury_withdrawal"],
    party_change: ["owner_account_acceptance"]
  }
  // A later deposit leaves the first step out.
  return all[kind].slice(-count)
}

const idOf = (kind: TransferKind, number: number): string =>
  kind === "deposit" ? Ids.depositId(number) : kind === "withdrawal" ? Ids.withdrawalId(number) : Ids.partyChangeId(number)

export const created = (outcome: Outcome, asked: Pick<TransferView, "amountAtoms" | "partyId">): TransferView => {
  const [entry] = outcome.entries
  assert(entry?._tag === "TransferRequested", "a request comes to a transfer")
  const kind = transferKinds[entry.kind]!
  const { atEpochMs, sequence } = outcome
  return {
    ...asked,
    number: entry.transfer,
    kind,
    account: entry.account,
    id: idOf(kind, entry.transfer),
    keyId: "",
    steps: stepsOf(kind, entry.steps).map((name) => ({
      name,
      binding: null,
      preparation: null,
      approval: null,
      submissions: [],
      unlisted: 0,
      preparations: 0,
      confirmation: null,
      alarmedOffset: 0
    })),
    end: null,
    failure: null,
    isSettled: false,
    dueSinceEpochMs: atEpochMs,
    requestedAtEpochMs: atEpochMs,
    updatedAtEpochMs: atEpochMs,
    lastSequence: sequence,
    status: kind === "withdrawal" ? "requested" : "bound",
    awaits: "preparation",
    stepAtHand: undefined,
    ledgerOutcome: undefined
  }
}
