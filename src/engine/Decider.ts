/**
 * How a capability decides its commands: a record with one decider for each of them, typed by kind, so that an operation
 * which nobody decides does not compile.
 */
import { Refusal } from "../domain/Refusal.js"
import type { capabilities, Capability, CommandOfKind, Kind, OutcomeOfKind } from "../operations/Operations.js"
import type { Refused } from "../operations/Outcome.js"
import type { State } from "./State.js"

export interface Decider<K extends Kind> {
  /**
   * What refuses the command without a record, beside what holds for all commands: room in the capability's own
   * tables. It changes nothing. `none` lets it through.
   */
  readonly admit: (state: State, command: CommandOfKind<K>, atEpochMs: number) => Refusal
  /** Decides it under the record that the state stands at: one outcome for each entry, in their order. */
  readonly decide: (state: State, command: CommandOfKind<K>) => ReadonlyArray<OutcomeOfKind<K> | Refused>
}

/** The deciders of a capability. */
export type Deciders<C extends Capability> = {
  readonly [K in keyof (typeof capabilities)[C] & Kind]: Decider<K>
}

/** A command that finds room whatever the capability's tables hold. */
export const always = (): Refusal => Refusal.none
