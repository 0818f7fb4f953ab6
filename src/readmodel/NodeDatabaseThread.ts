/**
 * A database in a thread of its own: runs one statement after the other, and says what each came to. A disk that does not answer
 * holds up nobody else.
 */
import Sqlite from "better-sqlite3"
import { parentPort, workerData } from "node:worker_threads"
import { assert } from "../domain/Assert.js"
import type { Answer, Asked, Failure } from "./NodeDatabaseClient.js"

assert(parentPort !== null, "it is started as a thread")
const port = parentPort

/** Prepared statements by their text: the program's own, which are few. */
const statements = new Map<string, Sqlite.Statement>()

const prepared = (database: Sqlite.Database, text: string): Sqlite.Statement => {
  const known = statements.get(text)
  if (known !== undefined) return known
  const made = database.prepare(text)
  statements.set(text, made)
  return made
}

const rowsOf = (database: Sqlite.Database, { parameters, text }: Asked): ReadonlyArray<unknown> => {
  const statement = prepared(database, text)
  if (statement.reader) return statement.all(...parameters)
  statement.run(...parameters)
  return []
}

const failureOf = (cause: unknown): Failure => {
  const { code, message } = cause as { readonly code?: string; readonly message?: string }
  return { code: code ?? "", message: message ?? String(cause) }
}

const answer = (database: Sqlite.Database, asked: Asked): Answer => {
  try {
    return { id: asked.id, rows: rowsOf(database, asked) }
  } catch (cause) {
    return { id: asked.id, failure: failureOf(cause) }
  }
}

const open = (): Sqlite.Database => {
  const database = new Sqlite(workerData as string)
  database.pragma("journal_mode = WAL")
  return database
}

try {
  const database = open()
  port.on("message", (asked: Asked | "close") => {
    if (asked !== "close") return port.postMessage(answer(database, asked))
    database.close()
    port.close()
  })
  port.postMessage("open")
} catch (cause) {
  port.postMessage(failureOf(cause))
}
