/** How the histories' statements are run. */
import type * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"

/** The code of whatever was thrown, as the database and the file system give one; empty where there is none. */
export const codeIn = (cause: unknown): string => cause instanceof Error && "code" in cause ? String(cause.code) : ""

/** The database's own code for a failure; empty where there is none. */
export const codeOf = ({ cause }: SqlError): string => codeIn(cause)

/** Whether a code of the database says that its file is damaged, or is no database. */
export const isDamage = (code: string): boolean => code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB")

/** A failure in words with its code, since the library's own message is the same for every statement. */
export const textOf = (error: SqlError): string => {
  const code = codeOf(error)
  return `${error.cause instanceof Error ? error.cause.message : error.message}${code === "" ? "" : ` (${code})`}`
}

/** The rows of a statement by column name, without a tracing span: the histories are written many times a second. */
export const run = <Row extends object>(
  sql: SqlClient.SqlClient,
  statement: string,
  parameters: ReadonlyArray<string | number | null> = []
): Effect.Effect<ReadonlyArray<Row>, SqlError> => Effect.withTracerEnabled(sql.unsafe<Row>(statement, parameters), false)

/**
 * Runs a transaction. The library treats a failing COMMIT or ROLLBACK as a defect; here it is a failure, since a full disk shows in
 * the COMMIT. Where a statement failed, that failure is reported: SQLite rolls back by itself in some cases, and a ROLLBACK then
 * finds no transaction.
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
        // After a failed COMMIT the transaction may still be open, and no other could begin.
        : Effect.zipRight(Effect.ignore(run(sql, "ROLLBACK")), Effect.fail(error))
    return Effect.catchSomeDefect(Effect.withTracerEnabled(sql.withTransaction(noted), false),
      (defect) => defect instanceof SqlError ? Option.some(failed(defect)) : Option.none())
  })

/** A table whose row times never decrease with the key, so that it needs no index by time. */
interface Timed {
  readonly table: string
  readonly key: string
  readonly time: string
}

/** The first key whose row is at or after a time; undefined where there is none. Found by bisection over the keys. */
export const firstKeySince = (
  sql: SqlClient.SqlClient,
  { key, table: name, time }: Timed,
  sinceEpochMs: number
): Effect.Effect<number | undefined, SqlError> => {
  const middle = "(low + high) / 2"
  const isOld = `(SELECT ${time} FROM ${name} WHERE ${key} >= ${middle} ORDER BY ${key} LIMIT 1) < ?`
  // Rows with keys below `low` are too old, and those from `high` on are not. The least and the greatest key are queried
  // separately: SQLite looks up each at once, but would scan the whole table for both.
  const halved = `WITH RECURSIVE part (low, high) AS (
      SELECT (SELECT min(${key}) FROM ${name}), (SELECT max(${key}) FROM ${name}) + 1
      UNION ALL
      SELECT iif(${isOld}, ${middle} + 1, low), iif(${isOld}, high, ${middle}) FROM part WHERE low < high
    )
    SELECT ${key} AS first FROM ${name} WHERE ${key} >= (SELECT low FROM part WHERE low >= high) ORDER BY ${key} LIMIT 1`
  return Effect.map(run<{ readonly first: number }>(sql, halved, [sinceEpochMs, sinceEpochMs]), ([row]) => row?.first)
}

/** Rows per statement, so that one takes about a millisecond however large the batch. */
const rowsAtOnce = 256

type Cells = ReadonlyArray<string | number | null>

/** Runs a statement with rows as its only parameter, as JSON, in groups of limited size. */
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
 * Rows that one INSERT takes: few distinct statements are prepared, however large the batch. Rows are passed as parameters: as JSON
 * they would cost a fifth more processor time.
 */
const sizes = [rowsAtOnce, 64, 16, 4, 1]

const repeated = (what: string, times: number): string => Array.from({ length: times }, () => what).join()

/** A table into which rows are put, replacing those with the same key. */
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
