/**
 * Deposits, withdrawals and changes of the ledger party as their owners see them: without prepared transactions, hashes,
 * signatures, or any part of a credential.
 */
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import { environments } from "../../domain/Environment.js"
import type { TransferView } from "../../engine/Reads.js"
import { plannedCommands, type StepView } from "../../funds/Facts.js"
import { failureStages, stepNames, type TransferStatus } from "../../operations/funds/Transfers.js"
import type { Services } from "../http/Call.js"
import * as Fields from "../http/Fields.js"

/** Steps that an owner approves. */
export const SigningStep = Schema.Literal(
  "owner_account_acceptance",
  "treasury_offer",
  "owner_offer_acceptance",
  "treasury_withdrawal"
).annotations({ identifier: "SigningStep" })

const PlannedLedgerCommand = Schema.Struct({
  step: SigningStep,
  commandId: Fields.Text.annotations({ description: "Of the step's command on the ledger: fixed for good, however often it is tried." })
}).annotations({ identifier: "PlannedLedgerCommand" })

const LedgerOutcome = Schema.Struct({
  step: Schema.Literal(...stepNames),
  outcome: Schema.Literal(
    "sequenced_accepted",
    "submission_unknown",
    "completion_accepted",
    "not_executed",
    "submission_refused",
    "completion_refused"
  ),
  guard: Schema.NullOr(Fields.Text).annotations({
    description: "What it was refused for: the ledger's code, or one of the venue's, which the reference explains (`/docs#outcomes`)."
  })
}).annotations({ identifier: "LedgerOutcome", description: "What the ledger last said. Absent while nothing was executed." })

/** Public statuses of withdrawals, and of all other transfers. */
export const statuses = {
  withdrawal: ["requested", "submitted", "submitted_unknown", "ledger_confirmed", "rejected", "expired"],
  other: ["bound", "submitted", "submitted_unknown", "ledger_confirmed", "rejected", "expired"]
} as const satisfies Readonly<Record<string, ReadonlyArray<TransferStatus>>>

const common = {
  environment: Schema.Literal(...environments),
  accountId: Fields.Text,
  plannedLedgerCommands: Schema.Array(PlannedLedgerCommand),
  ledgerOutcome: Fields.optional(LedgerOutcome),
  approvedAtEpochMs: Fields.optional(Fields.EpochMs).annotations({
    description:
      "When its owner approved the step at hand, which the venue goes on with by itself, as soon as it can: it cannot be given up "
      + "meanwhile. Absent while that step waits for an approval, which it does again where it could not be carried out within ten "
      + "minutes, and once all is over."
  }),
  createdAtEpochMs: Fields.EpochMs,
  updatedAtEpochMs: Fields.EpochMs
}

const amount = { asset: Schema.Literal("USDC"), amountAtoms: Fields.Atoms }

export const Deposit = Schema.Struct({
  version: Schema.Literal("local-signing/v2"),
  depositId: Fields.Text,
  adminCommandId: Fields.Text.annotations({ description: "Of the treasury's part in it." }),
  fundingIntentId: Fields.Text.annotations({ description: "Of what the owner asked for." }),
  engineCommandId: Fields.Text.annotations({ description: "Of the one command that credits the account." }),
  partyId: Fields.optional(Fields.Text).annotations({
    description: "The owner's party on the ledger, which pays. Absent until it is bound, and in the answer to the request itself."
  }),
  ...amount,
  status: Schema.Literal(...statuses.other),
  ...common
}).annotations({ identifier: "Deposit" })
export type Deposit = typeof Deposit.Type

export const Withdrawal = Schema.Struct({
  version: Schema.Literal("external-withdrawal/v1"),
  withdrawalId: Fields.Text,
  destinationPartyId: Fields.Text,
  ...amount,
  status: Schema.Literal(...statuses.withdrawal),
  withdrawalFailure: Fields.optional(Schema.Literal(...failureStages)).annotations({
    description: "How far it had come when it failed. The amount was given back."
  }),
  ...common
}).annotations({ identifier: "Withdrawal" })
export type Withdrawal = typeof Withdrawal.Type

