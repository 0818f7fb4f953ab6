/** What a lying or captured venue may ask a signer to sign: each request must be refused, with its reason. */
import * as Effect from "effect/Effect"
import * as Planned from "../../src/ledger/Planned.js"
import type { PreparedTransaction } from "../../src/ledger/prepared/PreparedTransaction.js"
import { approvalChallenge } from "../../src/signer/Approval.js"
import type { RefusalReason, SignerError } from "../../src/signer/PartySigner.js"
import type { SignRequest } from "../../src/signer/Requests.js"
import { Authenticator, type Forged } from "../identity/Authenticator.js"
import {
  acceptance,
  type Account,
  approve,
  assertionOf,
  bare,
  custody,
  deposit,
  type Desk,
  nonceOf,
  type Prepared,
  receiver,
  withdrawal
} from "./Desk.js"
import * as Prepare from "./Prepare.js"

export interface World {
  readonly desk: Desk
  readonly alice: Account
  readonly bob: Account
}

interface Lie {
  readonly lie: string
  readonly reason: RefusalReason
  readonly tell: (world: World) => Effect.Effect<SignRequest, SignerError>
}

const nonce = nonceOf("a lie")

const payout = ({ alice, desk }: World): Effect.Effect<Prepared> => desk.prepare(alice, withdrawal("wdr_lie"))

/** What is signed by the scheme that does not cover until when it may be recorded could be kept, and executed with many others at once. */
const endless: Lie = {
  lie: "a withdrawal by the hashing scheme that does not cover its deadline",
  reason: "prepared_mismatch",
  tell: ({ alice, desk }) =>
    Effect.map(desk.prepare(alice, withdrawal("wdr_lie"), 2), (request) => approve(request, alice.authenticator, nonce))
}

/** A withdrawal with a forged approval. */
const forged = (lie: string, forgery: Forged): Lie => ({
  lie,
  reason: "assertion_invalid",
  tell: (world) => Effect.map(payout(world), (request) => approve(request, world.alice.authenticator, nonce, forgery))
})

/** A withdrawal whose owner approved a transaction other than the planned one, by that transaction's true hash. */
const twisted = (lie: string, twist: (prepared: PreparedTransaction, world: World) => PreparedTransaction): Lie => ({
  lie,
  reason: "prepared_mismatch",
  tell: (world) =>
    Effect.map(payout(world), (request) =>
      approve({ ...request, ...Prepare.hashed(twist(request.prepared, world), request.scheme) }, world.alice.authenticator, nonce))
})

/** A transaction for a plan other than the request's, with its true hash and an approval of it. */
const planned = (lie: string, change: (plan: Planned.PlannedCommand, world: World) => Planned.PlannedCommand): Lie => ({
  lie,
  reason: "prepared_mismatch",
  tell: (world) =>
    Effect.map(payout(world), (request) => {
      const prepared = Prepare.honest(change(request.planned, world), request.maxRecordTimeEpochMs)
      return approve({ ...request, ...Prepare.hashed(prepared, request.scheme) }, world.alice.authenticator, nonce)
    })
})

/** A request with false statements, approved as it states them. */
const said = (lie: string, reason: RefusalReason, change: (request: Prepared, world: World) => Partial<Prepared>): Lie => ({
  lie,
  reason,
  tell: (world) =>
    Effect.map(payout(world), (request) => approve({ ...request, ...change(request, world) }, world.alice.authenticator, nonce))
})

/** A withdrawal with an approval that was given for something else. */
const approvedElsewhere = (
  lie: string,
  other: (request: Prepared, world: World) => Partial<Parameters<typeof approvalChallenge>[0]>
): Lie => ({
  lie,
  reason: "challenge_mismatch",
  tell: (world) =>
    Effect.map(payout(world), (request) => {
      const { commandId, facts, hash, id, kind } = request
      const challenge = approvalChallenge({ kind, id, step: facts.step, commandId, hash, nonce, ...other(request, world) })
      return { ...bare(request), approval: { nonce, assertion: assertionOf(world.alice.authenticator, challenge) } }
    })
})

