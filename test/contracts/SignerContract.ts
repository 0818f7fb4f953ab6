/** The behaviour of every signer, in the venue's process or in one of its own. One suite, run over each. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Scope from "effect/Scope"
import { createPublicKey, verify } from "node:crypto"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { multiHash } from "../../src/ledger/prepared/Topology.js"
import type { SignerError } from "../../src/signer/PartySigner.js"
import type { SignRequest, Signed } from "../../src/signer/Requests.js"
import { Authenticator } from "../identity/Authenticator.js"
import {
  acceptance,
  type Account,
  approve,
  approvePins,
  bare,
  deposit,
  Desk,
  nonceOf,
  registered,
  type Service,
  topologyOf,
  withdrawal
} from "../signer/Desk.js"
import { lies, type World } from "../signer/Lies.js"
import { hashed } from "../signer/Prepare.js"

/** Keys that outlive the processes that use them: each start is another process, or equivalent, and ends with its scope. */
export interface Place {
  readonly start: Effect.Effect<Service, unknown, Scope.Scope>
}

/** Why nothing was signed; `signed` if something was. */
export const reasonOf = (asked: Effect.Effect<unknown, SignerError>): Effect.Effect<string> =>
  Effect.match(asked, {
    onSuccess: () => "signed",
    onFailure: (error) => error._tag === "SignerRefused" ? error.reason : error._tag
  })

/** Runs a test's effect without the signers' log output. */
export const run = <A>(body: Effect.Effect<A, unknown>): Promise<A> => Effect.runPromise(Logger.withMinimumLogLevel(body, LogLevel.None))

const isSignature = (publicKey: Uint8Array, message: Uint8Array, { signature }: Signed): boolean =>
  verify(
    null,
    message,
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url") }, format: "jwk" }),
    signature
  )

