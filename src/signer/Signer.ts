/**
 * The signer's decisions over a store of records: creating keys, changing pins and signing. One request is decided at a time. The use of an
 * approval, the passkey's sign counter and the treasury's withdrawals are durable before a signature is returned; so a caller that repeats
 * a request after a crash gets the same signature, or none.
 */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import { maxAccounts } from "../domain/Bounds.js"
import { PasskeyVerifier } from "../identity/PasskeyVerifier.js"
import * as PartyTopology from "../ledger/prepared/PartyTopology.js"
import { fingerprint, multiHash as multiHashOf } from "../ledger/prepared/Topology.js"
import { approvalChallenge, pinsChallenge } from "./Approval.js"
import { asserted, type Site } from "./Assertions.js"
import * as Ed25519 from "./Ed25519.js"
import { KeyStore, StoreRefused } from "./KeyStore.js"
import { PartySigner, type RefusalReason, type SignerError, SignerRefused, SignerUnavailable, wellFormed } from "./PartySigner.js"
import * as Pins from "./Pins.js"
import * as Policy from "./Policy.js"
import * as Records from "./Records.js"
import {
  type AccountKeys,
  type Approval,
  Claim,
  NewParty,
  type PartyKey,
  Repin,
  type Signed,
  SignRequest,
  SignTopology
} from "./Requests.js"
import * as Signing from "./Signing.js"

/** The share of the limit on accounts from which on each new account logs a warning. */
const warnedShare = 0.875

/** The signer's own settings, which no request can change. */
export interface Settings {
  readonly custody: Signing.Custody
  readonly site: Site
  readonly limits: Policy.Limits
  /** Most accounts for which it holds keys; by default as many as a venue may have. */
  readonly mostAccounts?: number
}

/** The treasury's key is created before any account's: where it is missing, more of the directory has been lost. */
const withoutTreasury = "it holds no key of the treasury"

const refuse = (reason: RefusalReason, detail: string) => Effect.fail(new SignerRefused({ reason, detail }))

/** What a log tells of a venue: enough of its digest to know it by. */
const shortOf = (venue: string): string => venue.slice(0, 16)

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** Digest of what a passkey signed. The signature itself is left out, since a passkey can sign the same thing more than once. */
const statementOf = ({ assertion: { authenticatorData, clientDataJSON, credentialId } }: Approval): string =>
  createHash("sha256").update([credentialId, clientDataJSON, authenticatorData].join(".")).digest("hex")

const publicOf = (key: Records.Key): PartyKey => ({ keyId: key.keyId, publicKey: Ed25519.publicKeyOf(Records.seedOf(key)) })

const signedBy = (key: Records.Key, message: Uint8Array): Signed => ({
  signature: Ed25519.sign(Records.seedOf(key), message),
  signedBy: key.keyId
})

/** A key, and the function that stores it once it has a party. */
interface Found {
  readonly key: Records.Key
  readonly keep: (key: Records.Key) => Effect.Effect<void, SignerUnavailable>
}

class Signer {
  private readonly accounts = new Map<string, Records.Account>()
  /** The account of each key: there may be a million of them, and each request for a new party names only its key. */
  private readonly accountOfKey = new Map<string, string>()
  private treasury: Records.Treasury | undefined

  constructor(
    private readonly settings: Settings,
    private readonly store: Context.Tag.Service<KeyStore>,
    private readonly verifier: Context.Tag.Service<PasskeyVerifier>
  ) {}

  /** Takes over the store's records. Returns the name of a record that cannot be read. */
  take(records: ReadonlyMap<string, string>): string | undefined {
    for (const [name, record] of records) {
      if (name === Records.treasuryName) {
        const treasury = Records.decodeTreasury(record)
        if (Either.isLeft(treasury)) return name
        this.treasury = treasury.right
      } else {
        const account = Records.decodeAccount(record)
        // The error is not reported, since it would contain the record.
        if (Either.isLeft(account) || account.right.accountId !== name) return name
        this.know(account.right)
      }
    }
    return undefined
  }

  private know(account: Records.Account): void {
    this.accounts.set(account.accountId, account)
    for (const { keyId } of account.keys) this.accountOfKey.set(keyId, account.accountId)
  }

  /** Writes a record, and applies the change in memory only once it is durable. */
  private write(name: string, record: string, then: () => void): Effect.Effect<void, SignerUnavailable> {
    return this.store.write(name, record).pipe(
      Effect.mapError(({ message }) => new SignerUnavailable({ detail: message })),
      Effect.zipRight(Effect.sync(then)),
      Effect.uninterruptible
    )
  }

