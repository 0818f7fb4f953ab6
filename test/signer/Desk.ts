/** The venue's side of a signer: accounts whose owners have passkeys, parties made by a ledger, and approvals of prepared transactions. */
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import type * as Context from "effect/Context"
import * as NodePasskeyVerifier from "../../src/identity/NodePasskeyVerifier.js"
import { PasskeyVerifier } from "../../src/identity/PasskeyVerifier.js"
import * as Planned from "../../src/ledger/Planned.js"
import * as PartyTopology from "../../src/ledger/prepared/PartyTopology.js"
import { multiHash, partyId } from "../../src/ledger/prepared/Topology.js"
import { setting } from "../../src/ledger/development/Setting.js"
import type { HashingScheme, PreparedTransaction } from "../../src/ledger/prepared/PreparedTransaction.js"
import { approvalChallenge, pinsChallenge } from "../../src/signer/Approval.js"
import type { PartySigner, SignerError } from "../../src/signer/PartySigner.js"
import type { Approval, Assertion, Kind, Passkey, PartyKey, Repin, SignRequest } from "../../src/signer/Requests.js"
import { Authenticator, type Forged } from "../identity/Authenticator.js"
import * as Prepare from "./Prepare.js"

export type Service = Context.Tag.Service<PartySigner>

export const origin = "https://venue.example"
export const rpId = "venue.example"

export const custody = {
  environment: "development",
  userId: "perpetuum",
  synchronizerId: setting.synchronizerId,
  custodyPackageId: setting.custodyPackageId,
  token: setting.token
}
export const limits = { perWithdrawalAtoms: 5_000_000, dailyAtoms: 12_000_000 }

/** The settings of these tests' signers, as variables. */
export const variables = {
  VENUE_ENVIRONMENT: custody.environment,
  PUBLIC_ORIGIN: origin,
  RP_ID: rpId,
  TREASURY_WITHDRAWAL_LIMIT: "5",
  TREASURY_DAILY_LIMIT: "12"
}

/** A passkey as the venue stores it after registration. */
export const registered = (authenticator: Authenticator): Effect.Effect<Passkey> =>
  Effect.gen(function*() {
    const challenge = Buffer.from("a challenge").toString("base64url")
    const response = authenticator.register({ user: { id: "dXNlcg" }, challenge, rp: { id: rpId } }, origin)
    const { credentialId, publicKey } = yield* (yield* PasskeyVerifier).registered(response, { challenge, origin, rpId })
    return { credentialId, publicKey }
  }).pipe(Effect.provide(NodePasskeyVerifier.layer), Effect.orDie)

/** The transactions that a ledger generates to make a key a party. */
export const topologyOf = ({ publicKey }: PartyKey, hint: string): ReadonlyArray<Uint8Array> => [
  PartyTopology.encode(PartyTopology.selfSigned(partyId(hint, publicKey), setting.participantId, publicKey))
]

export interface Account {
  readonly accountId: string
  readonly authenticator: Authenticator
  readonly passkey: Passkey
  readonly keyId: string
  readonly party: string
}

export const assertionOf = (authenticator: Authenticator, challenge: string, forged: Forged = {}): Assertion => {
  const { id, response: { authenticatorData, clientDataJSON, signature } } = authenticator.assert({ challenge, rpId }, origin, forged)
  return { credentialId: id, authenticatorData, clientDataJSON, signature }
}

export const nonceOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22)

/** A request to sign, before its owner has approved it. */
export interface Prepared extends Omit<SignRequest, "approval"> {
  readonly planned: Planned.PlannedCommand
  readonly prepared: PreparedTransaction
}

const kindOf = (facts: Planned.Facts): Kind => {
  if (facts.step === "treasury_withdrawal") return "withdrawal"
  return facts.step === "owner_account_acceptance" && facts.isChange ? "party_change" : "deposit"
}

/** The venue's desk at one signer, with a treasury. */
export class Desk {
  private constructor(readonly signer: Service, readonly treasury: PartyKey, readonly treasuryParty: string) {}

