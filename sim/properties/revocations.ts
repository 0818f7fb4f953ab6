/**
 * Safety (I11). An operator revokes exactly the key that is named, whosever it is: the answer shows it as it stands from then on, and
 * since when, which a repetition does not move; and an existing key is never reported as missing. That it authorizes nothing any more,
 * that its tickets end, and that its owner finds it noted and listed so, is checked by the properties about any ended key.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as ShownIdentity from "../model/ShownIdentity.js"
import { difference } from "./Difference.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  model: NaiveVenue | undefined
  /** Whether the key was known when the request was sent, by call and attempt. */
  readonly asked: Map<string, boolean>
}

type Answered = Observation & { readonly _tag: "Answered" }

/** The key to be revoked by an operator's request; undefined for other requests. */
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
