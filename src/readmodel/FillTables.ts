/** The tables of fills: each fill once, by its ordinal, and under each of its two accounts. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type * as Order from "../domain/Order.js"
import type { FillRow } from "./Fills.js"
import { firstKeySince, put, run, table } from "./Sql.js"

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE fill (
    ordinal INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, at_epoch_ms INTEGER NOT NULL, market INTEGER NOT NULL,
    price INTEGER NOT NULL, size INTEGER NOT NULL, maker_order INTEGER NOT NULL, taker_order INTEGER NOT NULL,
    maker_account INTEGER NOT NULL, taker_account INTEGER NOT NULL, taker_side INTEGER NOT NULL,
    maker_fee INTEGER NOT NULL, taker_fee INTEGER NOT NULL
  ) STRICT`,
  "CREATE INDEX fill_of_market ON fill (market, ordinal)",
  `CREATE TABLE own_fill (
    account INTEGER NOT NULL, ordinal INTEGER NOT NULL, market INTEGER NOT NULL, PRIMARY KEY (account, ordinal)
  ) STRICT, WITHOUT ROWID`,
  "CREATE INDEX own_fill_of_market ON own_fill (account, market, ordinal)"
]

const columns = (fill: FillRow): ReadonlyArray<number> => [
  fill.ordinal,
  fill.sequence,
  fill.atEpochMs,
  fill.market,
  fill.priceAtoms,
  fill.sizeAtoms,
  fill.makerOrder,
  fill.takerOrder,
  fill.makerAccount,
  fill.takerAccount,
  fill.takerSide,
  fill.makerFeeAtoms,
  fill.takerFeeAtoms
]

/** Both accounts of each fill. */
const sides = function*(fills: Iterable<FillRow>): Iterable<ReadonlyArray<number>> {
  for (const { makerAccount, market, ordinal, takerAccount } of fills) {
    yield [makerAccount, ordinal, market]
    yield [takerAccount, ordinal, market]
  }
}

const fillTable = table("fill", 13, columns)
const ownFillTable = table("own_fill", 3, (row: ReadonlyArray<number>) => row)

/** Writes fills; within the transaction of their batch. */
export const write = (sql: SqlClient.SqlClient, fills: ReadonlyArray<FillRow>): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    yield* put(sql, fillTable, fills)
    yield* put(sql, ownFillTable, sides(fills))
  })

interface Stored {
  readonly ordinal: number
  readonly sequence: number
  readonly at_epoch_ms: number
  readonly market: number
  readonly price: number
  readonly size: number
  readonly maker_order: number
  readonly taker_order: number
  readonly maker_account: number
  readonly taker_account: number
  readonly taker_side: Order.Side
  readonly maker_fee: number
  readonly taker_fee: number
}

const rowOf = (row: Stored): FillRow => ({
  ordinal: row.ordinal,
  sequence: row.sequence,
  atEpochMs: row.at_epoch_ms,
  market: row.market,
  priceAtoms: row.price,
  sizeAtoms: row.size,
  makerOrder: row.maker_order,
  takerOrder: row.taker_order,
  makerAccount: row.maker_account,
  takerAccount: row.taker_account,
  takerSide: row.taker_side,
  makerFeeAtoms: row.maker_fee,
  takerFeeAtoms: row.taker_fee
})

/** Selects fills of an account, of a market, or of an account in a market. */
export interface FillsAsked {
  readonly account: number | undefined
  readonly market: number | undefined
  readonly limit: number
}

/** Selected fills on one side of an ordinal, in one order. */
const select = (
  sql: SqlClient.SqlClient,
  { account, limit, market }: FillsAsked,
  bound: string,
  ordinal: number,
  order: string
): Effect.Effect<ReadonlyArray<FillRow>, SqlError> => {
  const ofMarket = market === undefined ? [] : [market]
  const inMarket = market === undefined ? "" : "market = ? AND"
  const found = account === undefined
    ? run<Stored>(sql, `SELECT * FROM fill WHERE ${inMarket} ordinal ${bound} ? ORDER BY ordinal ${order} LIMIT ?`, [
      ...ofMarket,
      ordinal,
      limit
    ])
    : run<Stored>(
      sql,
      `SELECT fill.* FROM (
          SELECT ordinal FROM own_fill WHERE account = ? AND ${inMarket} ordinal ${bound} ? ORDER BY ordinal ${order} LIMIT ?
        ) AS own JOIN fill USING (ordinal) ORDER BY ordinal ${order}`,
      [account, ...ofMarket, ordinal, limit]
    )
  return Effect.map(found, (rows) => rows.map(rowOf))
}

/** Fills older than an ordinal (`Infinity`: from the newest), newest first. */
export const fillsBefore = (
  sql: SqlClient.SqlClient,
  asked: FillsAsked & { readonly before: number }
): Effect.Effect<ReadonlyArray<FillRow>, SqlError> => select(sql, asked, "<", Math.min(asked.before, Number.MAX_SAFE_INTEGER), "DESC")

/** The first fills at or after a time, oldest first. */
export const fillsSince = (
  sql: SqlClient.SqlClient,
  asked: FillsAsked & { readonly sinceEpochMs: number }
): Effect.Effect<ReadonlyArray<FillRow>, SqlError> =>
  Effect.flatMap(
    firstKeySince(sql, { table: "fill", key: "ordinal", time: "at_epoch_ms" }, asked.sinceEpochMs),
    (first) => first === undefined ? Effect.succeed([]) : select(sql, asked, ">=", first, "ASC")
  )
