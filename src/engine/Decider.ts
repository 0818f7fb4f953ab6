/**
 * The interface through which a capability decides its commands: one decider for each kind of command, so that an operation without
 * a decider does not compile.
 */
import { Refusal } from "../domain/Refusal.js"
import type { capabilities, Capability, CommandOfKind, Kind, OutcomeOfKind } from "../operations/Operations.js"
import type { Refused } from "../operations/Outcome.js"
import type { State } from "./State.js"

/** The refusal of a command of several entries because of some markets, which are named by their indexes, each once. */
export interface RefusedFor {
  readonly refusal: Refusal
  readonly markets: ReadonlyArray<number>
}

export interface Decider<K extends Kind> {
  /**
   * Refuses the command without a record where the capability's own tables have no room; rules common to all commands are checked
   * elsewhere. Changes nothing. `none` admits it.
   */
  readonly admit: (state: State, command: CommandOfKind<K>, atEpochMs: number) => Refusal | RefusedFor
  /** Decides the command in the current record: one outcome for each entry, in their order. */
  readonly decide: (state: State, command: CommandOfKind<K>) => ReadonlyArray<OutcomeOfKind<K> | Refused>
}

/** The deciders of a capability. */
export type Deciders<C extends Capability> = {
  readonly [K in keyof (typeof capabilities)[C] & Kind]: Decider<K>
}

/** For commands that need no room in the capability's tables. */
export const always = (): Refusal => Refusal.none