const otherHash = (hash: Uint8Array): Uint8Array => hash.map((byte, index) => index === 0 ? byte ^ 1 : byte)

const byOther = (facts: Planned.Facts, plan: Planned.PlannedCommand, of: Partial<Planned.Custody> = {}): Planned.PlannedCommand =>
  Planned.plan({ ...plan.custody, ...of }, facts)

const approvals: ReadonlyArray<Lie> = [
  { lie: "no assertion", reason: "assertion_invalid", tell: (world) => Effect.map(payout(world), bare) },
  approvedElsewhere("an assertion for another transaction", ({ hash }) => ({ hash: otherHash(hash) })),
  approvedElsewhere("an assertion for another step", () => ({ step: "treasury_offer" })),
  approvedElsewhere("an assertion for another transfer", () => ({ id: "wdr_other" })),
  approvedElsewhere("an assertion for another kind of transfer", () => ({ kind: "deposit" })),
  approvedElsewhere("an assertion for another command", ({ commandId }) => ({ commandId: `${commandId}0` })),
  approvedElsewhere("an assertion with another nonce", () => ({ nonce: nonceOf("another") })),
  {
    lie: "the assertion of a sign-in",
    reason: "challenge_mismatch",
    tell: (world) =>
      Effect.map(payout(world), (request) => ({
        ...bare(request),
        approval: { nonce, assertion: assertionOf(world.alice.authenticator, Buffer.alloc(32, 7).toString("base64url")) }
      }))
  },
  {
    lie: "the assertion of a passkey that is not pinned",
    reason: "passkey_not_pinned",
    tell: (world) => Effect.map(payout(world), (request) => approve(request, new Authenticator(), nonce))
  },
  {
    lie: "the assertion of another account's passkey",
    reason: "passkey_not_pinned",
    tell: (world) => Effect.map(payout(world), (request) => approve(request, world.bob.authenticator, nonce))
  },
  {
    lie: "a passkey of the same id with another key",
    reason: "assertion_invalid",
    tell: (world) =>
      Effect.map(payout(world), (request) => {
        const made = approve(request, new Authenticator(), nonce)
        return { ...made, approval: { nonce, assertion: { ...made.approval!.assertion, credentialId: world.alice.passkey.credentialId } } }
      })
  },
  forged("a signature with a bit turned", {
    signature: (signature) => Buffer.from(signature.map((byte, index) => index === signature.length - 1 ? byte ^ 1 : byte))
  }),
  forged("an assertion that another site's page asked for", { origin: "https://venue.example.evil.example" }),
  forged("an assertion of the machine's own pages", { origin: "http://localhost:8080" }),
  forged("an assertion for another site", { rpId: "evil.example" }),
  forged("an assertion without the user verified", { flags: 0x01 }),
  forged("an assertion without the user present", { flags: 0x04 }),
  forged("an assertion out of another page's frame", { client: { crossOrigin: true } }),
  forged("an assertion below another origin", { client: { topOrigin: "https://evil.example" } }),
  forged("an assertion of a registration", { type: "webauthn.create" }),
  forged("client data that is none", {
    response: (response) => ({ ...response, response: { ...response.response, clientDataJSON: Buffer.from("{").toString("base64url") } })
  })
]

