/**
 * The tables of balance changes and funding payments. Rows are clustered by account, newest first, so that a page is one contiguous
 * run of rows.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { ChangeRow, MoneyPlace, PaymentRow } from "./Money.js"
import { put, run, table } from "./Sql.js"

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE balance_change (
    account INTEGER NOT NULL, sequence INTEGER NOT NULL, place INTEGER NOT NULL, at_epoch_ms INTEGER NOT NULL, cause INTEGER NOT NULL,
    market INTEGER NOT NULL, amount INTEGER NOT NULL, balance INTEGER NOT NULL, PRIMARY KEY (account, sequence DESC, place)
  ) STRICT, WITHOUT ROWID`,
  "CREATE INDEX balance_change_of_market ON balance_change (account, market, sequence DESC, place)",
  `CREATE TABLE funding_payment (
    account INTEGER NOT NULL, sequence INTEGER NOT NULL, place INTEGER NOT NULL, at_epoch_ms INTEGER NOT NULL, market INTEGER NOT NULL,
    ended_at INTEGER NOT NULL, quantity INTEGER NOT NULL, index_price INTEGER NOT NULL, rate INTEGER NOT NULL,
    interval_ms INTEGER NOT NULL, paid INTEGER NOT NULL, PRIMARY KEY (account, sequence DESC, place)
  ) STRICT, WITHOUT ROWID`
]

const changeColumns = (row: ChangeRow): ReadonlyArray<number> => [
  row.account,
  row.sequence,
  row.place,
  row.atEpochMs,
  row.cause,
  row.market,
  row.amountAtoms,
  row.balanceAtoms
]

const paymentColumns = (row: PaymentRow): ReadonlyArray<number> => [
  row.account,
  row.sequence,
  row.place,
  row.atEpochMs,
  row.market,
  row.endedAtEpochMs,
  row.quantityAtoms,
  row.indexPriceAtoms,
  row.rate8hE9,
  row.intervalMs,
  row.paidAtoms
]

const changeTable = table("balance_change", 8, changeColumns)
const paymentTable = table("funding_payment", 11, paymentColumns)

/** What is written of a batch. */
export interface MoneyRows {
  readonly changes: Iterable<ChangeRow>
  readonly payments: Iterable<PaymentRow>
}

/** Writes changes and payments; within the transaction of their batch. */
export const write = (sql: SqlClient.SqlClient, { changes, payments }: MoneyRows): Effect.Effect<void, SqlError> =>
  Effect.zipRight(put(sql, changeTable, changes), put(sql, paymentTable, payments))

interface StoredChange {
  readonly account: number
  readonly sequence: number
  readonly place: number
  readonly at_epoch_ms: number
  readonly cause: number
  readonly market: number
  readonly amount: number
  readonly balance: number
}

const changeOf = (row: StoredChange): ChangeRow => ({
  account: row.account,
  sequence: row.sequence,
  place: row.place,
  atEpochMs: row.at_epoch_ms,
  cause: row.cause,
  market: row.market,
  amountAtoms: row.amount,
  balanceAtoms: row.balance
})

interface StoredPayment {
  readonly account: number
  readonly sequence: number
  readonly place: number
  readonly at_epoch_ms: number
  readonly market: number
  readonly ended_at: number
  readonly quantity: number
  readonly index_price: number
  readonly rate: number
  readonly interval_ms: number
  readonly paid: number
}

const paymentOf = (row: StoredPayment): PaymentRow => ({
  account: row.account,
  sequence: row.sequence,
  place: row.place,
  atEpochMs: row.at_epoch_ms,
  market: row.market,
  endedAtEpochMs: row.ended_at,
  quantityAtoms: row.quantity,
  indexPriceAtoms: row.index_price,
  rate8hE9: row.rate,
  intervalMs: row.interval_ms,
  paidAtoms: row.paid
})

/** Selects an account's rows: in one market and before a place, if given. */
export interface MoneyAsked {
  readonly account: number
  readonly market: number | undefined
  readonly before: MoneyPlace | undefined
  readonly limit: number
}

/** An account's rows in a table, newest first; in one market only of a table with an index for that. */
const select = <Row extends object>(
  sql: SqlClient.SqlClient,
  table: string,
  { account, before, limit, market }: MoneyAsked
): Effect.Effect<ReadonlyArray<Row>, SqlError> =>
  run<Row>(
    sql,
    // The index is named, since the planner prefers the primary key, and would go through the account's rows of all markets.
    `SELECT * FROM ${table} ${market === undefined ? "" : `INDEXED BY ${table}_of_market`}
      WHERE account = ? ${market === undefined ? "" : "AND market = ?"}
      ${before === undefined ? "" : "AND sequence <= ? AND (sequence < ? OR place > ?)"} ORDER BY sequence DESC, place LIMIT ?`,
    [
      account,
      ...(market === undefined ? [] : [market]),
      ...(before === undefined ? [] : [before.sequence, before.sequence, before.place]),
      limit
    ]
  )

/** Changes of an account's balance, newest first. */
export const changesBefore = (sql: SqlClient.SqlClient, asked: MoneyAsked): Effect.Effect<ReadonlyArray<ChangeRow>, SqlError> =>
  Effect.map(select<StoredChange>(sql, "balance_change", asked), (rows) => rows.map(changeOf))

/** An account's payments of funding in all markets, newest first. */
export const paymentsBefore = (
  sql: SqlClient.SqlClient,
  asked: Omit<MoneyAsked, "market">
): Effect.Effect<ReadonlyArray<PaymentRow>, SqlError> =>
  Effect.map(select<StoredPayment>(sql, "funding_payment", { ...asked, market: undefined }), (rows) => rows.map(paymentOf))
