/**
 * The whole test of a working copy, after the type check that compiled it: style and layering, the test suites,
 * every failure that the simulator has kept, scenarios and seeds (those that reach every rare branch, a fixed set in two processes
 * whose digests must agree, and fresh ones from the commit), the real server killed under load, and mutants of what the newest commit
 * touched.
 * Ends with `N passed, M failed`.
 *
 * It is made for two cores. A third of what suites take is waiting: for a process to start or to end, for a time-out of the
 * venue. What only computes and waits for nobody runs meanwhile, with whatever the suites leave of the processors and no more,
 * so that none of them comes late for it. It is told whole, behind them.
 */
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { environment, flags } from "../sim/report/Memory.js"

interface Tally {
  passed: number
  failed: number
  skipped: number
}

const tally: Tally = { passed: 0, failed: 0, skipped: 0 }

/** What failed, by name: it is told once more at the end, where whoever sees only that finds it. */
const failures: Array<string> = []

const count = (title: string, passed: boolean): void => {
  if (passed) tally.passed++
  else {
    tally.failed++
    failures.push(title)
    process.stdout.write(`FAILED: ${title}\n`)
  }
}

/** One process, which counts as one test. */
type Step = readonly [title: string, args: ReadonlyArray<string>]

/** A process's result, and its whole output. */
interface Ended {
  readonly passed: boolean
  readonly text: string
  readonly seconds: number
}

type Begun = readonly [title: string, ended: Promise<Ended>]

/** Runs a program to its end. Threads and processes that it starts have its priority. */
const outputOf = (args: ReadonlyArray<string>, priority: number): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const begunMs = performance.now()
    const spawned = spawn(process.execPath, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] })
    if (spawned.pid !== undefined && priority !== os.constants.priority.PRIORITY_NORMAL) os.setPriority(spawned.pid, priority)
    const said: Array<Buffer> = []
    for (const stream of [spawned.stdout, spawned.stderr]) stream.on("data", (bytes: Buffer) => said.push(bytes))
    spawned.on("error", reject)
    spawned.on("close", (code) =>
      resolve({
        passed: code === 0,
        text: Buffer.concat(said).toString("utf8"),
        seconds: Math.round((performance.now() - begunMs) / 1_000)
      }))
  })

/** Starts steps that run concurrently. */
const begin = (steps: ReadonlyArray<Step>): ReadonlyArray<Begun> =>
  steps.map(([title, args]) => [title, outputOf(args, os.constants.priority.PRIORITY_NORMAL)])

/** Runs groups of steps one after another, those within a group concurrently, with whatever processor time everything else leaves. */
const beginMeanwhile = (groups: ReadonlyArray<ReadonlyArray<Step>>): ReadonlyArray<Begun> => {
  let before: Promise<unknown> = Promise.resolve()
  return groups.flatMap((steps) => {
    const free = before
    const begun = steps.map(([title, args]): Begun => [title, free.then(() => outputOf(args, os.constants.priority.PRIORITY_LOW))])
    before = Promise.all(begun.map(([, ended]) => ended))
    return begun
  })
}

/** Prints each step's whole output when it and those before it have ended. */
const tell = async (steps: ReadonlyArray<Begun>): Promise<void> => {
  for (const [title, ended] of steps) {
    const { passed, seconds, text } = await ended
    process.stdout.write(`\n== ${title} (${seconds} s)\n${text}`)
    count(title, passed)
  }
}

/** Runs a program to its end, printing its output as it comes. Returns whether it succeeded. */
const run = (title: string, args: ReadonlyArray<string>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    process.stdout.write(`\n== ${title}\n`)
    const spawned = spawn(process.execPath, args, { env: environment, stdio: "inherit" })
    spawned.on("error", reject)
    spawned.on("close", (code) => resolve(code === 0))
  })

/** A suite in the report. `message` is of one that could not be loaded. */
interface SuiteResult {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly assertionResults: ReadonlyArray<{
    readonly fullName: string
    readonly status: string
    readonly failureMessages: ReadonlyArray<string>
  }>
}

const firstLine = (text: string): string => text.split("\n", 1)[0]!

/** The failed tests of a suite, each with the first line of what was found, or the suite itself where it has none. */
const failedIn = ({ assertionResults, message, name, status }: SuiteResult): ReadonlyArray<string> => {
  const suite = path.relative(process.cwd(), name)
  const failed = assertionResults.filter((each) => each.status === "failed")
  return failed.length === 0 && status === "failed"
    ? [`${suite}: ${firstLine(message)}`]
    : failed.map(({ failureMessages, fullName }) => `${suite}: ${fullName}: ${firstLine(failureMessages[0] ?? "")}`)
}

