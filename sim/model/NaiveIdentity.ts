/**
 * Who may act, by the rules: passkeys, sessions, grants, keys and the security notes about them, in plain arrays. It shares nothing with
 * the engine but the vocabulary.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { Command, CommandOfKind } from "../../src/operations/Operations.js"
import { NaiveHistory, type NaiveNote } from "./NaiveHistory.js"
import { type NaiveFamily, NaiveTickets } from "./NaiveTickets.js"

const hourMs = 60 * 60 * 1000

export interface NaivePasskey {
  readonly credentialId: string
  readonly account: number
  readonly userHandle: string
  readonly publicKey: string
  signCount: number
  readonly transports: string
  readonly displayName: string
  readonly createdAtEpochMs: number
  /** 0 until it is first used. */
  lastUsedAtEpochMs: number
  readonly approvesFromEpochMs: number
}

/** An owner who is signed in. */
export interface NaiveSignedIn {
  readonly number: number
  readonly account: number
  readonly tokenSha256: string
  readonly credentialId: string
  readonly createdAtEpochMs: number
  readonly expiresAtEpochMs: number
}

export interface NaiveKey {
  readonly index: number
  readonly keyId: string
  readonly account: number
  readonly displayPrefix: string
  readonly secretSha256: string
  readonly scopes: number
  readonly createdAtEpochMs: number
  readonly expiresAtEpochMs: number
  /** 0 unless it was revoked. */
  revokedAtEpochMs: number
  /** Undefined for demo accounts in records of earlier versions. */
  readonly clientName: string | undefined
  /** Whether the venue has forgotten it: its retention is over, or many other keys of its account have ended since. */
  isForgotten: boolean
  /** Whether it belongs to a bot, which is named by its workload's subject. */
  readonly isBot?: true
}

/** When a key expires, or was revoked. */
const endOf = ({ expiresAtEpochMs, revokedAtEpochMs }: NaiveKey): number =>
  revokedAtEpochMs === 0 ? expiresAtEpochMs : Math.min(expiresAtEpochMs, revokedAtEpochMs)

/** The scope of a key that may trade. */
const trade = 2

/** Frequent kinds of notes; of each kind only the latest of an account are kept. */
const frequent = [
  "sign_in_failed",
  "approval_failed",
  "key_used_from_new_address",
  "operator_credited",
  "operator_canceled_orders",
  "user_codes_locked",
  "ticket_family_ended",
  "signed_out_elsewhere",
  "agent_denied",
  "withdrawal_requested",
  "party_change_requested"
]

export interface NaiveGrant {
  readonly deviceSha256: string
  readonly account: number
  /** The number of the session that approved it. */
  readonly session: number
  readonly clientName: string
  readonly codeChallenge: string
  readonly scopes: number
  readonly keyLifetimeSeconds: number
  readonly approvedAtEpochMs: number
  readonly expiresAtEpochMs: number
}

/** Limits for each account. */
export interface Bounds {
  readonly passkeys: number
  readonly sessions: number
  readonly keys: number
  /** Ended keys that are kept, and for how long each. */
  readonly endedKeys: number
  readonly endedKeysMs: number
  readonly events: number
  /** Notes of one frequent kind. */
  readonly frequentEvents: number
  /** Notes of all accounts. */
  readonly eventsInAll: number
  /** Pending grants, in all and of an account; families of tickets, in all and live ones of a key. */
  readonly grants: number
  readonly grantsOfAccount: number
  readonly families: number
  readonly familiesOfKey: number
  /** An account may take at most this fraction (one in so many) of the free families; 0: no limit for an account. */
  readonly familyParts: number
}

export const venueBounds: Bounds = {
  passkeys: 16,
  sessions: 32,
  keys: 64,
  endedKeys: 128,
  endedKeysMs: 720 * hourMs,
  events: 256,
  frequentEvents: 16,
  eventsInAll: 262_144,
  grants: 65_536,
  grantsOfAccount: 16,
  families: 65_536,
  familiesOfKey: 64,
  familyParts: 64
}

/** Most ended entries that are forgotten with each new one. */
const forgottenAtOnce = 8

/** What this part needs from the rest of the model. */
export interface Surroundings {
  readonly now: () => number
  readonly sequence: () => number
  /** Opens an empty account. Returns its index. */
  readonly openAccount: () => number
}

