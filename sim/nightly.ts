/**
 * The nightly loop: fresh seeds over all profiles until the time is up. Each failure is made smaller and kept
 * once by its signature (the property and its message without what differs from run to run); later ones are only
 * counted. Ends with a table of what ran and what was found.
 *
 * Disk use is bounded: nothing is written but the kept failures, at most `--most` of them.
 * Exit codes: 0 nothing found; 1 something found; 64 wrong usage.
 *
 * Usage: node dist/sim/nightly.js --minutes N [--jobs N] [--steps N] [--most N] [--bugs FOLDER]
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as crypto from "node:crypto"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import Table from "cli-table3"
import * as Options from "./faults/Options.js"
import * as BugFile from "./report/BugFile.js"
import * as Loop from "./report/Loop.js"
import { environment, flags } from "./report/Memory.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
const usage = "usage: node dist/sim/nightly.js --minutes N [--jobs N] [--steps N] [--most N] [--bugs FOLDER]"

const fail = (message: string): never => {
  process.stderr.write(`${message}\n${usage}\n`)
  process.exit(64)
}

/** Seeds that one process runs before the next profile has its turn. */
const seedsAtOnce = 10

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string" },
        jobs: { type: "string", default: "2" },
        steps: { type: "string", default: "800" },
        most: { type: "string", default: "20" },
        bugs: { type: "string", default: path.join(root, "fixtures/bugs") }
      }
    })
    const number = (name: string, text: string | undefined): number => {
      const value = Number(text)
      return Number.isFinite(value) && value > 0 ? value : fail(`--${name} needs a number above 0`)
    }
    const whole = (name: string, text: string): number => {
      const value = number(name, text)
      return Number.isInteger(value) ? value : fail(`--${name} needs a whole number`)
    }
    return {
      minutes: number("minutes", values.minutes),
      jobs: whole("jobs", values.jobs),
      steps: whole("steps", values.steps),
      most: whole("most", values.most),
      bugs: path.resolve(values.bugs)
    }
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
})()

const began = performance.now()
const endsMs = began + options.minutes * 60_000
const isOver = (): boolean => performance.now() >= endsMs
const running = new Set<ChildProcess>()
const tally = Loop.make(Options.profiles)

/** Runs seeds in a process of its own, until it ends or the time is up. */
const run = (words: ReadonlyArray<string>): Promise<{ readonly output: string; readonly cut: boolean }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, "dist/sim/main.js", ...words], {
      cwd: root,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"]
    })
    running.add(child)
    let output = ""
    let cut = false
    const take = (bytes: Buffer): void => {
      output += bytes.toString("utf8")
    }
    child.stdout.on("data", take)
    child.stderr.on("data", take)
    const timer = setTimeout(() => {
      cut = true
      child.kill()
    }, Math.max(0, endsMs - performance.now()))
    child.on("error", reject)
    child.on("close", () => {
      clearTimeout(timer)
      running.delete(child)
      resolve({ output, cut })
    })
  })

/** One turn of a profile: consecutive seeds beginning at a fresh one, continuing after each that fails. */
const turn = async (profile: Options.Profile): Promise<void> => {
  const first = crypto.randomInt(2 ** 47)
  for (let seed = first; seed < first + seedsAtOnce && !isOver();) {
    const full = BugFile.names(options.bugs).length >= options.most
    const { cut, output } = await run([
      ...["--seed", String(seed), "--seeds", String(first + seedsAtOnce - seed), "--profile", profile, "--steps", String(options.steps),
        "--scenario", "none"],
      ...["--quiet", "--each", "--bugs", options.bugs, ...(full ? ["--raw"] : [])]
    ])
    const heard = tally.hear(profile, output)
    if (heard.failedSeed === undefined) {
      if (!cut && heard.ran === 0) throw new Error(`a simulation told nothing:\n${output}`)
      return
    }
    process.stdout.write(`${profile}: ${heard.told}\n`)
    seed = Number(heard.failedSeed) + 1
  }
}

let turns = 0
const lane = async (): Promise<void> => {
  while (!isOver()) await turn(Options.profiles[turns++ % Options.profiles.length]!)
}

process.on("SIGINT", () => {
  for (const child of running) child.kill()
  process.exit(1)
})

await Promise.all(Array.from({ length: options.jobs }, lane))

const seconds = (performance.now() - began) / 1000
const ran = new Table({ head: ["profile", "seeds", "calls", "records", "crashes", "failures"], style: { head: [], border: [] } })
for (const row of tally.profiles()) ran.push([row.profile, row.seeds, row.calls, row.records, row.crashes, row.failures])
process.stdout.write(`${ran.toString()}\n`)
const found = tally.findings()
if (found.length > 0) {
  const table = new Table({
    head: ["failure", "times", "first seed", "file"],
    style: { head: [], border: [] },
    wordWrap: true,
    colWidths: [60, 7, 20, 50]
  })
  for (const each of found) table.push([each.signature, each.times, `${each.seed} (${each.profile})`, each.file])
  process.stdout.write(`${table.toString()}\n`)
}
const seeds = tally.profiles().reduce((sum, row) => sum + row.seeds, 0)
process.stdout.write(`${seeds} seeds in ${(seconds / 60).toFixed(1)} minutes, ${found.length} different failures\n`)
process.exitCode = found.length === 0 ? 0 : 1
