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

/** Rows of one statement: what is made at once takes a millisecond or so, whatever a batch comes to. */
const rowsAtOnce = 512

type Cells = ReadonlyArray<string | number | null>

/** Runs a statement with rows as its one parameter, JSON: once for so many of them. */
export const putEach = <Row>(
  sql: SqlClient.SqlClient,
  statement: string,
  all: Iterable<Row>,
  cells: (row: Row) => Cells
): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    let texts: Array<string> = []
    for (const row of all) {
      texts.push(JSON.stringify(cells(row)))
      if (texts.length < rowsAtOnce) continue
      yield* run(sql, statement, [`[${texts.join()}]`])
      texts = []
    }
    if (texts.length > 0) yield* run(sql, statement, [`[${texts.join()}]`])
  })

/** Puts rows into a table, in place of those with the same key: one statement for many of them. */
export const put = <Row>(
  sql: SqlClient.SqlClient,
  table: string,
  width: number,
  all: Iterable<Row>,
  cells: (row: Row) => Cells
): Effect.Effect<void, SqlError> => putEach(sql, `INSERT OR REPLACE INTO ${table} SELECT ${columns(width)} FROM jsonb_each(?)`, all, cells)