  private writeAccount(account: Records.Account) {
    return this.write(account.accountId, Records.encodeAccount(account), () => this.know(account))
  }

  private writeTreasury(treasury: Records.Treasury) {
    return this.write(Records.treasuryName, Records.encodeTreasury(treasury), () => {
      this.treasury = treasury
    })
  }

  private newKey(reference: string): Effect.Effect<Records.Key> {
    return Effect.map(this.store.newSeed, (seed) => ({
      keyId: fingerprint(Ed25519.publicKeyOf(seed)),
      reference,
      seed: Redacted.make(Buffer.from(seed).toString("base64url"))
    }))
  }

  newParty(request: NewParty): Effect.Effect<PartyKey, SignerError> {
    return Effect.gen(this, function*() {
      const { accountId, passkeys, reference } = request
      if (this.treasury === undefined) return yield* refuse("unknown_key", withoutTreasury)
      const { mostAccounts = maxAccounts } = this.settings
      const known = this.accounts.get(accountId)
      const held = this.accounts.size
      if (known === undefined && held >= mostAccounts) {
        return yield* new SignerUnavailable({ detail: `it holds the keys of ${mostAccounts} accounts, and no more` })
      }
      if (known !== undefined && !Pins.areAllPinned(known, passkeys)) {
        return yield* refuse("passkey_not_pinned", "the account has keys, and has not pinned all of these passkeys")
      }
      const account = known ?? Pins.opened(request)
      const before = account.keys.find((key) => key.reference === reference)
      if (before !== undefined) return publicOf(before)
      if (account.keys.length >= Records.mostKeys) return yield* refuse("pins_bound", `an account has at most ${Records.mostKeys} keys`)
      const key = yield* this.newKey(reference)
      yield* this.writeAccount({ ...account, keys: [...account.keys, key] })
      if (known === undefined && held + 1 >= mostAccounts * warnedShare) {
        yield* Effect.logWarning(`signer: it holds the keys of ${held + 1} accounts, of ${mostAccounts} at most`)
      }
      return publicOf(key)
    })
  }

  treasuryKey(): Effect.Effect<PartyKey, SignerError> {
    return Effect.gen(this, function*() {
      if (this.treasury !== undefined) return publicOf(this.treasury.key)
      if (this.accounts.size > 0) return yield* refuse("unknown_key", `${withoutTreasury}, and keys of accounts`)
      const key = yield* this.newKey(Records.treasuryName)
      yield* this.writeTreasury({ key, day: 0, givenAtoms: 0, withdrawals: [] })
      return publicOf(key)
    })
  }

  knownTreasuryKey(): Effect.Effect<PartyKey, SignerError> {
    return this.treasury === undefined ? refuse("unknown_key", withoutTreasury) : Effect.succeed(publicOf(this.treasury.key))
  }

  /**
   * Ids of commands derive from the journal's sequence, so two venues give out the same ones. With one treasury, each would take what the
   * ledger has done of the other's for its own.
   */
  claim({ venue }: Claim): Effect.Effect<void, SignerError> {
    const { treasury } = this
    if (treasury === undefined) return refuse("unknown_key", withoutTreasury)
    if (treasury.venue === undefined) return this.give(treasury, venue)
    return treasury.venue === venue
      ? Effect.void
      : refuse("unknown_key", `its treasury is another venue's, ${shortOf(treasury.venue)}, and who asks is ${venue}`)
  }

  /** Has the treasury be that venue's, whosever it was. */
  reassign({ venue }: Claim): Effect.Effect<void, SignerRefused | SignerUnavailable> {
    return this.treasury === undefined ? refuse("unknown_key", withoutTreasury) : this.give(this.treasury, venue)
  }

  private give(treasury: Records.Treasury, venue: string): Effect.Effect<void, SignerUnavailable> {
    const was = treasury.venue === undefined ? "" : `, and no longer the venue ${shortOf(treasury.venue)}'s`
    return Effect.zipRight(
      this.writeTreasury({ ...treasury, venue }),
      Effect.logInfo(`signer: its treasury is the venue ${shortOf(venue)}'s from now on${was}`)
    )
  }

