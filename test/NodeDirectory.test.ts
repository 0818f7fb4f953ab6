/** Directories are made with what is above them, and a place where none can be made is refused at once. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import * as NodeDirectory from "../src/NodeDirectory.js"

const above = fs.mkdtempSync(path.join(os.tmpdir(), "directory-"))
afterAll(() => fs.rmSync(above, { recursive: true }))

const ways: ReadonlyArray<readonly [string, (directory: string) => Promise<string | undefined>]> = [
  ["at once", async (directory) => NodeDirectory.make(directory)],
  ["on the pool", (directory) => NodeDirectory.makeOnPool(directory)]
]

const codeOf = (made: Promise<unknown>): Promise<unknown> => made.then(() => "none", (error: NodeJS.ErrnoException) => error.code)

test.each(ways)("%s: the first one made is told, and nothing where all are there", async (name, make) => {
  const root = path.join(above, name)
  expect([await make(path.join(root, "a", "b")), await make(path.join(root, "a", "b")), await make(path.join(root, "a", "c"))]).toEqual([
    root,
    undefined,
    path.join(root, "a", "c")
  ])
  expect(fs.statSync(path.join(root, "a", "b")).mode & 0o777).toBe(0o700)
  fs.writeFileSync(path.join(root, "file"), "")
  fs.symlinkSync(path.join(root, "nothing"), path.join(root, "dangling"))
  expect(await Promise.all(["file", "file/a", "dangling"].map((each) => codeOf(make(path.join(root, each)))))).toEqual([
    "EEXIST",
    "ENOTDIR",
    "EEXIST"
  ])
})

test.each(ways)("%s: a place where the system makes none is refused, and does not keep the process busy", async (name, make) => {
  const gone = path.join(above, `gone ${name}`)
  fs.mkdirSync(gone)
  const before = process.cwd()
  try {
    process.chdir(gone)
    fs.rmdirSync(gone)
    expect(await Promise.all(["a", "./a/b"].map((each) => codeOf(make(each))))).toEqual(["ENOENT", "ENOENT"])
  } finally {
    process.chdir(before)
  }
  if (os.platform() === "linux") expect([await codeOf(make("/proc/x")), await codeOf(make("/proc/x/y"))]).toEqual(["ENOENT", "ENOENT"])
})
