/**
 * Exclusive locks on files, as SQLite takes them: the kernel releases them with the process, and they also exclude other connections of the
 * same process. Whoever closes a file that the process has locked releases that lock, however the file was opened: SQLite minds this
 * itself, and nobody else opens the file of a lock before it is held.
 */
import * as fs from "node:fs"
import SqliteDatabase from "better-sqlite3"
import * as NodePrivateFile from "./NodePrivateFile.js"

/** A lock's file as it was locked. */
export interface Taken {
  readonly stats: fs.BigIntStats
  readonly release: () => void
}

/** A value that distinguishes a file from every other one that is open or has a name. */
export const identityOf = ({ dev, ino }: fs.BigIntStats): string => `${dev}/${ino}`

/**
 * Locks an empty file, which is created with a mode where there is none, and waits at most so long for whoever holds it, ms. Throws what
 * `isHeld` and `isSpoiled` tell, or a system error.
 */
export const take = (file: string, mode?: number, waitMs = 0): Taken => {
  NodePrivateFile.create(file, mode)
  // SQLite would open a file that cannot be written for reading, where an exclusive lock is a shared one: it excludes nobody.
  fs.accessSync(file, fs.constants.W_OK)
  const identity = identityOf(fs.statSync(file, { bigint: true }))
  const database = new SqliteDatabase(file, { timeout: waitMs })
  try {
    // A rollback journal would be another file, for which a full disk has no room. Nothing is ever written to the database.
    database.pragma("journal_mode = MEMORY")
    database.exec("BEGIN EXCLUSIVE")
    // The file may have been removed while it was being locked: the locked file may not be the one that has the name now.
    const stats = fs.statSync(file, { bigint: true })
    if (identityOf(stats) !== identity) throw Object.assign(new Error("the lock's file was replaced"), { code: "ESTALE" })
    return { stats, release: () => void database.close() }
  } catch (error) {
    database.close()
    throw error
  }
}

const codeOf = (error: unknown): string => error instanceof SqliteDatabase.SqliteError ? error.code : ""

/** Whether SQLite failed since another connection holds the file. */
export const isHeld = (error: unknown): boolean => codeOf(error).startsWith("SQLITE_BUSY")

/** Whether it failed since something was written to the file. */
export const isSpoiled = (error: unknown): boolean => codeOf(error) === "SQLITE_NOTADB"
