/**
 * Chooses the fixed seeds of `npm test` anew, where a change has moved what the ones before reach: runs a range of seeds and prints
 * few and quick ones that reach between them every mark that any of the range has reached.
 *
 * `node dist/sim/choose.js FIRST LAST [--steps N]`. The list goes into `scripts/test.ts`, the marks into `sim/marks.json`.
 */
import * as Simulation from "./Simulation.js"
import { names } from "../src/domain/Marks.js"

interface Reaching {
  readonly seed: string
  readonly seconds: number
  readonly marks: ReadonlySet<string>
}

/** What any seed costs beside its own time: the fewer the better. */
const seconds = 2

/** Seeds that reach all that any of them reaches: each the one that adds most for its time. */
const cover = (runs: ReadonlyArray<Reaching>): ReadonlyArray<Reaching> => {
  const missing = new Set(runs.flatMap(({ marks }) => [...marks]))
  const chosen: Array<Reaching> = []
  while (missing.size > 0) {
    const worth = (run: Reaching): number => [...run.marks].filter((mark) => missing.has(mark)).length / (run.seconds + seconds)
    const best = runs.reduce((one, other) => worth(other) > worth(one) ? other : one)
    chosen.push(best)
    for (const mark of best.marks) missing.delete(mark)
  }
  return chosen
}

const [first = "", last = "", flag, count = "1000"] = process.argv.slice(2)
if (!/^[0-9]{1,15}$/.test(first) || !/^[0-9]{1,15}$/.test(last) || flag !== undefined && flag !== "--steps") {
  process.stderr.write("usage: choose FIRST LAST [--steps N]\n")
  process.exit(64)
}
const runs: Array<Reaching> = []
for (let seed = Number(first); seed <= Number(last); seed++) {
  const before = process.cpuUsage().user
  const { failure, marks } = Simulation.run({ seed: String(seed), steps: Number(count), profile: "swarm" })
  if (failure !== undefined) {
    process.stderr.write(`seed ${seed} fails: ${failure.properties.join(", ")}\n`)
    process.exit(1)
  }
  runs.push({ seed: String(seed), seconds: (process.cpuUsage().user - before) / 1e6, marks: new Set(Object.keys(marks)) })
  process.stderr.write(`seed ${seed}\n`)
}
const chosen = cover(runs)
const reached = new Set(chosen.flatMap(({ marks }) => [...marks]))
process.stdout.write(`${chosen.map(({ seed }) => seed).sort((one, other) => Number(one) - Number(other)).join(",")}\n`)
process.stdout.write(
  `${chosen.length} seeds, ${chosen.reduce((sum, run) => sum + run.seconds, 0).toFixed(0)} s of a processor, ${reached.size} marks\n`
)
process.stdout.write(`${JSON.stringify(names.filter((name) => reached.has(name)), undefined, 2)}\n`)
process.stdout.write(`never reached: ${names.filter((name) => !reached.has(name)).join("; ")}\n`)
