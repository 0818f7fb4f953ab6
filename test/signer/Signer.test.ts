/** What only a signer within the test's own process shows: its days, failing writes, what it remembers, and what it never reveals. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Inspectable from "effect/Inspectable"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { expect, test } from "vitest"
import { maxAccounts } from "../../src/domain/Bounds.js"
import { multiHash, partyId } from "../../src/ledger/prepared/Topology.js"
import type { SignerError } from "../../src/signer/PartySigner.js"
import { reasonOf, run } from "../contracts/SignerContract.js"
import { Authenticator } from "../identity/Authenticator.js"
import { acceptance, approve, approvePins, bare, deposit, Desk, nonceOf, registered, topologyOf, withdrawal } from "./Desk.js"
import { over, settings } from "./Directory.js"
import { lies } from "./Lies.js"
import { SimKeyStore } from "../../sim/world/SimKeyStore.js"

const dayMs = 86_400_000
const noon = 20_000 * dayMs + dayMs / 2

/** Runs an effect at a time. */
const at = (epochMs: number) => <A, E>(act: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.clockWith((clock) =>
    Effect.withClock(act, {
      ...clock,
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      sleep: (duration) => clock.sleep(duration),
      currentTimeMillis: Effect.succeed(epochMs),
      unsafeCurrentTimeMillis: () => epochMs
    })
  )

const opened = (store = new SimKeyStore()) =>
  Effect.gen(function*() {
    const desk = yield* Desk.open(yield* over(store.layer))
    return { store, desk, account: yield* desk.account("acc_1s") }
  })

test("the treasury's day is the signer's own, UTC, and never goes back with its clock", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const { account, desk, store } = yield* opened()
    const give = (id: string, amountAtoms: number, epochMs: number, by = desk) =>
      at(epochMs)(Effect.flatMap(desk.prepare(account, withdrawal(id, amountAtoms)), (request) =>
        reasonOf(by.signer.sign(approve(request, account.authenticator, nonceOf(id))))))
    const midnight = noon + dayMs / 2
    expect(yield* give("wdr_1", 5_000_000, noon)).toBe("signed")
    expect(yield* give("wdr_2", 5_000_000, midnight - 1)).toBe("signed")
    expect(yield* give("wdr_3", 2_000_001, midnight - 1)).toBe("policy_daily")
    expect(yield* give("wdr_4", 5_000_000, midnight)).toBe("signed")
    expect(yield* give("wdr_5", 5_000_000, noon)).toBe("signed")
    const restarted = desk.at(yield* over(store.layer))
    expect(yield* give("wdr_6", 2_000_001, noon, restarted)).toBe("policy_daily")
    expect(yield* give("wdr_7", 2_000_000, midnight, restarted)).toBe("signed")
    expect(yield* give("wdr_8", 5_000_000, midnight + dayMs, restarted)).toBe("signed")
  }))))

