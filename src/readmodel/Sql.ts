/** How the histories' statements are run. */
import type * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"

/** The database's own code for a failure; empty where there is none. */
export const codeOf = ({ cause }: SqlError): string => cause instanceof Error && "code" in cause ? String(cause.code) : ""

/** A failure in words, with its code: the library's own message is the same of every statement. */
export const textOf = (error: SqlError): string => {
  const code = codeOf(error)
  return `${error.cause instanceof Error ? error.cause.message : error.message}${code === "" ? "" : ` (${code})`}`
}

/** The rows of a statement, by their columns' names; without the cost of a span: histories are written many times a second. */
export const run = <Row extends object>(
  sql: SqlClient.SqlClient,
  statement: string,
  parameters: ReadonlyArray<string | number | null> = []
): Effect.Effect<ReadonlyArray<Row>, SqlError> => Effect.withTracerEnabled(sql.unsafe<Row>(statement, parameters), false)

/**
 * All of it or nothing. A COMMIT or ROLLBACK that fails is a defect to the library, and is a failure here: a full disk is met by the COMMIT
 * of what it has no room for. Where the statements failed, theirs is the failure: SQLite rolls some back by itself, and then knows of no
 * transaction that a ROLLBACK could end.
 */
export const inOne = <A, E>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError> =>
  Effect.suspend(() => {
    let own: Exit.Exit<A, E> | undefined
    const noted = Effect.onExit(effect, (exit) =>
      Effect.sync(() => {
        own = exit
      }))
    const failed = (error: SqlError): Effect.Effect<never, E | SqlError> =>
      own !== undefined && Exit.isFailure(own)
        ? Effect.failCause(own.cause)
        // What was not committed may still be under way, and no other transaction could begin.
        : Effect.zipRight(Effect.ignore(run(sql, "ROLLBACK")), Effect.fail(error))
    return Effect.catchSomeDefect(Effect.withTracerEnabled(sql.withTransaction(noted), false),
      (defect) => defect instanceof SqlError ? Option.some(failed(defect)) : Option.none())
  })

/** A table whose rows have times that never go back from one key to the next, so that they need no index by time. */
interface Timed {
  readonly table: string
  readonly key: string
  readonly time: string
}

/** The first key whose row's time is not before one; undefined where there is none. Looks at as many rows as keys can be halved. */
export const firstKeySince = (
  sql: SqlClient.SqlClient,
  { key, table: name, time }: Timed,
  sinceEpochMs: number
): Effect.Effect<number | undefined, SqlError> => {
  const middle = "(low + high) / 2"
  const isOld = `(SELECT ${time} FROM ${name} WHERE ${key} >= ${middle} ORDER BY ${key} LIMIT 1) < ?`
  // All rows with keys below `low` are too old, and none from `high` on is. The least and the greatest key are asked for one by one: SQLite
  // looks each up by itself, and goes through the whole table for both.
  const halved = `WITH RECURSIVE part (low, high) AS (
      SELECT (SELECT min(${key}) FROM ${name}), (SELECT max(${key}) FROM ${name}) + 1
      UNION ALL
      SELECT iif(${isOld}, ${middle} + 1, low), iif(${isOld}, high, ${middle}) FROM part WHERE low < high
    )
    SELECT ${key} AS first FROM ${name} WHERE ${key} >= (SELECT low FROM part WHERE low >= high) ORDER BY ${key} LIMIT 1`
  return Effect.map(run<{ readonly first: number }>(sql, halved, [sinceEpochMs, sinceEpochMs]), ([row]) => row?.first)
}

/** Rows of one statement: what is made at once takes a millisecond or so, whatever a batch comes to. */
const rowsAtOnce = 256

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

/**
 * How many rows one statement puts into a table: few different ones are prepared, whatever a batch comes to. Rows go in as parameters:
 * as JSON they would take a fifth more of the processor to be written and read.
 */
const sizes = [rowsAtOnce, 64, 16, 4, 1]

const repeated = (what: string, times: number): string => Array.from({ length: times }, () => what).join()

/** A table whose rows are put, each in the place of the one with the same key. */
export interface Table<Row> {
  readonly width: number
  readonly cells: (row: Row) => Cells
  /** By `sizes`. */
  readonly statements: ReadonlyArray<string>
}

/** `cells` gives as many as the table has columns. */
export const table = <Row>(name: string, width: number, cells: (row: Row) => Cells): Table<Row> => ({
  width,
  cells,
  statements: sizes.map((rows) => `INSERT OR REPLACE INTO ${name} VALUES ${repeated(`(${repeated("?", width)})`, rows)}`)
})

export const put = <Row>(
  sql: SqlClient.SqlClient,
  { cells, statements, width }: Table<Row>,
  all: Iterable<Row>
): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    const most = rowsAtOnce * width
    let parameters: Array<string | number | null> = []
    for (const row of all) {
      for (const cell of cells(row)) parameters.push(cell)
      if (parameters.length < most) continue
      yield* run(sql, statements[0]!, parameters)
      parameters = []
    }
    let from = 0
    for (const [size, rows] of sizes.entries()) {
      for (; parameters.length - from >= rows * width; from += rows * width) {
        yield* run(sql, statements[size]!, parameters.slice(from, from + rows * width))
      }
    }
  })
