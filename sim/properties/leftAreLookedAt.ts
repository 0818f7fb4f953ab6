/**
 * Safety (I13). A record may leave accounts that a mark has brought under their maintenance margin to the next one, but no longer than it
 * takes to examine all accounts: none that has traded in it, none where no further record comes for them, and none after as many
 * examinations as there are accounts and positions.
 */
import { examinedAtOnce } from "../../src/engine/accounts/Watch.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** How many accounts one record examines. */
  atOnce: number
  /** The marks and parameters when they last brought accounts nearer to their margins. */
  held: string
  /** How many examinations there may be since then until every account was examined. */
  owed: number
}

const heldTo = ({ markets }: NaiveVenue): string => JSON.stringify(markets.map(({ mark, parameters }) => [mark, parameters]))

/** An account counts at most once for itself and once for each of its positions, times the number of markets. */
const looksOf = ({ accounts, markets }: NaiveVenue): number =>
  accounts.reduce((looks, { positions }) => looks + markets.length * (1 + positions.size), 0)

const recordVerdict = (
  state: State,
  { decision: { examined, fills }, model, record: { sequence } }: Extract<Observation, { _tag: "Committed" }>
): Verdict => {
  if (examined === undefined || (!examined.isBehind && examined.left.length === 0)) return holds
  const held = heldTo(model)
  state.owed = held === state.held && examined.wasBehind ? state.owed - state.atOnce : looksOf(model)
  state.held = held
  const [left] = examined.left
  if (left === undefined) return holds
  const whom = `account ${left} under its maintenance margin and not under liquidation`
  if (!examined.isBehind) return broken(`record ${sequence} leaves ${whom}, and no record comes for it`)
  const trader = examined.left.find((account) => fills.some(({ maker, taker }) => maker.account === account || taker.account === account))
  if (trader !== undefined) return broken(`record ${sequence} leaves account ${trader} under its maintenance margin, which traded in it`)
  return state.owed > 0 ? holds : broken(`record ${sequence} still leaves ${whom}, and there was time to look at everybody`)
}

export const leftAreLookedAt: Property<State> = {
  name: "who-is-left-is-looked-at-with-the-next-records",
  invariant: "I13",
  kind: "safety",
  initial: () => ({ atOnce: examinedAtOnce, held: "", owed: 0 }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.atOnce = seen.bounds.examinedAtOnce ?? examinedAtOnce
    return seen._tag === "Committed" ? recordVerdict(state, seen) : holds
  }
}