  static readonly open = (signer: Service): Effect.Effect<Desk, SignerError> =>
    Effect.gen(function*() {
      const treasury = yield* signer.treasuryKey
      const topologyTransactions = topologyOf(treasury, "treasury")
      yield* signer.signTopology({ keyId: treasury.keyId, topologyTransactions, multiHash: multiHash(topologyTransactions) })
      return new Desk(signer, treasury, partyId("treasury", treasury.publicKey))
    })

  /** The same desk at a restarted signer. */
  at(signer: Service): Desk {
    return new Desk(signer, this.treasury, this.treasuryParty)
  }

  /** Opens an account with a passkey, a key and a party. */
  account(accountId: string, authenticator = new Authenticator()): Effect.Effect<Account, SignerError> {
    return Effect.gen(this, function*() {
      const passkey = yield* registered(authenticator)
      const key = yield* this.signer.newParty({ accountId, reference: "first", passkeys: [passkey] })
      const topologyTransactions = topologyOf(key, "owner")
      yield* this.signer.signTopology({ keyId: key.keyId, topologyTransactions, multiHash: multiHash(topologyTransactions) })
      return { accountId, authenticator, passkey, keyId: key.keyId, party: partyId("owner", key.publicKey) }
    })
  }

  /** The transaction that a ledger prepares for a step, as the venue sends it to be signed. */
  prepare(account: Account, facts: Planned.Facts, scheme: HashingScheme = 3): Effect.Effect<Prepared> {
    return Effect.gen(this, function*() {
      const maxRecordTimeEpochMs = (yield* Effect.clockWith((clock) => clock.currentTimeMillis)) + 600_000
      const planned = Planned.plan({ ...custody, treasury: this.treasuryParty }, facts)
      const prepared = Prepare.honest(planned, maxRecordTimeEpochMs)
      return {
        keyId: planned.actAs === this.treasuryParty ? this.treasury.keyId : account.keyId,
        accountId: account.accountId,
        kind: kindOf(facts),
        id: facts.step === "owner_account_acceptance" ? "dep_1" : facts.transferId,
        facts,
        commandId: planned.commandId,
        ...Prepare.hashed(prepared, scheme),
        scheme,
        maxRecordTimeEpochMs,
        planned,
        prepared
      }
    })
  }
}

/** The challenge with which an owner approves a request. */
export const challengeFor = ({ commandId, facts, hash, id, kind }: Omit<SignRequest, "approval">, nonce: string): string =>
  approvalChallenge({ kind, id, step: facts.step, commandId, hash, nonce })

/** The request without the members that only the test knows. */
export const bare = ({ planned: _, prepared: __, ...request }: Prepared): Omit<SignRequest, "approval"> => request

/** The request with its owner's approval. */
export const approve = (request: Prepared, authenticator: Authenticator, nonce = nonceOf("a nonce"), forged: Forged = {}): SignRequest => {
  const approval: Approval = { nonce, assertion: assertionOf(authenticator, challengeFor(request, nonce), forged) }
  return { ...bare(request), approval }
}

/** A change of pins with a passkey's approval. */
export const approvePins = (request: Omit<Repin, "approval">, authenticator: Authenticator, forged: Forged = {}): Repin => {
  const nonce = nonceOf("a change")
  return { ...request, approval: { nonce, assertion: assertionOf(authenticator, pinsChallenge({ ...request, nonce }), forged) } }
}

export const deposit = (
  account: Account,
  step: "treasury_offer" | "owner_offer_acceptance" | "treasury_offer_withdrawal",
  amountAtoms = 3_000_000
) => ({
  step,
  transferId: "dep_1",
  owner: account.party,
  amountAtoms
})

/** The recipient of withdrawals. */
export const receiver = partyId("receiver", new Uint8Array(createHash("sha256").update("receiver").digest()))

export const withdrawal = (transferId = "wdr_1", amountAtoms = 3_000_000) => ({
  step: "treasury_withdrawal" as const,
  transferId,
  receiver,
  amountAtoms
})

export const acceptance = (account: Account) => ({
  step: "owner_account_acceptance" as const,
  accountId: account.accountId,
  owner: account.party,
  isChange: false
})
