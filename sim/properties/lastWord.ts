/**
 * Safety (I10). The last word of an operator on withdrawals counts: whoever lets them go on first has the books compared with the ledger,
 * and what was asked for before another stop of an operator was taken does not let them go on behind it.
 */
import { Principal } from "../../src/operations/Header.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A request to let withdrawals go on, as the present process last took it up. */
interface Allowing {
  /** By the process's clock. */
  readonly atEpochMs: number
  /** Whether a stop that was taken up later was taken. */
  isOverruled: boolean
}

interface State {
  /** By the request's key. */
  readonly allowing: Map<string, Allowing>
  /** Those before each request to stop them, by the key of that. */
  readonly stopping: Map<string, ReadonlyArray<Allowing>>
  /** How often the clock was moved ahead. */
  movedAhead: number
}

const forget = ({ allowing, stopping }: State): void => {
  allowing.clear()
  stopping.clear()
}

const handling = (state: State, { atEpochMs, call, movedAhead }: Observation & { readonly _tag: "Handling" }): void => {
  const { allowing, stopping } = state
  const { endpoint, idempotencyKey: key = "" } = call
  if (endpoint !== "allowWithdrawals" && endpoint !== "stopWithdrawals") return
  // What happens at the same moment may happen in either order, and a clock that was set does not tell whether it does.
  if (movedAhead !== state.movedAhead) forget(state)
  state.movedAhead = movedAhead
  if (endpoint === "allowWithdrawals") allowing.set(key, { atEpochMs, isOverruled: false })
  else stopping.set(key, [...allowing.values()].filter((before) => before.atEpochMs < atEpochMs))
}

const offered = ({ allowing, stopping }: State, { command, taken }: Observation & { readonly _tag: "Offered" }): Verdict => {
  if (!taken || command.principal !== Principal.operator) return holds
  const { idempotencyKey: key, kind } = command
  if (kind === "StopWithdrawals") { for (const before of stopping.get(key) ?? []) before.isOverruled = true }
  return kind === "AllowWithdrawals" && allowing.get(key)?.isOverruled === true
    ? broken(`withdrawals are let go on under key ${key}, and were stopped after that was asked for`)
    : holds
}

export const lastWord: Property<State> = {
  name: "an-operators-last-word-counts",
  invariant: "I10",
  kind: "safety",
  initial: () => ({ allowing: new Map(), stopping: new Map(), movedAhead: 0 }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        forget(state)
        return holds
      case "Handling":
        handling(state, seen)
        return holds
      case "Offered":
        return offered(state, seen)
      default:
        return holds
    }
  }
}
