/** Options with which even a short run crashes. */
import type { Options } from "../../sim/faults/Options.js"
import * as Simulation from "../../sim/Simulation.js"

/** The seed's options under the profile `crash`, with slow enough clients and frequent enough crashes. */
export const oftenCrashing = (seed: string): Options => {
  const drawn = Simulation.optionsOf({ seed, profile: "crash" })
  return {
    ...drawn,
    process: { ...drawn.process, meanCrashMs: 300, gracefulShare: 0, crashInRecovery: 0 },
    workload: { ...drawn.workload, traders: 4, meanPauseMs: 100, concurrency: 1 }
  }
}