test("a clock that is far ahead begins no day of the treasury's, and a transaction that is late is signed all the same", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const recordableMs = 600_000
    const { account, desk, store } = yield* opened()
    const dayKept = () => (JSON.parse(store.records.get("treasury")!) as { readonly day: number }).day
    const sign = (id: string, amountAtoms: number, preparedEpochMs: number, epochMs: number) =>
      Effect.gen(function*() {
        const request = yield* at(preparedEpochMs)(desk.prepare(account, withdrawal(id, amountAtoms)))
        const approved = approve(request, account.authenticator, nonceOf(id))
        return { approved, came: yield* at(epochMs)(Effect.either(desk.signer.sign(approved))) }
      })
    const give = (...of: Parameters<typeof sign>) =>
      Effect.map(sign(...of), ({ came }) => Either.isRight(came) ? "signed" : came.left.message)
    expect(yield* give("wdr_1", 5_000_000, noon, noon)).toBe("signed")
    // A year ahead, and then right again: it counts with the withdrawals of the day.
    const ahead = yield* sign("wdr_2", 5_000_000, noon, noon + 365 * dayMs)
    expect(Either.isRight(ahead.came)).toBe(true)
    expect(dayKept()).toBe(20_000)
    expect(yield* give("wdr_3", 2_000_001, noon, noon + 365 * dayMs)).toContain(
      "the treasury gives less on 2024-10-04, and the transaction's time is over for more than a week"
    )
    expect(yield* give("wdr_4", 2_000_001, noon, noon)).toMatch(/the treasury gives less on 2024-10-04$/)
    // What is counted is signed again however late, and whatever the limit.
    for (const days of [0, 2, 800]) {
      expect(yield* at(noon + days * dayMs)(desk.signer.sign(ahead.approved))).toStrictEqual(Either.getOrThrow(ahead.came))
    }
    // A week behind it begins one, as on a ledger that has recorded nothing since, and a millisecond later none.
    const lastMs = noon + recordableMs + 7 * dayMs
    expect(yield* give("wdr_5", 2_000_000, noon, lastMs + 1)).toBe("signed")
    expect(dayKept()).toBe(20_000)
    expect(yield* give("wdr_6", 5_000_000, noon, lastMs)).toBe("signed")
    expect(dayKept()).toBe(20_007)
    expect(yield* give("wdr_7", 5_000_000, noon + 9 * dayMs, noon + 9 * dayMs)).toBe("signed")
    expect(dayKept()).toBe(20_009)
    expect(yield* give("wdr_8", 5_000_000, noon, noon)).toBe("signed")
    expect(yield* give("wdr_9", 2_000_001, noon, noon)).toContain(
      "on 2024-10-13, for which its latest withdrawals count: the signer's clock was ahead"
    )
  }))))

test("what was given before counts once, on whichever day it is asked for again", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const { account, desk } = yield* opened()
    const request = yield* at(noon)(desk.prepare(account, withdrawal("wdr_1", 5_000_000)))
    const approved = approve(request, account.authenticator)
    const signed = yield* at(noon)(desk.signer.sign(approved))
    expect(yield* at(noon + dayMs)(desk.signer.sign(approved))).toStrictEqual(signed)
    for (
      const [id, amountAtoms, reason] of [["a", 5_000_000, "signed"], ["b", 5_000_000, "signed"], ["c", 2_000_001, "policy_daily"]] as const
    ) {
      const next = yield* at(noon + dayMs)(desk.prepare(account, withdrawal(`wdr_${id}`, amountAtoms)))
      expect(yield* at(noon + dayMs)(reasonOf(desk.signer.sign(approve(next, account.authenticator, nonceOf(id)))))).toBe(reason)
    }
  }))))

test("nothing is signed that could not be written before, and it is signed once it can", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const { account, desk, store } = yield* opened()
    const request = approve(yield* desk.prepare(account, withdrawal()), account.authenticator)
    store.failsWith = "ENOSPC"
    expect(yield* reasonOf(desk.signer.sign(request))).toBe("SignerUnavailable")
    expect(yield* reasonOf(desk.signer.newParty({ accountId: "acc_2s", reference: "first", passkeys: [account.passkey] }))).toBe(
      "SignerUnavailable"
    )
    expect(yield* reasonOf(desk.signer.accountKeys("acc_2s"))).toBe("unknown_key")
    store.failsWith = undefined
    store.written.length = 0
    expect(yield* reasonOf(desk.signer.sign(request))).toBe("signed")
    expect(store.written).toStrictEqual(["acc_1s", "treasury"])
    expect(yield* reasonOf(desk.signer.sign(request))).toBe("signed")
    expect(store.written).toStrictEqual(["acc_1s", "treasury"])
  }))))

test("an account remembers its latest 256 approvals, and no more", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const { account, desk, store } = yield* opened()
    for (let index = 0; index < 260; index++) {
      const facts = { ...deposit(account, "treasury_offer"), transferId: `dep_${index}` }
      yield* desk.signer.sign(approve(yield* desk.prepare(account, facts), account.authenticator, nonceOf(String(index))))
    }
    const { bound } = JSON.parse(store.records.get("acc_1s")!) as { readonly bound: ReadonlyArray<{ readonly nonce: string }> }
    expect(bound.length).toBe(256)
    expect(bound[0]!.nonce).toBe(nonceOf("4"))
    expect(bound.at(-1)!.nonce).toBe(nonceOf("259"))
  }))))

