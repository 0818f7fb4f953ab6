/** Every proof that the list of threats names exists: a test's file, or a property or a scenario of the simulator. */
import * as fs from "node:fs"
import { expect, test } from "vitest"
import { watchers } from "../sim/properties/All.js"
import { scenarios } from "../sim/scenarios/All.js"

const rows = fs.readFileSync("THREATS.md", "utf8").split("\n").filter((line) => /^\| (?!Attack)/.test(line))
const proofs = rows.map((row) => [...row.split("|")[3]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))

test("every threat names what shows that it is stopped", () => {
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.filter((_, index) => proofs[index]!.length === 0)).toEqual([])
})

test("what it names is there", () => {
  const seen = new Set([...watchers(), ...scenarios].map(({ name }) => name))
  const missing = proofs.flat().filter((name) => name.startsWith("test/") ? !fs.existsSync(name) : !seen.has(name))
  expect(missing).toEqual([])
})