const suites = async (): Promise<void> => {
  const report = path.join("dist", "test-report.json")
  fs.rmSync(report, { force: true })
  const succeeded = await run("suites", [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile=${report}`,
    ...process.argv.slice(2)
  ])
  if (!fs.existsSync(report)) {
    tally.failed++
    failures.push("suites: no report was written")
    return
  }
  const counts = JSON.parse(fs.readFileSync(report, "utf8")) as {
    readonly numPassedTests: number
    readonly numFailedTests: number
    readonly numFailedTestSuites: number
    readonly numPendingTests: number
    readonly testResults: ReadonlyArray<SuiteResult>
  }
  tally.passed += counts.numPassedTests
  // A suite that could not even be loaded has no failed test.
  const failed = Math.max(counts.numFailedTests, counts.numFailedTestSuites)
  // An error outside every test (an unhandled rejection) fails the run but no test; and a run without tests is no success.
  const isOtherwise = failed === 0 && (!succeeded || counts.numPassedTests === 0)
  tally.failed += isOtherwise ? 1 : failed
  failures.push(...counts.testResults.flatMap(failedIn), ...isOtherwise ? ["suites: an error outside every test, or no test at all"] : [])
  tally.skipped += counts.numPendingTests
}

/** The commit under test, from which fresh seeds are derived; a fixed text where there is no repository. */
const commit = (): string => {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" })
  return status === 0 ? stdout.trim() : "0000000"
}

/**
 * Seeds, each with its number of calls, that together with the scenarios reach every mark of the kept list. Where they no longer do,
 * `dist/sim/choose.js` finds others.
 */
const chosenSeeds = JSON.parse(fs.readFileSync("sim/seeds.json", "utf8")) as ReadonlyArray<string>

/** Longer runs, each of which comes to much at once. The chosen ones are cut off where they have reached what they were chosen for. */
const longSeeds: ReadonlyArray<string> = ["580000011:400", "580000032:400", "830000030:400"]

/**
 * Runs that two processes make, whose digests must agree. What would make them differ (the clock, chance, the order of something that
 * has none) shows in the first run that comes to much, so not every chosen seed has to be run a second time for it.
 */
const seedsTwice: ReadonlyArray<string> = [...longSeeds, ...chosenSeeds.slice(0, 3)]

/** Fresh seeds of each half, and calls of each: a short run misses much, and what only a long one reaches the chosen seeds have. */
const [freshSeeds, freshSteps] = ["4", "200"]

const simulator = [...flags, "dist/sim/main.js"]

const fresh = commit()
const meanwhile = beginMeanwhile([
  [
    ["style and layering", ["dist/scripts/check.js"]],
    ["format", ["dist/scripts/format.js"]],
    ["simulator: every failure that was kept is fixed", [...simulator, "--replay", "fixtures/bugs"]]
  ],
  [
    ["simulator: every scenario and the chosen seeds, reaching every mark of the kept list between them", [...simulator, "--scenario",
      "all", "--seed", chosenSeeds.join(","), "--kept-marks", "--quiet"]],
    ["simulator: fixed seeds twice", [...simulator, "--seed", seedsTwice.join(","), "--twice", "--scenario", "none"]]
  ],
  [fresh, `${fresh}b`].map((seed, index) =>
    [
      `simulator: fresh seeds of ${fresh.slice(0, 12)}, ${index === 0 ? "one half" : "the other half"}`,
      [...simulator, "--seed", seed, "--seeds", freshSeeds, "--steps", freshSteps]
    ] as const
  )
])
await suites()
// Survivors are for readers of the report, and running out of time is no failure; a venue that fails without any mutant is, and so is an
// outdated list of equivalent mutants. It has its half minute beside steps that leave it a core.
const last = begin([
  ["the real server, killed under load", ["dist/scripts/crash.js", "--kills", "3", "--seconds", "1"]],
  [
    "mutants of what the newest commit touched, for half a minute at most",
    ["dist/scripts/mutate.js", "--changed", "HEAD^", "--seed", "1,2,3", "--scenarios", "none", "--steps", "100", "--minutes", "0.5",
      "--state", "data/mutate-changed.jsonl"]
  ]
])
await tell(meanwhile)
await tell(last)

for (const failure of failures) process.stdout.write(`\nFAILED: ${failure}`)
process.stdout.write(`\n${tally.passed} passed, ${tally.failed} failed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ""}\n`)
process.exit(tally.failed === 0 ? 0 : 1)
