/**
 * The table of finished deposits, withdrawals and changes of ledger parties, each as last reported. Rows are clustered by account
 * and kind, newest first, so that a page is one contiguous run of rows. It contains nothing that could be signed or used as a
 * proof.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { ToldTransfer } from "../engine/EventLog.js"
import { failureStages, stepNames, type TransferKind, transferKinds, transferStatuses } from "../operations/funds/Transfers.js"
import { put, run, table } from "./Sql.js"

export type TransferRow = ToldTransfer

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE transfer (
    account INTEGER NOT NULL, kind INTEGER NOT NULL, number INTEGER NOT NULL, amount INTEGER NOT NULL, party TEXT NOT NULL,
    steps TEXT NOT NULL, status INTEGER NOT NULL, failed_at INTEGER, outcome_step INTEGER, outcome TEXT, guard TEXT,
    requested_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, last_sequence INTEGER NOT NULL, PRIMARY KEY (account, kind, number DESC)
  ) STRICT, WITHOUT ROWID`
]

const columns = (row: TransferRow): ReadonlyArray<string | number | null> => [
  row.account,
  transferKinds.indexOf(row.kind),
  row.number,
  row.amountAtoms,
  row.partyId,
  row.steps.map((step) => stepNames.indexOf(step)).join(),
  transferStatuses.indexOf(row.status),
  row.failedAt === null ? null : failureStages.indexOf(row.failedAt),
  row.ledgerOutcome === null ? null : stepNames.indexOf(row.ledgerOutcome.step),
  row.ledgerOutcome?.outcome ?? null,
  row.ledgerOutcome?.guard ?? null,
  row.requestedAtEpochMs,
  row.updatedAtEpochMs,
  row.lastSequence
]

const transferTable = table("transfer", 14, columns)

/** Writes transfers, each in the place of what it was; within the transaction of their batch. */
export const write = (sql: SqlClient.SqlClient, rows: Iterable<TransferRow>): Effect.Effect<void, SqlError> => put(sql, transferTable, rows)

interface Stored {
  readonly account: number
  readonly kind: number
  readonly number: number
  readonly amount: number
  readonly party: string
  readonly steps: string
  readonly status: number
  readonly failed_at: number | null
  readonly outcome_step: number | null
  readonly outcome: NonNullable<TransferRow["ledgerOutcome"]>["outcome"] | null
  readonly guard: string | null
  readonly requested_at: number
  readonly updated_at: number
  readonly last_sequence: number
}

const outcomeOf = ({ guard, outcome, outcome_step: step }: Stored): TransferRow["ledgerOutcome"] =>
  outcome === null || step === null || guard === null ? null : { step: stepNames[step]!, outcome, guard }

const transferOf = (row: Stored): TransferRow => ({
  number: row.number,
  kind: transferKinds[row.kind]!,
  account: row.account,
  amountAtoms: row.amount,
  partyId: row.party,
  steps: row.steps.split(",").map((step) => stepNames[Number(step)]!),
  status: transferStatuses[row.status]!,
  failedAt: row.failed_at === null ? null : failureStages[row.failed_at]!,
  ledgerOutcome: outcomeOf(row),
  requestedAtEpochMs: row.requested_at,
  updatedAtEpochMs: row.updated_at,
  lastSequence: row.last_sequence
})

/** Which of an account's transfers of a kind: older than a number (`Infinity`: from the newest). */
export interface TransfersAsked {
  readonly account: number
  readonly kind: TransferKind
  readonly before: number
  readonly limit: number
}

/** An account's transfers of a kind that are over, newest first. */
export const transfersBefore = (
  sql: SqlClient.SqlClient,
  { account, before, kind, limit }: TransfersAsked
): Effect.Effect<ReadonlyArray<TransferRow>, SqlError> =>
  Effect.map(
    run<Stored>(
      sql,
      "SELECT * FROM transfer WHERE account = ? AND kind = ? AND number < ? ORDER BY number DESC LIMIT ?",
      [account, transferKinds.indexOf(kind), Math.min(before, Number.MAX_SAFE_INTEGER), limit]
    ),
    (rows) => rows.map(transferOf)
  )
