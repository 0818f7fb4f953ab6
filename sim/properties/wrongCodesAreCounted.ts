/**
 * Safety (I11). An account may enter ten wrong codes of agents within a minute, in whichever of its owner's sessions. After that every
 * code is refused unchecked, so that nobody finds one by trying.
 *
 * Checked for the first minute of each process, which begins with its first wrong code: when a later one begins cannot be told from
 * outside.
 */
import * as Identity from "../reading/Identity.js"
import { isObject } from "../reading/Bodies.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

const most = 10
const minuteMs = 60_000
/** How the message begins for a code that was looked up and belongs to no pending agent. */
const unknownCode = "No agent waits under this code."

/** An account's wrong codes since the process started. */
interface Wrong {
  /** The earliest moment at which the first can have been counted, by the process's clock. */
  sinceEpochMs: number
  count: number
}

interface State {
  /** Codes of agents, pending or not. */
  readonly codes: Set<string>
  readonly wrong: Map<string, Wrong>
}

const kinds: ReadonlySet<string> = new Set(["showAgentConnect", "approveAgentConnect", "denyAgentConnect"])

type Answered = Extract<Observation, { readonly _tag: "Answered" }>

const answered = ({ codes, wrong }: State, { answer: { json, status }, call, clock }: Answered): Verdict => {
  const wish = Identity.read(call.method, call.target, call.body)?.wish
  if (wish?.kind === "beginAgentConnect" && status === 200 && isObject(json)) codes.add(String(json["userCode"]))
  if (wish === undefined || !kinds.has(wish.kind) || !("userCode" in wish) || codes.has(wish.userCode)) return holds
  if (clock === undefined || !isObject(json) || status !== 404) return holds
  if (!String(json["safeMessage"]).startsWith(unknownCode)) return holds
  const accountId = call.accountId ?? ""
  const known = wrong.get(accountId)
  if (known === undefined) wrong.set(accountId, { sinceEpochMs: clock[0], count: 1 })
  else {
    known.sinceEpochMs = Math.min(known.sinceEpochMs, clock[0])
    if (clock[1] < known.sinceEpochMs + minuteMs) known.count++
    if (known.count > most) return broken(`${known.count} wrong codes of ${accountId} were looked up within a minute`)
  }
  return holds
}

export const wrongCodesAreCounted: Property<State> = {
  name: "wrong-codes-of-an-account-are-counted",
  invariant: "I11",
  kind: "safety",
  initial: () => ({ codes: new Set(), wrong: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.wrong.clear()
        return holds
      case "Answered":
        return answered(state, seen)
      default:
        return holds
    }
  }
}