test("a signer with keys of as many accounts as it may have says so from near on, takes no other, and goes on with those", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const said: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel._tag === "Warning") said.push(String(message))
    })
    const store = new SimKeyStore()
    const signer = yield* over(store.layer, { ...settings, mostAccounts: 16 })
    yield* signer.treasuryKey
    const passkey = yield* registered(new Authenticator())
    const ask = (accountId: string, reference = "first", by = signer) =>
      reasonOf(by.newParty({ accountId, reference, passkeys: [passkey] })).pipe(
        Logger.withMinimumLogLevel(LogLevel.Warning),
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
    const near = (held: number) => `signer: it holds the keys of ${held} accounts, of 16 at most`
    for (let index = 1; index <= 16; index++) expect(yield* ask(`acc_${index}`)).toBe("signed")
    expect(said).toEqual([near(14), near(15), near(16)])
    expect(yield* ask("acc_17")).toBe("SignerUnavailable")
    expect(yield* ask("acc_16")).toBe("signed")
    expect(yield* ask("acc_16", "pch_1")).toBe("signed")
    // A venue may have a million accounts, and so may its signer.
    expect(maxAccounts).toBe(1_000_000)
    expect(yield* ask("acc_17", "first", yield* over(store.layer))).toBe("signed")
  }))))

test("without the treasury's key it makes and tells none: it is made first, and only where nothing was made before", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const passkeys = [yield* registered(new Authenticator())]
    const party = { accountId: "acc_2s", reference: "first", passkeys }
    const fresh = yield* over(new SimKeyStore().layer)
    expect(yield* reasonOf(fresh.knownTreasuryKey)).toBe("unknown_key")
    expect(yield* reasonOf(fresh.newParty(party))).toBe("unknown_key")
    const made = yield* fresh.treasuryKey
    expect(yield* fresh.knownTreasuryKey).toStrictEqual(made)
    expect(yield* reasonOf(fresh.newParty(party))).toBe("signed")

    const { store } = yield* opened()
    store.records.delete("treasury")
    const lost = yield* over(store.layer)
    for (const asked of [lost.treasuryKey, lost.knownTreasuryKey, lost.newParty(party)]) expect(yield* reasonOf(asked)).toBe("unknown_key")
    expect([...store.records.keys()]).toStrictEqual(["acc_1s"])
  }))))

test("an account has at most sixteen keys and thirty-two passkeys", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const { account: { accountId, authenticator, passkey }, desk: { signer } } = yield* opened()
    for (let index = 1; index < 16; index++) yield* signer.newParty({ accountId, reference: `pch_${index}`, passkeys: [passkey] })
    expect(yield* reasonOf(signer.newParty({ accountId, reference: "pch_16", passkeys: [passkey] }))).toBe("pins_bound")
    const add = (revision: number) =>
      signer.repin(approvePins({
        accountId,
        change: "add",
        passkey: { credentialId: nonceOf(`passkey ${revision}`), publicKey: passkey.publicKey },
        revision
      }, authenticator))
    for (let revision = 0; revision < 31; revision++) yield* add(revision)
    expect(yield* reasonOf(add(31))).toBe("pins_bound")
  }))))

test("a change of party has a key of its own, and its acceptance another command", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const { account, desk } = yield* opened()
    const { accountId, authenticator, passkey } = account
    const key = yield* desk.signer.newParty({ accountId, reference: "pch_1", passkeys: [passkey] })
    const topologyTransactions = topologyOf(key, "owner-2")
    yield* desk.signer.signTopology({ keyId: key.keyId, topologyTransactions, multiHash: multiHash(topologyTransactions) })
    const changed = { ...account, keyId: key.keyId, party: partyId("owner-2", key.publicKey) }
    const request = { ...(yield* desk.prepare(changed, { ...acceptance(changed), isChange: true })), id: "pch_1" }
    const first = yield* desk.prepare(account, acceptance(account))
    expect(request.commandId).not.toBe(first.commandId)
    expect(yield* reasonOf(desk.signer.sign({ ...approve(request, authenticator), keyId: account.keyId }))).toBe("prepared_mismatch")
    expect(yield* desk.signer.sign(approve(request, authenticator))).toMatchObject({ signedBy: key.keyId })
  }))))

