/** The histories' copy from a directory that cannot be written to: a snapshot of a file system, or a disk that has failed. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import { afterAll, expect, test } from "vitest"

const above = fs.mkdtempSync(path.join(os.tmpdir(), "unwritable-"))
afterAll(() => fs.rmSync(above, { recursive: true }))

/** A process that may not write to anything under the folder, as the system's own commands make it; undefined where it can make none. */
const barred = {
  "on a read-only disk": (folder: string): ReadonlyArray<string> => {
    // What can only be read under the folder's own name can be written to behind it.
    const mount =
      `mkdir "$0.behind" && mount --bind "$0" "$0.behind" && mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"`
    return ["unshare", "-rm", "sh", "-c", mount, folder]
  },
  // Root may write whatever a mode says, unless it gives up its capabilities.
  "in a directory without the right to write": (): ReadonlyArray<string> =>
    process.geteuid?.() === 0 ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] : ["env"]
} as const

const isPossible = (words: ReadonlyArray<string>): boolean => {
  try {
    execFileSync(words[0]!, [...words.slice(1), "true"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Copies directories. Somebody writes to those that are named so, once their database is copied and before its log is looked for. */
const copying = `
  import fs from "node:fs"
  import { syncBuiltinESMExports } from "node:module"
  import path from "node:path"
  import SqliteDatabase from "better-sqlite3"
  import * as Effect from "effect/Effect"
  const { copyFileSync } = fs
  fs.copyFileSync = (from, to) => {
    copyFileSync(from, to)
    const place = path.dirname(from)
    if (path.basename(place) !== "changing") return
    const behind = path.join(path.dirname(place) + ".behind", "changing")
    const file = path.join(fs.existsSync(behind) ? behind : place, "histories.db")
    fs.chmodSync(path.dirname(file), 0o700)
    fs.chmodSync(file, 0o600)
    new SqliteDatabase(file).exec("UPDATE place SET sequence = 1480")
  }
  syncBuiltinESMExports()
  import { copy } from ${JSON.stringify(new URL("../../src/readmodel/NodeHistories.js", import.meta.url).href)}
  const told = []
  for (const [from, to] of JSON.parse(process.argv[1])) {
    const done = await Effect.runPromise(Effect.either(copy(from, to)))
    told.push(done._tag === "Right" ? "copied" : done.left.message)
  }
  console.log(JSON.stringify(told))
`

/** Bytes of a database's page, as SQLite makes them. */
const pageBytes = 4_096

/** A data directory with histories of some rows, as a venue leaves it that has stopped, or at one moment of one that runs. */
const directory = (folder: string, name: "stopped" | "running" | "damaged" | "torn" | "changing", mode: number): string => {
  const [place, open] = [path.join(folder, name), fs.mkdtempSync(path.join(above, "open-"))]
  fs.mkdirSync(place)
  const [file, source] = [path.join(place, "histories.db"), path.join(open, "histories.db")]
  const database = new SqliteDatabase(source)
  database.pragma("journal_mode = WAL")
  database.exec("CREATE TABLE place (sequence INTEGER); INSERT INTO place VALUES (1479)")
  // All rows are in the log, which closing folds into the database and removes.
  if (name === "running") fs.copyFileSync(`${source}-wal`, `${file}-wal`)
  else database.close()
  fs.copyFileSync(source, file)
  if (name === "running") database.close()
  if (name === "torn") {
    // The first page, which is all that opening reads, is whole.
    const pages = fs.readFileSync(file)
    fs.writeFileSync(file, pages.fill("torn", pageBytes))
  }
  if (name === "damaged") fs.writeFileSync(file, "no database".repeat(100))
  // Whoever may not write has made none of it.
  fs.chmodSync(file, 0o400)
  fs.chmodSync(place, mode)
  return place
}

const rowsOf = (place: string): unknown => {
  const database = new SqliteDatabase(path.join(place, "histories.db"), { readonly: true })
  try {
    return database.prepare("SELECT sequence FROM place").pluck().all()
  } finally {
    database.close()
  }
}

/** Whatever hinders, these are found while copying. */
const found = {
  damaged: "file is not a database",
  torn: expect.stringContaining("the database is malformed: "),
  changing: expect.stringContaining("somebody writes to ")
} as const

/** What becomes of each directory, under each hindrance. */
const outcomes = {
  // What is in the log beside the database is part of the copy.
  "on a read-only disk": { mode: 0o700, stopped: "copied", running: "copied", ...found },
  // Elsewhere another user's venue may be writing.
  "in a directory without the right to write": {
    mode: 0o500,
    stopped: "copied",
    running: "unable to open database file",
    ...found
  }
} as const

for (const where of ["on a read-only disk", "in a directory without the right to write"] as const) {
  const words = barred[where](fs.mkdtempSync(path.join(above, "tried-")))
  test.skipIf(!isPossible(words))(`${where} histories that nobody writes to are copied, and of others nothing is left behind`, () => {
    const { mode, ...due } = outcomes[where]
    const [folder, out] = [fs.mkdtempSync(path.join(above, "from-")), fs.mkdtempSync(path.join(os.tmpdir(), "unwritable-copies-"))]
    try {
      const names = ["stopped", "running", "damaged", "torn", "changing"] as const
      const pairs = names.map((name) => [directory(folder, name, mode), path.join(out, name)] as const)
      const [command, ...args] = [...barred[where](folder), process.execPath, "--input-type=module", "-e", copying, JSON.stringify(pairs)]
      const told = JSON.parse(execFileSync(command!, args, { encoding: "utf8" })) as ReadonlyArray<string>
      expect(Object.fromEntries(names.map((name, index) => [name, told[index]]))).toEqual(due)
      for (const [, to] of pairs) {
        const isCopied = due[path.basename(to) as "stopped"] === "copied"
        expect(fs.readdirSync(to)).toEqual(isCopied ? ["histories.db"] : [])
        if (isCopied) expect([rowsOf(to), fs.statSync(path.join(to, "histories.db")).mode & 0o777]).toEqual([[1479], 0o600])
      }
    } finally {
      fs.rmSync(out, { recursive: true })
      for (const name of fs.readdirSync(folder)) fs.chmodSync(path.join(folder, name), 0o700)
    }
  })
}
