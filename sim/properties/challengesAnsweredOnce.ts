/** Safety (I11). A challenge is answered once: whatever is sent again, at the same moment or after a crash, proves nothing more. */
import * as Identity from "../reading/Identity.js"
import { broken, holds, type Property } from "./Property.js"

/** By the identifier of the challenge, what it has proved. */
type State = Map<string, string>

export const challengesAnsweredOnce: Property<State> = {
  name: "challenge-answered-once",
  invariant: "I11",
  kind: "safety",
  initial: () => new Map(),
  observe: (state, seen) => {
    if (seen._tag !== "Answered" || seen.answer.status >= 300) return holds
    const { attempt, call: { body, id, method, target } } = seen
    const wish = Identity.read(method, target, body)?.wish
    if (wish === undefined || !("proof" in wish) || wish.proof === undefined) return holds
    const { challengeIdentifier } = wish.proof
    const before = state.get(challengeIdentifier)
    state.set(challengeIdentifier, `${method} ${target} of call ${id}.${attempt}`)
    return before === undefined
      ? holds
      : broken(`${challengeIdentifier} has proved ${before}, and now ${method} ${target} of call ${id}.${attempt}`)
  }
}
