/** What a runner is asked, and what it says: one JSON object a line. */
import type * as Options from "../../sim/faults/Options.js"

/** A seed, and how it ran without any mutant. */
export interface Seed {
  readonly seed: string
  readonly digest: string
  readonly cpuMs: number
}

/** Runs the unmutated venue, taking note of which mutants each seed reaches. */
export interface Recording {
  readonly kind: "recording"
  readonly profile: Options.Profile
  readonly steps: number
  readonly seeds: ReadonlyArray<string>
  readonly mutants: number
}

/** Runs each mutant over its seeds until one fails; of several mutants also, now and then, a seed without any: `guard`. */
export interface Judging {
  readonly kind: "judging"
  readonly profile: Options.Profile
  readonly steps: number
  readonly guard: Seed
  readonly mutants: ReadonlyArray<{ readonly id: number; readonly seeds: ReadonlyArray<Seed> }>
}

export type Task = Recording | Judging

export type Message =
  /** Loaded; the mutants that were reached by loading alone. */
  | { readonly kind: "loaded"; readonly reached: ReadonlyArray<number> }
  /** A seed of the unmutated venue; `failure` names the properties that broke. */
  | { readonly kind: "recorded"; readonly seed: Seed; readonly reached: ReadonlyArray<number>; readonly failure: string | undefined }
  | { readonly kind: "begun"; readonly id: number; readonly seed: string }
  | { readonly kind: "killed"; readonly id: number; readonly seed: string; readonly by: string; readonly what: string }
  /** No seed broke a property; whether any of them saw something else than without the mutant. */
  | { readonly kind: "survived"; readonly id: number; readonly seen: boolean }
  /** Whether the process still runs the unmutated venue as a fresh one does: what it said since the last time counts only then. */
  | { readonly kind: "guarded"; readonly sound: boolean }
