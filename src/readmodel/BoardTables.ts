/** The tables of the leaderboard: sums by account and window, and the boards that are kept, each with its places. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { BoardHead, Decile, Entry } from "./Boards.js"
import type { ScoreRow, Sums } from "./Scores.js"
import { inOne, put, run, table } from "./Sql.js"
import { type WindowKind, windowKinds } from "./Windows.js"

/** Boards kept of each window: with one a minute, a client may page through a board for this many minutes. */
const boardsKept = 10

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE score (
    window INTEGER NOT NULL, account INTEGER NOT NULL, period_start INTEGER NOT NULL,
    realized_pnl TEXT NOT NULL, fees_paid TEXT NOT NULL, funding_paid TEXT NOT NULL, closed_notional TEXT NOT NULL,
    fill_count INTEGER NOT NULL, PRIMARY KEY (window, account)
  ) STRICT, WITHOUT ROWID`,
  "CREATE TABLE flag (account INTEGER PRIMARY KEY, flags INTEGER NOT NULL) STRICT",
  `CREATE TABLE board (
    window INTEGER NOT NULL, version INTEGER NOT NULL, mark INTEGER NOT NULL, through_sequence INTEGER NOT NULL,
    period_start INTEGER NOT NULL, period_end INTEGER NOT NULL, histogram TEXT NOT NULL, PRIMARY KEY (window, version)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE board_entry (
    window INTEGER NOT NULL, version INTEGER NOT NULL, rank INTEGER NOT NULL, account INTEGER NOT NULL, is_bot INTEGER NOT NULL,
    score TEXT NOT NULL, realized_pnl TEXT NOT NULL, fees_paid TEXT NOT NULL, funding_paid TEXT NOT NULL,
    closed_notional TEXT NOT NULL, fill_count INTEGER NOT NULL, PRIMARY KEY (window, version, rank)
  ) STRICT, WITHOUT ROWID`
]

const scoreTable = table("score", 8, (row: ScoreRow) => [row.window, row.account, row.periodStartEpochMs, ...sumColumns(row)])
const flagTable = table("flag", 2, (row: readonly [account: number, flags: number]) => row)
const boardTable = table("board", 7, (row: ReadonlyArray<string | number>) => row)

/** An entry of a board. */
interface OwnEntry {
  readonly window: number
  readonly version: number
  readonly entry: Entry
}

const entryTable = table("board_entry", 11, ({ entry, version, window }: OwnEntry) => [
  window,
  version,
  entry.rank,
  entry.account,
  entry.isBot ? 1 : 0,
  String(entry.scoreAtoms),
  ...sumColumns(entry)
])

/** Writes sums and flags; within the transaction of their batch. */
export const write = (
  sql: SqlClient.SqlClient,
  scores: ReadonlyArray<ScoreRow>,
  flags: ReadonlyArray<readonly [account: number, flags: number]>
): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    yield* put(sql, scoreTable, scores)
    yield* put(sql, flagTable, flags)
  })

/** Sums as they are stored. */
interface StoredSums {
  readonly realized_pnl: string
  readonly fees_paid: string
  readonly funding_paid: string
  readonly closed_notional: string
  readonly fill_count: number
}

/** Columns of sums, in the order of the tables. */
const sumColumns = (sums: Sums): ReadonlyArray<string | number> => [
  String(sums.realizedPnlAtoms),
  String(sums.feesPaidAtoms),
  String(sums.fundingPaidAtoms),
  String(sums.closedNotionalAtoms),
  sums.fillCount
]

const sumsOf = (row: StoredSums): Sums => ({
  realizedPnlAtoms: BigInt(row.realized_pnl),
  feesPaidAtoms: BigInt(row.fees_paid),
  fundingPaidAtoms: BigInt(row.funding_paid),
  closedNotionalAtoms: BigInt(row.closed_notional),
  fillCount: row.fill_count
})

interface StoredScore extends StoredSums {
  readonly window: number
  readonly account: number
  readonly period_start: number
}

const scoreRow = (row: StoredScore): ScoreRow => ({
  window: row.window,
  account: row.account,
  periodStartEpochMs: row.period_start,
  ...sumsOf(row)
})

/** All sums. */
export const scores = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<ScoreRow>, SqlError> =>
  Effect.map(run<StoredScore>(sql, "SELECT * FROM score"), (found) => found.map(scoreRow))

/** Sums that are read at once for a board. */
const readAtOnce = 1_000

/** The sums of a window since its period began, without accounts that have any of the given flags, one part at a time. */
export const scoresOf = (
  sql: SqlClient.SqlClient,
  window: WindowKind,
  periodStartEpochMs: number,
  without: number
): Effect.Effect<ReadonlyArray<ScoreRow>, SqlError> =>
  Effect.gen(function*() {
    const all: Array<ScoreRow> = []
    for (let behind = -1;;) {
      const found = yield* run<StoredScore>(
        sql,
        `SELECT score.* FROM score LEFT JOIN flag USING (account)
          WHERE window = ? AND account > ? AND period_start = ? AND coalesce(flags, 0) & ? = 0 ORDER BY account LIMIT ${readAtOnce}`,
        [windowKinds.indexOf(window), behind, periodStartEpochMs, without]
      )
      for (const row of found) all.push(scoreRow(row))
      if (found.length < readAtOnce) return all
      behind = found.at(-1)!.account
      yield* Effect.yieldNow()
    }
  })

/** The flags of all accounts that have had any. */
export const flags = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<readonly [account: number, flags: number]>, SqlError> =>
  Effect.map(
    run<{ readonly account: number; readonly flags: number }>(sql, "SELECT account, flags FROM flag"),
    (found) => found.map((each) => [each.account, each.flags] as const)
  )

/** Accounts with any of the given flags. */
export const flagged = (sql: SqlClient.SqlClient, flag: number): Effect.Effect<ReadonlySet<number>, SqlError> =>
  Effect.map(
    run<{ readonly account: number }>(sql, "SELECT account FROM flag WHERE flags & ? <> 0", [flag]),
    (found) => new Set(found.map(({ account }) => account))
  )

/** Keeps a board beside the latest of its window. */
export const keepBoard = (sql: SqlClient.SqlClient, head: BoardHead, entries: ReadonlyArray<Entry>): Effect.Effect<void, SqlError> => {
  const window = windowKinds.indexOf(head.window)
  const { histogram, markEpochMs, periodEndEpochMs, periodStartEpochMs, throughSequence, version } = head
  const deciles = histogram.map((
    { accountCount, maximumScoreAtoms, minimumScoreAtoms, percentileUpperBoundBps }
  ) => [percentileUpperBoundBps, String(minimumScoreAtoms), String(maximumScoreAtoms), accountCount])
  return inOne(
    sql,
    Effect.gen(function*() {
      const row = [window, version, markEpochMs, throughSequence, periodStartEpochMs, periodEndEpochMs, JSON.stringify(deciles)]
      yield* put(sql, boardTable, [row])
      yield* put(sql, entryTable, entries.map((entry) => ({ window, version, entry })))
      const kept = "SELECT version FROM board WHERE window = ? ORDER BY version DESC LIMIT ?"
      yield* run(sql, `DELETE FROM board_entry WHERE window = ? AND version NOT IN (${kept})`, [window, window, boardsKept])
      yield* run(sql, `DELETE FROM board WHERE window = ? AND version NOT IN (${kept})`, [window, window, boardsKept])
    })
  )
}

interface StoredBoard {
  readonly version: number
  readonly mark: number
  readonly through_sequence: number
  readonly period_start: number
  readonly period_end: number
  readonly histogram: string
}

const decileOf = ([percentileUpperBoundBps, minimum, maximum, accountCount]: readonly [number, string, string, number]): Decile => ({
  percentileUpperBoundBps,
  minimumScoreAtoms: BigInt(minimum),
  maximumScoreAtoms: BigInt(maximum),
  accountCount
})

/** A board of a window, the latest unless a version is given; undefined where it is not kept. */
export const boardHead = (
  sql: SqlClient.SqlClient,
  window: WindowKind,
  version: number | undefined
): Effect.Effect<BoardHead | undefined, SqlError> => {
  const place = windowKinds.indexOf(window)
  const found = version === undefined
    ? run<StoredBoard>(sql, "SELECT * FROM board WHERE window = ? ORDER BY version DESC LIMIT 1", [place])
    : run<StoredBoard>(sql, "SELECT * FROM board WHERE window = ? AND version = ?", [place, version])
  return Effect.map(found, ([row]) =>
    row === undefined ? undefined : {
      window,
      version: row.version,
      markEpochMs: row.mark,
      throughSequence: row.through_sequence,
      periodStartEpochMs: row.period_start,
      periodEndEpochMs: row.period_end,
      histogram: (JSON.parse(row.histogram) as ReadonlyArray<readonly [number, string, string, number]>).map(decileOf)
    })
}

interface StoredEntry extends StoredSums {
  readonly rank: number
  readonly account: number
  readonly is_bot: number
  readonly score: string
}

/** Entries of a board after a rank. */
export const entriesBehind = (
  sql: SqlClient.SqlClient,
  { version, window }: BoardHead,
  rank: number,
  limit: number
): Effect.Effect<ReadonlyArray<Entry>, SqlError> =>
  Effect.map(
    run<StoredEntry>(
      sql,
      "SELECT * FROM board_entry WHERE window = ? AND version = ? AND rank > ? ORDER BY rank LIMIT ?",
      [windowKinds.indexOf(window), version, rank, limit]
    ),
    (found) =>
      found.map((row) => ({
        rank: row.rank,
        account: row.account,
        isBot: row.is_bot === 1,
        scoreAtoms: BigInt(row.score),
        ...sumsOf(row)
      }))
  )
