/**
 * How commands about who may act are decided. Proofs (an assertion, a device code) were verified at the edge. What only the state
 * can tell is decided here, in the record's own turn: whether the passkey still belongs to the account, whether its counter went
 * backwards, whether a grant still stands.
 */
import { maxAccounts } from "../../domain/Bounds.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { AddPasskey } from "../../operations/identity/AddPasskey.js"
import type { ApproveAgent } from "../../operations/identity/ApproveAgent.js"
import type { KeyIssued, PasskeyFields, SessionOpened, TicketIssued } from "../../operations/identity/Credentials.js"
import type { OpenOwnerAccount } from "../../operations/identity/OpenOwnerAccount.js"
import type { ProvePasskey } from "../../operations/identity/ProvePasskey.js"
import type { RemovePasskey } from "../../operations/identity/RemovePasskey.js"
import type { RotateTicket } from "../../operations/identity/RotateTicket.js"
import type { SignIn } from "../../operations/identity/SignIn.js"
import type { CommandOfKind, Kind } from "../../operations/Operations.js"
import { type Done, done, type Refused, refused } from "../../operations/Outcome.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import * as Keying from "./Keying.js"
import { note } from "./Noting.js"
import type { Passkey } from "./Passkeys.js"
import { type Session, sessionMs } from "./Sessions.js"
import * as Ticketing from "./Ticketing.js"

/** For this long a passkey that was added to an account cannot approve withdrawals or changes of the ledger party. */
const addedApprovesAfterMs = 24 * 60 * 60 * 1000

const end = (state: State, session: Session): void => {
  const { grants, sessions } = state.identity
  sessions.remove(session)
  for (const grant of grants.of(session.account)) if (grant.session === session.number) grants.remove(grant)
  state.events.event2(Event.SessionEnded, session.account, session.number)
}

/** Ends every session of an account but one. Those that have expired need no ending, and where none is left nobody is told. */
const endOthers = (state: State, kept: Session, remoteAddress: string): void => {
  const { account, credentialId } = kept
  let ended = 0
  for (const session of state.identity.sessions.of(account)) {
    if (session === kept || session.expiresAtEpochMs <= state.atEpochMs) continue
    end(state, session)
    ended++
  }
  if (ended === 0) return
  note(state, account, "signed_out_elsewhere", credentialId, remoteAddress, ended === 1 ? "1 session" : `${ended} sessions`)
}

interface Opening {
  readonly tokenSha256: string
  readonly remoteAddress: string
}

/**
 * Makes room for another session where an account has as many as it may: its oldest ends. An expired one is removed without an
 * event.
 */
const makeRoom = (state: State, oldest: Session, remoteAddress: string): void => {
  if (oldest.expiresAtEpochMs <= state.atEpochMs) return state.identity.sessions.remove(oldest)
  state.capacity.reached?.("a session ended for room")
  end(state, oldest)
  note(state, oldest.account, "session_ended", oldest.credentialId, remoteAddress)
}

/**
 * Opens a session of an account; beyond the limit, its oldest ends. Its lifetime counts in record time, as that of keys does:
 * whatever clock the request was checked by, the owner can use it from the next record on.
 */
