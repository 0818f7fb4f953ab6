/**
 * Safety (I11). An operator revokes the very key that he names, whosever it is: he is told of it as it stands from then on, and since when,
 * which repeating does not move; and of no key that there is he is told that there is none. That it authorizes nothing any more, that its
 * tickets end, that its owner finds it noted and listed so, is looked at where that is looked at of any key that ends.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as ShownIdentity from "../model/ShownIdentity.js"
import { difference } from "./Difference.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  model: NaiveVenue | undefined
  /** By call and attempt, whether the key was known when it was sent. */
  readonly asked: Map<string, boolean>
}

type Answered = Observation & { readonly _tag: "Answered" }

/** The key that an operator wants revoked; undefined where it is something else that is wanted. */
const keyIdIn = ({ credential, reading }: Call): string | undefined =>
  credential === "operator" && reading._tag === "asked" && reading.asked.wanted.kind === "RevokeKeyByOperator"
    ? reading.asked.wanted.keyId
    : undefined

const isKnown = (model: NaiveVenue | undefined, keyId: string): boolean =>
  model?.identity.keys.some((key) => key.keyId === keyId && !key.isForgotten) === true

const done = ({ answer: { json }, call, memory, model }: Answered, keyId: string): Verdict => {
  const key = model.identity.keys.find((each) => each.keyId === keyId)
  if (memory === undefined || memory.outcomes[0]?.refusal !== Refusal.none) return broken("tells of what no record did")
  if (key === undefined || key.revokedAtEpochMs === 0) return broken("tells of a key that is not revoked")
  return difference("what is told", ShownIdentity.withoutUses(json), {
    version: "operator-key-revoke/v1",
    key: ShownIdentity.key(model, key, memory.atEpochMs),
    idempotencyKey: call.idempotencyKey,
    sequence: memory.sequence,
    decidedAtEpochMs: memory.atEpochMs
  })
}

const answered = (seen: Answered, keyId: string, wasKnown: boolean): Verdict => {
  const { answer: { status, text }, call, model } = seen
  const verdict = status === 200
    ? done(seen, keyId)
    : status === 404 && wasKnown && isKnown(model, keyId)
    ? broken("says that there is no such key")
    : holds
  return verdict === undefined ? holds : broken(`${call.target} under key ${call.idempotencyKey} ${verdict}: ${text}`)
}

export const revocations: Property<State> = {
  name: "operators-revoke-the-key-that-they-name",
  invariant: "I11",
  kind: "safety",
  initial: () => ({ model: undefined, asked: new Map() }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") state.model = seen.model
    if (seen._tag !== "Asked" && seen._tag !== "Answered" && seen._tag !== "Unanswered") return holds
    const keyId = keyIdIn(seen.call)
    if (keyId === undefined) return holds
    const attempt = `${seen.call.id}/${seen.attempt}`
    if (seen._tag === "Asked") state.asked.set(attempt, isKnown(state.model, keyId))
    const wasKnown = state.asked.get(attempt) ?? false
    if (seen._tag !== "Asked") state.asked.delete(attempt)
    return seen._tag === "Answered" ? answered(seen, keyId, wasKnown) : holds
  }
}
