/** How the histories' statements are run. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

/** The rows of a statement, by their columns' names; without the cost of a span: histories are written many times a second. */
export const run = <Row extends object>(
  sql: SqlClient.SqlClient,
  statement: string,
  parameters: ReadonlyArray<string | number> = []
): Effect.Effect<ReadonlyArray<Row>, SqlError> => Effect.withTracerEnabled(sql.unsafe<Row>(statement, parameters), false)

/** All of it or nothing. */
export const inOne = <A>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.withTracerEnabled(sql.withTransaction(effect), false)

const column = (index: number): string => `value ->> ${index}`
const columns = (count: number): string => Array.from({ length: count }, (_, index) => column(index)).join(", ")

/** Puts rows into a table, in place of those with the same key: one statement for any number of them. */
export const put = (
  sql: SqlClient.SqlClient,
  table: string,
  width: number,
  all: ReadonlyArray<ReadonlyArray<string | number | null>>
): Effect.Effect<unknown, SqlError> =>
  all.length === 0
    ? Effect.void
    : run(sql, `INSERT OR REPLACE INTO ${table} SELECT ${columns(width)} FROM json_each(?)`, [JSON.stringify(all)])