/** The result of a command: the account that it concerns, or why it is refused. */
export type Came =
  | { readonly account: number }
  | {
    readonly refusal: Refusal
    readonly limit?: number
    readonly actual?: number
    /** The account in whose notes it was recorded, though the command names none. */
    readonly noted?: number
  }

/** The commands about who may act. */
const kinds = [
  "OpenOwnerAccount",
  "SignIn",
  "AddPasskey",
  "RemovePasskey",
  "ProvePasskey",
  "EndSession",
  "ApproveAgent",
  "DenyAgent",
  "ExchangeGrant",
  "RevokeApiKey",
  "RevokeKeyByOperator",
  "NoteSecurity",
  "IssueBotKey",
  "MintTicket",
  "RotateTicket",
  "EndTickets"
] as const
export type IdentityCommand = CommandOfKind<(typeof kinds)[number]>

/** Whether a command is about who may act. */
export const isOfIdentity = (command: Command): command is IdentityCommand => (kinds as ReadonlyArray<string>).includes(command.kind)

type OpenOwnerAccount = CommandOfKind<"OpenOwnerAccount">
type SignIn = CommandOfKind<"SignIn">
type AddPasskey = CommandOfKind<"AddPasskey">
type RemovePasskey = CommandOfKind<"RemovePasskey">
type ApproveAgent = CommandOfKind<"ApproveAgent">
type ExchangeGrant = CommandOfKind<"ExchangeGrant">

export class NaiveIdentity {
  /** In the order of their creation. */
  passkeys: Array<NaivePasskey> = []
  sessions: Array<NaiveSignedIn> = []
  grants: Array<NaiveGrant> = []
  /** Every key that ever existed, by its number. */
  readonly keys: Array<NaiveKey> = []
  readonly notes = new Map<number, Array<NaiveNote>>()
  /** The last record that changed anything of an account. */
  readonly changedAt = new Map<number, number>()
  /** All sessions and grants that ever existed. */
  readonly everSessions: Array<NaiveSignedIn> = []
  readonly everGrants: Array<NaiveGrant> = []
  /** Realtime tickets of keys. */
  readonly tickets = new NaiveTickets()
  #noted = new Map<number, number>()
  #opened = 0

  readonly bounds: Bounds

  /** Limits that are not given are a venue's own. */
  constructor(readonly around: Surroundings, given: Partial<Bounds> = {}, readonly history = new NaiveHistory()) {
    this.bounds = { ...venueBounds, ...given }
  }

  /** The notes of an account that are kept, newest first. */
  keptNotes(account: number): ReadonlyArray<NaiveNote> {
    return (this.notes.get(account) ?? []).toReversed()
  }

  passkeysOf(account: number): ReadonlyArray<NaivePasskey> {
    return this.passkeys.filter((passkey) => passkey.account === account)
  }

  /** Pending grants of an account at a time. */
  waitingOf(account: number, now: number): number {
    return this.grants.filter((grant) => grant.account === account && grant.expiresAtEpochMs > now).length
  }

  /** Whether there is no room for another grant: with each new one the oldest are forgotten if they have ended. */
  isFullOfGrants(now: number): boolean {
    return this.grants.length >= this.bounds.grants && this.#overOfOldest(now).length === 0
  }

