/** A signer with a ledger that prepares transactions itself: a first deposit and a withdrawal, step by step, each approved by its owner. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { Faucet } from "../../src/ledger/development/Faucet.js"
import { Ledger } from "../../src/ledger/Ledger.js"
import * as Planned from "../../src/ledger/Planned.js"
import type { NewParty, SignRequest } from "../../src/signer/Requests.js"
import * as SimLedger from "../../sim/world/SimLedger.js"
import { run } from "../contracts/SignerContract.js"
import { Authenticator } from "../identity/Authenticator.js"
import { assertionOf, challengeFor, custody, nonceOf, registered, type Service } from "./Desk.js"
import { over } from "./Directory.js"
import { SimKeyStore } from "../../sim/world/SimKeyStore.js"

/** Random bytes that are the same in every run. */
const random = () => {
  let drawn = 0
  return {
    bytes: (count: number): Uint8Array<ArrayBuffer> => {
      const block = createHash("sha512").update(`draw ${++drawn}`).digest()
      return Uint8Array.from({ length: count }, (_, index) => block[index % block.length]!)
    }
  }
}

/** Each reading is a millisecond after the previous one: the ledger reports in one what it decided in the one before. */
const ticking = (): Clock.Clock => {
  let atEpochMs = 1_767_225_600_000
  const read = (): number => ++atEpochMs
  return Object.assign(Clock.make(), { unsafeCurrentTimeMillis: read, currentTimeMillis: Effect.sync(read) })
}

/** The parties of the treasury and of two accounts, made by the ledger with the signer's signatures. */
const parties = (signer: Service, account: NewParty) =>
  Effect.gen(function*() {
    const ledger = yield* Ledger
    const treasuryKey = yield* signer.treasuryKey
    const ownerKey = yield* signer.newParty(account)
    const allocate = ({ keyId, publicKey }: typeof ownerKey, hint: string) =>
      ledger.allocateParty(publicKey, hint, (multiHash, topologyTransactions) =>
        Effect.map(signer.signTopology({ keyId, topologyTransactions, multiHash }), ({ signature }) => signature))
    const { partyId: treasury } = yield* allocate(treasuryKey, "treasury")
    const { partyId: owner } = yield* allocate(ownerKey, "owner")
    const { partyId: receiver } = yield* allocate(yield* signer.newParty({ ...account, accountId: "acc_2s" }), "receiver")
    return { treasury, owner, receiver, treasuryKey, ownerKey }
  })

test("what a ledger prepares for a plan is signed, and what was signed the ledger takes", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const ledger = yield* Ledger
    const signer = yield* over(new SimKeyStore().layer)
    const authenticator = new Authenticator()
    const accountId = "acc_1s"
    const passkeys = [yield* registered(authenticator)]
    const { owner, ownerKey, receiver, treasury, treasuryKey } = yield* parties(signer, { accountId, reference: "first", passkeys })
    yield* (yield* Faucet).give(owner, 10_000_000)

    const deposit = { transferId: "dep_1", owner, amountAtoms: 4_000_000 }
    const steps: ReadonlyArray<readonly [Planned.Facts, SignRequest["kind"], string]> = [
      [{ step: "owner_account_acceptance", accountId, owner, isChange: false }, "deposit", "dep_1"],
      [{ step: "treasury_offer", ...deposit }, "deposit", "dep_1"],
      [{ step: "owner_offer_acceptance", ...deposit }, "deposit", "dep_1"],
      [{ step: "treasury_offer", ...deposit, transferId: "dep_2" }, "deposit", "dep_2"],
      [{ step: "treasury_offer_withdrawal", ...deposit, transferId: "dep_2" }, "deposit", "dep_2"],
      [{ step: "treasury_withdrawal", transferId: "wdr_1", receiver, amountAtoms: 1_000_000 }, "withdrawal", "wdr_1"]
    ]
    for (const [index, [facts, kind, id]] of steps.entries()) {
      const planned = Planned.plan({ ...custody, treasury }, facts)
      const key = planned.actAs === treasury ? treasuryKey : ownerKey
      const { offset } = yield* ledger.end
      const maxRecordTimeEpochMs = (yield* Effect.clockWith((clock) => clock.currentTimeMillis)) + 600_000
      const { hash, preparedTransaction, scheme } = yield* ledger.prepare(planned, maxRecordTimeEpochMs)
      const request = {
        keyId: key.keyId,
        accountId,
        kind,
        id,
        facts,
        commandId: planned.commandId,
        preparedTransaction,
        scheme,
        hash,
        maxRecordTimeEpochMs
      }
      const nonce = nonceOf(String(index))
      const isUnasked = facts.step === "treasury_offer_withdrawal"
      const approval = { nonce, assertion: assertionOf(authenticator, challengeFor(request, nonce)) }
      const { signature, signedBy } = yield* signer.sign(isUnasked ? request : { ...request, approval })
      yield* ledger.execute({
        preparedTransaction,
        scheme,
        signature,
        signedBy,
        party: planned.actAs,
        submissionId: `sub_${index}`,
        userId: planned.userId,
        deduplicateFromOffset: offset
      })
      const { completions } = yield* ledger.completions({
        userId: planned.userId,
        parties: [planned.actAs],
        beginExclusive: offset,
        limit: 10
      })
      expect(completions.map(({ commandId, outcome }) => [commandId, outcome._tag])).toStrictEqual([[planned.commandId, "Accepted"]])
    }
    const held = yield* Effect.forEach([owner, treasury, receiver], (party) => Effect.map(ledger.holdings(party), ({ atoms }) => atoms))
    expect(held).toStrictEqual([6_000_000n, 3_000_000n, 1_000_000n])
  }).pipe(Effect.provide(SimLedger.make(random()).layer), Effect.withClock(ticking())))))
