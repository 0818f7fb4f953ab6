/**
 * Safety (contract). A read that waits for changes of an account is refused for too many waits only where four other requests of that
 * account may be waiting, or three where it comes with a key that may not trade: the last place is kept for those that may. Waits of other
 * accounts exclude nobody. A request may wait from when the process takes it up until its client is
 * answered; one whose client has left, or that arrived twice, may wait for as long as the process lives.
 */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { sha256 } from "../reading/Identity.js"
import type { Call, Observation, Reply } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Most waiting requests of an account, and how many of these are for who may trade. */
const mostWaits = 4
const ofTraders = 1

/** Requests of an account that the process took up and did not answer at once. */
interface Account {
  /** How many others of the account may have been waiting since it arrived, by call. */
  readonly waiting: Map<number, number>
  /** The number of requests that arrived again while they were known. */
  again: number
}

interface State {
  /** By the account in the path. */
  readonly accounts: Map<string, Account>
  model: NaiveVenue | undefined
}

const endpoint = "listChanges"

const isSentAway = ({ status, text }: Reply): boolean => status === 429 && text.includes("\"waits_per_account\"")

const accountOf = ({ target }: Call): string => target.split("/")[3] ?? ""

const verdict = ({ model }: State, call: Call, others: number): Verdict => {
  const most = model?.identity.onlyReads(sha256(call.token, "hex")) === true ? mostWaits - ofTraders : mostWaits
  return others >= most ? holds : broken(`${accountOf(call)} is told that too many of its requests wait, and ${others} others may`)
}

const handled = (state: State, { answer, call }: Observation & { readonly _tag: "Handled" }): Verdict => {
  const { id } = call
  const account = accountOf(call)
  const known = state.accounts.get(account) ?? { waiting: new Map<number, number>(), again: 0 }
  const others = known.waiting.size + known.again
  if (answer !== undefined) return isSentAway(answer) ? verdict(state, call, others) : holds
  state.accounts.set(account, known)
  for (const [each, before] of known.waiting) known.waiting.set(each, before + 1)
  if (known.waiting.has(id)) known.again++
  else known.waiting.set(id, others)
  return holds
}

const answered = (state: State, { answer, call }: Observation & { readonly _tag: "Answered" }): Verdict => {
  const { id } = call
  const known = state.accounts.get(accountOf(call))
  const others = known?.waiting.get(id)
  known?.waiting.delete(id)
  return others === undefined || !isSentAway(answer) ? holds : verdict(state, call, others)
}

export const waits: Property<State> = {
  name: "waits-are-counted-for-each-account",
  invariant: "contract",
  kind: "safety",
  initial: () => ({ accounts: new Map(), model: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.accounts.clear()
        return holds
      case "Committed":
        state.model = seen.model
        return holds
      case "Handled":
        return seen.call.endpoint === endpoint ? handled(state, seen) : holds
      case "Answered":
        return seen.call.endpoint === endpoint ? answered(state, seen) : holds
      default:
        return holds
    }
  }
}
