/** What a run is asked for, and what it tells once it is over: the words that the parts of a run and their callers share. */
import type { Mark } from "../../src/domain/Marks.js"
import type * as Options from "../faults/Options.js"
import type { Call, Observation } from "../properties/Observation.js"
import type * as SimNetwork from "../world/SimNetwork.js"
import type * as Script from "./Script.js"

export interface Request {
  readonly seed: string
  readonly profile: Options.Profile
  /** Calls that clients begin before faults stop. */
  readonly steps: number
  /** Takes the place of the options that the seed draws. */
  readonly options?: Options.Options
  /** Takes the place of everything that workload and faults would draw. */
  readonly script?: Script.Script
  /** Whether the report tells the run's script and keeps its journal. */
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

/** A seed as it is given, and its calls where these stand behind it: `50:100`. */
export const seedOf = (given: string, usualSteps: number): Pick<Request, "seed" | "steps"> => {
  const [seed = "", steps] = given.split(":")
  return { seed, steps: steps === undefined ? usualSteps : Number(steps) }
}

/** What went wrong. `crash` is a failure of the program itself: a throw, or a run that cannot go on. */
export interface Failure {
  readonly kind: "safety" | "liveness" | "crash"
  /** Names of all properties that broke at the same observation, the first one asked first. */
  readonly properties: ReadonlyArray<string>
  readonly invariant: string
  readonly what: string
  readonly step: number
  /** Simulated milliseconds since the run began. */
  readonly atMs: number
  /** Whether it was seen before the restarts that prove replay and detection of damage. */
  readonly unproven: boolean
}

export interface Report {
  readonly seed: string
  readonly options: Options.Options
  readonly failure: Failure | undefined
  /** SHA-256 over everything that was seen, and the journal's last digest. */
  readonly digest: string
  readonly commands: number
  readonly records: number
  readonly fills: number
  readonly crashes: number
  readonly simulatedMs: number
  /** What clients did and which faults struck, if that was to be recorded. */
  readonly script: Script.Script | undefined
  /** The journal's durable blocks, as they were written, if the run was to be recorded. */
  readonly blocks: ReadonlyArray<Uint8Array>
  /** How often each status was answered, and each observation made. */
  readonly counts: Readonly<Record<string, number>>
  /** How often each mark of the venue's code was reached. */
  readonly marks: Readonly<Partial<Record<Mark, number>>>
  /** How many calls had begun when each of them was reached first: a run of the same seed that ends later comes to it likewise. */
  readonly callsUntil: Readonly<Partial<Record<Mark, number>>>
}
