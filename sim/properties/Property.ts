/**
 * A property is a claim about every run: a pure observer that folds what it sees into a state and says when
 * the claim is broken. No fault ever switches one off.
 */
import type { Observation } from "./Observation.js"

/** What a property thinks of an observation: undefined while it holds, otherwise what broke it. */
export type Verdict = string | undefined
export const holds: Verdict = undefined
export const broken = (what: string): Verdict => what

export interface Property<S> {
  /** The claim, in words joined by hyphens. */
  readonly name: string
  /** The invariant it belongs to, as the specification numbers it. */
  readonly invariant: string
  readonly kind: "safety" | "liveness"
  readonly initial: () => S
  /** Folds one observation into the state, in place, and judges. */
  readonly observe: (state: S, seen: Observation) => Verdict
}

/** A property with its state, ready to watch one run. */
export interface Watcher {
  readonly name: string
  readonly invariant: string
  readonly kind: "safety" | "liveness"
  readonly observe: (seen: Observation) => Verdict
}

/** A watcher for one run of a property. */
export const watch = <S>(property: Property<S>): Watcher => {
  const state = property.initial()
  return {
    name: property.name,
    invariant: property.invariant,
    kind: property.kind,
    observe: (seen) => property.observe(state, seen)
  }
}
