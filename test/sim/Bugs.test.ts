/** What `fixtures/bugs` keeps can be run again. That each stays fixed is a step of `npm test` of its own: some of them compute for long. */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import * as BugFile from "../../sim/report/BugFile.js"

const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../fixtures/bugs")

test("the folder of found bugs is there, and every file in it is one, under its own name", () => {
  expect(fs.readdirSync(folder)).toContain("README.md")
  const names = BugFile.names(folder)
  // None is ever dropped: what ran over an empty folder would find every bug fixed.
  expect(names.length).toBeGreaterThanOrEqual(25)
  for (const name of names) {
    const { property, seed } = BugFile.read(name)
    expect(path.basename(name)).toBe(`${property}-${seed}.json`)
  }
})
