/** What the tools say of a directory that another version decided and this one never took over: whose it is, and nothing that they would make of it. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { unpack } from "../../scripts/fixtures/Version.js"
import { line, type Result, runAll } from "../cli/Tool.js"
import * as Kept from "./KeptVersion.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "not-taken-over-"))
afterAll(() => fs.rmSync(directory, { recursive: true }))

/** A kept directory, as it is or with the state that a start of this version kept before it ended, and the version before went on. */
const cases = [
  ["rules-7", "0.7.0", 7, false],
  ["rules-7-crashed", "0.7.0", 7, false],
  ["rules-6", "0.6.0", 6, false],
  ["rules-4", "0.4.0", 4, false],
  ["rules-3", "0.3.0", 3, false],
  ["rules-7-crashed", "0.7.0", 7, true]
] as const satisfies ReadonlyArray<readonly [name: Kept.Name, program: string, rules: number, hasStep: boolean]>

const tools = 4
let told: ReadonlyArray<Result>

const made = (index: number): string => path.join(directory, `${index}.bundle`)

beforeAll(async () => {
  const lines = cases.flatMap(([name, _, __, hasStep], index) => {
    const data = path.join(directory, String(index))
    unpack(path.join(Kept.directoryOf(name), "data"), data)
    const snapshots = path.join(data, "snapshots")
    const [first] = fs.readdirSync(snapshots).sort()
    if (hasStep) fs.copyFileSync(path.join(snapshots, first!), path.join(snapshots, first!.replace(/\.snap$/, ".step")))
    return [
      line("dist/tools/venue.js", ["bundle", "--data", data, "--out", made(index)]),
      line("dist/tools/venue.js", ["journal", "tail", "--data", data]),
      line("dist/tools/venue.js", ["audit", "--data", data]),
      line("dist/tools/replay.js", ["--data", data, "--verify"])
    ]
  })
  expect(lines.length).toBe(cases.length * tools)
  told = await runAll(lines)
})

test.each(cases.map(([name, program, rules, hasStep], index) => ({ name, program, rules, hasStep, index })))(
  "of $name they name version $program, also behind a step that was not finished: $hasStep",
  ({ index, program, rules }) => {
    const results = told.slice(index * tools, (index + 1) * tools)
    const [{ stderr: said }] = results as [Result]
    expect(said).toMatch(/^the records up to \d+ were decided by version /)
    expect(said).toContain(`decided by version ${program} (rules ${rules}), which alone runs them\n`)
    expect(results).toEqual(results.map(() => ({ code: 2, stdout: "", stderr: said })))
    expect(fs.existsSync(made(index))).toBe(false)
  }
)