  #overOfOldest(now: number): ReadonlyArray<NaiveGrant> {
    return this.grants.slice(0, forgottenAtOnce).filter((grant) => grant.expiresAtEpochMs <= now)
  }

  /** Keys of an account that are still remembered, newest first. */
  keysOf(account: number): ReadonlyArray<NaiveKey> {
    return this.keys.filter((key) => key.account === account && !key.isForgotten).toReversed()
  }

  /**
   * Issues the key of a demo account, which has no other. It is noted and expires like any other key. One without a lifetime is of a
   * record of an earlier version, and takes what its grant says.
   */
  issueOfDemo(
    { expiresAtEpochMs, keyId, ...key }: CommandOfKind<"OpenDemoAccounts">["keys"][number],
    account: number,
    lifetimeSeconds: number
  ): void {
    const createdAtEpochMs = this.around.now()
    const what = { ...key, keyId, account, createdAtEpochMs, revokedAtEpochMs: 0 }
    if (lifetimeSeconds === 0) return this.#issue({ ...what, expiresAtEpochMs, clientName: undefined })
    this.#issue({ ...what, expiresAtEpochMs: createdAtEpochMs + 1000 * lifetimeSeconds, clientName: "demo" })
    this.note(account, "key_issued", keyId, "", "demo")
  }

  #issue(key: Omit<NaiveKey, "index" | "isForgotten">): void {
    this.keys.push({ ...key, index: this.keys.length, isForgotten: false })
  }

  /** Whether a digest is of a key that may not trade. */
  onlyReads(digest: string): boolean {
    return this.keys.some(({ scopes, secretSha256 }) => secretSha256 === digest && (scopes & trade) === 0)
  }

  /** Whether the key that minted a family of tickets may trade, whatever these may. */
  isOfTradingKey({ apiKey }: Pick<NaiveFamily, "apiKey">): boolean {
    return (this.keys[apiKey]!.scopes & trade) !== 0
  }

  /** The first thing that a record does: forgets keys whose retention is over, in the order in which they ended. */
  forgetKeys(): void {
    const over = this.keys
      .filter((key) => key.clientName !== undefined && !key.isForgotten && endOf(key) + this.bounds.endedKeysMs <= this.around.now())
      .sort((one, other) => endOf(one) - endOf(other) || one.index - other.index)
    for (const key of over.slice(0, forgottenAtOnce)) this.#forget(key)
  }

  #forget(key: NaiveKey): void {
    key.isForgotten = true
    this.changedAt.set(key.account, this.around.sequence())
  }

  /** Adds a security note to an account for a command that is not about who may act. */
  note(account: number, kind: string, credentialId: string, remoteAddress: string, detail: string): void {
    this.#note(account, kind, credentialId, remoteAddress, detail)
    this.changedAt.set(account, this.around.sequence())
  }

  /** Notes that a passkey has authenticated something other than a sign-in, with its counter at a value. */
  use(credentialId: string, signCount: number): void {
    const passkey = this.#find(credentialId)!
    passkey.signCount = signCount
    passkey.lastUsedAtEpochMs = this.around.now()
    this.changedAt.set(passkey.account, this.around.sequence())
  }

  decide(command: IdentityCommand): Came {
    const came = this.#decide(command)
    const account = "account" in came ? came.account : came.noted ?? this.#about(command)
    if (account !== undefined) this.changedAt.set(account, this.around.sequence())
    return came
  }

  #about(command: IdentityCommand): number | undefined {
    if (command.kind === "SignIn") return this.#find(command.credentialId)?.account
    return command.account < 0 ? undefined : command.account
  }

  #decide(command: IdentityCommand): Came {
    switch (command.kind) {
      case "OpenOwnerAccount":
        return this.#open(command)
      case "SignIn":
        return this.#signIn(command)
      case "AddPasskey":
        return this.#add(command)
      case "RemovePasskey":
        return this.#remove(command)
      case "ProvePasskey": {
        const passkey = this.#own(command.account, command.credentialId)
        if (passkey === undefined) return { refusal: Refusal.passkeyUnknown }
        return this.#counted(passkey, command.signCount, command.remoteAddress) ? command : { refusal: Refusal.signCountWentBack }
      }
      case "EndSession": {
        const session = this.sessions.find(({ number }) => number === command.credential)!
        if (command.isElsewhere) return this.#endOthers(session, command.remoteAddress)
        this.#end(session)
        this.#note(command.account, "signed_out", session.credentialId, command.remoteAddress)
        return command
      }
      case "ApproveAgent":
        return this.#approve(command)
      case "DenyAgent":
        this.grants = this.grants.filter((grant) => grant.account !== command.account || grant.deviceSha256 !== command.deviceSha256)
        this.#note(command.account, "agent_denied", "", command.remoteAddress, command.clientName)
        return command
      case "ExchangeGrant":
        return this.#exchange(command)
      case "RevokeApiKey":
        return this.#revoke(command.account, command.keyId, command.remoteAddress)
      case "RevokeKeyByOperator":
        return this.#revokeByOperator(command.keyId)
      case "NoteSecurity":
        this.#note(command.ofAccount, command.what, command.credentialId, command.remoteAddress)
        return { account: command.ofAccount }
      case "IssueBotKey":
        return this.#issueToBot(command)
      case "MintTicket":
        this.tickets.mint(this.keys[command.credential]!, command.scopes, this.around.now())
        return command
      case "RotateTicket":
        return this.#rotate(command)
      case "EndTickets": {
        const family = this.tickets.families[command.family]!
        this.tickets.endBy(family, command.generation)
        return family
      }
    }
  }

  #find(credentialId: string): NaivePasskey | undefined {
    return this.passkeys.find((passkey) => passkey.credentialId === credentialId)
  }

  #note(account: number, kind: string, credentialId: string, remoteAddress: string, detail = ""): void {
    const ordinal = this.#noted.get(account) ?? 0
    this.#noted.set(account, ordinal + 1)
    const notes = [...this.notes.get(account) ?? []]
    const made = { ordinal, kind, sequence: this.around.sequence(), atEpochMs: this.around.now(), credentialId, remoteAddress, detail }
    notes.push(made)
    this.history.notes.push({ ...made, account })
    const alike = frequent.includes(kind) ? notes.filter((each) => each.kind === kind) : []
    const kept = alike.length > this.bounds.frequentEvents ? notes.filter((each) => each !== alike[0]) : notes
    this.notes.set(account, kept.slice(-this.bounds.events))
    this.#makeRoomForNotes()
  }

  /** Drops the oldest notes of all accounts, beyond as many as are kept in all. */
  #makeRoomForNotes(): void {
    let kept = 0
    for (const notes of this.notes.values()) kept += notes.length
    if (kept <= this.bounds.eventsInAll) return
    const all = [...this.notes].flatMap(([account, notes]) => notes.map((note) => ({ account, note })))
    // Of those of one record, the one that was made first.
    const madeAt = new Map(this.history.notes.map(({ account, ordinal }, at) => [`${account} ${ordinal}`, at]))
    const placed = all.map((each) => ({ ...each, at: madeAt.get(`${each.account} ${each.note.ordinal}`)! }))
    const dropped = placed.sort((one, other) => one.at - other.at).slice(0, all.length - this.bounds.eventsInAll)
    for (const { account, note } of dropped) this.notes.set(account, this.notes.get(account)!.filter((each) => each !== note))
  }

  #end(session: NaiveSignedIn): void {
    this.sessions = this.sessions.filter((each) => each !== session)
    this.grants = this.grants.filter((grant) => grant.session !== session.number)
  }

  #endOthers(kept: NaiveSignedIn, remoteAddress: string): Came {
    const { account, credentialId } = kept
    const others = this.sessions.filter((each) => each.account === account && each !== kept && this.around.now() < each.expiresAtEpochMs)
    for (const other of others) this.#end(other)
    if (others.length === 0) return { account }
    this.#note(account, "signed_out_elsewhere", credentialId, remoteAddress, `${others.length} session${others.length === 1 ? "" : "s"}`)
    return { account }
  }

  /** Begins a session. The venue forgets its oldest sessions if they have ended, up to the first that has not. */
  #begin(account: number, { credentialId, remoteAddress, tokenSha256 }: OpenOwnerAccount | SignIn | AddPasskey): Came {
    for (let left = forgottenAtOnce; left > 0; left--) {
      const [first] = this.sessions
      if (first === undefined || first.expiresAtEpochMs > this.around.now()) break
      this.sessions.shift()
    }
    const own = this.sessions.filter((session) => session.account === account)
    const now = this.around.now()
    if (own.length >= this.bounds.sessions) {
      const [oldest] = own
      this.#end(oldest!)
      if (oldest!.expiresAtEpochMs > now) this.#note(account, "session_ended", oldest!.credentialId, remoteAddress)
    }
    const expiresAtEpochMs = now + 12 * hourMs
    const session = { number: this.#opened++, account, tokenSha256, credentialId, createdAtEpochMs: now, expiresAtEpochMs }
    this.sessions.push(session)
    this.everSessions.push(session)
    return { account }
  }

  #register(account: number, command: OpenOwnerAccount | AddPasskey, approvesFromEpochMs: number): void {
    const { credentialId, displayName, publicKey, signCount, transports, userHandle } = command
    this.passkeys.push({
      credentialId,
      account,
      userHandle,
      publicKey,
      signCount,
      transports,
      displayName,
      createdAtEpochMs: this.around.now(),
      lastUsedAtEpochMs: 0,
      approvesFromEpochMs
    })
  }

  #open(command: OpenOwnerAccount): Came {
    if (this.#find(command.credentialId) !== undefined) return { refusal: Refusal.passkeyKnown }
    const account = this.around.openAccount()
    this.#register(account, command, this.around.now())
    this.#note(account, "account_opened", command.credentialId, command.remoteAddress, command.displayName)
    return this.#begin(account, command)
  }

  /** A passkey, if it belongs to the account. */
  #own(account: number, credentialId: string): NaivePasskey | undefined {
    return this.passkeysOf(account).find((passkey) => passkey.credentialId === credentialId)
  }

  /** Whether a passkey's counter is beyond that of its previous answer, whatever either was for: only then the answer counts. */
  #counted(passkey: NaivePasskey, signCount: number, remoteAddress: string): boolean {
    const countsNothing = signCount === 0 && passkey.signCount === 0
    if (!countsNothing && signCount <= passkey.signCount) {
      this.#note(passkey.account, "sign_in_failed", passkey.credentialId, remoteAddress, "its counter went back")
      return false
    }
    passkey.signCount = signCount
    passkey.lastUsedAtEpochMs = this.around.now()
    return true
  }

  #signIn(command: SignIn): Came {
    const { credentialId, remoteAddress, signCount } = command
    const passkey = this.#find(credentialId)
    if (passkey === undefined) return { refusal: Refusal.passkeyUnknown }
    const { account } = passkey
    if (!this.#counted(passkey, signCount, remoteAddress)) return { refusal: Refusal.signCountWentBack }
    this.#note(account, "signed_in", credentialId, remoteAddress, passkey.displayName)
    return this.#begin(account, command)
  }

  #add(command: AddPasskey): Came {
    const { account, credentialId, displayName, provedBy, remoteAddress } = command
    if (this.#own(account, provedBy) === undefined) return { refusal: Refusal.passkeyUnknown }
    if (this.#find(credentialId) !== undefined) return { refusal: Refusal.passkeyKnown }
    const count = this.passkeysOf(account).length
    if (count >= this.bounds.passkeys) return { refusal: Refusal.passkeyLimit, limit: this.bounds.passkeys, actual: count + 1 }
    this.#register(account, command, this.around.now() + 24 * hourMs)
    this.#note(account, "passkey_added", credentialId, remoteAddress, displayName)
    return this.#begin(account, command)
  }

  #remove({ account, credentialId, provedBy, remoteAddress, signCount }: RemovePasskey): Came {
    const prover = this.#own(account, provedBy)
    if (prover === undefined) return { refusal: Refusal.passkeyUnknown }
    if (!this.#counted(prover, signCount, remoteAddress)) return { refusal: Refusal.signCountWentBack }
    const passkey = this.#own(account, credentialId)
    if (passkey === undefined) return { refusal: Refusal.passkeyNotFound }
    if (this.passkeysOf(account).length === 1) return { refusal: Refusal.lastPasskey }
    for (const session of this.sessions.filter((each) => each.credentialId === credentialId)) this.#end(session)
    this.passkeys = this.passkeys.filter((each) => each !== passkey)
    this.#note(account, "passkey_removed", credentialId, remoteAddress, passkey.displayName)
    return { account }
  }

  /** When a signed-in session expires. */
  signedInUntil(session: number): number {
    return this.sessions.find(({ number }) => number === session)!.expiresAtEpochMs
  }

  #approve(command: ApproveAgent): Came {
    const { account, clientName, codeChallenge, credential: session, deviceSha256, grantMs } = command
    const { keyLifetimeSeconds, remoteAddress, scopes } = command
    const now = this.around.now()
    const before = this.grants.find((grant) => grant.deviceSha256 === deviceSha256)
    if (before !== undefined && before.expiresAtEpochMs > now) return { refusal: Refusal.grantTaken }
    if (this.waitingOf(account, now) >= this.bounds.grantsOfAccount) return { refusal: Refusal.keyLimit }
    if (before === undefined && this.isFullOfGrants(now)) return { refusal: Refusal.tableFull }
    this.grants = this.grants.filter((grant) => grant !== before)
    const over = this.#overOfOldest(now)
    this.grants = this.grants.filter((grant) => !over.includes(grant))
    const expiresAtEpochMs = Math.min(now + grantMs, this.signedInUntil(session))
    const what = { deviceSha256, account, session, clientName, codeChallenge, scopes, keyLifetimeSeconds }
    const grant = { ...what, approvedAtEpochMs: now, expiresAtEpochMs }
    this.grants.push(grant)
    this.everGrants.push(grant)
    this.#note(account, "agent_approved", "", remoteAddress, clientName)
    return { account }
  }

  #exchange({ deviceSha256, displayPrefix, keyId, remoteAddress, secretSha256 }: ExchangeGrant): Came {
    const now = this.around.now()
    const grant = this.grants.find((each) => each.deviceSha256 === deviceSha256)
    if (grant === undefined || grant.expiresAtEpochMs <= now) return { refusal: Refusal.grantOver }
    const { account, clientName, keyLifetimeSeconds, scopes } = grant
    if (this.#hasAllKeys(account)) return { refusal: Refusal.keyLimit }
    this.#forgetEnded(account)
    this.grants = this.grants.filter((each) => each !== grant)
    const expiresAtEpochMs = now + keyLifetimeSeconds * 1000
    this.#issue({
      keyId,
      account,
      displayPrefix,
      secretSha256,
      scopes,
      createdAtEpochMs: now,
      expiresAtEpochMs,
      revokedAtEpochMs: 0,
      clientName
    })
    this.#note(account, "key_issued", keyId, remoteAddress, clientName)
    return { account }
  }

  /** Whether an account has as many active keys as it may have. */
  #hasAllKeys(account: number): boolean {
    const active = this.keysOf(account).filter((key) => endOf(key) > this.around.now())
    return active.length >= this.bounds.keys
  }

  /** When another key is issued, an account's ended keys are forgotten except the latest. */
  #forgetEnded(account: number): void {
    const ended = this.keysOf(account).filter((key) => endOf(key) <= this.around.now())
    for (const key of ended.slice(this.bounds.endedKeys)) this.#forget(key)
  }

  /** Issues a bot's key, valid for seven days, to read and to trade. */
  #issueToBot({ displayPrefix, keyId, ofAccount: account, secretSha256, subject }: CommandOfKind<"IssueBotKey">): Came {
    if (this.#hasAllKeys(account)) return { refusal: Refusal.keyLimit }
    this.#forgetEnded(account)
    const now = this.around.now()
    const what = { keyId, account, displayPrefix, secretSha256, scopes: 3, clientName: subject, isBot: true } as const
    this.#issue({ ...what, createdAtEpochMs: now, expiresAtEpochMs: now + 7 * 24 * hourMs, revokedAtEpochMs: 0 })
    this.#note(account, "key_issued", keyId, "", subject)
    return { account }
  }

  #rotate({ family: number, generation, remoteAddress }: CommandOfKind<"RotateTicket">): Came {
    const family = this.tickets.families[number]
    if (family === undefined) return { refusal: Refusal.ticketExpired }
    const came = this.tickets.rotate(family, generation, this.around.now())
    if (came === "rotated" || came === "repeated") return family
    if (came !== "stolen") return came
    const { keyId } = this.keys[family.apiKey]!
    this.#note(family.account, "ticket_family_ended", keyId, remoteAddress, "a ticket was presented again after its rotation")
    return { refusal: Refusal.ticketRotated, noted: family.account }
  }

  #revoke(account: number, keyId: string, remoteAddress: string): Came {
    const key = this.keysOf(account).find((each) => each.keyId === keyId)
    if (key === undefined) return { refusal: Refusal.keyNotFound }
    if (key.revokedAtEpochMs !== 0) return { account }
    key.revokedAtEpochMs = this.around.now()
    this.tickets.revoke(key.index, this.around.now())
    this.#note(account, "key_revoked", keyId, remoteAddress, key.clientName ?? "")
    return { account }
  }

  #revokeByOperator(keyId: string): Came {
    const key = this.keys.find((each) => each.keyId === keyId && !each.isForgotten)
    if (key === undefined) return { refusal: Refusal.keyNotFound }
    if (key.revokedAtEpochMs !== 0) return key
    key.revokedAtEpochMs = this.around.now()
    this.tickets.revoke(key.index, this.around.now())
    this.#note(key.account, "operator_revoked_key", keyId, "", key.clientName ?? "")
    return key
  }
}
