/**
 * How commands about API keys are decided: those that issue one to an agent or a bot, and those that end one. An ended key is kept
 * for a while so that its owner can see it; then it is forgotten, and is unknown from there on.
 */
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { KeyIssued } from "../../operations/identity/Credentials.js"
import type { ExchangeGrant } from "../../operations/identity/ExchangeGrant.js"
import { botKeyMs, type IssueBotKey } from "../../operations/identity/IssueBotKey.js"
import { type KeyGrant, scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"
import type { RevokeApiKey } from "../../operations/identity/RevokeApiKey.js"
import { type Done, done, type Refused, refused } from "../../operations/Outcome.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import { note } from "./Noting.js"
import * as Ticketing from "./Ticketing.js"

/** Most expired keys that one record forgets. */
const forgottenAtOnce = 8

/** Whether an account has as many active keys at a time as it may have. */
const hasMost = ({ apiKeys, identity: { bounds } }: State, account: number, atEpochMs: number): boolean => {
  let active = 0
  for (const key of apiKeys.of(account)) if (apiKeys.actsUntil(key) > atEpochMs) active++
  return active >= bounds.keys
}

/** Notes until when an ended key is kept. */
export const keepUntil = ({ apiKeys, identity: { bounds, keyEnds } }: State, key: number): void => {
  const revokedAtEpochMs = apiKeys.revokedAt(key)
  const endsAtEpochMs = Math.min(apiKeys.expiresAt(key), revokedAtEpochMs === 0 ? Number.POSITIVE_INFINITY : revokedAtEpochMs)
  keyEnds.set(key, endsAtEpochMs + bounds.endedKeysMs)
}

/**
 * Forgets an ended key and everything that is known of it alone. Its ticket families stay while they are to be reported as revoked.
 */
const forgetKey = ({ apiKeys, atEpochMs, capacity, identity }: State, key: number): void => {
  capacity.reached?.("an ended key was forgotten")
  identity.tickets.forgetOver(key, atEpochMs)
  identity.keyEnds.remove(key)
  identity.keyUses.forget(key)
  identity.clientNames.delete(key)
  identity.botKeys.delete(key)
  apiKeys.forget(key)
}

/** Forgets ended keys whose time is up, a bounded number per record. It is the first thing that a record does. */
export const forget = (state: State): void => {
  const { keyEnds } = state.identity
  for (let left = forgottenAtOnce; left > 0; left--) {
    const key = keyEnds.firstDue(state.atEpochMs)
    if (key === undefined) return
    forgetKey(state, key)
  }
}

/** Keeps only the latest of an account's ended keys, and forgets the addresses of them all. */
const forgetEnded = (state: State, account: number): void => {
  const { apiKeys, atEpochMs, identity: { bounds, keyUses } } = state
  let ended = 0
  for (const key of [...apiKeys.of(account)]) {
    if (apiKeys.actsUntil(key) > atEpochMs) continue
    if (++ended > bounds.endedKeys) forgetKey(state, key)
    else keyUses.forgetAddresses(key)
  }
}

/** Issues a key without a name, as demo accounts had in records of earlier versions. Returns its number. */
export const issueUnnamed = (
  state: State,
  account: number,
  { displayPrefix, expiresAtEpochMs, keyId, scopes, secretSha256 }: KeyGrant
): number => {
  const apiKey = state.apiKeys.issue({
    keyId,
    account,
    displayPrefix,
    secretSha256,
    scopes,
    createdAtEpochMs: state.atEpochMs,
    expiresAtEpochMs,
    revokedAtEpochMs: 0
  })
  state.events.event4(Event.ApiKeyIssued, apiKey, account, scopes, expiresAtEpochMs)
  return apiKey
}

/** Issues a named key of an account. */
export const issueKey = (state: State, account: number, grant: KeyGrant, name: string, remoteAddress: string): KeyIssued => {
  forgetEnded(state, account)
  const apiKey = issueUnnamed(state, account, grant)
  state.identity.clientNames.set(apiKey, name)
  keepUntil(state, apiKey)
  note(state, account, "key_issued", grant.keyId, remoteAddress, name)
  return { _tag: "KeyIssued", account, apiKey }
}

/** Every key is issued under a freshly drawn id: a collision with another key is practically impossible. */
export const admitsBotKey = ({ apiKeys }: State, { keyId }: IssueBotKey): Refusal =>
  apiKeys.find(keyId) === none ? Refusal.none : Refusal.idempotencyConflict

/** A bot's key beyond the limit is refused in a record, so that the operator's request is remembered. */
export const issueBotKey = (state: State, command: IssueBotKey): KeyIssued | Refused => {
  const { ofAccount, subject } = command
  if (hasMost(state, ofAccount, state.atEpochMs)) return refused(Refusal.keyLimit, none)
  const grant = { ...command, scopes: scopeRead | scopeTrade, expiresAtEpochMs: state.atEpochMs + botKeyMs }
  const issued = issueKey(state, ofAccount, grant, subject, "")
  state.identity.botKeys.set(issued.apiKey, true)
  return issued
}

/** What refuses the exchange of a device code without a record: otherwise anybody could fill the journal with invalid codes. */
export const refusesExchange = (state: State, { deviceSha256, keyId }: ExchangeGrant, atEpochMs: number): Refusal => {
  const { grants, sessions } = state.identity
  const grant = grants.find(deviceSha256)
  if (grant === undefined || grant.expiresAtEpochMs <= atEpochMs || state.apiKeys.find(keyId) !== none) return Refusal.grantOver
  // Under earlier rules a grant could outlast the session that approved it.
  const session = sessions.find(grant.session)
  if (session === undefined || session.expiresAtEpochMs <= atEpochMs) return Refusal.grantOver
  // The grant stays: it may be exchanged within its time once another key has been revoked.
  return hasMost(state, grant.account, atEpochMs) ? Refusal.keyLimit : Refusal.none
}

export const exchangeGrant = (state: State, command: ExchangeGrant): KeyIssued => {
  const { grants } = state.identity
  const grant = grants.find(command.deviceSha256)!
  const { account, clientName, keyLifetimeSeconds, scopes } = grant
  grants.remove(grant)
  const expiresAtEpochMs = state.atEpochMs + keyLifetimeSeconds * 1000
  return issueKey(state, account, { ...command, scopes, expiresAtEpochMs }, clientName, command.remoteAddress)
}

/** Refuses a revocation where the account has no such key. */
export const refusesRevocation = ({ apiKeys }: State, { account, keyId }: RevokeApiKey): Refusal => {
  const key = apiKeys.find(keyId)
  return key !== none && apiKeys.account(key) === account ? Refusal.none : Refusal.keyNotFound
}

/** Revokes a key that is not revoked yet. Returns whether it did. */
const revoke = (state: State, key: number): boolean => {
  const { apiKeys, identity: { clientNames, keyUses, tickets } } = state
  if (apiKeys.revokedAt(key) !== 0) return false
  apiKeys.setRevokedAt(key, state.atEpochMs)
  state.events.event2(Event.ApiKeyRevoked, key, apiKeys.account(key))
  // Keys without a name are of records of earlier programs, and were never forgotten.
  if (clientNames.has(key)) keepUntil(state, key)
  keyUses.forgetAddresses(key)
  for (const family of tickets.liveOf(key, state.atEpochMs)) Ticketing.end(state, family)
  return true
}

/** Revoking a key again changes nothing: the first revocation stands. */
export const revokeApiKey = (state: State, { account, keyId, remoteAddress }: RevokeApiKey): Done => {
  const key = state.apiKeys.find(keyId)
  if (revoke(state, key)) note(state, account, "key_revoked", keyId, remoteAddress, state.identity.clientNames.get(key) ?? "")
  return done
}

/** Revokes a key of any account for an operator. The key may have been forgotten since the command was admitted. */
export const revokeByOperator = (state: State, keyId: string): Done | Refused => {
  const key = state.apiKeys.find(keyId)
  if (key === none) return refused(Refusal.keyNotFound, none)
  const name = state.identity.clientNames.get(key) ?? ""
  if (revoke(state, key)) note(state, state.apiKeys.account(key), "operator_revoked_key", keyId, "", name)
  return done
}
