/** Every mutant still fits the source, and names an existing property. That each is caught is checked by `npm run mutants`. */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { watchers } from "../../sim/properties/All.js"
import * as Scenarios from "../../sim/scenarios/All.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..")
const folder = path.join(root, "sim/mutants")
const names = fs.readdirSync(folder).filter((name) => name.endsWith(".json"))

test("there are at least twenty-eight mutants", () => {
  expect(names.length).toBeGreaterThanOrEqual(28)
})

for (const name of names) {
  test(`${name} fits the source and names its property`, () => {
    const mutant = JSON.parse(fs.readFileSync(path.join(folder, name), "utf8")) as {
      readonly file: string
      readonly find: string
      readonly replace: string
      readonly caughtBy: string
      readonly scenario?: string
    }
    const source = fs.readFileSync(path.join(root, mutant.file), "utf8")
    expect(source.split(mutant.find).length).toBe(2)
    expect(mutant.replace).not.toBe(mutant.find)
    // A scenario's own expectations go by the scenario's name.
    expect([...watchers().map((watcher) => watcher.name), mutant.scenario]).toContain(mutant.caughtBy)
    if (mutant.scenario !== undefined) expect(Scenarios.named(mutant.scenario)).toHaveLength(1)
  })
}
