/**
 * Chooses the seeds of `npm test` anew after a change has moved what the previous ones reach: a few quick runs that together reach
 * every mark of the kept list that no scenario does, each with as few calls as that takes.
 *
 *     node dist/sim/choose.js FIRST LAST [--steps N] [--jobs N] [--keep FILE] [--more] [--write]
 *
 * Runs the seeds from FIRST to LAST and the current fixed ones, with N calls each (1000). A run cut off after fewer calls reaches the same
 * marks up to there, so each seed is weighed at every hundred of its calls. The chosen runs are then executed as cut; where one does not
 * reach what was expected, the choice is repeated without that expectation.
 *
 * `--keep FILE` reuses the runs that an earlier invocation of the same build saved in FILE, and adds to them. `--more` also wants marks
 * that some run reaches and the kept list does not have. `--write` writes `sim/seeds.json`, and the marks they reach into
 * `sim/marks.json`; it never removes a kept mark.
 * Exit codes: 0 chosen; 1 a seed failed, or no run reaches a kept mark; 64 usage.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { names } from "../src/domain/Branches.js"
import * as Cover from "./choose/Cover.js"
import { environment, flags } from "./report/Memory.js"
import * as Scenarios from "./scenarios/All.js"
import * as Simulation from "./Simulation.js"
import { firstApart } from "./workload/Wallet.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
const seedsPath = path.join(root, "sim/seeds.json")
const marksPath = path.join(root, "sim/marks.json")

/** Processor seconds that each seed costs in addition to its own run, so that fewer seeds are preferred. */
const secondsOfSeed = 0.2

/** A run may be cut off after any multiple of so many calls. */
const stride = 100

/** Seeds that a process runs before it is replaced by a new one. */
const seedsAtOnce = 5

/** The result of a run of so many calls. */
interface Ran {
  readonly seed: string
  readonly steps: number
  readonly failed: string
  /** The number of calls after which each mark was first reached; more than the run's calls for a mark reached after the last one. */
  readonly marks: Readonly<Record<string, number>>
  /** Processor seconds until each multiple of `stride` calls had begun, and until the end. */
  readonly seconds: ReadonlyArray<number>
}

const usage = "usage: node dist/sim/choose.js FIRST LAST [--steps N] [--jobs N] [--keep FILE] [--more] [--write]"
const fail = (): never => {
  process.stderr.write(`${usage}\n`)
  process.exit(64)
}

/** Runs a seed in this process. */
const ran = (seed: string, steps: number): Ran => {
  const before = process.cpuUsage()
  const used = (): number => {
    const { system, user } = process.cpuUsage(before)
    return Math.round((user + system) / 1e4) / 100
  }
  const seconds: Array<number> = []
  const { callsUntil, failure } = Simulation.run({
    seed,
    steps,
    profile: "swarm",
    listen: (_, seen) => {
      if (seen._tag === "Asked" && seen.call.id < firstApart && seen.call.id + 1 >= stride * (seconds.length + 1)) seconds.push(used())
    }
  })
  return { seed, steps, failed: failure?.properties.join(", ") ?? "", marks: callsUntil, seconds: [...seconds, used()] }
}

/** A process that runs seeds and reports each in a line. */
const child = (jobs: ReadonlyArray<readonly [seed: string, steps: number]>, heard: (each: Ran) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const spawned = spawn(process.execPath, [...flags, fileURLToPath(import.meta.url), "--ran", JSON.stringify(jobs)], {
      env: environment,
      stdio: ["ignore", "pipe", "inherit"]
    })
    let rest = ""
    spawned.stdout.setEncoding("utf8")
    spawned.stdout.on("data", (text: string) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop()!
      for (const line of lines) heard(JSON.parse(line) as Ran)
    })
    spawned.on("error", reject)
    spawned.on("close", (code) => code === 0 ? resolve() : reject(new Error(`a process that ran seeds ended with ${code}`)))
  })