const bytes: ReadonlyArray<Lie> = [
  {
    lie: "other bytes with the true hash",
    reason: "prepared_mismatch",
    tell: (world) =>
      Effect.gen(function*() {
        const request = yield* payout(world)
        const other = yield* world.desk.prepare(world.alice, withdrawal("wdr_lie", 1_000_000))
        return { ...approve(request, world.alice.authenticator, nonce), preparedTransaction: other.preparedTransaction }
      })
  },
  said("the true bytes with another hash", "prepared_mismatch", ({ hash }) => ({ hash: otherHash(hash) })),
  said("the true bytes with the hash of the other scheme", "prepared_mismatch",
    ({ prepared }) => ({ hash: Prepare.hashed(prepared, 2).hash })),
  said("bytes that are no transaction", "prepared_mismatch", () => ({ preparedTransaction: Uint8Array.of(1, 2, 3) })),
  said("bytes with a field that nobody knows", "prepared_mismatch", ({ preparedTransaction }) => ({
    preparedTransaction: Uint8Array.of(...preparedTransaction, 0xfa, 0x3f, 0)
  })),
  twisted("two roots", ({ metadata, transaction }) => {
    const [, received] = transaction.nodes
    const [, seed] = transaction.nodeSeeds
    return {
      metadata,
      transaction: {
        ...transaction,
        roots: ["0", "9"],
        nodes: [...transaction.nodes, { ...received!, nodeId: "9" }],
        nodeSeeds: [...transaction.nodeSeeds, { ...seed!, nodeId: 9 }]
      }
    }
  }),
  twisted("a consequence more", ({ metadata, transaction }) => {
    const [root, received] = transaction.nodes
    const [, seed] = transaction.nodeSeeds
    const exercised = root!.v1
    if (exercised.case !== "exercise") throw new Error("a payment begins with a choice")
    const children = [...exercised.value.children, "9"]
    return {
      metadata,
      transaction: {
        ...transaction,
        nodes: [{ ...root!, v1: { case: "exercise", value: { ...exercised.value, children } } }, ...transaction.nodes.slice(1), {
          ...received!,
          nodeId: "9"
        }],
        nodeSeeds: [...transaction.nodeSeeds, { ...seed!, nodeId: 9 }]
      }
    }
  }),
  twisted("two that act", ({ metadata, transaction }, { alice }) => ({
    transaction,
    metadata: { ...metadata, submitterInfo: { ...metadata.submitterInfo, actAs: [...metadata.submitterInfo.actAs, alice.party] } }
  })),
  twisted("another that acts", ({ metadata, transaction }, { bob }) => ({
    transaction,
    metadata: { ...metadata, submitterInfo: { ...metadata.submitterInfo, actAs: [bob.party] } }
  })),
  twisted("another command", ({ metadata, transaction }) => ({
    transaction,
    metadata: { ...metadata, submitterInfo: { ...metadata.submitterInfo, commandId: "cmd_other" } }
  })),
  twisted("another synchronizer", ({ metadata, transaction }) => ({
    transaction,
    metadata: { ...metadata, synchronizerId: metadata.synchronizerId.replace("development", "elsewhere") }
  })),
  twisted("a time beyond the plan until which it can be recorded", ({ metadata, transaction }) => ({
    transaction,
    metadata: { ...metadata, maxRecordTime: metadata.maxRecordTime! + 1n }
  })),
  twisted("no time until which it can be recorded", ({ metadata, transaction }) => ({
    transaction,
    metadata: { ...metadata, maxRecordTime: undefined }
  })),
  planned("a larger amount", (plan) => byOther(withdrawal("wdr_lie", 3_000_001), plan)),
  planned("a smaller amount", (plan) => byOther(withdrawal("wdr_lie", 2_999_999), plan)),
  {
    lie: "a payment of the treasury to itself",
    reason: "prepared_mismatch",
    tell: ({ alice, desk }) =>
      Effect.map(desk.prepare(alice, { ...withdrawal("wdr_lie"), receiver: desk.treasuryParty }), (request) =>
        approve(request, alice.authenticator, nonce))
  },
  planned("another receiver", (plan, { bob }) => byOther({ ...withdrawal("wdr_lie"), receiver: bob.party }, plan)),
  planned("another token", (plan) => byOther(plan.facts, plan, { token: { ...custody.token, id: "EURC" } })),
  planned("another package of the same name",
    (plan) => byOther(plan.facts, plan, { token: { ...custody.token, packageId: "0".repeat(64) } })),
  planned("another step of the treasury",
    (plan, { alice }) => byOther({ ...deposit(alice, "treasury_offer"), transferId: "wdr_lie" }, plan))
]

