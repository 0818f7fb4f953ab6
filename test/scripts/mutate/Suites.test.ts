/** Unit tests judge a mutant in a copy of the compiled output: those that reach it and pass there without it. */
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { Lane } from "../../../scripts/mutate/Lane.js"
import * as Sites from "../../../scripts/mutate/Sites.js"
import * as Suites from "../../../scripts/mutate/Suites.js"

const root = path.resolve(import.meta.dirname, "../../../..")
const lane = new Lane(root)
afterAll(() => {
  lane.stop()
  lane.remove()
})

test("tests pass in the copy, reach what they run, and fail of a mutant", async () => {
  // Each test file of the folder is a process of its own: one of them is enough.
  const folder = path.join(lane.folder, "dist/test/sessions")
  for (const name of fs.readdirSync(folder))
    if (name.endsWith(".test.js") && name !== "Calendar.test.js") fs.rmSync(path.join(folder, name))
  const module = Sites.modulesUnder(root, ["src/sessions/Calendar.ts"])[0]!
  const reach = await Suites.record(lane, [{ module, sites: module.sites }], () => {})
  expect(reach.failing).toEqual([])
  const reached = module.sites.filter(({ id }) => reach.suites.has(id))
  expect(reached.length).toBeGreaterThan(module.sites.length / 2)
  const site = reached.find(({ mutant }) => mutant.operator === "condition")!
  expect(await Suites.judge(lane, module, site, reach)).toMatchObject({ outcome: "killed" })
})