  accountKeys(accountId: string): Effect.Effect<AccountKeys, SignerError> {
    const account = this.accounts.get(accountId)
    if (account === undefined) return refuse("unknown_key", "it holds no key of this account")
    return Effect.succeed({
      accountId,
      keys: account.keys.map((key) => ({
        ...publicOf(key),
        reference: key.reference,
        ...(key.party === undefined ? {} : { party: key.party.partyId })
      })),
      credentialIds: account.passkeys.map(({ credentialId }) => credentialId),
      revision: account.revision
    })
  }

  /** The key with this id, and the function that stores it with its party. */
  private keyAt(keyId: string): Found | undefined {
    const { treasury } = this
    if (treasury?.key.keyId === keyId) return { key: treasury.key, keep: (key) => this.writeTreasury({ ...treasury, key }) }
    const account = this.accounts.get(this.accountOfKey.get(keyId) ?? "")
    const key = account?.keys.find((each) => each.keyId === keyId)
    if (account === undefined || key === undefined) return undefined
    return { key, keep: (after) => this.writeAccount({ ...account, keys: account.keys.map((each) => each === key ? after : each) }) }
  }

  signTopology({ keyId, multiHash, topologyTransactions }: SignTopology): Effect.Effect<Signed, SignerError> {
    return Effect.gen(this, function*() {
      const found = this.keyAt(keyId)
      if (found === undefined) return yield* refuse("unknown_key", "it holds no such key")
      const { keep, key } = found
      const partyId = PartyTopology.partyOf(topologyTransactions, publicOf(key).publicKey)
      if (Either.isLeft(partyId)) return yield* refuse("topology_mismatch", partyId.left)
      if (hex(multiHashOf(topologyTransactions)) !== hex(multiHash)) {
        return yield* refuse("topology_mismatch", "the hash is not that of the topology")
      }
      if (key.party === undefined) yield* keep({ ...key, party: { partyId: partyId.right, multiHash: hex(multiHash) } })
      else if (key.party.multiHash !== hex(multiHash)) return yield* refuse("topology_mismatch", "the key has signed another topology")
      return signedBy(key, multiHash)
    })
  }

  sign(request: SignRequest): Effect.Effect<Signed, SignerError> {
    return Effect.gen(this, function*() {
      const atEpochMs = yield* Clock.currentTimeMillis
      const account = this.accounts.get(request.accountId)
      const place = Signing.place(this.settings.custody, request, account, this.treasury)
      if (place instanceof SignerRefused || account === undefined) return yield* place as SignerRefused
      const fault = Signing.faultOfBytes(request, place, atEpochMs)
      if (fault !== undefined) return yield* fault
      if (request.facts.step !== "treasury_offer_withdrawal") {
        const approved = yield* this.approved(account, request, place)
        const treasury = yield* this.given(request, atEpochMs)
        if (approved !== account) yield* this.writeAccount(approved)
        if (treasury !== this.treasury && treasury !== undefined) yield* this.writeTreasury(treasury)
      }
      return signedBy(place.key, request.hash)
    })
  }

  /** The account after it has approved this transaction: unchanged where this approval was used for it before. */
  private approved(account: Records.Account, request: SignRequest, { plan, planned }: Signing.Place) {
    return Effect.gen(this, function*() {
      const { approval, commandId, id, kind } = request
      if (approval === undefined) return yield* refuse("assertion_invalid", "there is no approval")
      const hash = hex(request.hash)
      const { nonce } = approval
      const statement = statementOf(approval)
      const used = account.bound.filter((each) => each.nonce === nonce || each.statement === statement)
      if (used.some((each) => each.hash !== hash)) return yield* refuse("replayed", "it was used for another transaction")
      if (account.bound.some((each) => each.commandId === commandId && each.plan !== plan)) {
        return yield* refuse("prepared_mismatch", "the command has been signed as another one")
      }
      if (used.some((each) => each.nonce === nonce && each.statement === statement)) return account
      const challenge = approvalChallenge({ kind, id, step: planned.facts.step, commandId, hash: request.hash, nonce })
      const passkeys = yield* asserted(this.verifier, this.settings.site, account, approval.assertion, challenge)
      return Records.withBound({ ...account, passkeys }, { hash, nonce, statement, commandId, plan })
    })
  }

