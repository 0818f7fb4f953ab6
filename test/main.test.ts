/** How the venue as a process says why it did not start: the exit code tells a wrong setting from everything else. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import { afterAll, expect, test } from "vitest"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-main-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

const start = (env: Readonly<Record<string, string>>) => {
  const { status, stderr } = spawnSync(process.execPath, ["dist/src/main.js"], {
    env: { PATH: process.env["PATH"] ?? "", DATA_DIR: directory, PORT: "0", ...env },
    encoding: "utf8",
    timeout: 30_000
  })
  return { status, stderr }
}

test("a wrong setting ends with 78 and the variable's name", () => {
  const { status, stderr } = start({ SEGMENT_MIB: "1" })
  expect(stderr).toContain("SEGMENT_MIB")
  expect(status).toBe(78)
})

test("a data directory that another process holds ends with 1 and says so", () => {
  const holder = new SqliteDatabase(path.join(directory, "lock.db"))
  holder.exec("BEGIN EXCLUSIVE")
  const { status, stderr } = start({})
  holder.close()
  expect(stderr).toContain("another process holds lock.db")
  expect(status).toBe(1)
})
