/**
 * Safety (I11). A challenge is answered once: a repetition, at the same moment or after a crash, proves nothing more. It is spent with its
 * first answer, valid or not, and on whatever route: after a refusal as unproven it proves nothing.
 */
import { isObject } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** What each challenge has proved, by its identifier. */
  readonly proved: Map<string, string>
  /** The refused answer of each challenge. */
  readonly refused: Map<string, string>
  /** Attempts sent after an answer to their challenge had been refused, with that answer. */
  readonly late: Map<string, string>
}

const unproven: ReadonlySet<unknown> = new Set(["passkey_assertion_invalid", "passkey_registration_invalid"])

/** The challenge that a request answers; undefined for all others. */
const challengeOf = ({ body, method, target }: Call): string | undefined => {
  const wish = Identity.read(method, target, body)?.wish
  return wish !== undefined && "proof" in wish ? wish.proof?.challengeIdentifier : undefined
}

const answered = (state: State, { answer: { json, status }, attempt, call }: Observation & { readonly _tag: "Answered" }): Verdict => {
  const challenge = challengeOf(call)
  if (challenge === undefined) return holds
  const { late, proved, refused } = state
  const what = `${call.method} ${call.target} of call ${call.id}.${attempt}`
  if (status >= 300) {
    const { code, rejectionGuard } = isObject(json) ? json : {}
    if (unproven.has(code) || unproven.has(rejectionGuard)) refused.set(challenge, what)
    return holds
  }
  const before = proved.get(challenge)
  if (before !== undefined) return broken(`${challenge} has proved ${before}, and now ${what}`)
  proved.set(challenge, what)
  const refusal = late.get(`${call.id}.${attempt}`)
  return refusal === undefined ? holds : broken(`${challenge} was over with ${refusal}, which was refused, and proves ${what} now`)
}

export const challengesAnsweredOnce: Property<State> = {
  name: "challenge-answered-once",
  invariant: "I11",
  kind: "safety",
  initial: () => ({ proved: new Map(), refused: new Map(), late: new Map() }),
  observe: (state, seen) => {
    if (seen._tag === "Asked" && state.refused.size > 0) {
      const refusal = state.refused.get(challengeOf(seen.call) ?? "")
      if (refusal !== undefined) state.late.set(`${seen.call.id}.${seen.attempt}`, refusal)
    }
    return seen._tag === "Answered" ? answered(state, seen) : holds
  }
}
