/**
 * Safety (I11). A challenge is answered once: whatever is sent again, at the same moment or after a crash, proves nothing more. It is over
 * with its first answer, good or bad, and wherever that is sent: behind a refusal nothing is proved by it any more.
 */
import { isObject } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** By the identifier of the challenge, what it has proved. */
  readonly proved: Map<string, string>
  /** And which answer to it was refused. */
  readonly refused: Map<string, string>
  /** Attempts that were sent when an answer to their challenge had been refused: by which. */
  readonly late: Map<string, string>
}

const unproven: ReadonlySet<unknown> = new Set(["passkey_assertion_invalid", "passkey_registration_invalid"])

/** The challenge that a request answers; undefined of all others. */
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
