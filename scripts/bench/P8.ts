/**
 * P8: the simulator with the whole venue in it and all properties checked. P8-commands: commands per wall second when the clients do
 * nothing but trade. P8-realtime: simulated seconds per wall second with 10 accounts that each give one command a second. Both without
 * faults, so that the same work is measured every time.
 */
import * as Simulation from "../../sim/Simulation.js"
import { median, type Options, result, type Section } from "./Section.js"

const drawn = Simulation.optionsOf({ seed: "1", profile: "calm" })

/** Only well-formed commands, without reads. */
const trading: Simulation.Report["options"] = {
  ...drawn,
  workload: { ...drawn.workload, traders: 10, weights: { ...drawn.workload.weights, read: 0, malformed: 0 } }
}

const busy = { ...trading, workload: { ...trading.workload, meanPauseMs: 20, concurrency: 4 } }
const idle = { ...trading, workload: { ...trading.workload, meanPauseMs: 1_000, concurrency: 1, meanOperatorMs: 0 } }

const measure = (options: Simulation.Report["options"], seed: string, steps: number) => {
  const began = performance.now()
  const report = Simulation.run({ seed, profile: "calm", steps, options })
  const wallSeconds = (performance.now() - began) / 1000
  if (report.failure !== undefined) throw new Error(`seed ${seed} fails: ${report.failure.what}`)
  return { commands: report.commands / wallSeconds, speed: report.simulatedMs / 1000 / wallSeconds }
}

const run = (options: Options) => {
  measure(busy, "warm", 2_000)
  const commands: Array<number> = []
  const speeds: Array<number> = []
  for (let at = 0; at < options.runs; at++) {
    commands.push(measure(busy, String(at), 5_000).commands)
    speeds.push(measure(idle, String(at), 3_000).speed)
    options.log(`P8 run ${at + 1}: ${Math.round(commands[at]!)} commands/s, ${Math.round(speeds[at]!)}x real time`)
  }
  return Promise.resolve([
    result("P8-commands", "commands/s", median(commands), 1),
    result("P8-realtime", "s/s", median(speeds), 1)
  ])
}

export const section: Section = { name: "P8", run }
