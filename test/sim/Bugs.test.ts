/**
 * Everything kept in `fixtures/bugs` can be run again. That each bug stays fixed is checked by a separate step of `npm test`, since some of
 * them compute for long.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import * as BugFile from "../../sim/report/BugFile.js"

const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../fixtures/bugs")

test("the folder of found bugs is there, and every file in it is one, under its own name", () => {
  expect(fs.readdirSync(folder)).toContain("README.md")
  const names = BugFile.names(folder)
  // Guards against an empty folder, with which every bug would seem fixed: none is ever removed.
  expect(names.length).toBeGreaterThanOrEqual(25)
  for (const name of names) {
    const { property, seed } = BugFile.read(name)
    expect(path.basename(name)).toBe(`${property}-${seed}.json`)
  }
})