const open = (state: State, account: number, credentialId: string, opening: Opening): SessionOpened => {
  const { bounds, sessions } = state.identity
  sessions.forget(state.atEpochMs)
  const own = sessions.of(account)
  if (own.length >= bounds.sessions) makeRoom(state, own[0]!, opening.remoteAddress)
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

const refusesOpening = ({ accounts, identity }: State, { credentialId }: OpenOwnerAccount): Refusal => {
  if (identity.passkeys.find(credentialId) !== undefined) return Refusal.passkeyKnown
  return accounts.count < maxAccounts ? Refusal.none : Refusal.tableFull
}

const openOwnerAccount = (state: State, command: OpenOwnerAccount): SessionOpened => {
  const { credentialId, displayName, remoteAddress } = command
  const born = Ids.ordinal(state.sequence, 0)
  const account = state.accounts.open(born, state.sequence)
  state.events.event2(Event.AccountOpened, account, born)
  state.standing.waitForCredit(account)
  addPasskey(state, account, command, state.atEpochMs)
  note(state, account, "account_opened", credentialId, remoteAddress, displayName)
  return open(state, account, credentialId, command)
}

const refusesSignIn = ({ identity }: State, { credentialId }: SignIn): Refusal =>
  identity.passkeys.find(credentialId) === undefined ? Refusal.passkeyUnknown : Refusal.none

/**
 * Takes in the signature counter of an assertion, whatever the assertion was for, and returns whether it increased. A counter that
 * went backwards suggests a copy of the passkey: the assertion proves nothing, and a security event says so.
 */
const countsOn = (state: State, passkey: Passkey, signCount: number, remoteAddress: string): boolean => {
  // Authenticators that do not count always report 0; all others increase the counter with every assertion.
  if ((signCount !== 0 || passkey.signCount !== 0) && signCount <= passkey.signCount) {
    state.capacity.reached?.("a passkey's counter went back")
    note(state, passkey.account, "sign_in_failed", passkey.credentialId, remoteAddress, "its counter went back")
    return false
  }
  state.identity.passkeys.used(passkey, signCount, state.atEpochMs)
  return true
}

const signIn = (state: State, { credentialId, signCount, ...opening }: SignIn): SessionOpened | Refused => {
  const passkey = state.identity.passkeys.find(credentialId)!
  const { account, displayName } = passkey
  if (!countsOn(state, passkey, signCount, opening.remoteAddress)) return refused(Refusal.signCountWentBack, none)
  note(state, account, "signed_in", credentialId, opening.remoteAddress, displayName)
  return open(state, account, credentialId, opening)
}

/** Refuses what was proved by a passkey that the account no longer has. */
const refusesProof = ({ identity: { passkeys } }: State, account: number, provedBy: string): Refusal =>
  passkeys.find(provedBy)?.account === account ? Refusal.none : Refusal.passkeyUnknown

const provePasskey = (state: State, { credentialId, remoteAddress, signCount }: ProvePasskey): Done | Refused => {
  const passkey = state.identity.passkeys.find(credentialId)!
  return countsOn(state, passkey, signCount, remoteAddress) ? done : refused(Refusal.signCountWentBack, none)
}

const refusesAddition = (state: State, { account, credentialId, provedBy }: AddPasskey): Refusal => {
  const { bounds, passkeys } = state.identity
  const unproved = refusesProof(state, account, provedBy)
  if (unproved !== Refusal.none) return unproved
  if (passkeys.find(credentialId) !== undefined) return Refusal.passkeyKnown
  return passkeys.countOf(account) < bounds.passkeys ? Refusal.none : Refusal.passkeyLimit
}

const addToAccount = (state: State, command: AddPasskey): SessionOpened => {
  const { account, credentialId, displayName, remoteAddress } = command
  addPasskey(state, account, command, state.atEpochMs + addedApprovesAfterMs)
  note(state, account, "passkey_added", credentialId, remoteAddress, displayName)
  return open(state, account, credentialId, command)
}

/** Removes a passkey. A refusal is recorded as well, since the proof has moved the counter of the passkey that gave it. */
const removePasskey = (state: State, command: RemovePasskey): Done | Refused => {
  const { account, credentialId, provedBy, remoteAddress, signCount } = command
  const { passkeys, sessions } = state.identity
  if (!countsOn(state, passkeys.find(provedBy)!, signCount, remoteAddress)) return refused(Refusal.signCountWentBack, none)
  const passkey = passkeys.find(credentialId)
  if (passkey?.account !== account) return refused(Refusal.passkeyNotFound, none)
  if (passkeys.countOf(account) === 1) return refused(Refusal.lastPasskey, none)
  for (const session of sessions.of(account)) if (session.credentialId === credentialId) end(state, session)
  passkeys.remove(passkey)
  state.events.event2(Event.PasskeysChanged, account, passkeys.countOf(account))
  note(state, account, "passkey_removed", credentialId, remoteAddress, passkey.displayName)
  return done
}

const refusesApproval = ({ identity: { bounds, grants } }: State, { account, deviceSha256 }: ApproveAgent, atEpochMs: number): Refusal => {
  const before = grants.find(deviceSha256)
  if (before !== undefined && before.expiresAtEpochMs > atEpochMs) return Refusal.grantTaken
  if (grants.liveOf(account, atEpochMs) >= bounds.grantsOfAccount) return Refusal.keyLimit
  // An expired grant makes room for a new one of the same device code.
  return before === undefined && grants.isFull(atEpochMs) ? Refusal.tableFull : Refusal.none
}

const approveAgent = (state: State, command: ApproveAgent): Done => {
  const { account, clientName, codeChallenge, credential, deviceSha256, grantMs, keyLifetimeSeconds, remoteAddress, scopes } = command
  const { grants, sessions } = state.identity
  // The earlier grant ended with its session before the agent fetched the key, and the agent is still waiting.
  const before = grants.find(deviceSha256)
  if (before !== undefined) grants.remove(before)
  grants.forget(state.atEpochMs)
  // No key can be fetched after the end of the session that approved it, however that session ends.
  const expiresAtEpochMs = Math.min(state.atEpochMs + grantMs, sessions.find(credential)!.expiresAtEpochMs)
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

/** Rotates a ticket. One that was rotated before has been copied: its family has ended, and the owner is told. */
const rotateTicket = (state: State, command: RotateTicket): TicketIssued | Refused => {
  const { outcome, stolenFrom } = Ticketing.rotate(state, command)
  if (stolenFrom !== undefined) {
    const { account, apiKey } = stolenFrom
    const detail = "a ticket was presented again after its rotation"
    note(state, account, "ticket_family_ended", state.apiKeys.keyId(apiKey), command.remoteAddress, detail)
  }
  return outcome
}

/** A command with a single rule, which is checked without a record and again in the record's own turn. */
const held = <K extends Kind, O>(
  refuses: (state: State, command: CommandOfKind<K>, atEpochMs: number) => Refusal,
  decide: (state: State, command: CommandOfKind<K>) => O
) => ({
  admit: refuses,
  decide: (state: State, command: CommandOfKind<K>): ReadonlyArray<O | Refused> => {
    const refusal = refuses(state, command, state.atEpochMs)
    return [refusal === Refusal.none ? decide(state, command) : refused(refusal, none)]
  }
})

export const deciders: Deciders<"identity"> = {
  OpenOwnerAccount: held<"OpenOwnerAccount", SessionOpened>(refusesOpening, openOwnerAccount),
  SignIn: held<"SignIn", SessionOpened | Refused>(refusesSignIn, signIn),
  AddPasskey: held<"AddPasskey", SessionOpened>(refusesAddition, addToAccount),
  RemovePasskey: held<"RemovePasskey", Done | Refused>((state, { account, provedBy }) => refusesProof(state, account, provedBy),
    removePasskey),
  ProvePasskey: held<"ProvePasskey", Done | Refused>((state, { account, credentialId }) => refusesProof(state, account, credentialId),
    provePasskey),
  EndSession: {
    admit: always,
    decide: (state, { account, credential, isElsewhere, remoteAddress }) => {
      const session = state.identity.sessions.find(credential)!
      if (isElsewhere) {
        endOthers(state, session, remoteAddress)
        return [done]
      }
      end(state, session)
      note(state, account, "signed_out", session.credentialId, remoteAddress)
      return [done]
    }
  },
  ApproveAgent: held<"ApproveAgent", Done>(refusesApproval, approveAgent),
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
  ExchangeGrant: held<"ExchangeGrant", KeyIssued>(Keying.refusesExchange, Keying.exchangeGrant),
  RevokeApiKey: held<"RevokeApiKey", Done>(Keying.refusesRevocation, Keying.revokeApiKey),
  RevokeKeyByOperator: {
    admit: ({ apiKeys }, { keyId }) => apiKeys.find(keyId) === none ? Refusal.keyNotFound : Refusal.none,
    decide: (state, { keyId }) => [Keying.revokeByOperator(state, keyId)]
  },
  IssueBotKey: {
    admit: Keying.admitsBotKey,
    decide: (state, command) => [Keying.issueBotKey(state, command)]
  },
  MintTicket: held<"MintTicket", TicketIssued>(Ticketing.refusesMint, Ticketing.mint),
  RotateTicket: held<"RotateTicket", TicketIssued | Refused>(Ticketing.refusesRotation, rotateTicket),
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
        // The key may have been forgotten since it was used.
        if (!state.apiKeys.has(apiKey)) continue
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
