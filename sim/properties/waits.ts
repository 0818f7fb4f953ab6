/**
 * Safety (contract). A read that waits for changes of an account is refused for too many waits only where four other requests of that
 * account may be waiting: waits of other accounts exclude nobody. A request may wait from when the process takes it up until its client is
 * answered; one whose client has left, or that arrived twice, may wait for as long as the process lives.
 */
import type { Call, Observation, Reply } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Most waiting requests of an account. */
const mostWaits = 4

/** Requests of an account that the process took up and did not answer at once. */
interface Account {
  /** How many others of the account may have been waiting since it arrived, by call. */
  readonly waiting: Map<number, number>
  /** The number of requests that arrived again while they were known. */
  again: number
}

/** By the account in the path. */
type State = Map<string, Account>

const endpoint = "listChanges"

const isSentAway = ({ status, text }: Reply): boolean => status === 429 && text.includes("\"waits_per_account\"")

const accountOf = ({ target }: Call): string => target.split("/")[3] ?? ""

const verdict = (account: string, others: number): Verdict =>
  others >= mostWaits ? holds : broken(`${account} is told that too many of its requests wait, and ${others} others may`)

const handled = (state: State, { answer, call }: Observation & { readonly _tag: "Handled" }): Verdict => {
  const { id } = call
  const account = accountOf(call)
  const known = state.get(account) ?? { waiting: new Map<number, number>(), again: 0 }
  const others = known.waiting.size + known.again
  if (answer !== undefined) return isSentAway(answer) ? verdict(account, others) : holds
  state.set(account, known)
  for (const [each, before] of known.waiting) known.waiting.set(each, before + 1)
  if (known.waiting.has(id)) known.again++
  else known.waiting.set(id, others)
  return holds
}

const answered = (state: State, { answer, call }: Observation & { readonly _tag: "Answered" }): Verdict => {
  const { id } = call
  const account = accountOf(call)
  const known = state.get(account)
  const others = known?.waiting.get(id)
  known?.waiting.delete(id)
  return others === undefined || !isSentAway(answer) ? holds : verdict(account, others)
}

export const waits: Property<State> = {
  name: "waits-are-counted-for-each-account",
  invariant: "contract",
  kind: "safety",
  initial: () => new Map(),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.clear()
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
