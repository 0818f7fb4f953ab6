/**
 * How commands about who may act are decided. Whatever was proved (an assertion, a device code) was checked where it came
 * in; what only the state can say is decided here, in the record's own turn: whether the passkey is still one of the
 * account's, whether its counter went back, whether a grant still stands.
 */
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { AddPasskey } from "../../operations/identity/AddPasskey.js"
import type { ApproveAgent } from "../../operations/identity/ApproveAgent.js"
import type { KeyIssued, PasskeyFields, SessionOpened, TicketIssued } from "../../operations/identity/Credentials.js"
import type { ExchangeGrant } from "../../operations/identity/ExchangeGrant.js"
import { botKeyMs, type IssueBotKey } from "../../operations/identity/IssueBotKey.js"
import { type KeyGrant, scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"
import type { OpenOwnerAccount } from "../../operations/identity/OpenOwnerAccount.js"
import type { RemovePasskey } from "../../operations/identity/RemovePasskey.js"
import type { RevokeApiKey } from "../../operations/identity/RevokeApiKey.js"
import type { RotateTicket } from "../../operations/identity/RotateTicket.js"
import type { SignIn } from "../../operations/identity/SignIn.js"
import { type Done, done, type Refused, refused } from "../../operations/Outcome.js"
import { maxAccounts } from "../accounts/Deciding.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import { mostOfAccount } from "./Grants.js"
import { note } from "./Noting.js"
import { type Session, sessionMs } from "./Sessions.js"
import * as Ticketing from "./Ticketing.js"

/** How long a passkey that was added to an account approves no withdrawal and no change of its ledger party. */
const addedApprovesAfterMs = 24 * 60 * 60 * 1000

const end = (state: State, session: Session): void => {
  const { grants, sessions } = state.identity
  sessions.remove(session)
  // Nobody fetches a key behind the sign-out of whoever approved it.
  for (const grant of grants.of(session.account)) if (grant.session === session.number) grants.remove(grant)
  state.events.event2(Event.SessionEnded, session.account, session.number)
}

interface Opening {
  readonly tokenSha256: string
  readonly remoteAddress: string
}

/**
 * Opens a session of an account; beyond the most, its oldest ends. It lives by the time of records, as keys do: whatever clock
 * the request met, its owner can act by it from the next record on.
 */
const open = (state: State, account: number, credentialId: string, opening: Opening): SessionOpened => {
  const { bounds, sessions } = state.identity
  sessions.forget(state.atEpochMs)
  const own = sessions.of(account)
  if (own.length >= bounds.sessions) {
    state.capacity.reached?.("a session ended for room")
    end(state, own[0]!)
    note(state, account, "session_ended", own[0]!.credentialId, opening.remoteAddress)
  }
  const number = sessions.total
  const expiresAtEpochMs = state.atEpochMs + sessionMs
  const { tokenSha256 } = opening
  sessions.add({ number, account, tokenSha256, credentialId, createdAtEpochMs: state.atEpochMs, expiresAtEpochMs })
  state.events.event3(Event.SessionOpened, account, number, expiresAtEpochMs)
  return { _tag: "SessionOpened", account, session: number }
}

const addPasskey = (state: State, account: number, fields: PasskeyFields, approvesFromEpochMs: number): void => {
  const { credentialId, displayName, publicKey, signCount, transports, userHandle } = fields
  const { passkeys } = state.identity
  passkeys.add({
    credentialId,
    account,
    userHandle,
    publicKey,
    signCount,
    transports,
    displayName,
    createdAtEpochMs: state.atEpochMs,
    lastUsedAtEpochMs: 0,
    approvesFromEpochMs
  })
  state.events.event2(Event.PasskeysChanged, account, passkeys.countOf(account))
}

const openOwnerAccount = (state: State, command: OpenOwnerAccount): SessionOpened | Refused => {
  const { credentialId, displayName, remoteAddress } = command
  if (state.identity.passkeys.find(credentialId) !== undefined) return refused(Refusal.passkeyKnown, none)
  const born = Ids.ordinal(state.sequence, 0)
  const account = state.accounts.open(born, state.sequence)
  state.events.event2(Event.AccountOpened, account, born)
  state.standing.waitForCredit(account)
  addPasskey(state, account, command, state.atEpochMs)
  note(state, account, "account_opened", credentialId, remoteAddress, displayName)
  return open(state, account, credentialId, command)
}

const signIn = (state: State, { credentialId, signCount, ...opening }: SignIn): SessionOpened | Refused => {
  const { passkeys } = state.identity
  const passkey = passkeys.find(credentialId)
  if (passkey === undefined) return refused(Refusal.passkeyUnknown, none)
  const { account, displayName } = passkey
  // Authenticators that count nothing always say 0; of all others each assertion counts on.
  if ((signCount !== 0 || passkey.signCount !== 0) && signCount <= passkey.signCount) {
    state.capacity.reached?.("a passkey's counter went back")
    note(state, account, "sign_in_failed", credentialId, opening.remoteAddress, "its counter went back")
    return refused(Refusal.signCountWentBack, none)
  }
  passkeys.used(passkey, signCount, state.atEpochMs)
  note(state, account, "signed_in", credentialId, opening.remoteAddress, displayName)
  return open(state, account, credentialId, opening)
}

const addToAccount = (state: State, command: AddPasskey): SessionOpened | Refused => {
  const { account, credentialId, displayName, remoteAddress } = command
  const { bounds, passkeys } = state.identity
  if (passkeys.find(credentialId) !== undefined) return refused(Refusal.passkeyKnown, none)
  if (passkeys.countOf(account) >= bounds.passkeys) return refused(Refusal.passkeyLimit, none)
  addPasskey(state, account, command, state.atEpochMs + addedApprovesAfterMs)
  note(state, account, "passkey_added", credentialId, remoteAddress, displayName)
  return open(state, account, credentialId, command)
}

const removePasskey = (state: State, { account, credentialId, remoteAddress }: RemovePasskey): Done | Refused => {
  const { passkeys, sessions } = state.identity
  const passkey = passkeys.find(credentialId)
  if (passkey === undefined || passkey.account !== account) return refused(Refusal.passkeyNotFound, none)
  if (passkeys.countOf(account) === 1) return refused(Refusal.lastPasskey, none)
  for (const session of sessions.of(account)) if (session.credentialId === credentialId) end(state, session)
  passkeys.remove(passkey)
  state.events.event2(Event.PasskeysChanged, account, passkeys.countOf(account))
  note(state, account, "passkey_removed", credentialId, remoteAddress, passkey.displayName)
  return done
}

const approveAgent = (state: State, command: ApproveAgent): Done | Refused => {
  const { account, clientName, codeChallenge, credential, deviceSha256, grantMs, keyLifetimeSeconds, remoteAddress, scopes } = command
  const { grants } = state.identity
  grants.forget(state.atEpochMs)
  if (grants.find(deviceSha256) !== undefined) return refused(Refusal.grantTaken, none)
  const expiresAtEpochMs = state.atEpochMs + grantMs
  grants.add({
    deviceSha256,
    account,
    session: credential,
    clientName,
    codeChallenge,
    scopes,
    keyLifetimeSeconds,
    approvedAtEpochMs: state.atEpochMs,
    expiresAtEpochMs
  })
  state.events.event4(Event.AgentApproved, account, scopes, keyLifetimeSeconds, expiresAtEpochMs)
  note(state, account, "agent_approved", "", remoteAddress, clientName)
  return done
}

/** No key but a demo account's lives longer: of older ones nobody has to look. */
const longestKeyMs = 7 * 24 * 60 * 60 * 1000

/** The keys of an account that were issued so lately that they may still act, newest first. */
function* lateKeys({ apiKeys }: State, account: number, atEpochMs: number): Generator<number> {
  for (const key of apiKeys.of(account)) {
    if (apiKeys.createdAt(key) < atEpochMs - longestKeyMs) return
    yield key
  }
}

/** Keys of an account that may act at a time. */
const activeKeys = (state: State, account: number, atEpochMs: number): number => {
  let active = 0
  for (const key of lateKeys(state, account, atEpochMs)) if (state.apiKeys.actsUntil(key) > atEpochMs) active++
  return active
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

const issueBotKey = (state: State, command: IssueBotKey): KeyIssued | Refused => {
  const { ofAccount, subject } = command
  if (activeKeys(state, ofAccount, state.atEpochMs) >= state.identity.bounds.keys) return refused(Refusal.keyLimit, none)
  const grant = { ...command, scopes: scopeRead | scopeTrade, expiresAtEpochMs: state.atEpochMs + botKeyMs }
  const issued = issueKey(state, ofAccount, grant, subject, "")
  state.identity.botKeys.add(issued.apiKey)
  return issued
}

const exchangeGrant = (state: State, command: ExchangeGrant): KeyIssued | Refused => {
  const { bounds, grants } = state.identity
  const grant = grants.find(command.deviceSha256)
  if (grant === undefined || grant.expiresAtEpochMs <= state.atEpochMs) return refused(Refusal.grantOver, none)
  const { account, clientName, keyLifetimeSeconds, scopes } = grant
  // The grant stands: it may be exchanged once a key has been revoked, while it lasts.
  if (activeKeys(state, account, state.atEpochMs) >= bounds.keys) return refused(Refusal.keyLimit, none)
  grants.remove(grant)
  const expiresAtEpochMs = state.atEpochMs + keyLifetimeSeconds * 1000
  return issueKey(state, account, { ...command, scopes, expiresAtEpochMs }, clientName, command.remoteAddress)
}

const revokeApiKey = (state: State, { account, keyId, remoteAddress }: RevokeApiKey): Done | Refused => {
  const { apiKeys } = state
  const key = apiKeys.find(keyId)
  if (key === none || apiKeys.account(key) !== account) return refused(Refusal.keyNotFound, none)
  if (apiKeys.revokedAt(key) !== 0) return done
  apiKeys.setRevokedAt(key, state.atEpochMs)
  state.events.event2(Event.ApiKeyRevoked, key, account)
  state.identity.keyUses.forgetAddresses(key)
  for (const family of state.identity.tickets.liveOf(key, state.atEpochMs)) Ticketing.end(state, family)
  note(state, account, "key_revoked", keyId, remoteAddress, state.identity.clientNames.get(key) ?? "")
  return done
}

/** A ticket that was rotated before is in two hands: its family has ended, and the owner is told. */
const rotateTicket = (state: State, command: RotateTicket): TicketIssued | Refused => {
  const { outcome, stolenFrom } = Ticketing.rotate(state, command)
  if (stolenFrom !== undefined) {
    const { account, apiKey } = stolenFrom
    note(state, account, "ticket_family_ended", state.apiKeys.keyId(apiKey), "", "a ticket was presented again after its rotation")
  }
  return outcome
}

export const deciders: Deciders<"identity"> = {
  OpenOwnerAccount: {
    admit: ({ accounts, identity }, { credentialId }) => {
      if (identity.passkeys.find(credentialId) !== undefined) return Refusal.passkeyKnown
      return accounts.count < maxAccounts ? Refusal.none : Refusal.tableFull
    },
    decide: (state, command) => [openOwnerAccount(state, command)]
  },
  SignIn: {
    admit: ({ identity }, { credentialId }) => identity.passkeys.find(credentialId) === undefined ? Refusal.passkeyUnknown : Refusal.none,
    decide: (state, command) => [signIn(state, command)]
  },
  AddPasskey: {
    admit: ({ identity: { bounds, passkeys } }, { account, credentialId }) => {
      if (passkeys.find(credentialId) !== undefined) return Refusal.passkeyKnown
      return passkeys.countOf(account) < bounds.passkeys ? Refusal.none : Refusal.passkeyLimit
    },
    decide: (state, command) => [addToAccount(state, command)]
  },
  RemovePasskey: {
    admit: ({ identity: { passkeys } }, { account, credentialId }) => {
      if (passkeys.find(credentialId)?.account !== account) return Refusal.passkeyNotFound
      return passkeys.countOf(account) === 1 ? Refusal.lastPasskey : Refusal.none
    },
    decide: (state, command) => [removePasskey(state, command)]
  },
  EndSession: {
    admit: always,
    decide: (state, { account, credential, remoteAddress }) => {
      const session = state.identity.sessions.find(credential)!
      end(state, session)
      note(state, account, "signed_out", session.credentialId, remoteAddress)
      return [done]
    }
  },
  ApproveAgent: {
    admit: ({ identity: { grants } }, { account, deviceSha256 }, atEpochMs) => {
      if (grants.find(deviceSha256) !== undefined) return Refusal.grantTaken
      if (grants.liveOf(account, atEpochMs) >= mostOfAccount) return Refusal.keyLimit
      return grants.isFull(atEpochMs) ? Refusal.tableFull : Refusal.none
    },
    decide: (state, command) => [approveAgent(state, command)]
  },
  DenyAgent: {
    admit: always,
    decide: (state, { account, clientName, deviceSha256, remoteAddress }) => {
      const { grants } = state.identity
      const grant = grants.find(deviceSha256)
      if (grant?.account === account) grants.remove(grant)
      note(state, account, "agent_denied", "", remoteAddress, clientName)
      return [done]
    }
  },
  ExchangeGrant: {
    // Nobody is to fill the journal with codes that stand for nothing.
    admit: (state, { deviceSha256, keyId }, atEpochMs) => {
      const grant = state.identity.grants.find(deviceSha256)
      if (grant === undefined || state.apiKeys.find(keyId) !== none) return Refusal.grantOver
      return activeKeys(state, grant.account, atEpochMs) < state.identity.bounds.keys ? Refusal.none : Refusal.keyLimit
    },
    decide: (state, command) => [exchangeGrant(state, command)]
  },
  RevokeApiKey: {
    admit: ({ apiKeys }, { account, keyId }) => {
      const key = apiKeys.find(keyId)
      return key !== none && apiKeys.account(key) === account ? Refusal.none : Refusal.keyNotFound
    },
    decide: (state, command) => [revokeApiKey(state, command)]
  },
  IssueBotKey: {
    // As with demo keys: the key under which it was issued has been forgotten, and it never is.
    admit: ({ apiKeys }, { keyId }) => apiKeys.find(keyId) === none ? Refusal.none : Refusal.idempotencyConflict,
    decide: (state, command) => [issueBotKey(state, command)]
  },
  MintTicket: {
    admit: Ticketing.refusesMint,
    decide: (state, command) => [Ticketing.mint(state, command)]
  },
  RotateTicket: {
    admit: Ticketing.refusesRotation,
    decide: (state, command) => [rotateTicket(state, command)]
  },
  EndTickets: {
    admit: always,
    decide: (state, command) => {
      Ticketing.endBy(state, command)
      return [done]
    }
  },
  NoteKeyUses: {
    admit: always,
    decide: (state, { uses }) => {
      for (const { apiKey, usedAtEpochMs } of uses) {
        state.identity.keyUses.used(apiKey, usedAtEpochMs)
        state.events.event2(Event.KeyUsed, apiKey, usedAtEpochMs)
      }
      return [done]
    }
  },
  NoteSecurity: {
    admit: always,
    decide: (state, { credentialId, ofAccount, remoteAddress, what }) => {
      if (what === "key_used_from_new_address") {
        const key = state.apiKeys.find(credentialId)
        if (key !== none) state.identity.keyUses.addAddress(key, remoteAddress)
      }
      note(state, ofAccount, what, credentialId, remoteAddress)
      return [done]
    }
  }
}
