/** The planned content of a transfer's steps, from the journal. */
import type { TransferView } from "../engine/Reads.js"
import * as Planned from "../ledger/Planned.js"
import type { StepName } from "../operations/funds/Transfers.js"

export type StepView = TransferView["steps"][number]
export type PreparationView = NonNullable<StepView["preparation"]>

/** The fields of a transfer on which its plans depend. */
export type Planning = Pick<TransferView, "kind" | "id" | "partyId" | "amountAtoms"> & { readonly accountId: string }

/** The planned facts of a step. */
export const factsOf = (step: StepName, { accountId, amountAtoms, id: transferId, kind, partyId }: Planning): Planned.Facts => {
  switch (step) {
    case "owner_account_acceptance":
      return { step, accountId, owner: partyId, isChange: kind === "party_change" }
    case "treasury_offer":
    case "owner_offer_acceptance":
    case "treasury_offer_withdrawal":
      return { step, transferId, owner: partyId, amountAtoms }
    case "treasury_withdrawal":
      return { step, transferId, receiver: partyId, amountAtoms }
  }
}

/** The steps of a transfer with their command ids, which are fixed before anything is prepared. */
export const plannedCommands = (
  environment: string,
  transfer: Planning & { readonly steps: ReadonlyArray<Pick<StepView, "name">> }
): ReadonlyArray<{ readonly step: StepName; readonly commandId: string }> =>
  transfer.steps.map(({ name }) => ({ step: name, commandId: Planned.commandId(environment, factsOf(name, transfer)) }))
