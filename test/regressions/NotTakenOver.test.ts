/**
 * What the tools say of a directory written by another version that this one never took over: the version's name, and no result of their
 * own.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { unpack } from "../../scripts/fixtures/Version.js"
import { line, type Result, runAll } from "../cli/Tool.js"
import * as Kept from "./KeptVersion.js"

/**
 * A kept directory as it is, or with a state that a start of this version left before it ended, after which the previous version went on.
 */
const cases: ReadonlyArray<{ readonly name: Kept.Name; readonly program: string; readonly rules: number; readonly hasStep: boolean }> = [
  { name: "rules-7", program: "0.7.0", rules: 7, hasStep: false },
  { name: "rules-7-crashed", program: "0.7.0", rules: 7, hasStep: false },
  { name: "rules-6", program: "0.6.0", rules: 6, hasStep: false },
  { name: "rules-4", program: "0.4.0", rules: 4, hasStep: false },
  { name: "rules-3", program: "0.3.0", rules: 3, hasStep: false },
  { name: "rules-7-crashed", program: "0.7.0", rules: 7, hasStep: true }
]

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "not-taken-over-"))
afterAll(() => fs.rmSync(directory, { recursive: true }))

describe("the tools", () => {
  const histories = "what the version before has made"
  const historiesOf = (index: number): string => path.join(directory, String(index), "histories.db")
  const bundleOf = (index: number): string => path.join(directory, `${index}.bundle`)
  /** The results of all tools, by directory. */
  let told: ReadonlyArray<ReadonlyArray<Result>>

  beforeAll(async () => {
    const lines = cases.map(({ hasStep, name }, index) => {
      const data = path.join(directory, String(index))
      unpack(path.join(Kept.directoryOf(name), "data"), data)
      fs.writeFileSync(historiesOf(index), histories)
      const snapshots = path.join(data, "snapshots")
      const [first] = fs.readdirSync(snapshots)
      if (hasStep) fs.copyFileSync(path.join(snapshots, first!), path.join(snapshots, first!.replace(/\.snap$/, ".step")))
      return [
        line("dist/tools/venue.js", ["bundle", "--data", data, "--out", bundleOf(index)]),
        line("dist/tools/venue.js", ["journal", "tail", "--data", data]),
        // Once is enough to show that it checks: the answer is the same for every directory.
        ...(index === 0 ? [line("dist/tools/venue.js", ["histories", "rebuild", "--data", data])] : []),
        line("dist/tools/venue.js", ["audit", "--data", data]),
        line("dist/tools/replay.js", ["--data", data, "--verify"])
      ]
    })
    const results = [...await runAll(lines.flat())]
    told = lines.map((each) => results.splice(0, each.length))
  })

  test.each(cases.map((each, index) => ({ ...each, index })))(
    "of $name they name version $program, also behind a step that was not finished: $hasStep",
    ({ index, program, rules }) => {
      const results = told[index]!
      const said = results[0]!.stderr
      expect(said).toMatch(/^the records up to \d+ were decided by version /)
      expect(said).toContain(`decided by version ${program} (rules ${rules}), which alone runs them\n`)
      expect(results).toEqual(results.map(() => ({ code: 2, stdout: "", stderr: said })))
      expect(fs.existsSync(bundleOf(index))).toBe(false)
      expect(fs.readFileSync(historiesOf(index), "utf8")).toBe(histories)
    }
  )
})
