/** Every failure that was ever kept stays fixed: each file of `fixtures/bugs` runs again and breaks nothing. */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import * as BugFile from "../../sim/report/BugFile.js"
import * as Simulation from "../../sim/Simulation.js"

const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../fixtures/bugs")

test("the folder of found bugs is there, and every file in it is one, under its own name", () => {
  expect(fs.readdirSync(folder)).toContain("README.md")
  for (const name of BugFile.names(folder)) {
    const { property, seed } = BugFile.read(name)
    expect(path.basename(name)).toBe(`${property}-${seed}.json`)
  }
})

for (const name of BugFile.names(folder)) {
  test(`${path.basename(name)} is fixed`, () => {
    expect(Simulation.run(BugFile.request(BugFile.read(name))).failure?.what).toBe(undefined)
  }, 150_000)
}
