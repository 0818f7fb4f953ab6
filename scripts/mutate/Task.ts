/** A runner's tasks and messages: one JSON object for each line. */
import type * as Options from "../../sim/faults/Options.js"

/** A seed, and the result of running it without any mutant. */
export interface Seed {
  readonly seed: string
  readonly digest: string
  readonly cpuMs: number
}

/** Runs the unmutated venue, noting which mutants each seed reaches. */
export interface Recording {
  readonly kind: "recording"
  readonly profile: Options.Profile
  readonly steps: number
  readonly seeds: ReadonlyArray<string>
  readonly mutants: number
}

/** Runs each mutant over its seeds until one fails; with several mutants it also runs a seed without any now and then: `guard`. */
export interface Judging {
  readonly kind: "judging"
  readonly profile: Options.Profile
  readonly steps: number
  readonly guard: Seed
  readonly mutants: ReadonlyArray<{ readonly id: number; readonly seeds: ReadonlyArray<Seed> }>
}

export type Task = Recording | Judging

export type Message =
  /** Loading is complete; the mutants that it alone reached. */
  | { readonly kind: "loaded"; readonly reached: ReadonlyArray<number> }
  /** A seed of the unmutated venue; `failure` names the violated properties. */
  | { readonly kind: "recorded"; readonly seed: Seed; readonly reached: ReadonlyArray<number>; readonly failure: string | undefined }
  | { readonly kind: "begun"; readonly id: number; readonly seed: string }
  | { readonly kind: "killed"; readonly id: number; readonly seed: string; readonly by: string; readonly what: string }
  /** No seed violated a property; `seen`: whether any of them observed a difference from the unmutated venue. */
  | { readonly kind: "survived"; readonly id: number; readonly seen: boolean }
  /** Whether the process still runs the unmutated venue as a fresh one does: its messages since the last guard are valid only then. */
  | { readonly kind: "guarded"; readonly sound: boolean }