test.each([
  ["http://localhost:8080", "signed"],
  ["https://localhost", "signed"],
  ["http://localhost:8080.evil.example", "assertion_invalid"],
  ["http://127.0.0.1:8080", "assertion_invalid"],
  ["https://evil.example", "assertion_invalid"]
])("where no origin is set, as in development alone, this machine's pages may ask: %s is %s",
  (origin, expected) =>
    run(Effect.scoped(Effect.gen(function*() {
      const store = new SimKeyStore()
      const { account, desk } = yield* opened(store)
      const local = desk.at(yield* over(store.layer, { ...settings, site: { rpId: "venue.example" } }))
      const request = yield* desk.prepare(account, withdrawal())
      expect(yield* reasonOf(local.signer.sign(approve(request, account.authenticator, nonceOf("a"), { origin })))).toBe(expected)
    }))))

test("a record that it cannot read is refused by its name, and nothing of it is told", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const { store } = yield* opened()
    for (const name of ["acc_1s", "treasury"]) {
      const record = store.records.get(name)!
      for (
        const changed of [record.replace("\"keyId\"", "\"key\""), record.slice(1),
          record.replace("acc_1s", "acc_2s").replace("1220", "1219")]
      ) {
        store.records.set(name, changed)
        const refused = yield* Effect.flip(Effect.scoped(over(store.layer)))
        expect(refused.message).toContain(`the signer's record of ${name} cannot be read`)
        expect(refused.message.length).toBeLessThan(120)
      }
      store.records.set(name, record)
    }
  }))))

test("no key is in an error, a log line, an answer, or what the service prints as", () =>
  run(Effect.scoped(Effect.gen(function*() {
    const told: Array<string> = []
    const logger = Logger.make(({ annotations, cause, message }) =>
      void told.push(Inspectable.toStringUnknown([message, cause, annotations]))
    )
    const store = new SimKeyStore()
    yield* Effect.gen(function*() {
      const { account, desk } = yield* opened(store)
      const { signer } = desk
      const bob = yield* desk.account("acc_2s")
      const note = (asked: Effect.Effect<unknown, SignerError>) =>
        Effect.map(Effect.either(asked), (either) => told.push(Inspectable.toStringUnknown(either), String(either), JSON.stringify(either)))
      for (const { tell } of lies) yield* note(Effect.flatMap(tell({ desk, alice: account, bob }), signer.sign))
      const request = approve(yield* desk.prepare(account, withdrawal()), account.authenticator)
      store.failsWith = "EIO"
      yield* note(signer.sign(request))
      store.failsWith = undefined
      yield* note(signer.sign(request))
      yield* note(signer.sign(bare(yield* desk.prepare(account, withdrawal()))))
      yield* note(signer.accountKeys(account.accountId))
      yield* note(
        signer.repin(
          approvePins({ accountId: "acc_1s", change: "add", passkey: yield* registered(new Authenticator()), revision: 0 },
            account.authenticator)
        )
      )
      told.push(Inspectable.toStringUnknown(signer), Inspectable.toStringUnknown(desk))
    }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    const seeds = [...store.records.values()].flatMap((record) => [...record.matchAll(/"seed":"([^"]+)"/g)].map(([, seed]) => seed!))
    expect(seeds.length).toBe(3)
    expect(told.length).toBeGreaterThan(lies.length * 3)
    for (const seed of seeds) {
      const bytes = Buffer.from(seed, "base64url")
      for (const form of [seed, bytes.toString("hex"), bytes.toString("base64"), [...bytes].join(",")]) {
        expect(told.some((each) => each.includes(form))).toBe(false)
      }
    }
  }))))
