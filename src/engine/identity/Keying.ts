/** How commands about API keys are decided: what issues one to an agent or to a bot, and what ends one. */
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

/** No key but a demo account's lives longer: of older ones nobody has to look. */
const longestKeyMs = 7 * 24 * 60 * 60 * 1000

/** The keys of an account that were issued so lately that they may still act, newest first. */
function* lateKeys({ apiKeys }: State, account: number, atEpochMs: number): Generator<number> {
  for (const key of apiKeys.of(account)) {
    if (apiKeys.createdAt(key) < atEpochMs - longestKeyMs) return
    yield key
  }
}

/** Whether an account has as many keys that may act at a time as it may have. */
const hasMost = (state: State, account: number, atEpochMs: number): boolean => {
  let active = 0
  for (const key of lateKeys(state, account, atEpochMs)) if (state.apiKeys.actsUntil(key) > atEpochMs) active++
  return active >= state.identity.bounds.keys
}

/** Where keys of an account were used from that act no more is forgotten. */
const forgetAddresses = (state: State, account: number): void => {
  const { apiKeys, atEpochMs, identity } = state
  // A little further back than what may act, so that none is passed by.
  for (const key of lateKeys(state, account, atEpochMs - longestKeyMs)) {
    if (apiKeys.actsUntil(key) <= atEpochMs) identity.keyUses.forgetAddresses(key)
  }
}

/** Issues a key of an account to somebody by name. */
const issueKey = (
  state: State,
  account: number,
  { displayPrefix, expiresAtEpochMs, keyId, scopes, secretSha256 }: KeyGrant,
  name: string,
  remoteAddress: string
): KeyIssued => {
  forgetAddresses(state, account)
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
  state.identity.clientNames.set(apiKey, name)
  state.events.event4(Event.ApiKeyIssued, apiKey, account, scopes, expiresAtEpochMs)
  note(state, account, "key_issued", keyId, remoteAddress, name)
  return { _tag: "KeyIssued", account, apiKey }
}

/** As with demo keys: the key under which it was issued has been forgotten, and it never is. */
export const admitsBotKey = ({ apiKeys }: State, { keyId }: IssueBotKey): Refusal =>
  apiKeys.find(keyId) === none ? Refusal.none : Refusal.idempotencyConflict

/** A bot's key that is too many is refused under a record: the operator's request is remembered. */
export const issueBotKey = (state: State, command: IssueBotKey): KeyIssued | Refused => {
  const { ofAccount, subject } = command
  if (hasMost(state, ofAccount, state.atEpochMs)) return refused(Refusal.keyLimit, none)
  const grant = { ...command, scopes: scopeRead | scopeTrade, expiresAtEpochMs: state.atEpochMs + botKeyMs }
  const issued = issueKey(state, ofAccount, grant, subject, "")
  state.identity.botKeys.add(issued.apiKey)
  return issued
}

/** What refuses an exchange: nobody is to fill the journal with codes that stand for nothing. */
export const refusesExchange = (state: State, { deviceSha256, keyId }: ExchangeGrant, atEpochMs: number): Refusal => {
  const grant = state.identity.grants.find(deviceSha256)
  if (grant === undefined || grant.expiresAtEpochMs <= atEpochMs || state.apiKeys.find(keyId) !== none) return Refusal.grantOver
  // The grant stands: it may be exchanged once a key has been revoked, while it lasts.
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

/** What refuses a revocation: the account has no such key. */
export const refusesRevocation = ({ apiKeys }: State, { account, keyId }: RevokeApiKey): Refusal => {
  const key = apiKeys.find(keyId)
  return key !== none && apiKeys.account(key) === account ? Refusal.none : Refusal.keyNotFound
}

/** A revocation that was made before stands as it is. */
export const revokeApiKey = (state: State, { account, keyId, remoteAddress }: RevokeApiKey): Done => {
  const { apiKeys } = state
  const key = apiKeys.find(keyId)
  if (apiKeys.revokedAt(key) !== 0) return done
  apiKeys.setRevokedAt(key, state.atEpochMs)
  state.events.event2(Event.ApiKeyRevoked, key, account)
  state.identity.keyUses.forgetAddresses(key)
  for (const family of state.identity.tickets.liveOf(key, state.atEpochMs)) Ticketing.end(state, family)
  note(state, account, "key_revoked", keyId, remoteAddress, state.identity.clientNames.get(key) ?? "")
  return done
}
