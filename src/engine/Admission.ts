/**
 * Answers that need no record: a refusal that writes nothing, or the remembered decision for the same key and body. Checked in this
 * order: authority, fences, remembered keys, the global halt, room.
 */
import { assert } from "../domain/Assert.js"
import type { Reached } from "../domain/Branches.js"
import { Refusal } from "../domain/Refusal.js"
import { scopeRead, scopeTrade } from "../operations/identity/KeyGrant.js"
import { Principal } from "../operations/Header.js"
import type { Declaration, Share } from "../operations/Operation.js"
import { type Command, isFenceable, of, type Outcome, outcomesOf, refuse } from "../operations/Operations.js"
import type { ShownTicket } from "./identity/Tickets.js"
import { admitBy } from "./Deciders.js"
import { isKeyFenced } from "./orders/Fences.js"
import { readCancels, readPlacement } from "./orders/ReadAhead.js"
import { roomBeyondPart } from "./orders/Reducing.js"
import { boundOf } from "./Share.js"
import type { State } from "./State.js"

/**
 * The answer to a command that needs no record; undefined where it needs one. Changes nothing. `shown` is the ticket that
 * authorised the command; it is checked only here, since a refusal because of it has no record.
 */
export const admit = (state: State, command: Command, atEpochMs: number, shown?: ShownTicket): Outcome | undefined => {
  const declaration = of(command)
  if (command.kind === "PlaceOrders") readPlacement(state, command)
  else if (command.kind === "CancelOrders") readCancels(state, command)
  assert(mayBeFrom(declaration, command.principal), "a command comes from a principal that may send it")
  const unauthorised = authority(state, command, declaration, atEpochMs, shown)
  if (unauthorised !== Refusal.none) {
    state.capacity.reached?.("authority ended before a command's turn")
    return refuse(unauthorised, state.sequence, atEpochMs)
  }
  if (isFenceable(declaration) && isKeyFenced(state, command.account, command.idempotencyKey, atEpochMs)) {
    return refuse(Refusal.fenceStands, state.sequence, atEpochMs)
  }
  const found = state.idempotency.lookup(command, atEpochMs, state.endOf)
  if (found === "conflict") return refuse(Refusal.idempotencyConflict, state.sequence, atEpochMs)
  if (found !== undefined) return found
  if (state.halted && declaration.underHalt === "refused") return refuse(Refusal.engineHalted, state.sequence, atEpochMs)
  const admitted = admitBy(state, command, atEpochMs)
  if (typeof admitted === "object") return { ...refuse(admitted.refusal, state.sequence, atEpochMs), markets: admitted.markets }
  if (admitted !== Refusal.none) return refuse(admitted, state.sequence, atEpochMs)
  const roomless = refusesKey(state, command, declaration, atEpochMs)
  if (state.capacity.reached !== undefined && command.idempotencyKey !== "") {
    markRoom(state, state.capacity.reached, declaration.share(command as never), roomless)
  }
  return roomless === Refusal.none ? undefined : refuse(roomless, state.sequence, atEpochMs)
}

/** Like `includes`, without a call out of compiled code. */
const mayBeFrom = ({ principals }: Declaration, principal: Principal): boolean => {
  for (let index = 0; index < principals.length; index++) if (principals[index] === principal) return true
  return false
}

/** Authority is checked again in the command's own turn, so that a revocation ahead of it wins. */
const authority = (
  state: State,
  command: Command,
  declaration: Declaration,
  atEpochMs: number,
  shown: ShownTicket | undefined
): Refusal => {
  if (command.principal === Principal.key) {
    const ended = shown === undefined ? Refusal.none : authorityOfTicket(state, shown, atEpochMs)
    if (ended === Refusal.none) return authorityOfKey(state, command, declaration, atEpochMs)
    state.capacity.reached?.("a ticket ended before the turn of what came by it")
    return ended
  }
  if (command.principal !== Principal.session) return Refusal.none
  const session = state.identity.sessions.find(command.credential)
  if (session === undefined || session.expiresAtEpochMs <= atEpochMs) return Refusal.sessionEnded
  return session.account === command.account ? Refusal.none : Refusal.keyAccountMismatch
}

/** A ticket that has been rotated since it was shown stays valid until it would have expired. */
const authorityOfTicket = ({ identity }: State, { expiresAtEpochMs, family }: ShownTicket, atEpochMs: number): Refusal => {
  if (expiresAtEpochMs <= atEpochMs) return Refusal.ticketExpired
  return identity.tickets.find(family)?.isEnded === false ? Refusal.none : Refusal.ticketRevoked
}

const authorityOfKey = ({ apiKeys }: State, command: Command, { permission }: Declaration, atEpochMs: number): Refusal => {
  const key = command.credential
  assert(key >= 0 && key < apiKeys.count, "a command names a key that was issued")
  if (apiKeys.actsUntil(key) <= atEpochMs) {
    if (!apiKeys.has(key)) return Refusal.keyUnknown
    return apiKeys.revokedAt(key) !== 0 ? Refusal.keyRevoked : Refusal.keyExpired
  }
  if ((apiKeys.scopes(key) & (permission === "read" ? scopeRead : scopeTrade)) === 0) return Refusal.keyScopeMissing
  return apiKeys.account(key) === command.account ? Refusal.none : Refusal.keyAccountMismatch
}

const markRoom = ({ capacity, idempotency }: State, reached: Reached, share: Share, roomless: Refusal): void => {
  if (roomless === Refusal.tableFull) reached("the table of keys was full")
  else if (idempotency.size >= boundOf(capacity.idempotencyKeys, share)) reached("a key found room where one is forgotten")
  else if (share === "reduction" && idempotency.size >= boundOf(capacity.idempotencyKeys, "placement")) {
    reached("the reserve of keys was needed")
  }
}

/** Refuses a command whose key is not in the table. */
const refusesKey = (state: State, command: Command, { keyScope, share }: Declaration, atEpochMs: number): Refusal => {
  // A command without a key takes no room.
  if (keyScope === "none" || command.idempotencyKey === "") return Refusal.none
  const { endOf, idempotency } = state
  const outcomes = outcomesOf(command)
  const refusal = idempotency.refuses(share(command as never), command.account, outcomes, atEpochMs, endOf)
  if (refusal !== Refusal.accountShare || share(command as never) !== "reduction") return refusal
  const room = roomBeyondPart(state, command)
  return room === "all" || room === "half" && idempotency.mayReduce(command.account, outcomes, atEpochMs, endOf) ? Refusal.none : refusal
}