export const PartyChange = Schema.Struct({
  version: Schema.Literal("external-party-change/v1"),
  partyChangeId: Fields.Text,
  partyId: Fields.optional(Fields.Text).annotations({ description: "The party that it is to be. Absent until there is one." }),
  status: Schema.Literal(...statuses.other),
  ...common
}).annotations({ identifier: "PartyChange" })
export type PartyChange = typeof PartyChange.Type

/** The fields of a transfer that are shown. */
export interface Shown extends
  Pick<
    TransferView,
    | "number"
    | "kind"
    | "account"
    | "id"
    | "partyId"
    | "amountAtoms"
    | "status"
    | "ledgerOutcome"
    | "requestedAtEpochMs"
    | "updatedAtEpochMs"
  > {
  readonly steps: ReadonlyArray<Pick<StepView, "name">>
  readonly failure: Pick<NonNullable<TransferView["failure"]>, "stage"> | null
  /** Absent from one that is over and forgotten. */
  readonly stepAtHand?: Pick<StepView, "name" | "approval"> | undefined
}

/** The fields common to all kinds. */
const told = ({ environment, state }: Pick<Services, "environment" | "state">, transfer: Shown) => {
  const { account, ledgerOutcome, requestedAtEpochMs, stepAtHand, updatedAtEpochMs } = transfer
  const approval = stepAtHand?.approval ?? null
  const accountId = state.accountId(account)
  const isKnown = transfer.kind !== "party_change" || transfer.partyId !== ""
  return {
    environment: environment as Deposit["environment"],
    accountId,
    plannedLedgerCommands: isKnown
      ? plannedCommands(environment, { ...transfer, accountId }).filter((planned): planned is Deposit["plannedLedgerCommands"][number] =>
        planned.step !== "treasury_offer_withdrawal"
      )
      : [],
    ...(ledgerOutcome === undefined ? undefined : {
      ledgerOutcome: {
        step: ledgerOutcome.step,
        outcome: ledgerOutcome.outcome,
        guard: ledgerOutcome.guard === "" ? null : ledgerOutcome.guard
      }
    }),
    ...(approval === null ? undefined : { approvedAtEpochMs: approval.approvedAtEpochMs }),
    createdAtEpochMs: requestedAtEpochMs,
    updatedAtEpochMs
  }
}

const amountOf = ({ amountAtoms }: Shown) => ({ asset: "USDC" as const, amountAtoms: String(amountAtoms) })

const partyOf = ({ partyId }: Shown) => partyId === "" ? undefined : { partyId }

export const deposit = (services: Pick<Services, "environment" | "state">, transfer: Shown): Deposit => ({
  version: "local-signing/v2",
  depositId: transfer.id,
  adminCommandId: Ids.partOfDeposit("adm_", transfer.number),
  fundingIntentId: Ids.partOfDeposit("fin_", transfer.number),
  engineCommandId: Ids.partOfDeposit("eng_", transfer.number),
  ...partyOf(transfer),
  ...amountOf(transfer),
  status: transfer.status as Deposit["status"],
  ...told(services, transfer)
})

export const withdrawal = (services: Services, transfer: Shown): Withdrawal => ({
  version: "external-withdrawal/v1",
  withdrawalId: transfer.id,
  destinationPartyId: transfer.partyId,
  ...amountOf(transfer),
  status: transfer.status as Withdrawal["status"],
  ...(transfer.failure === null ? undefined : { withdrawalFailure: transfer.failure.stage }),
  ...told(services, transfer)
})

export const partyChange = (services: Services, transfer: Shown): PartyChange => ({
  version: "external-party-change/v1",
  partyChangeId: transfer.id,
  ...partyOf(transfer),
  status: transfer.status as PartyChange["status"],
  ...told(services, transfer)
})
