/**
 * The histories' database as a file of the data directory. Files set aside are never removed, since they may contain what cannot be
 * made from the journal any more; a limit to their number keeps a failing disk from being filled with them.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import SqliteDatabase from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NodeDirectory from "../NodeDirectory.js"
import * as NodePrivateFile from "../NodePrivateFile.js"
import { toldUnusable } from "../NodeUnusable.js"
import { DatabaseUnusable, HistoriesAnew, HistoriesDatabase, openAt, unusable } from "./HistoriesDatabase.js"
import { run, textOf } from "./Sql.js"

/** The file's name in the data directory. */
export const fileName = "histories.db"

/** Most files set aside in a directory. */
const mostAside = 16

/** Suffixes of the database file and of the files that SQLite keeps beside it. */
const companions = ["", "-wal", "-shm"]

const trying = (act: () => void): Effect.Effect<void, DatabaseUnusable> => Effect.try({ try: act, catch: unusable })

/** The names for files set aside, in the order in which they are used. */
const asideNames = (file: string): ReadonlyArray<string> =>
  Array.from({ length: mostAside }, (_, index) => `${file}.set-aside${index === 0 ? "" : `-${index + 1}`}`)

/** Whether any file of a database exists. */
const exists = (file: string): boolean => companions.some((companion) => fs.existsSync(`${file}${companion}`))

/** A name for a file to be set aside that no other one has. */
const freeName = (file: string): string => {
  const free = asideNames(file).find((name) => !exists(name))
  if (free !== undefined) return free
  throw new Error(`${mostAside} of them have been set aside already (${path.basename(file)}.set-aside...): move these to another place`)
}

const move = (from: string, to: string): void => {
  for (const companion of companions) if (fs.existsSync(`${from}${companion}`)) fs.renameSync(`${from}${companion}`, `${to}${companion}`)
}

const remove = (file: string): void => {
  for (const companion of companions) fs.rmSync(`${file}${companion}`, { force: true })
}

const setAside = (file: string): void => {
  if (exists(file)) move(file, freeName(file))
}

/**
 * Histories contain everybody's orders, and the addresses from which owners signed in. Files that SQLite creates beside a database get
 * its mode.
 */
const keepPrivate = (file: string): void => {
  NodePrivateFile.keep(file)
  for (const kept of [file, ...asideNames(file)]) for (const companion of companions) NodePrivateFile.restrict(`${kept}${companion}`)
}

/** The pause between two looks for a file's name, milliseconds. */
const lookMs = 1_000

/** Whether a file's name leads elsewhere since it was noted. */
class Named {
  private noted: string | undefined
  private lookedAtMs = Number.NEGATIVE_INFINITY
  private was = false

  constructor(private readonly file: string) {}