  /** The treasury after a withdrawal's payment; unchanged for all other steps. */
  private given(
    { commandId, facts, hash, maxRecordTimeEpochMs }: SignRequest,
    atEpochMs: number
  ): Effect.Effect<Records.Treasury | undefined, SignerRefused> {
    const { settings: { limits }, treasury } = this
    if (facts.step !== "treasury_withdrawal" || treasury === undefined) return Effect.succeed(treasury)
    const when = { atEpochMs, untilEpochMs: maxRecordTimeEpochMs }
    const after = Policy.judge(treasury, limits, { hash: hex(hash), commandId, amountAtoms: facts.amountAtoms }, when)
    if (typeof after !== "string") return Effect.succeed(after)
    return refuse(after, after === "policy_daily" ? Policy.limitMet(treasury, when) : "the treasury gives less at once")
  }

  repin(request: Repin): Effect.Effect<void, SignerError> {
    return Effect.gen(this, function*() {
      const account = this.accounts.get(request.accountId)
      if (account === undefined) return yield* refuse("unknown_key", "it holds no key of this account")
      const isDone = request.revision === account.revision - 1 && Pins.changeDigest(request) === account.lastChange
      if (isDone) return
      if (request.revision !== account.revision) return yield* refuse("replayed", "the pins have changed since")
      const { accountId, approval: { assertion, nonce }, change, passkey, revision } = request
      const challenge = pinsChallenge({ accountId, change, passkey, revision, nonce })
      const passkeys = yield* asserted(this.verifier, this.settings.site, account, assertion, challenge)
      yield* this.writeAccount(yield* Pins.repinned(account, passkeys, request))
    })
  }
}

/** Logs a refusal with its reason. */
const warned = <A>(what: string, act: Effect.Effect<A, SignerError>): Effect.Effect<A, SignerError> =>
  Effect.tapError(act, ({ message }) => Effect.logWarning(`signer: not ${what}: ${message}`))

/** Logs a success, or a refusal with its reason. */
const logged = <A>(what: string, act: Effect.Effect<A, SignerError>): Effect.Effect<A, SignerError> =>
  Effect.tap(warned(what, act), () => Effect.logInfo(`signer: ${what}`))

const treasuryTold = "told the treasury's key"

/** A signer that has taken over the provided store's records. */
const opened = (settings: Settings): Effect.Effect<Signer, StoreRefused, KeyStore | PasskeyVerifier> =>
  Effect.gen(function*() {
    const store = yield* KeyStore
    const signer = new Signer(settings, store, yield* PasskeyVerifier)
    const unread = signer.take(yield* store.load)
    if (unread === undefined) return signer
    return yield* new StoreRefused({ reason: `the signer's record of ${unread} cannot be read: a newer version wrote it` })
  })

/** Gives the treasury of the provided store to a venue: for whoever runs the signer, where another venue has claimed it by mistake. */
export const giveTreasury = (
  settings: Settings,
  to: Claim
): Effect.Effect<void, StoreRefused | SignerRefused | SignerUnavailable, KeyStore | PasskeyVerifier> =>
  Effect.flatMap(opened(settings), (signer) => signer.reassign(to))

/** A signer over the provided store. */
export const layer = (settings: Settings): Layer.Layer<PartySigner, StoreRefused, KeyStore | PasskeyVerifier> =>
  Layer.effect(
    PartySigner,
    Effect.gen(function*() {
      const signer = yield* opened(settings)
      const turn = (yield* Effect.makeSemaphore(1)).withPermits(1)
      const decided = <A, I, B>(form: Schema.Schema<A, I>, request: A, what: string, act: Effect.Effect<B, SignerError>) =>
        Effect.zipRight(wellFormed(form, request), turn(logged(what, act)))
      return {
        newParty: (request) => decided(NewParty, request, `made a key of ${request.accountId}`, signer.newParty(request)),
        treasuryKey: turn(warned(treasuryTold, signer.treasuryKey())),
        knownTreasuryKey: turn(warned(treasuryTold, Effect.suspend(() => signer.knownTreasuryKey()))),
        claim: (request) =>
          Effect.zipRight(wellFormed(Claim, request), turn(warned("claimed by a venue", Effect.suspend(() => signer.claim(request))))),
        accountKeys: (accountId) => Effect.suspend(() => signer.accountKeys(accountId)),
        signTopology: (request) => decided(SignTopology, request, `signed the topology of ${request.keyId}`, signer.signTopology(request)),
        sign: (request) => {
          const { accountId, facts: { step }, id } = request
          return decided(SignRequest, request, `signed ${step} of ${id} for ${accountId}`, signer.sign(request))
        },
        repin: (request) => decided(Repin, request, `changed the pins of ${request.accountId}`, signer.repin(request))
      }
    })
  )
