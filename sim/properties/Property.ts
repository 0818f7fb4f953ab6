/**
 * A property is a claim about every run: a pure observer that folds its observations into a state and reports when the claim is broken. No
 * fault ever switches one off.
 */
import type { Observation } from "./Observation.js"

/** The judgement on an observation: undefined while the claim holds, otherwise what broke it. */
export type Verdict = string | undefined
export const holds: Verdict = undefined
export const broken = (what: string): Verdict => what

export interface Property<S> {
  /** The claim, in words joined by hyphens. */
  readonly name: string
  /** The invariant that it belongs to, by its number in the specification. */
  readonly invariant: string
  readonly kind: "safety" | "liveness"
  readonly initial: () => S
  /** Folds one observation into the state, in place, and judges. */
  readonly observe: (state: S, seen: Observation) => Verdict
  /** Judges an observation that has not been made yet and leaves the state as it is: for whoever waits until it would hold. */
  readonly foresee?: (state: S, seen: Observation) => Verdict
}

/** A property with its state, ready to watch one run. */
export interface Watcher {
  readonly name: string
  readonly invariant: string
  readonly kind: "safety" | "liveness"
  readonly observe: (seen: Observation) => Verdict
  readonly foresee: (seen: Observation) => Verdict
}

/** A watcher for one run of a property. */
export const watch = <S>(property: Property<S>): Watcher => {
  const state = property.initial()
  return {
    name: property.name,
    invariant: property.invariant,
    kind: property.kind,
    observe: (seen) => property.observe(state, seen),
    foresee: (seen) => property.foresee?.(state, seen) ?? holds
  }
}
