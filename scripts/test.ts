/**
 * The whole test of a working copy, after the type check that compiled it: style and layering, the test suites,
 * simulator seeds (a fixed set, each in two processes whose digests must agree, and fresh ones from the commit),
 * the real server killed under load, and mutants of what the newest commit touched. Ends with `N passed, M failed`.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

interface Tally {
  passed: number
  failed: number
  skipped: number
}

const tally: Tally = { passed: 0, failed: 0, skipped: 0 }

const run = (title: string, args: ReadonlyArray<string>): boolean => {
  process.stdout.write(`\n== ${title}\n`)
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" })
  return status === 0
}

/** A step that counts as one test. */
const step = (title: string, args: ReadonlyArray<string>): void => {
  if (run(title, args)) tally.passed++
  else {
    tally.failed++
    process.stdout.write(`FAILED: ${title}\n`)
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

step("style and layering", ["dist/scripts/check.js"])
step("format", ["dist/scripts/format.js"])
suites()
step("simulator: fixed seeds, twice, reaching every mark of the kept list", ["dist/sim/main.js", "--seed", "21", "--seeds", "20", "--twice",
  "--kept-marks"])
step(`simulator: fresh seeds of ${commit().slice(0, 12)}`, ["dist/sim/main.js", "--seed", commit(), "--seeds", "40"])
step("the real server, killed under load", ["dist/scripts/crash.js", "--kills", "3", "--seconds", "1"])
// Survivors are for whoever reads them, and the time ends it without a failure; what fails is a venue that breaks without any
// mutant, and a list of equivalent mutants that has gone out of date.
step("mutants of what the newest commit touched, for a minute at most", [
  "dist/scripts/mutate.js",
  "--changed",
  "HEAD^",
  "--seeds",
  "12",
  "--minutes",
  "1",
  "--state",
  "data/mutate-changed.jsonl"
])

process.stdout.write(`\n${tally.passed} passed, ${tally.failed} failed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ""}\n`)
process.exit(tally.failed === 0 ? 0 : 1)
