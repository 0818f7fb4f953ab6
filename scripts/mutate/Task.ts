/** A runner's tasks and messages: one JSON object for each line. */
import type * as Options from "../../sim/faults/Options.js"

/** What `Played.name` begins with where it is a scenario's: no seed has a space. */
const scenarioPrefix = "scenario "

/** The name of a run that plays a scenario. */
export const nameOfScenario = (scenario: string): string => `${scenarioPrefix}${scenario}`

/** The scenario that a run plays; undefined where the run is a seed's. */
export const scenarioOf = (name: string): string | undefined =>
  name.startsWith(scenarioPrefix) ? name.slice(scenarioPrefix.length) : undefined

/** A run of a seed or a scenario, and its result without any mutant. */
export interface Played {
  /** The seed, with its number of calls where it has its own, or `nameOfScenario`. */
  readonly name: string
  readonly digest: string
  readonly cpuMs: number
}

/** Runs the unmutated venue, noting which mutants each seed and each scenario reaches. */
export interface Recording {
  readonly kind: "recording"
  readonly profile: Options.Profile
  readonly steps: number
  /** Names of the runs, as in `Played`. */
  readonly runs: ReadonlyArray<string>
  readonly mutants: number
}

/** Plays each mutant's runs until one fails; with several mutants it also plays one without any now and then: `guard`. */
export interface Judging {
  readonly kind: "judging"
  readonly profile: Options.Profile
  readonly steps: number
  readonly guard: Played
  readonly mutants: ReadonlyArray<{ readonly id: number; readonly runs: ReadonlyArray<Played> }>
}

export type Task = Recording | Judging

export type Message =
  /** Loading is complete; the mutants that it alone reached. */
  | { readonly kind: "loaded"; readonly reached: ReadonlyArray<number> }
  /** A run of the unmutated venue; `failure` names the violated properties. */
  | { readonly kind: "recorded"; readonly run: Played; readonly reached: ReadonlyArray<number>; readonly failure: string | undefined }
  | { readonly kind: "begun"; readonly id: number; readonly run: string }
  | { readonly kind: "killed"; readonly id: number; readonly run: string; readonly by: string; readonly what: string }
  /** No run violated a property; `seen`: whether any of them observed a difference from the unmutated venue. */
  | { readonly kind: "survived"; readonly id: number; readonly seen: boolean }
  /** Whether the process still runs the unmutated venue as a fresh one does: its messages since the last guard are valid only then. */
  | { readonly kind: "guarded"; readonly sound: boolean }
