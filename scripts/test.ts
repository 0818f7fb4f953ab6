/**
 * The whole test of a working copy, after the type check that compiled it: style and layering, the test suites,
 * simulator seeds (a fixed set, each in two processes whose digests must agree, and fresh ones from the commit),
 * the real server killed under load, and mutants of what the newest commit touched. Ends with `N passed, M failed`.
 *
 * It is made for two cores: what keeps only one busy runs beside something else that does.
 */
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { environment } from "../sim/report/Memory.js"

interface Tally {
  passed: number
  failed: number
  skipped: number
}

const tally: Tally = { passed: 0, failed: 0, skipped: 0 }

const run = (title: string, args: ReadonlyArray<string>): boolean => {
  process.stdout.write(`\n== ${title}\n`)
  const { status } = spawnSync(process.execPath, args, { env: environment, stdio: "inherit" })
  return status === 0
}

const count = (title: string, passed: boolean): void => {
  if (passed) tally.passed++
  else {
    tally.failed++
    process.stdout.write(`FAILED: ${title}\n`)
  }
}

/** A step that counts as one test. */
const step = (title: string, args: ReadonlyArray<string>): void => count(title, run(title, args))

/** Runs a program to its end; whether it was well, and all that it said. */
const outputOf = (args: ReadonlyArray<string>): Promise<{ readonly passed: boolean; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const spawned = spawn(process.execPath, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] })
    const said: Array<Buffer> = []
    for (const stream of [spawned.stdout, spawned.stderr]) stream.on("data", (bytes: Buffer) => said.push(bytes))
    spawned.on("error", reject)
    spawned.on("close", (code) => resolve({ passed: code === 0, text: Buffer.concat(said).toString("utf8") }))
  })

/** Steps of one process each, at once; each is told whole when it and those before it have ended. */
const beside = async (steps: ReadonlyArray<readonly [title: string, args: ReadonlyArray<string>]>): Promise<void> => {
  const outputs = steps.map(([, args]) => outputOf(args))
  for (const [index, [title]] of steps.entries()) {
    const { passed, text } = await outputs[index]!
    process.stdout.write(`\n== ${title}\n${text}`)
    count(title, passed)
  }
}

const suites = (): void => {
  const report = path.join("dist", "test-report.json")
  fs.rmSync(report, { force: true })
  const succeeded = run("suites", [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile=${report}`,
    ...process.argv.slice(2)
  ])
  if (!fs.existsSync(report)) {
    tally.failed++
    return
  }
  const counts = JSON.parse(fs.readFileSync(report, "utf8")) as {
    readonly numPassedTests: number
    readonly numFailedTests: number
    readonly numFailedTestSuites: number
    readonly numPendingTests: number
  }
  tally.passed += counts.numPassedTests
  // A suite that could not even be loaded has no failed test to show for it.
  const failed = Math.max(counts.numFailedTests, counts.numFailedTestSuites)
  // An error outside every test (a rejection nobody awaits) fails the run and no test; no test at all is no success.
  tally.failed += failed === 0 && (!succeeded || counts.numPassedTests === 0) ? 1 : failed
  tally.skipped += counts.numPendingTests
}

/** The commit under test, for fresh seeds; a fixed text where there is no repository. */
const commit = (): string => {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" })
  return status === 0 ? stdout.trim() : "0000000"
}

/** Seeds that reach every mark of the kept list between them. Where they do not any more, `dist/sim/choose.js` finds others. */
const fixedSeeds = "159,160,161,163,174,178,189,194,205,206,210,211,220,226"

await beside([["style and layering", ["dist/scripts/check.js"]], ["format", ["dist/scripts/format.js"]]])
suites()
step("simulator: fixed seeds, twice, reaching every mark of the kept list", ["dist/sim/main.js", "--seed", fixedSeeds, "--twice",
  "--kept-marks"])
const fresh = commit()
await beside([fresh, `${fresh}b`].map((seed, index) =>
  [
    `simulator: fresh seeds of ${fresh.slice(0, 12)}, ${index === 0 ? "one half" : "the other half"}`,
    ["dist/sim/main.js", "--seed", seed, "--seeds", "10"]
  ] as const
))
// Either keeps one core busy. Survivors are for whoever reads them, and the time ends it without a failure; what fails is a venue
// that breaks without any mutant, and a list of equivalent mutants that has gone out of date.
await beside([
  ["the real server, killed under load", ["dist/scripts/crash.js", "--kills", "3", "--seconds", "1"]],
  [
    "mutants of what the newest commit touched, for a minute at most",
    ["dist/scripts/mutate.js", "--changed", "HEAD^", "--seeds", "12", "--minutes", "1", "--state", "data/mutate-changed.jsonl"]
  ]
])

process.stdout.write(`\n${tally.passed} passed, ${tally.failed} failed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ""}\n`)
process.exit(tally.failed === 0 ? 0 : 1)
