/** Who holds a lock, according to the system: from its list of locks, or from who has the file open, or unknown. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeEach, describe, expect, test } from "vitest"
import { holderOf } from "../src/NodeLockHolder.js"

describe("who holds a lock", () => {
  const made: Array<string> = []
  afterAll(() => {
    for (const folder of made) fs.rmSync(folder, { recursive: true, force: true })
  })

  let folder = ""
  const proc = (): string => path.join(folder, "proc")
  const file = (): string => path.join(folder, "lock.db")

  beforeEach(() => {
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "venue-holder-")))
    made.push(folder)
    fs.writeFileSync(file(), "")
    fs.mkdirSync(path.join(proc(), "4711/fd"), { recursive: true })
    fs.writeFileSync(path.join(proc(), "4711/cmdline"), "node\0dist/src/main.js\0\x1b[31m\0")
  })

  test("the list of locks names it, with what it runs", () => {
    const { ino } = fs.statSync(file())
    fs.writeFileSync(path.join(proc(), "locks"),
      `1: POSIX  ADVISORY  READ 1 08:01:${ino} 0 EOF\n2: POSIX  ADVISORY  WRITE 4711 08:01:${ino} 1 2\n`)
    expect(holderOf(file(), proc())).toBe("process 4711, node dist/src/main.js [31m")
  })

  test("where there is no such list, whoever has the file open", () => {
    fs.symlinkSync("/dev/null", path.join(proc(), "4711/fd/3"))
    expect(holderOf(file(), proc())).toBeUndefined()
    fs.symlinkSync(file(), path.join(proc(), "4711/fd/4"))
    expect(holderOf(file(), proc())).toBe("process 4711, node dist/src/main.js [31m")
    fs.rmSync(path.join(proc(), "4711/cmdline"))
    expect(holderOf(file(), proc())).toBe("process 4711")
  })

  test("where the system tells nothing, nobody is named", () => {
    expect(holderOf(file(), path.join(folder, "nowhere"))).toBeUndefined()
    expect(holderOf(path.join(folder, "no.db"), proc())).toBeUndefined()
  })
})
