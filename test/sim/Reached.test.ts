/** Marks of rare branches: counted over runs, reported when no run reaches one, and listed without unknown names. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import * as Reached from "../../sim/report/Reached.js"
import { names } from "../../src/domain/Branches.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..")
const keptPath = path.join(root, "sim/marks.json")

test("counts add up, and what none reached is named", () => {
  const both = Reached.sum({ "the inbox was full": 2 }, { "the inbox was full": 1, "a write was torn": 4 })
  expect(both).toEqual({ "the inbox was full": 3, "a write was torn": 4 })
  expect(Reached.never(both)).toEqual(names.filter((mark) => mark !== "the inbox was full" && mark !== "a write was torn"))
  expect(Reached.table(both)).toContain("a write was torn")
})

test("a kept mark that no run reaches any more is lost", () => {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "marks-")), "kept.json")
  fs.writeFileSync(file, JSON.stringify(["the inbox was full", "a write was torn"]))
  expect(Reached.lost({ "a write was torn": 1 }, file)).toEqual(["the inbox was full"])
  expect(Reached.lost({ "a write was torn": 1, "the inbox was full": 1 }, file)).toEqual([])
})

test("the kept list names marks, each once", () => {
  const kept = JSON.parse(fs.readFileSync(keptPath, "utf8")) as ReadonlyArray<string>
  expect(kept.length).toBeGreaterThan(20)
  expect(new Set(kept).size).toBe(kept.length)
  for (const mark of kept) expect(names).toContain(mark)
})
