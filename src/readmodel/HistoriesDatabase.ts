/**
 * The storage of the histories: a SQLite database of their own. Nothing in it is repaired: one that is unreadable or belongs to
 * something else is set aside, and another is made from the journal as far as this version can replay that. What it cannot replay is
 * in what was set aside alone, so nothing of that is ever removed or overwritten here.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { codeIn, run } from "./Sql.js"

/** There is no usable database: the file cannot be opened, or is not a database. */
export class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("HistoriesDatabaseUnusable", {
  reason: Schema.String,
  /** The code that SQLite or the file system gave, where one did: by it alone it is decided whether the file is damaged. */
  code: Schema.optional(Schema.String),
  /** What stands in the way, and what to do, where it is known. */
  remedy: Schema.optional(Schema.String)
}) {
  override get message() {
    return this.remedy === undefined ? this.reason : `${this.reason}: ${this.remedy}`
  }
}

export class HistoriesDatabase extends Context.Tag("venue/readmodel/HistoriesDatabase")<HistoriesDatabase, {
  /** What it is called in the log. */
  readonly name: string
  /** Opens the database, creating it if need be; closed with the scope. */
  readonly open: Effect.Effect<SqlClient.SqlClient, DatabaseUnusable, Scope.Scope>
  /**
   * Moves the existing database out of the way, under a name of its own, so that the next opening creates a new one. It must be
   * closed. Fails where too many have been set aside already.
   */
  readonly setAside: Effect.Effect<void, DatabaseUnusable>
  /** Removes the existing database, which this process has begun and has not completed. It must be closed. */
  readonly discard: Effect.Effect<void, DatabaseUnusable>
  /** Of a database in a file: whether the file's name leads elsewhere than to the one that was opened last. Looks once a second at most. */
  readonly isElsewhere?: () => boolean
}>() {}

/** A second database, made beside the existing one, which stays as it is until the new one is complete. */
export class HistoriesAnew extends Context.Tag("venue/readmodel/HistoriesAnew")<HistoriesAnew, {
  /** Fails where the existing database could not be set aside in the end. */
  readonly ready: Effect.Effect<void, DatabaseUnusable>
  /** Opens an empty database; closed with the scope. */
  readonly open: Effect.Effect<SqlClient.SqlClient, DatabaseUnusable, Scope.Scope>
  /** Sets the existing database aside, and puts the new one, which must be closed, in its place. */
  readonly adopt: Effect.Effect<void, DatabaseUnusable>
  /** Removes the new one. It must be closed. */
  readonly drop: Effect.Effect<void, DatabaseUnusable>
}>() {}

/** How long a statement waits for another connection, in ms: a blocked thread handles nothing else, so callers retry later. */
const busyMs = 100

/** Whatever was thrown while a database was opened, or its file was moved. */
export const unusable = (cause: unknown): DatabaseUnusable => {
  const code = codeIn(cause)
  return new DatabaseUnusable({ reason: cause instanceof Error ? cause.message : String(cause), ...code === "" ? undefined : { code } })
}

/** Opens a database; a file that is not one is a failure, not a defect. */
export const openAt = (filename: string): Effect.Effect<SqlClient.SqlClient, DatabaseUnusable, Scope.Scope> =>
  // The client would switch on the write-ahead log before the time limit for that could be set.
  Layer.build(SqliteClient.layer({ filename, disableWAL: true })).pipe(
    Effect.map((built) => Context.get(built, SqlClient.SqlClient)),
    Effect.tap((sql) => run(sql, `PRAGMA busy_timeout = ${busyMs}`)),
    Effect.tap((sql) => run(sql, "PRAGMA journal_mode = WAL")),
    Effect.mapError((error) => error._tag === "SqlError" ? error.cause : error),
    Effect.orDie,
    Effect.catchAllDefect((cause) => Effect.fail(unusable(cause)))
  )

/** In memory: every start begins with the journal's first record. */
export const layerMemory: Layer.Layer<HistoriesDatabase> = Layer.succeed(HistoriesDatabase, {
  name: "the histories in memory",
  open: openAt(":memory:"),
  setAside: Effect.void,
  discard: Effect.void
})
