/**
 * Safety (contract). A read that waits for changes of an account is refused for too many waits only where four other requests of that
 * account may be waiting, or three where it comes with a key that may not trade and none of them may: one place is for those that may.
 * It is refused for want of room only where as many requests of all accounts may be waiting as may wait in all: no run has so much else to
 * read that there is no room. A request may wait from when the process takes it up until its client is answered; one whose
 * client has left, or that arrived twice, may wait for as long as the process lives.
 */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { sha256 } from "../reading/Identity.js"
import type { Call, Observation, Reply } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Most waiting requests of an account, and how many of these are for who may trade. */
const mostWaits = 4
const ofTraders = 1

/** A number of waiting requests, and how many of these may trade. */
interface Waiting {
  readonly all: number
  readonly traders: number
}

const nobody: Waiting = { all: 0, traders: 0 }

const plus = ({ all, traders }: Waiting, mayTrade: boolean): Waiting => ({ all: all + 1, traders: traders + (mayTrade ? 1 : 0) })

/** Requests of an account that the process took up and did not answer at once. */
interface Account {
  /** Whether each may trade, and who else of the account may have been waiting since it arrived, by call. */
  readonly waiting: Map<number, { readonly mayTrade: boolean; others: Waiting }>
  /** The requests that arrived again while they were known. */
  again: Waiting
}

interface State {
  /** By the account in the path. */
  readonly accounts: Map<string, Account>
  /** Most waits of all accounts. */
  most: number
  model: NaiveVenue | undefined
}

const endpoint = "listChanges"

const hasNoRoom = ({ status, text }: Reply): boolean => status === 503 && text.includes("\"overloaded\"")

const isSentAway = ({ status, text }: Reply): boolean => status === 429 && text.includes("\"waits_per_account\"")

const accountOf = ({ target }: Call): string => target.split("/")[3] ?? ""

const mayTrade = ({ model }: State, { token }: Call): boolean => model?.identity.onlyReads(sha256(token, "hex")) !== true

const verdict = (state: State, call: Call, { all, traders }: Waiting): Verdict =>
  all >= mostWaits - (mayTrade(state, call) ? 0 : Math.max(0, ofTraders - traders))
    ? holds
    : broken(`${accountOf(call)} is told that too many of its requests wait, and ${all} others may, of which ${traders} may trade`)

/** Judges a refusal for want of room. */
const withoutRoom = ({ accounts, most }: State, account: string): Verdict => {
  let all = 0
  for (const { again, waiting } of accounts.values()) all += waiting.size + again.all
  return all >= most
    ? holds
    : broken(`${account} is told that there is no room for its request for changes, and ${all} of ${most} may be waiting`)
}

const handled = (state: State, { answer, call }: Observation & { readonly _tag: "Handled" }): Verdict => {
  const { id } = call
  const account = accountOf(call)
  if (answer !== undefined && hasNoRoom(answer)) return withoutRoom(state, account)
  const known: Account = state.accounts.get(account) ?? { waiting: new Map(), again: nobody }
  let others = known.again
  for (const each of known.waiting.values()) others = plus(others, each.mayTrade)
  if (answer !== undefined) return isSentAway(answer) ? verdict(state, call, others) : holds
  state.accounts.set(account, known)
  const trades = mayTrade(state, call)
  for (const each of known.waiting.values()) each.others = plus(each.others, trades)
  if (known.waiting.has(id)) known.again = plus(known.again, trades)
  else known.waiting.set(id, { mayTrade: trades, others })
  return holds
}

const answered = (state: State, { answer, call }: Observation & { readonly _tag: "Answered" }): Verdict => {
  const { id } = call
  const known = state.accounts.get(accountOf(call))
  const others = known?.waiting.get(id)?.others
  known?.waiting.delete(id)
  if (hasNoRoom(answer)) return withoutRoom(state, accountOf(call))
  return others === undefined || !isSentAway(answer) ? holds : verdict(state, call, others)
}

export const waits: Property<State> = {
  name: "waits-are-counted-for-each-account",
  invariant: "contract",
  kind: "safety",
  initial: () => ({ accounts: new Map(), most: 0, model: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.accounts.clear()
        state.most = seen.changeWaits
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
