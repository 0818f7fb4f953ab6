/**
 * The table of security events. Rows are clustered by account, newest first, by their gapless ordinals from 0. They never change.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { ToldNote } from "../engine/EventLog.js"
import { put, run, table } from "./Sql.js"

export type NoteRow = ToldNote

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE security_event (
    account INTEGER NOT NULL, ordinal INTEGER NOT NULL, kind TEXT NOT NULL, sequence INTEGER NOT NULL, at_epoch_ms INTEGER NOT NULL,
    credential_id TEXT NOT NULL, remote_address TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (account, ordinal DESC)
  ) STRICT, WITHOUT ROWID`
]

const columns = (row: NoteRow): ReadonlyArray<string | number> => [
  row.account,
  row.ordinal,
  row.kind,
  row.sequence,
  row.atEpochMs,
  row.credentialId,
  row.remoteAddress,
  row.detail
]

const eventTable = table("security_event", 8, columns)

/** Writes events; within the transaction of their batch. */
export const write = (sql: SqlClient.SqlClient, rows: Iterable<NoteRow>): Effect.Effect<void, SqlError> => put(sql, eventTable, rows)

interface Stored {
  readonly account: number
  readonly ordinal: number
  readonly kind: NoteRow["kind"]
  readonly sequence: number
  readonly at_epoch_ms: number
  readonly credential_id: string
  readonly remote_address: string
  readonly detail: string
}

const noteOf = (row: Stored): NoteRow => ({
  ordinal: row.ordinal,
  account: row.account,
  kind: row.kind,
  sequence: row.sequence,
  atEpochMs: row.at_epoch_ms,
  credentialId: row.credential_id,
  remoteAddress: row.remote_address,
  detail: row.detail
})

/** Which of an account's events: older than an ordinal (`Infinity`: from the newest). */
export interface NotesAsked {
  readonly account: number
  readonly before: number
  readonly limit: number
}

/** What concerned the security of an account, newest first. */
export const notesBefore = (
  sql: SqlClient.SqlClient,
  { account, before, limit }: NotesAsked
): Effect.Effect<ReadonlyArray<NoteRow>, SqlError> =>
  Effect.map(
    run<Stored>(
      sql,
      "SELECT * FROM security_event WHERE account = ? AND ordinal < ? ORDER BY ordinal DESC LIMIT ?",
      [account, Math.min(before, Number.MAX_SAFE_INTEGER), limit]
    ),
    (rows) => rows.map(noteOf)
  )