const facts: ReadonlyArray<Lie> = [
  said("another command's id", "prepared_mismatch", ({ commandId }) => ({ commandId: `${commandId.slice(0, -1)}g` })),
  said("another transfer's id", "prepared_mismatch", () => ({ id: "wdr_other" })),
  said("a withdrawal as a deposit", "prepared_mismatch", () => ({ kind: "deposit" })),
  said("an account that is not there", "unknown_key", () => ({ accountId: "acc_zzz" })),
  said("another account, whose owner has not approved", "passkey_not_pinned", (_, { bob }) => ({ accountId: bob.accountId })),
  said("the owner's key for what the treasury does", "unknown_key", (_, { alice }) => ({ keyId: alice.keyId })),
  said("a key that is not there", "unknown_key", () => ({ keyId: `1220${"0".repeat(64)}` })),
  {
    lie: "more time to be recorded than any plan gives",
    reason: "prepared_mismatch",
    tell: (world) =>
      Effect.map(payout(world), (request) => {
        const maxRecordTimeEpochMs = request.maxRecordTimeEpochMs + 3_600_000
        const prepared = Prepare.honest(request.planned, maxRecordTimeEpochMs)
        return approve({ ...request, ...Prepare.hashed(prepared, request.scheme), maxRecordTimeEpochMs }, world.alice.authenticator, nonce)
      })
  },
  {
    lie: "an offer to another account's party",
    reason: "prepared_mismatch",
    tell: ({ alice, bob, desk }) =>
      Effect.map(desk.prepare(alice, deposit(bob, "treasury_offer")), (request) => approve(request, alice.authenticator, nonce))
  },
  {
    lie: "another account's party that accepts",
    reason: "unknown_key",
    tell: ({ alice, bob, desk }) =>
      Effect.map(desk.prepare(bob, deposit(bob, "owner_offer_acceptance")), (request) =>
        approve({ ...request, accountId: alice.accountId }, alice.authenticator, nonce))
  },
  {
    lie: "the withdrawal of an offer that is no account's",
    reason: "prepared_mismatch",
    tell: ({ alice, desk }) => Effect.map(desk.prepare(alice, { ...deposit(alice, "treasury_offer_withdrawal"), owner: receiver }), bare)
  },
  {
    lie: "a payment as the withdrawal of an offer, which nobody approves",
    reason: "prepared_mismatch",
    tell: ({ alice, desk }) =>
      Effect.gen(function*() {
        const request = yield* desk.prepare(alice, { ...deposit(alice, "treasury_offer_withdrawal"), transferId: "wdr_lie" })
        const paid = Prepare.honest({ ...request.planned, facts: withdrawal("wdr_lie") }, request.maxRecordTimeEpochMs)
        return bare({ ...request, ...Prepare.hashed(paid, request.scheme) })
      })
  },
  {
    lie: "the acceptance of another account",
    reason: "prepared_mismatch",
    tell: ({ alice, bob, desk }) =>
      Effect.map(desk.prepare(alice, { ...acceptance(alice), accountId: bob.accountId }), (request) =>
        approve(request, alice.authenticator, nonce))
  },
  {
    lie: "a change of party as a deposit",
    reason: "prepared_mismatch",
    tell: ({ alice, desk }) =>
      Effect.map(desk.prepare(alice, { ...acceptance(alice), isChange: true }), (request) =>
        approve({ ...request, kind: "deposit" }, alice.authenticator, nonce))
  },
  {
    lie: "more than the treasury gives at once",
    reason: "policy_per_withdrawal",
    tell: ({ alice, desk }) =>
      Effect.map(desk.prepare(alice, withdrawal("wdr_lie", 5_000_001)), (request) => approve(request, alice.authenticator, nonce))
  }
]

export const lies: ReadonlyArray<Lie> = [...approvals, ...bytes, endless, ...facts]
