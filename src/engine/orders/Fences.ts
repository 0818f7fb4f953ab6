/**
 * Fences: client identities that are barred from acting for the retention period. They are kept in the key table under scopes that
 * no request has, and so for as long as any key.
 */
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import { minuteMs } from "../../domain/Durations.js"
import { lookedUp } from "../../operations/Operations.js"
import { done, type Refused, refused } from "../../operations/Outcome.js"
import type { FenceOutcome, FenceSet } from "../../operations/orders/FenceOutcome.js"
import { Event } from "../EventLog.js"
import { FenceScope, type State } from "../State.js"

/** Both the fence and the request that set it are remembered. */
export const hasRoomToFence = (state: State): boolean => state.idempotency.hasRoomForTwo

/** Whether a client has fenced the key. A fenced clientOrderId in a placement refuses only its own entry. */
export const isKeyFenced = (state: State, account: number, idempotencyKey: string, atEpochMs: number): boolean =>
  state.hasFences
  && state.idempotency.outcomeOf(account, FenceScope.idempotencyKey, idempotencyKey, atEpochMs, state.endOf) !== undefined

/** Whether any operation of the account was decided under a key. */
const isDecided = (state: State, account: number, idempotencyKey: string): boolean =>
  lookedUp.some((operation) => state.idempotency.outcomeOf(account, operation, idempotencyKey, state.atEpochMs, state.endOf) !== undefined)

/** Fences identities under which nothing is remembered. What was decided before stands, and is not fenced until it is forgotten. */
export const fence = (state: State, command: FenceOutcome): FenceSet | Refused => {
  const { account, fencedClientOrderId, fencedKey } = command
  const byKey = fencedKey !== ""
  const seen = byKey
    ? isDecided(state, account, fencedKey)
    : state.orders.findClient(account, fencedClientOrderId) !== none
  if (seen) return refused(Refusal.alreadySeen, none)
  const scope = byKey ? FenceScope.idempotencyKey : FenceScope.clientOrderId
  const identity = byKey ? fencedKey : fencedClientOrderId
  const isFenced = byKey
    ? isKeyFenced(state, account, fencedKey, state.atEpochMs)
    : state.isClientFenced(account, fencedClientOrderId)
  if (isFenced) {
    return { _tag: "FenceSet", holdsUntilEpochMs: state.idempotency.renew(account, scope, identity, state.atEpochMs) }
  }
  state.idempotency.put(scope, identity, command, state.sequence, state.atEpochMs, done)
  state.hasFences = true
  state.events.event1(Event.Fenced, account)
  return { _tag: "FenceSet", holdsUntilEpochMs: state.atEpochMs + state.retentionMinutes * minuteMs }
}