  private get present(): string {
    const stats = fs.statSync(this.file, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? "none" : `${stats.dev}/${stats.ino}`
  }

  note(): void {
    this.noted = this.present
    this.lookedAtMs = performance.now()
    this.was = false
  }

  readonly isElsewhere = (): boolean => {
    if (this.noted === undefined || performance.now() - this.lookedAtMs < lookMs) return this.was
    this.lookedAtMs = performance.now()
    try {
      this.was = this.present !== this.noted
    } catch {
      // What cannot be looked at now may be there.
    }
    return this.was
  }
}

/** Whether a database is missing, or has nothing in it, as one that was copied to a full disk: SQLite then discards the log beside it. */
const isEmpty = (file: string): boolean => {
  try {
    return fs.statSync(file).size === 0
  } catch {
    return true
  }
}

/** Whether a database has the tables of histories. */
const hasPlaces = "SELECT count(*) AS places FROM sqlite_master WHERE type = 'table' AND name = 'place'"

/** Up to which record histories reach: without a row they were never begun. */
const reached = "SELECT sequence FROM place"

/**
 * What a start finds before the histories are opened: that there are none, or the record up to which they reach; undefined where they
 * cannot be read, which is told when they are opened.
 */
const found = (dataDir: string): "none" | number | undefined => {
  const file = path.join(dataDir, fileName)
  if (isEmpty(file)) return "none"
  try {
    const database = new SqliteDatabase(file, { readonly: true, timeout: 0 })
    try {
      if (database.prepare(hasPlaces).pluck().get() === 0) return "none"
      const sequence = database.prepare(reached).pluck().get()
      return sequence === undefined ? "none" : typeof sequence === "number" ? sequence : undefined
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}

/** What a start that recovered up to a sequence says of the histories that it found. */
export const toldAtStart = (dataDir: string, sequence: number): Effect.Effect<void> => {
  const reach = found(dataDir)
  const file = path.join(dataDir, fileName)
  if (reach === "none") {
    const lost = fs.existsSync(file) ? `${fileName} is empty, and is` : `${fileName} is`
    // A venue that has decided nothing has none.
    return sequence === 0 ? Effect.void : Effect.logWarning(
      `there are no histories in ${dataDir}: ${lost} made anew from the journal. If it was lost by mistake and the journal has a `
        + "step to other rules (snapshots/*.step), put it back from a copy: what was before the step is in it alone"
    )
  }
  if (reach === undefined || reach <= sequence) return Effect.void
  return Effect.logError(
    `the journal ends at sequence ${sequence}, and ${file} has been made from records up to ${reach}: ${reach - sequence} records are `
      + "missing from the journal that had been acknowledged, unless it was cut or put back from a copy on purpose, or the histories are "
      + "another venue's. Where it was not, stop the venue at once, before it decides more, and look for the segment"
  )
}

/** Adds to a failure which of the files belongs to another user, as after a restore by root: SQLite only says that one cannot be opened. */
const withOwner = (dataDir: string) => ({ code, reason }: DatabaseUnusable): DatabaseUnusable =>
  new DatabaseUnusable({ reason, code, remedy: toldUnusable(dataDir, companions.map((companion) => `${fileName}${companion}`), "venue") })

/** Opens the file in the current thread. */
export const layer = (dataDir: string): Layer.Layer<HistoriesDatabase | HistoriesAnew> => {
  const file = path.join(dataDir, fileName)
  const anew = `${file}.new`
  const named = new Named(file)
  const makeDirectory = (): void => void NodeDirectory.make(dataDir)
  return Layer.succeedContext(Context.merge(
    Context.make(HistoriesDatabase, {
      name: file,
      open: Effect.zipRight(
        trying(() => {
          makeDirectory()
          keepPrivate(file)
        }),
        Effect.tap(openAt(file), () => Effect.sync(() => named.note()))
      ).pipe(Effect.mapError(withOwner(dataDir))),
      isElsewhere: named.isElsewhere,
      setAside: trying(() => setAside(file)),
      discard: trying(() => remove(file))
    }),
    Context.make(HistoriesAnew, {
      ready: trying(() => {
        if (exists(file)) freeName(file)
      }),
      open: Effect.zipRight(
        trying(() => {
          makeDirectory()
          // Left behind where an earlier one was interrupted.
          remove(anew)
          NodePrivateFile.keep(anew)
        }),
        openAt(anew)
      ),
      adopt: trying(() => {
        setAside(file)
        move(anew, file)
      }),
      drop: trying(() => remove(anew))
    })
  ))
}

/** Why nothing can be written to a file or to what is beside it, as the system's code; undefined where it can. */
const unwritable = (file: string): string | undefined => {
  for (const place of [file, path.dirname(file)]) {
    try {
      fs.accessSync(place, fs.constants.W_OK)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code
    }
  }
  return undefined
}

/** What a database's files are at present: a writer changes at least one of them. */
const looksOf = (file: string): string =>
  companions.map((companion) => {
    const stats = fs.statSync(`${file}${companion}`, { bigint: true, throwIfNoEntry: false })
    return stats === undefined ? "none" : `${stats.dev}/${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`
  }).join()

/** Fails where a database's pages do not fit together. */
const checkPages = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError | DatabaseUnusable> =>
  Effect.flatMap(run<{ readonly quick_check: string }>(sql, "PRAGMA quick_check(1)"), ([found]) =>
    found?.quick_check === "ok" ? Effect.void : new DatabaseUnusable({ reason: `the database is malformed: ${found?.quick_check}` }))

/** Whether a database has histories: they may never have been begun. */
const hasAny = (sql: SqlClient.SqlClient): Effect.Effect<boolean, SqlError> =>
  Effect.flatMap(run<{ readonly places: number }>(sql, hasPlaces), ([found]) =>
    found?.places === 0 ? Effect.succeed(false) : Effect.map(run(sql, reached), (rows) => rows.length > 0))

/**
 * Copies a database that nobody writes to with its log, which is folded into the copy, and makes that durable. Fails where somebody has
 * written to it meanwhile: its files are copied one after the other, and would be of different moments. Returns whether it has histories.
 */
const copyUnwritten = (file: string, to: string): Effect.Effect<boolean, DatabaseUnusable> => {
  const files = trying(() => {
    const before = looksOf(file)
    // The shared index beside a log is made anew from it.
    for (const companion of ["", "-wal"]) {
      if (!fs.existsSync(`${file}${companion}`)) continue
      fs.copyFileSync(`${file}${companion}`, `${to}${companion}`)
      // Copied with its mode, a file that may only be read could not be opened.
      fs.chmodSync(`${to}${companion}`, 0o600)
    }
    if (looksOf(file) !== before) throw new Error(`somebody writes to ${file}, which can only be read here: copy it where it is written to`)
  })
  // What is no database, or a damaged one, is found here: a copy of it would only be noticed when it is needed.
  const opened = Effect.scoped(
    Effect.flatMap(openAt(to),
      (sql) => run(sql, "PRAGMA wal_checkpoint(TRUNCATE)").pipe(Effect.zipRight(checkPages(sql)), Effect.zipRight(hasAny(sql))))
  )
  const synced = trying(() => {
    const copy = fs.openSync(to, "r+")
    try {
      fs.fsyncSync(copy)
    } finally {
      fs.closeSync(copy)
    }
  })
  const whole = Effect.catchTag(opened, "SqlError", (error) => new DatabaseUnusable({ reason: textOf(error) }))
  return files.pipe(Effect.zipRight(whole), Effect.zipLeft(synced))
}

/**
 * Copies the database as it is at one moment to another directory; a venue may write to it meanwhile. A copy of the journal that is made
 * after this one reaches at least as far. Returns whether there are histories: an empty database has none. A failed copy leaves nothing
 * behind.
 */
export const copy = (dataDir: string, toDir: string): Effect.Effect<boolean, DatabaseUnusable> => {
  const file = path.join(dataDir, fileName)
  const to = path.join(toDir, fileName)
  if (isEmpty(file)) return Effect.succeed(false)
  const empty = trying(() => {
    NodeDirectory.make(toDir)
    NodePrivateFile.keep(to)
  })
  // One statement reads one state: a copy by pages would begin anew whenever the venue writes.
  const whole = (sql: SqlClient.SqlClient) => Effect.zipLeft(hasAny(sql), run(sql, "VACUUM INTO ?", [to]))
  const copied = Effect.scoped(Effect.flatMap(openAt(file), whole)).pipe(
    Effect.catchAll((error) => {
      // SQLite cannot open a database to which it cannot write. What is mounted read-only is mostly written to by nobody, but may be by
      // somebody for whom it is mounted otherwise. Elsewhere another user may write, and has a file beside the database while it is open.
      const why = unwritable(file)
      const isOpen = ["-wal", "-shm"].some((suffix) => fs.existsSync(`${file}${suffix}`))
      return why === "EROFS" || why !== undefined && !isOpen
        ? copyUnwritten(file, to)
        : new DatabaseUnusable({ reason: error._tag === "SqlError" ? textOf(error) : error.reason })
    })
  )
  const copiedIfAny = Effect.tap(Effect.zipRight(empty, copied), (has) => has ? Effect.void : removeCopy(toDir))
  return Effect.onError(copiedIfAny, () => removeCopy(toDir))
}

/** Removes such a copy. */
export const removeCopy = (toDir: string): Effect.Effect<void> => Effect.ignore(trying(() => remove(path.join(toDir, fileName))))
