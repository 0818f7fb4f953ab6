/**
 * The development ledger's storage, in a SQLite file of its own: inputs and a whole state as JSON. One process at a time may use it.
 * Every input is on disk before it is acknowledged (`synchronous=FULL`; with a write-ahead log, so that this costs one sync).
 */
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { anotherProcess } from "../../LockWords.js"
import * as NodeDirectory from "../../NodeDirectory.js"
import { isHeld } from "../../NodeLock.js"
import * as NodePrivateFile from "../../NodePrivateFile.js"
import { holderOf } from "../../NodeLockHolder.js"
import { Input, Kept } from "./State.js"
import type { Store } from "./Store.js"

/** The file is damaged, or is no file of this version of the ledger. */
export class StoreUnreadable extends Schema.TaggedError<StoreUnreadable>()("StoreUnreadable", {
  file: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `the development ledger's file ${this.file} cannot be read: ${this.reason}`
  }
}

/** The version of the file's format, in SQLite's own field for it. */
const formatVersion = 1

const decodeKept = Schema.decodeUnknownEither(Schema.parseJson(Kept))
const decodeInput = Schema.decodeUnknownEither(Schema.parseJson(Input))

/** Opens the file, and creates it and its directory if necessary. Throws `StoreUnreadable`. */
export const open = (file: string): Store & { readonly close: () => void } => {
  NodeDirectory.make(path.dirname(file), 0o777)
  // Parties' holdings are confidential, whatever the directory's mode.
  NodePrivateFile.keep(file)
  const unreadable = (reason: string): never => {
    throw new StoreUnreadable({ file, reason })
  }
  const database = begin(file, unreadable)
  const insert = database.prepare("INSERT INTO input (body) VALUES (?)")
  const clear = database.prepare("DELETE FROM input")
  const put = database.prepare("INSERT INTO state (id, body) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body")
  const replace = database.transaction((body: string) => {
    put.run(body)
    clear.run()
  })
  const read = <A>(decoded: Either.Either<A, ParseResult.ParseError>): A =>
    Either.isRight(decoded) ? decoded.right : unreadable(ParseResult.TreeFormatter.formatErrorSync(decoded.left).slice(0, 300))
  return {
    recover: () => {
      const state = database.prepare("SELECT body FROM state WHERE id = 1").pluck().get()
      const inputs = database.prepare("SELECT body FROM input ORDER BY id").pluck().all()
      return { kept: state === undefined ? undefined : read(decodeKept(state)), inputs: inputs.map((body) => read(decodeInput(body))) }
    },
    append: (input) => void insert.run(JSON.stringify(input)),
    replace: (kept) => void replace(JSON.stringify(kept)),
    close: () => void database.close()
  }
}

const create = `
  BEGIN EXCLUSIVE;
  CREATE TABLE input (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL) STRICT;
  CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL) STRICT;
  PRAGMA user_version = ${formatVersion};
  COMMIT;
`

const begin = (file: string, unreadable: (reason: string) => never): SqliteDatabase.Database => {
  // A process that holds the file will not release it, so there is no point in waiting.
  const database = new SqliteDatabase(file, { timeout: 0 })
  try {
    // Held as long as the process lives, so that a second process fails at once.
    database.pragma("locking_mode = EXCLUSIVE")
    database.pragma("journal_mode = WAL")
    database.pragma("synchronous = FULL")
    const version = database.pragma("user_version", { simple: true })
    if (version !== 0 && version !== formatVersion)
      return unreadable(`it has format ${String(version)}, this version writes ${formatVersion}`)
    // Nothing is written where the tables exist: a start needs no room on a full disk.
    if (version === 0) database.exec(create)
    return database
  } catch (error) {
    database.close()
    if (error instanceof StoreUnreadable) throw error
    return unreadable(
      isHeld(error)
        ? `${anotherProcess(holderOf(file))} works on it, and only one may: stop it first`
        : error instanceof Error
        ? error.message
        : String(error)
    )
  }
}
