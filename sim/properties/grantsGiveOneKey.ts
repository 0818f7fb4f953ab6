/**
 * Safety (I11). An owner's approval gives exactly one key: to the approving account, with exactly the scopes and the lifetime that the
 * agent requested, and to nobody but the holder of its device code.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { ApproveAgent } from "../../src/operations/identity/ApproveAgent.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** An approval, by the digest of the device code. */
interface Approval {
  readonly command: ApproveAgent
  /** Until the agent's request or its owner's session ends, whichever is first. */
  readonly untilEpochMs: number
  /** The record that issued its key. */
  issuedBy: number | undefined
  /** The key in the answer to the agent. */
  told: string | undefined
}

type State = Map<string, Approval>

const committed = (state: State, { decision: { outcomes }, model, record }: Observation & { readonly _tag: "Committed" }): Verdict => {
  const { atEpochMs, command, sequence } = record
  const isDone = outcomes[0]?.refusal === Refusal.none
  if (command.kind === "ApproveAgent" && isDone) {
    const untilEpochMs = Math.min(atEpochMs + command.grantMs, model.identity.signedInUntil(command.credential))
    state.set(command.deviceSha256, { command, untilEpochMs, issuedBy: undefined, told: undefined })
    return holds
  }
  if (command.kind !== "ExchangeGrant" || !isDone) return holds
  const approval = state.get(command.deviceSha256)
  if (approval === undefined) return broken(`record ${sequence} issues a key that nobody approved`)
  if (approval.issuedBy !== undefined) return broken(`records ${approval.issuedBy} and ${sequence} issue keys for one approval`)
  approval.issuedBy = sequence
  return atEpochMs < approval.untilEpochMs
    ? holds
    : broken(`record ${sequence} issues a key behind the end of its grant`)
}

/** Checks the key in an answer against the approval. */
const keyVerdict = ({ command }: Approval, key: Json, accountId: string): Verdict => {
  const { createdAtEpochMs, expiresAtEpochMs, scopes } = key
  const names = ["read", "trade"].filter((_, bit) => Math.floor(command.scopes / 2 ** bit) % 2 === 1)
  if (key["accountId"] !== accountId) return broken(`is of ${String(key["accountId"])}, and ${accountId} approved`)
  if (!Array.isArray(scopes) || scopes.join() !== names.join()) return broken(`may ${String(scopes)}, approved was ${names.join()}`)
  return Number(expiresAtEpochMs) - Number(createdAtEpochMs) === command.keyLifetimeSeconds * 1000
    ? holds
    : broken(`lasts from ${String(createdAtEpochMs)} to ${String(expiresAtEpochMs)}, approved were ${command.keyLifetimeSeconds} s`)
}

export const grantsGiveOneKey: Property<State> = {
  name: "grant-gives-one-key",
  invariant: "I11",
  kind: "safety",
  initial: () => new Map(),
  observe: (state, seen) => {
    if (seen._tag === "Committed") return committed(state, seen)
    if (seen._tag !== "Answered" || seen.answer.status !== 200) return holds
    const { answer: { json }, call: { body, method, target }, model } = seen
    const wish = Identity.read(method, target, body)?.wish
    if (wish?.kind !== "exchangeAgentConnect" || !isObject(json)) return holds
    const approval = state.get(wish.deviceSha256)
    if (approval === undefined) return broken("a key is told that nobody approved")
    const apiKey = String(json["apiKey"])
    if (approval.told !== undefined && approval.told !== apiKey) return broken("two keys are told for one approval")
    approval.told = apiKey
    const verdict = keyVerdict(approval, json["key"] as Json, idOf(model.accounts[approval.command.account]!.born))
    return verdict === undefined ? holds : broken(`the key of ${approval.command.clientName} ${verdict}`)
  }
}
