/**
 * Plays simulator seeds and scenarios with one mutant's switch on after another's, in one process: `node runner.js TASK`. Writes its
 * findings to file descriptor 3, line by line, so that everything before it is ended counts.
 */
import * as fs from "node:fs"
import { Worker } from "node:worker_threads"
import { seedOf } from "../../sim/run/Request.js"
import type * as Scenarios from "../../sim/scenarios/All.js"
import type * as Simulation from "../../sim/Simulation.js"
import { globalName, type Switch } from "./Planting.js"
import { type Judging, type Message, type Played, type Recording, scenarioOf, type Task } from "./Task.js"

/** The limit of processor time for a run: a multiple of its time without a mutant, plus a constant. */
const limitFactor = 8
const limitExtraMs = 3_000
/** The limit for loading, and for a run whose usual time is unknown, in milliseconds. */
const limitUnknownMs = 120_000

const say = (message: Message): void => {
  fs.writeSync(3, `${JSON.stringify(message)}\n`)
}

const cpuMicros = (): number => {
  const { system, user } = process.cpuUsage()
  return user + system
}

const shared = new SharedArrayBuffer(8)
const limit = new BigInt64Array(shared)
const allow = (ms: number): void => {
  Atomics.store(limit, 0, BigInt(Math.round(cpuMicros() + ms * 1000)))
}

const task = JSON.parse(fs.readFileSync(process.argv[2]!, "utf8")) as Task

/** For each mutant: whether it was reached since the last check. */
const reached = new Uint8Array(task.kind === "recording" ? task.mutants + 1 : 0)
const planted: Switch = {
  id: 0,
  at: (id) => {
    reached[id] = 1
    return false
  }
}
;(globalThis as unknown as Record<string, Switch>)[globalName] = planted

const takeReached = (): ReadonlyArray<number> => {
  const taken: Array<number> = []
  for (let id = 1; id < reached.length; id++) if (reached[id] === 1) taken.push(id)
  reached.fill(0)
  return taken
}

/** Plays what a name of `Played` stands for. */
type Play = (name: string, terms: Pick<Recording, "profile" | "steps">) => Simulation.Report

const playWith = (run: typeof Simulation.run, scenarios: typeof Scenarios): Play => (name, { profile, steps }) => {
  const scenario = scenarioOf(name)
  return scenario === undefined ? run({ ...seedOf(name, steps), profile }) : scenarios.play(scenarios.named(scenario)![0]!)
}

const record = (play: Play, task: Recording): void => {
  for (const name of task.runs) {
    allow(limitUnknownMs)
    const began = cpuMicros()
    const report = play(name, task)
    const cpuMs = Math.ceil((cpuMicros() - began) / 1000)
    say({ kind: "recorded", run: { name, digest: report.digest, cpuMs }, reached: takeReached(), failure: report.failure?.what })
  }
}

/** A run's verdict on the mutant whose switch is on. */
const judge = (
  play: Play,
  { cpuMs, digest, name }: Played,
  judging: Judging
): Pick<Message & { kind: "killed" }, "by" | "what"> | boolean => {
  allow(limitFactor * cpuMs + limitExtraMs)
  try {
    const { digest: found, failure } = play(name, judging)
    return failure === undefined ? found !== digest : { by: failure.properties.join(", "), what: failure.what.slice(0, 200) }
  } catch (error) {
    return { by: "threw", what: String(error).slice(0, 200) }
  }
}

/** The number of mutants after which a process shows that it still runs the unmutated venue, which bounds how many are judged in vain. */
const guardEvery = 6

/** Plays one mutant's runs, until one of them detects it. */
const judgeOne = (play: Play, id: number, runs: ReadonlyArray<Played>, judging: Judging): void => {
  planted.id = id
  let seen = false
  for (const run of runs) {
    say({ kind: "begun", id, run: run.name })
    const shown = judge(play, run, judging)
    if (typeof shown !== "boolean") return say({ kind: "killed", id, run: run.name, ...shown })
    seen ||= shown
  }
  say({ kind: "survived", id, seen })
}

const judgeAll = (play: Play, judging: Judging): void => {
  const { guard, mutants } = judging
  for (const [index, { id, runs }] of mutants.entries()) {
    judgeOne(play, id, runs, judging)
    // A process with a single mutant need not prove anything for others.
    if (mutants.length === 1 || ((index + 1) % guardEvery !== 0 && index + 1 < mutants.length)) continue
    planted.id = 0
    const sound = judge(play, guard, judging) === false
    say({ kind: "guarded", sound })
    if (!sound) return
  }
}

allow(limitUnknownMs)
new Worker(new URL("./watchdog.js", import.meta.url), { workerData: shared })
// A mutant reached by loading is switched on before anything is loaded; it is the only one in its task.
const [first] = task.kind === "judging" ? task.mutants : []
planted.id = first?.id ?? 0
if (first !== undefined) say({ kind: "begun", id: first.id, run: first.runs[0]!.name })
try {
  const { run } = await import("../../sim/Simulation.js")
  const play = playWith(run, await import("../../sim/scenarios/All.js"))
  say({ kind: "loaded", reached: takeReached() })
  if (task.kind === "recording") record(play, task)
  else judgeAll(play, task)
} catch (error) {
  if (first === undefined) throw error
  say({ kind: "killed", id: first.id, run: first.runs[0]!.name, by: "does not load", what: String(error).slice(0, 200) })
}
// Work that mutants have deferred is not done.
process.exit(0)