/** Runs all seeds, in so many processes at a time. */
const runAll = async (
  wanted: ReadonlyArray<readonly [seed: string, steps: number]>,
  jobs: number,
  heard: (each: Ran) => void
): Promise<void> => {
  const waiting = [...wanted]
  const worker = async (): Promise<void> => {
    while (waiting.length > 0) await child(waiting.splice(0, seedsAtOnce), heard)
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}

/** The marks that the scenarios reach; exits where one of them fails. */
const reachedByScenarios = (): ReadonlySet<string> =>
  new Set(Scenarios.scenarios.flatMap((scenario) => {
    const report = Scenarios.play(scenario, { unproven: true })
    const failure = Scenarios.failureOf(report)
    if (failure === undefined) return Object.keys(report.marks)
    process.stderr.write(`scenario ${scenario.name} fails: ${failure.what}\n`)
    return process.exit(1)
  }))

/** The ways in which a run can be used: whole, or cut off after any multiple of `stride` calls. */
const candidatesOf = ({ marks, seconds, seed, steps }: Ran): ReadonlyArray<Candidate> => {
  const whole = seconds.at(-1)!
  // The work after the last call costs the same wherever the run is cut off.
  const behind = whole - (seconds.at(-2) ?? 0)
  const cut = seconds.slice(0, -2).map((used, index) => candidate(seed, stride * (index + 1), used + behind, marks))
  return [...cut, candidate(seed, steps, whole, marks, Infinity)]
}

interface Candidate extends Cover.Run {
  readonly steps: number
}

const candidate = (seed: string, steps: number, seconds: number, marks: Ran["marks"], within = steps): Candidate => ({
  name: seed,
  steps,
  cost: seconds + secondsOfSeed,
  reaches: new Set(Object.keys(marks).filter((mark) => marks[mark]! <= within))
})

const keyOf = ({ name, steps }: Candidate): string => `${name}:${steps}`

/** Chooses, executes the chosen runs as cut, and chooses again until each reaches what was expected of it. */
const choose = async (runs: ReadonlyArray<Ran>, wanted: ReadonlySet<string>, jobs: number): Promise<ReadonlyArray<Candidate>> => {
  const candidates = new Map(runs.flatMap(candidatesOf).map((each) => [keyOf(each), each]))
  const proven = new Set(runs.map(({ seed, steps }) => `${seed}:${steps}`))
  for (;;) {
    const chosen = Cover.cover(wanted, [...candidates.values()]).map((run) => run as Candidate)
    const unproven = chosen.filter((each) => !proven.has(keyOf(each)))
    process.stderr.write(`${chosen.length} chosen, ${unproven.length} of them to be run as they are\n`)
    if (unproven.length === 0) return chosen
    await runAll(unproven.map(({ name, steps }) => [name, steps] as const), jobs, (each) => {
      const key = `${each.seed}:${each.steps}`
      if (each.failed !== "") candidates.delete(key)
      else candidates.set(key, candidate(each.seed, each.steps, each.seconds.at(-1)!, each.marks, Infinity))
      proven.add(key)
    })
  }
}

const main = async (): Promise<void> => {
  const { positionals: [first = "", last = ""], values } = parseArgs({
    allowPositionals: true,
    options: {
      steps: { type: "string", default: "1000" },
      jobs: { type: "string", default: "2" },
      keep: { type: "string" },
      more: { type: "boolean", default: false },
      write: { type: "boolean", default: false }
    }
  })
  if (![first, last, values.steps, values.jobs].every((text) => /^[0-9]{1,15}$/.test(text))) fail()
  const kept = values.keep !== undefined && fs.existsSync(values.keep)
    ? fs.readFileSync(values.keep, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Ran)
    : []
  const runs = [...kept]
  const steps = Number(values.steps)
  const fixed = (JSON.parse(fs.readFileSync(seedsPath, "utf8")) as ReadonlyArray<string>).map((seed) => seed.split(":")[0]!)
  const range = Array.from({ length: Math.max(0, Number(last) - Number(first) + 1) }, (_, index) => String(Number(first) + index))
  const seeds = [...new Set([...fixed, ...range])].filter((seed) => !kept.some((each) => each.seed === seed && each.steps === steps))
  const played = reachedByScenarios()
  await runAll(seeds.map((seed) => [seed, steps] as const), Number(values.jobs), (each) => {
    runs.push(each)
    if (values.keep !== undefined) fs.appendFileSync(values.keep, `${JSON.stringify(each)}\n`)
    process.stderr.write(`seed ${each.seed}: ${each.seconds.at(-1)} s, ${Object.keys(each.marks).length} marks ${each.failed}\n`)
  })
  const failed = runs.filter((each) => each.failed !== "")
  if (failed.length > 0) {
    for (const each of failed) process.stderr.write(`seed ${each.seed} fails: ${each.failed}\n`)
    process.exit(1)
  }
  const reached = new Set([...played, ...runs.flatMap(({ marks }) => Object.keys(marks))])
  const keptMarks = JSON.parse(fs.readFileSync(marksPath, "utf8")) as ReadonlyArray<string>
  const lost = keptMarks.filter((mark) => !reached.has(mark))
  if (lost.length > 0) {
    process.stderr.write(`no run reaches what is kept: ${lost.join("; ")}\n`)
    process.exit(1)
  }
  const wanted = [...values.more ? reached : keptMarks].filter((mark) => !played.has(mark))
  const chosen = await choose(runs, new Set(wanted), Number(values.jobs))
  tell({ chosen, played, reached, write: values.write })
}

interface Chosen {
  readonly chosen: ReadonlyArray<Candidate>
  /** The marks that scenarios reach. */
  readonly played: ReadonlySet<string>
  /** Those that scenarios or any of the runs reach. */
  readonly reached: ReadonlySet<string>
  readonly write: boolean
}

const tell = ({ chosen, played, reached, write }: Chosen): void => {
  const between = new Set([...played, ...chosen.flatMap(({ reaches }) => [...reaches])])
  const seeds = [...chosen].sort((one, other) => Number(one.name) - Number(other.name)).map(keyOf)
  const seconds = chosen.reduce((sum, { cost }) => sum + cost - secondsOfSeed, 0)
  process.stdout.write(`${seeds.join(",")}\n${seeds.length} runs, ${seconds.toFixed(0)} s of a processor, ${between.size} marks\n`)
  process.stdout.write(`reached by others alone: ${names.filter((name) => reached.has(name) && !between.has(name)).join("; ")}\n`)
  process.stdout.write(`never reached: ${names.filter((name) => !reached.has(name)).join("; ")}\n`)
  if (!write) return
  const text = (lines: ReadonlyArray<string>): string => `${JSON.stringify(lines, undefined, 2)}\n`
  fs.writeFileSync(seedsPath, text(seeds))
  fs.writeFileSync(marksPath, text(names.filter((name) => between.has(name))))
}

if (process.argv[2] === "--ran") {
  for (const [seed, steps] of JSON.parse(process.argv[3]!) as ReadonlyArray<readonly [string, number]>) {
    process.stdout.write(`${JSON.stringify(ran(seed, steps))}\n`)
  }
} else await main()
