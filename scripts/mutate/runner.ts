/**
 * Runs simulator seeds with one mutant's switch on after another's, in one process: `node runner.js TASK`. Writes its findings to file
 * descriptor 3, line by line, so that everything before it is ended counts.
 */
import * as fs from "node:fs"
import { Worker } from "node:worker_threads"
import { seedOf } from "../../sim/run/Request.js"
import type * as Simulation from "../../sim/Simulation.js"
import { globalName, type Switch } from "./Planting.js"
import type { Judging, Message, Recording, Seed, Task } from "./Task.js"

/** The limit of processor time for a seed: a multiple of its time without a mutant, plus a constant. */
const limitFactor = 8
const limitExtraMs = 3_000
/** The limit for loading, and for a seed whose usual time is unknown, in milliseconds. */
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

type Run = (request: Simulation.Request) => Simulation.Report

const record = (run: Run, { profile, seeds, steps }: Recording): void => {
  for (const seed of seeds) {
    allow(limitUnknownMs)
    const began = cpuMicros()
    const report = run({ ...seedOf(seed, steps), profile })
    const cpuMs = Math.ceil((cpuMicros() - began) / 1000)
    say({ kind: "recorded", seed: { seed, digest: report.digest, cpuMs }, reached: takeReached(), failure: report.failure?.what })
  }
}

/** A seed's verdict on the mutant whose switch is on. */
const judge = (
  run: Run,
  { cpuMs, digest, seed }: Seed,
  { profile, steps }: Judging
): Pick<Message & { kind: "killed" }, "by" | "what"> | boolean => {
  allow(limitFactor * cpuMs + limitExtraMs)
  try {
    const { digest: found, failure } = run({ ...seedOf(seed, steps), profile })
    return failure === undefined ? found !== digest : { by: failure.properties.join(", "), what: failure.what.slice(0, 200) }
  } catch (error) {
    return { by: "threw", what: String(error).slice(0, 200) }
  }
}

/** The number of mutants after which a process shows that it still runs the unmutated venue, which bounds how many are judged in vain. */
const guardEvery = 6

/** Runs one mutant over its seeds, until one of them detects it. */
const judgeOne = (run: Run, id: number, seeds: ReadonlyArray<Seed>, judging: Judging): void => {
  planted.id = id
  let seen = false
  for (const seed of seeds) {
    say({ kind: "begun", id, seed: seed.seed })
    const shown = judge(run, seed, judging)
    if (typeof shown !== "boolean") return say({ kind: "killed", id, seed: seed.seed, ...shown })
    seen ||= shown
  }
  say({ kind: "survived", id, seen })
}

const judgeAll = (run: Run, judging: Judging): void => {
  const { guard, mutants } = judging
  for (const [index, { id, seeds }] of mutants.entries()) {
    judgeOne(run, id, seeds, judging)
    // A process with a single mutant need not prove anything for others.
    if (mutants.length === 1 || ((index + 1) % guardEvery !== 0 && index + 1 < mutants.length)) continue
    planted.id = 0
    const sound = judge(run, guard, judging) === false
    say({ kind: "guarded", sound })
    if (!sound) return
  }
}

allow(limitUnknownMs)
new Worker(new URL("./watchdog.js", import.meta.url), { workerData: shared })
// A mutant reached by loading is switched on before anything is loaded; it is the only one in its task.
const [first] = task.kind === "judging" ? task.mutants : []
planted.id = first?.id ?? 0
if (first !== undefined) say({ kind: "begun", id: first.id, seed: first.seeds[0]!.seed })
try {
  const { run } = await import("../../sim/Simulation.js")
  say({ kind: "loaded", reached: takeReached() })
  if (task.kind === "recording") record(run, task)
  else judgeAll(run, task)
} catch (error) {
  if (first === undefined) throw error
  say({ kind: "killed", id: first.id, seed: first.seeds[0]!.seed, by: "does not load", what: String(error).slice(0, 200) })
}
// Work that mutants have deferred is not done.
process.exit(0)