/** Registers the suite. `make` gives a place without keys, and releases it when the scope closes. */
export const signerContract = (name: string, make: Effect.Effect<Place, never, Scope.Scope>): void => {
  /** A desk at a new place; `again` is the same desk after its signer was stopped and started. */
  const over = (
    sentence: string,
    body: (desk: Desk, again: Effect.Effect<Desk, unknown>) => Effect.Effect<void, unknown>
  ) =>
    test(sentence, () =>
      run(Effect.scoped(Effect.gen(function*() {
        const place = yield* make
        let scope = yield* Scope.make()
        yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
        const desk = yield* Desk.open(yield* Scope.extend(place.start, scope))
        const again = Effect.gen(function*() {
          yield* Scope.close(scope, Exit.void)
          scope = yield* Scope.make()
          return desk.at(yield* Scope.extend(place.start, scope))
        })
        yield* body(desk, again)
      }))))

  describe(`${name}: a venue that lies gets nothing for`, () => {
    let scope: Scope.CloseableScope
    let world: World
    beforeAll(async () => {
      scope = await run(Scope.make())
      world = await run(Effect.gen(function*() {
        const desk = yield* Desk.open(yield* Scope.extend(Effect.flatMap(make, ({ start }) => start), scope))
        return { desk, alice: yield* desk.account("acc_1s"), bob: yield* desk.account("acc_2s") }
      }))
    })
    afterAll(() => run(Scope.close(scope, Exit.void)))

    test.each(lies.map((each) => [each.lie, each] as const))("%s", (_, { reason, tell }) =>
      run(Effect.gen(function*() {
        const request = yield* tell(world)
        expect(yield* reasonOf(world.desk.signer.sign(request))).toBe(reason)
      })))

    test("nothing at all: what is honest is signed afterwards", () =>
      run(Effect.gen(function*() {
        const request = yield* world.desk.prepare(world.alice, withdrawal("wdr_lie"))
        expect(yield* reasonOf(world.desk.signer.sign(approve(request, world.alice.authenticator)))).toBe("signed")
      })))
  })

  describe(name, () => {
    over("signs every step against its owner's approval, by the key that acts, over the true hash", (desk) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const { keys } = yield* desk.signer.accountKeys(account.accountId)
        const steps = [acceptance(account), deposit(account, "treasury_offer"), deposit(account, "owner_offer_acceptance"), withdrawal()]
        for (const [index, facts] of steps.entries()) {
          const request = yield* desk.prepare(account, facts)
          const signed = yield* desk.signer.sign(approve(request, account.authenticator, nonceOf(String(index))))
          expect(signed.signedBy).toBe(request.keyId)
          const key = request.keyId === desk.treasury.keyId ? desk.treasury : keys[0]!
          expect(isSignature(key.publicKey, request.hash, signed)).toBe(true)
        }
      }))

    over("withdraws the treasury's offer without an approval, since that moves nothing out", (desk) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const request = yield* desk.prepare(account, deposit(account, "treasury_offer_withdrawal"))
        const signed = yield* desk.signer.sign(bare(request))
        expect(isSignature(desk.treasury.publicKey, request.hash, signed)).toBe(true)
      }))

    over("gives the same signature for the same approval, also after a restart", (desk, again) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const request = approve(yield* desk.prepare(account, withdrawal()), account.authenticator)
        const first = yield* desk.signer.sign(request)
        expect(yield* desk.signer.sign(request)).toStrictEqual(first)
        expect(yield* (yield* again).signer.sign(request)).toStrictEqual(first)
      }))

    over("binds an approval to one transaction, also after a restart", (desk, again) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const first = yield* desk.prepare(account, deposit(account, "treasury_offer"))
        const other = yield* desk.prepare(account, deposit(account, "owner_offer_acceptance"))
        const approved = approve(first, account.authenticator)
        yield* desk.signer.sign(approved)
        const replayed: SignRequest = { ...bare(other), approval: approved.approval! }
        const sameNonce = approve(other, account.authenticator)
        const refuses = (signer: Service) =>
          Effect.gen(function*() {
            expect(yield* reasonOf(signer.sign(replayed))).toBe("replayed")
            expect(yield* reasonOf(signer.sign(sameNonce))).toBe("replayed")
          })
        yield* refuses(desk.signer)
        yield* refuses((yield* again).signer)
      }))

    over("refuses a passkey's counter that goes back, also after a restart", (desk, again) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const ask = (nonce: string, signCount: number) =>
          Effect.map(desk.prepare(account, withdrawal(`wdr_${nonce}`, 1_000_000)),
            (request) => approve(request, account.authenticator, nonceOf(nonce), { signCount }))
        expect(yield* reasonOf(desk.signer.sign(yield* ask("a", 7)))).toBe("signed")
        expect(yield* reasonOf(desk.signer.sign(yield* ask("b", 7)))).toBe("replayed")
        const { signer } = yield* again
        expect(yield* reasonOf(signer.sign(yield* ask("c", 6)))).toBe("replayed")
        expect(yield* reasonOf(signer.sign(yield* ask("d", 0)))).toBe("replayed")
        expect(yield* reasonOf(signer.sign(yield* ask("e", 8)))).toBe("signed")
      }))

    over("a passkey that does not count approves again and again", (desk) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        for (const nonce of ["a", "b"]) {
          const request = yield* desk.prepare(account, withdrawal(`wdr_${nonce}`, 1_000_000))
          expect(yield* reasonOf(desk.signer.sign(approve(request, account.authenticator, nonceOf(nonce), { signCount: 0 })))).toBe(
            "signed"
          )
        }
      }))

    over("signs a command that was prepared again for the same, and never for something else", (desk, again) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const ask = (nonce: string, amountAtoms: number) =>
          Effect.map(desk.prepare(account, withdrawal("wdr_1", amountAtoms)), (request) => {
            const { metadata, transaction } = request.prepared
            const anew = hashed({ transaction, metadata: { ...metadata, transactionUuid: `${metadata.transactionUuid}${nonce}` } }, 3)
            return approve({ ...request, ...anew }, account.authenticator, nonceOf(nonce))
          })
        expect(yield* reasonOf(desk.signer.sign(yield* ask("a", 1_000_000)))).toBe("signed")
        expect(yield* reasonOf(desk.signer.sign(yield* ask("b", 1_000_000)))).toBe("signed")
        const { signer } = yield* again
        expect(yield* reasonOf(signer.sign(yield* ask("c", 1_000_001)))).toBe("prepared_mismatch")
      }))

    over("the treasury gives no more than its limits, and counts a transaction once, also after a restart",
      (desk, again) =>
        Effect.gen(function*() {
          const account = yield* desk.account("acc_1s")
          const ask = (id: string, amountAtoms: number) =>
            Effect.map(desk.prepare(account, withdrawal(id, amountAtoms)),
              (request) => approve(request, account.authenticator, nonceOf(id)))
          const first = yield* ask("wdr_1", 5_000_000)
          expect(yield* reasonOf(desk.signer.sign(first))).toBe("signed")
          expect(yield* reasonOf(desk.signer.sign(first))).toBe("signed")
          expect(yield* reasonOf(desk.signer.sign(yield* ask("wdr_2", 5_000_001)))).toBe("policy_per_withdrawal")
          expect(yield* reasonOf(desk.signer.sign(yield* ask("wdr_3", 5_000_000)))).toBe("signed")
          expect(yield* reasonOf(desk.signer.sign(yield* ask("wdr_4", 2_000_001)))).toBe("policy_daily")
          const { signer } = yield* again
          expect(yield* reasonOf(signer.sign(first))).toBe("signed")
          expect(yield* reasonOf(signer.sign(yield* ask("wdr_5", 2_000_001)))).toBe("policy_daily")
          expect(yield* reasonOf(signer.sign(yield* ask("wdr_6", 2_000_000)))).toBe("signed")
          expect(yield* reasonOf(signer.sign(yield* ask("wdr_7", 1)))).toBe("policy_daily")
        }))

    over("pins an account's passkeys at its first key, and no other without an approval", (desk, again) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const { accountId, keyId, passkey } = account
        const ask = (signer: Service, reference: string, passkeys: ReadonlyArray<typeof passkey>) =>
          signer.newParty({ accountId, reference, passkeys })
        expect((yield* ask(desk.signer, "first", [passkey])).keyId).toBe(keyId)
        const foreign = yield* registered(new Authenticator())
        expect(yield* reasonOf(ask(desk.signer, "first", [passkey, foreign]))).toBe("passkey_not_pinned")
        expect(yield* reasonOf(ask(desk.signer, "pch_1", [foreign]))).toBe("passkey_not_pinned")
        expect(yield* reasonOf(ask(desk.signer, "pch_1", [{ ...foreign, credentialId: passkey.credentialId }]))).toBe("passkey_not_pinned")
        const { signer } = yield* again
        expect((yield* ask(signer, "first", [passkey])).keyId).toBe(keyId)
        const second = yield* ask(signer, "pch_1", [passkey])
        expect(second.keyId).not.toBe(keyId)
        expect(yield* signer.accountKeys(accountId)).toMatchObject({
          keys: [{ keyId, reference: "first", party: account.party }, { keyId: second.keyId, reference: "pch_1" }],
          credentialIds: [passkey.credentialId],
          revision: 0
        })
      }))

    over("changes pins by a pinned passkey's approval of exactly that change", (desk, again) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const { accountId, authenticator } = account
        const second = new Authenticator()
        const added = yield* registered(second)
        const other = yield* registered(new Authenticator())
        const add = { accountId, change: "add" as const, passkey: added, revision: 0 }
        const { signer } = desk
        expect(yield* reasonOf(signer.repin(approvePins(add, second)))).toBe("passkey_not_pinned")
        expect(yield* reasonOf(signer.repin({ ...approvePins(add, authenticator), passkey: other }))).toBe("challenge_mismatch")
        expect(yield* reasonOf(signer.repin({ ...approvePins({ ...add, change: "remove" }, authenticator), change: "add" }))).toBe(
          "challenge_mismatch"
        )
        expect(yield* reasonOf(signer.repin(approvePins(add, authenticator, { flags: 0x01 })))).toBe("assertion_invalid")
        const approved = approvePins(add, authenticator)
        yield* signer.repin(approved)
        yield* signer.repin(approved)
        expect(yield* signer.accountKeys(accountId)).toMatchObject({
          credentialIds: [account.passkey.credentialId, added.credentialId],
          revision: 1
        })
        const request = yield* desk.prepare(account, withdrawal())
        expect(yield* reasonOf(signer.sign(approve(request, second)))).toBe("signed")

        yield* signer.repin(approvePins({ ...add, change: "remove", revision: 1 }, authenticator))
        const { signer: restarted } = yield* again
        expect(yield* reasonOf(restarted.repin(approved))).toBe("replayed")
        expect(yield* reasonOf(restarted.sign(approve(yield* desk.prepare(account, withdrawal("wdr_2")), second, nonceOf("later"))))).toBe(
          "passkey_not_pinned"
        )
        const last = { ...add, passkey: account.passkey, change: "remove" as const, revision: 2 }
        expect(yield* reasonOf(restarted.repin(approvePins(last, authenticator)))).toBe("pins_bound")
        expect(yield* reasonOf(restarted.repin(approvePins({ ...last, accountId: "acc_9" }, authenticator)))).toBe("unknown_key")
      }))

    over("what was approved while a passkey was pinned is signed again after it went", (desk) =>
      Effect.gen(function*() {
        const account = yield* desk.account("acc_1s")
        const second = new Authenticator()
        const add = { accountId: account.accountId, change: "add" as const, passkey: yield* registered(second), revision: 0 }
        yield* desk.signer.repin(approvePins(add, account.authenticator))
        const request = approve(yield* desk.prepare(account, withdrawal()), second)
        const signed = yield* desk.signer.sign(request)
        yield* desk.signer.repin(approvePins({ ...add, change: "remove", revision: 1 }, account.authenticator))
        expect(yield* desk.signer.sign(request)).toStrictEqual(signed)
      }))

    over("signs the topology of a key's own party, once, and nothing before it", (desk, again) =>
      Effect.gen(function*() {
        const owner = new Authenticator()
        const key = yield* desk.signer.newParty({ accountId: "acc_1s", reference: "first", passkeys: [yield* registered(owner)] })
        const stranger = yield* desk.account("acc_2s")
        const topologyTransactions = topologyOf(key, "owner")
        const request = { keyId: key.keyId, topologyTransactions, multiHash: multiHash(topologyTransactions) }
        const early = yield* desk.prepare({ ...stranger, accountId: "acc_1s", keyId: key.keyId },
          acceptance({ ...stranger, accountId: "acc_1s" }))
        expect(yield* reasonOf(desk.signer.sign(approve(early, owner)))).toBe("unknown_key")
        const other = topologyOf(key, "other")
        const refused = [
          { ...request, multiHash: multiHash(other) },
          { ...request, keyId: stranger.keyId },
          { ...request, topologyTransactions: [] },
          { ...request, keyId: `1220${"0".repeat(64)}` }
        ]
        const reasons = yield* Effect.forEach(refused, (each) => reasonOf(desk.signer.signTopology(each)))
        expect(reasons).toStrictEqual(["topology_mismatch", "topology_mismatch", "malformed", "unknown_key"])
        const signed = yield* desk.signer.signTopology(request)
        expect(isSignature(key.publicKey, request.multiHash, signed)).toBe(true)
        const { signer } = yield* again
        expect(yield* signer.signTopology(request)).toStrictEqual(signed)
        const second = { ...request, topologyTransactions: other, multiHash: multiHash(other) }
        expect(yield* reasonOf(signer.signTopology(second))).toBe("topology_mismatch")
      }))

    over("has one treasury, whoever asks for its key and how often", (desk, again) =>
      Effect.gen(function*() {
        expect(yield* desk.signer.treasuryKey).toStrictEqual(desk.treasury)
        const { signer } = yield* again
        expect([yield* signer.treasuryKey, yield* signer.knownTreasuryKey]).toStrictEqual([desk.treasury, desk.treasury])
      }))

    over("is the signer of the venue that claims it first, and of no other", (desk, again) =>
      Effect.gen(function*() {
        const [one, other] = ["1", "2"].map((digit) => ({ venue: digit.repeat(64) }))
        expect(yield* reasonOf(desk.signer.claim({ venue: "" }))).toBe("malformed")
        yield* desk.signer.claim(one!)
        expect(yield* reasonOf(desk.signer.claim(other!))).toBe("unknown_key")
        const account = yield* desk.account("acc_1s")
        expect(yield* reasonOf(desk.signer.sign(approve(yield* desk.prepare(account, withdrawal()), account.authenticator)))).toBe("signed")
        const { signer } = yield* again
        yield* signer.claim(one!)
        expect(yield* reasonOf(signer.claim(other!))).toBe("unknown_key")
      }))

    over("refuses what is longer than anything that it knows, and goes on", (desk) =>
      Effect.gen(function*() {
        const account: Account = yield* desk.account("acc_1s")
        const request = approve(yield* desk.prepare(account, withdrawal()), account.authenticator)
        expect(yield* reasonOf(desk.signer.sign({ ...request, preparedTransaction: new Uint8Array(32_769) }))).toBe("malformed")
        expect(yield* reasonOf(desk.signer.sign({ ...request, id: "x".repeat(65) }))).toBe("malformed")
        expect(Either.isRight(yield* Effect.either(desk.signer.sign(request)))).toBe(true)
      }))
  })
}
