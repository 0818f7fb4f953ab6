/** A run's request and its report: the vocabulary shared by the parts of a run and their callers. */
import type { Branch } from "../../src/domain/Branches.js"
import type * as Options from "../faults/Options.js"
import type { Call, Observation } from "../properties/Observation.js"
import type * as SimNetwork from "../world/SimNetwork.js"
import type * as Script from "./Script.js"

export interface Request {
  readonly seed: string
  readonly profile: Options.Profile
  /** Calls that clients begin before faults stop. */
  readonly steps: number
  /** Replaces the options that the seed draws. */
  readonly options?: Options.Options
  /** Replaces everything that workload and faults would draw. */
  readonly script?: Script.Script
  /** Whether the report includes the run's script and journal. */
  readonly record?: boolean
  /** Whether the run ends once the venue has healed, without the restarts that prove replay and detection of damage. */
  readonly unproven?: boolean
  /** Called with every observation as a line, for traces. */
  readonly trace?: (step: number, atEpochMs: number, line: string) => void
  /** Called with every observation; `call` of those about a call is numbered as in the script. */
  readonly listen?: (atEpochMs: number, seen: Observation) => void
  /** Called with what the network is about to do to each attempt of a call. */
  readonly dealt?: (call: Call, fate: SimNetwork.Fate) => void
}

/** A seed as given, with its number of calls where that follows it: `50:100`. */
export const seedOf = (given: string, usualSteps: number): Pick<Request, "seed" | "steps"> => {
  const [seed = "", steps] = given.split(":")
  return { seed, steps: steps === undefined ? usualSteps : Number(steps) }
}

/** A failure. `crash` is a failure of the program itself: a throw, or a run that cannot go on. */
export interface Failure {
  readonly kind: "safety" | "liveness" | "crash"
  /** Names of all properties that broke at the same observation, in the order in which they are asked. */
  readonly properties: ReadonlyArray<string>
  readonly invariant: string
  readonly what: string
  readonly step: number
  /** Simulated milliseconds since the run began. */
  readonly atMs: number
  /** Whether it was found before the restarts that prove replay and detection of damage. */
  readonly unproven: boolean
}

export interface Report {
  readonly seed: string
  readonly options: Options.Options
  readonly failure: Failure | undefined
  /** SHA-256 over all observations and the journal's last digest. */
  readonly digest: string
  readonly commands: number
  readonly records: number
  readonly fills: number
  readonly crashes: number
  readonly simulatedMs: number
  /** Calls of clients and faults, if they were to be recorded. */
  readonly script: Script.Script | undefined
  /** The journal's durable blocks, as they were written, if the run was to be recorded. */
  readonly blocks: ReadonlyArray<Uint8Array>
  /** How often each status was answered, and each kind of observation made. */
  readonly counts: Readonly<Record<string, number>>
  /** How often each rare branch of the venue's code was reached. */
  readonly marks: Readonly<Partial<Record<Branch, number>>>
  /** How many calls had begun when each of them was first reached: a longer run of the same seed reaches it there as well. */
  readonly callsUntil: Readonly<Partial<Record<Branch, number>>>
}
