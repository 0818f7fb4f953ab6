/** Judges mutants by their folder's unit tests: `src/engine/...` by those tests in `test/engine` that reach the mutant. */
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import type { Lane } from "./Lane.js"
import { environmentName, reachFolderName } from "./Planting.js"
import type { Batch } from "./Seeds.js"
import type { Module, Site } from "./Sites.js"
import type { Verdict } from "./State.js"

/** A compiled test file, and the time it took without any mutant, including its process. */
interface Suite {
  readonly file: string
  readonly wallMs: number
}

/** Which test files reach which mutants. */
export interface Reach {
  readonly suites: ReadonlyMap<number, ReadonlyArray<Suite>>
  /** Test files that fail without any mutant: they judge nothing. */
  readonly failing: ReadonlyArray<string>
}

/** The time limit for a test file: a multiple of its usual time, plus a constant. */
const limitFactor = 4
const limitExtraMs = 20_000
const limitUnknownMs = 600_000

const vitest = (files: ReadonlyArray<string>, report: string): ReadonlyArray<string> => [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--bail=1",
  "--reporter=json",
  `--outputFile=${report}`,
  // Otherwise the configured number of workers exceeds the limit, and nothing runs.
  "--minWorkers=1",
  "--maxWorkers=1",
  ...files
]

/** A source folder's compiled test files, relative to the root. */
const filesOf = (root: string, folder: string): ReadonlyArray<string> => {
  const tests = path.join("dist", folder.replace(/^src/, "test"))
  if (!fs.existsSync(path.join(root, tests))) return []
  return fs.readdirSync(path.join(root, tests), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .map((name) => path.posix.join(tests, name.split(path.sep).join("/")))
    .sort()
}

/** `src/engine/Book.ts` is of `src/engine`. */
const folderOf = ({ path: file }: Module): string => file.split("/").slice(0, 2).join("/")

/** Runs each test file of the folders separately, without any mutant. */
export const record = async (lane: Lane, modules: ReadonlyArray<Batch>, progress: (done: number, of: number) => void): Promise<Reach> => {
  lane.plant(modules.map(({ module, sites }) => [module, sites]), "recording")
  const files = [...new Set(modules.map(({ module }) => folderOf(module)))].flatMap((folder) => filesOf(lane.folder, folder))
  const suites = new Map<number, Array<Suite>>()
  const failing: Array<string> = []
  for (const [index, file] of files.entries()) {
    if (lane.isStopped) break
    const notes = fs.mkdtempSync(path.join(lane.folder, "reached-"))
    const loader = pathToFileURL(path.join(lane.folder, "dist/scripts/mutate/reach.js")).href
    const began = performance.now()
    const env = { [reachFolderName]: notes, NODE_OPTIONS: `--import=${loader}` }
    const { code } = await lane.execute(vitest([file], path.join(notes, "report.json")), env, () => undefined, limitUnknownMs)
    const suite = { file, wallMs: performance.now() - began }
    if (code !== 0) failing.push(file)
    else {
      const reached = fs.readdirSync(notes)
        .filter((name) => name !== "report.json")
        .flatMap((name) => fs.readFileSync(path.join(notes, name), "utf8").split("\n").slice(0, -1).map(Number))
      for (const id of new Set(reached)) suites.set(id, [...suites.get(id) ?? [], suite])
    }
    fs.rmSync(notes, { recursive: true, force: true })
    progress(index + 1, files.length)
  }
  return { suites, failing: lane.isStopped ? [] : failing }
}

interface TestReport {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{
      readonly status: string
      readonly fullName: string
      readonly failureMessages: ReadonlyArray<string>
    }>
  }>
}

/** The first failed test, and its message. */
const firstFailure = (file: string): readonly [by: string, what: string] => {
  if (!fs.existsSync(file)) return ["the test process", "it left no report"]
  const { testResults } = JSON.parse(fs.readFileSync(file, "utf8")) as TestReport
  for (const { assertionResults, message, name } of testResults) {
    const failed = assertionResults.find(({ status }) => status === "failed")
    if (failed !== undefined) return [failed.fullName.trim(), (failed.failureMessages[0] ?? "").slice(0, 200)]
    if (message !== "") return [path.basename(name), message.slice(0, 200)]
  }
  return ["the test process", "no test of its report failed"]
}

/** Runs the test files that reach one mutant, the fastest first; undefined where the lane was stopped. */
export const judge = async (lane: Lane, module: Module, site: Site, reach: Reach): Promise<Verdict | undefined> => {
  const reaching = [...reach.suites.get(site.id) ?? []].sort((a, b) => a.wallMs - b.wallMs)
  if (reaching.length === 0) return { outcome: "unreached" }
  lane.plant([[module, [site]]], "switched")
  const report = path.join(lane.folder, "report.json")
  for (const { file, wallMs } of reaching) {
    fs.rmSync(report, { force: true })
    const limitMs = wallMs * limitFactor + limitExtraMs
    const { code, signal } = await lane.execute(vitest([file], report), { [environmentName]: String(site.id) }, () => undefined, limitMs)
    if (lane.isStopped) return undefined
    if (signal === "SIGKILL") return { outcome: "ended", by: "time limit", at: file, what: "" }
    if (code === 0) continue
    const [by, what] = firstFailure(report)
    return { outcome: "killed", by, at: file, what }
  }
  return { outcome: "survived", seen: false }
}
