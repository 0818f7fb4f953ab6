/**
 * Where histories are kept: a SQLite database of their own. All of it can be made again from the journal, so that nothing in it has
 * to be repaired: what cannot be read, or is of something else, is set aside.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { run } from "./Sql.js"

/** There is no database to work with: the file cannot be opened, or is none. */
export class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("HistoriesDatabaseUnusable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

export class HistoriesDatabase extends Context.Tag("venue/readmodel/HistoriesDatabase")<HistoriesDatabase, {
  /** What it is called in the log. */
  readonly name: string
  /** Opens it, made where it is not there; closed with the scope. */
  readonly open: Effect.Effect<SqlClient.SqlClient, DatabaseUnusable, Scope.Scope>
  /** Puts what is there out of the way, so that the next opening makes a new one. It is closed by then. */
  readonly setAside: Effect.Effect<void, DatabaseUnusable>
}>() {}

/** How long a statement waits for another connection's: a thread that waits hears nothing, so that whoever can tries again later. */
const busyMs = 100

/** Opens a database; a file that is none is told of, not died of. */
export const openAt = (filename: string): Effect.Effect<SqlClient.SqlClient, DatabaseUnusable, Scope.Scope> =>
  // The client would ask for a write-ahead log before anybody could say how long that may take.
  Layer.build(SqliteClient.layer({ filename, disableWAL: true })).pipe(
    Effect.map((built) => Context.get(built, SqlClient.SqlClient)),
    Effect.tap((sql) => run(sql, `PRAGMA busy_timeout = ${busyMs}`)),
    Effect.tap((sql) => run(sql, "PRAGMA journal_mode = WAL")),
    Effect.mapError((error) => error._tag === "SqlError" ? error.cause : error),
    Effect.orDie,
    Effect.catchAllDefect((cause) => Effect.fail(new DatabaseUnusable({ reason: cause instanceof Error ? cause.message : String(cause) })))
  )

/** In memory: whoever starts anew begins with the journal's first record. */
export const layerMemory: Layer.Layer<HistoriesDatabase> = Layer.succeed(HistoriesDatabase, {
  name: "the histories in memory",
  open: openAt(":memory:"),
  setAside: Effect.void
})
