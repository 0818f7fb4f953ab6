/** A signer without keys that it once made: because it has another venue's directory, or an older copy of its own. */
import { Effect } from "effect"
import { describe, expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { KeyStore } from "../../src/signer/KeyStore.js"
import { SimKeyStore } from "../../sim/world/SimKeyStore.js"
import { run } from "../contracts/SignerContract.js"
import { over } from "../signer/Directory.js"
import { Authenticator } from "../identity/Authenticator.js"
import { Bank, origin, Owner } from "./Bank.js"

const party = "/v1/accounts/{account}/ledger-party"
const deposits = "/v1/accounts/{account}/deposits"
const withdrawals = "/v1/accounts/{account}/withdrawals"

const statusOf = async (owner: Owner, id: string): Promise<string> => (await owner.must("GET", `${withdrawals}/${id}`)).status

const details = async (bank: Bank) => (await bank.venue.ask("GET", "/readyz")).json.details

/** The directory of another venue's signer, with a treasury and no accounts' keys. */
const anothers = (): Promise<ReadonlyMap<string, string>> =>
  run(Effect.scoped(Effect.gen(function*() {
    const store = new SimKeyStore()
    // Seeds are derived from their number, and the first ones equal those of the venue's own signer.
    const { newSeed } = yield* Effect.provide(KeyStore, store.layer)
    for (let drawn = 0; drawn < 100; drawn++) yield* newSeed
    yield* (yield* over(store.layer)).treasuryKey
    return new Map(store.records)
  })))

/** A venue whose ledger has an approved withdrawal and decides it a little later; and what its signer holds. */
const paying = async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 25_000_000)
  await bank.script([{ on: "execute", step: "treasury_withdrawal", skip: 0, times: 1, fault: { name: "complete_after", afterMs: 20_000 } }])
  const id = await owner.request("withdrawal", 10_000_000, await owner.party)
  await owner.turn("withdrawal", id, [])
  await owner.turn("withdrawal", id, [])
  expect(await statusOf(owner, id)).toBe("submitted")
  return { bank, owner, id, kept: bank.signersRecords }
}

test("a new venue gets nothing of a signer that is another venue's, and an older copy of that one's journal all that there is", async () => {
  const bank = await Bank.open()
  await bank.venue.stop()
  const copy = bank.disk.read()
  await bank.goOnOver({ disk: memoryDisk(copy).layer }, bank.venue.epochMs)
  await Owner.funded(bank, 25_000_000)
  await bank.venue.stop()
  await bank.goOnOver({ disk: memoryDisk().layer }, bank.venue.epochMs + 1_000)
  const other = await Owner.open(bank)
  const depositId = await other.request("deposit", 5_000_000)
  expect(await other.ask("POST", `${deposits}/confirm`, { action: "initiate", depositId })).toMatchObject({ status: 503 })
  const { ledger } = await details(bank)
  expect(ledger).toMatch(
    /another venue's: give this venue a signer of its own.* its treasury is another venue's, [0-9a-f]{16}, and who asks is [0-9a-f]{64}/
  )
  expect(ledger).not.toContain("restored")
  expect(await other.party).toBeNull()
  await bank.venue.stop()
  // As restored, from before the first account.
  await bank.goOnOver({ disk: memoryDisk(copy).layer }, bank.venue.epochMs)
  await bank.venue.leap(60_000)
  expect((await details(bank)).ledger).toBe("live")
  await bank.venue.stop()
})

describe("where the ledger has a withdrawal", () => {
  test("a signer that comes back without keys gives the venue no other treasury: nothing is given back that was paid, and nobody deposits elsewhere", async () => {
    const { bank, id, kept, owner } = await paying()
    bank.signersRecords = new Map()
    await bank.restart()
    // The transaction's time limit passes.
    await bank.venue.leap(900_000, 60_000)
    expect(await statusOf(owner, id)).toBe("submitted")
    expect((await details(bank)).ledger).toContain("has to be restored")
    const other = await Owner.open(bank)
    const depositId = await other.request("deposit", 5_000_000)
    expect(await other.ask("POST", `${deposits}/confirm`, { action: "initiate", depositId })).toMatchObject({ status: 503 })
    expect(await other.party).toBeNull()
    expect(bank.signersRecords.size).toBe(0)

    bank.signersRecords = kept
    await bank.restart()
    await bank.venue.leap(60_000)
    expect(await statusOf(owner, id)).toBe("ledger_confirmed")
    expect(await owner.collateralAtoms).toBe(15_000_000)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
    await bank.venue.stop()
  })

  test("a signer with another treasury stops it, and nothing is said of it by what that treasury did not do", async () => {
    const { bank, id, kept, owner } = await paying()
    bank.signersRecords = await anothers()
    await bank.restartOver((transport) => (question) =>
      question.path.includes("completion-by-hash") ? Effect.succeed({ status: 404, body: "" }) : transport(question)
    )
    await bank.venue.leap(900_000, 60_000)
    expect(await statusOf(owner, id)).toBe("submitted")
    expect((await details(bank)).transfersForTheOperator).toBe(`${id}: treasury_changed`)

    bank.signersRecords = kept
    await bank.restart()
    await bank.venue.leap(60_000)
    expect(await statusOf(owner, id)).toBe("ledger_confirmed")
    expect(await owner.collateralAtoms).toBe(15_000_000)
    await bank.venue.stop()
  })
})

test("an account whose first key an older copy of the signer's directory lacks changes its party, and deposits by the new one", async () => {
  const bank = await Bank.open()
  await Owner.funded(bank, 25_000_000)
  const older = bank.signersRecords
  const owner = await Owner.open(bank)
  const depositId = await owner.request("deposit", 5_000_000)
  expect(await owner.must("POST", `${deposits}/confirm`, { action: "initiate", depositId })).toMatchObject({ status: "approval_required" })
  const lost = await owner.party
  bank.signersRecords = older
  await bank.restart()
  await bank.venue.leap(30_000)
  expect(await owner.confirm("deposit", depositId)).toBe("rejected")
  expect((await owner.must("GET", `${deposits}/${depositId}`)).ledgerOutcome).toMatchObject({ guard: "unknown_key" })

  expect(await owner.ask("PUT", party, undefined, "first")).toMatchObject({ status: 200 })
  for (let turn = 0; turn < 4; turn++) {
    const told = await owner.must("POST", `${party}/confirm`, { action: "initiate" })
    if (told.status === "approval_required") await owner.must("POST", `${party}/confirm`, owner.completion(told))
    await bank.venue.leap(5_000)
  }
  expect(await owner.must("GET", party)).toMatchObject({ confirmed: true, change: { status: "ledger_confirmed" } })
  expect(await owner.party).not.toBe(lost)
  const second = await owner.request("deposit", 5_000_000)
  await bank.give(await owner.party, 5_000_000)
  expect(await owner.confirm("deposit", second)).toBe("ledger_confirmed")
  await bank.venue.stop()
})

describe("where an older copy of the signer's directory", () => {
  test("does not know the account of a deposit that was given up, its offer waits for the operator, and is withdrawn once it does", async () => {
    const bank = await Bank.open()
    await Owner.funded(bank, 10_000_000)
    const older = bank.signersRecords
    const owner = await Owner.funded(bank, 100_000_000)
    await bank.give(await owner.party, 20_000_000)
    const id = await owner.request("deposit", 20_000_000)
    const approvals: Array<string> = []
    while (approvals.length < 1) {
      await owner.turn("deposit", id, approvals)
      await bank.venue.leap(10_000, 2_500)
    }
    await bank.venue.leap(20_000)
    const whole = bank.signersRecords
    bank.signersRecords = older
    await bank.restart()
    expect(await owner.must("DELETE", `${deposits}/${id}`)).toMatchObject({ status: "rejected" })
    await bank.venue.leap(60_000)
    expect((await details(bank)).transfersForTheOperator).toBe(`${id}: signer_refused`)

    bank.signersRecords = whole
    await bank.restart()
    await bank.venue.leap(60_000)
    expect(await details(bank)).toMatchObject({ transfersForTheOperator: "", openTransfers: 0 })
    await bank.venue.stop()
  })

  test("pins only a passkey that the account no longer has, a change of party stops, and goes on once that record is put away", async () => {
    const bank = await Bank.open()
    const owner = await Owner.funded(bank, 100_000_000)
    const older = bank.signersRecords
    const device = new Authenticator()
    const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", { authentication: await owner.proof("add_passkey") })
    const { accessToken } = await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: device.register(begun.options, origin)
    })
    const pins = `${party}/passkeys`
    const due = await owner.must("POST", pins, { action: "initiate" })
    const { challengeIdentifier } = due.challenge
    await owner.must("POST", pins, { action: "complete", challengeIdentifier, firstFactor: owner.factor(due.challenge) })
    owner.token = accessToken
    const { credentialId } = owner.authenticator
    await owner.must("DELETE", `/v1/accounts/{account}/passkeys/${credentialId}`, {
      assertion: await owner.proof("remove_passkey", device)
    })

    bank.signersRecords = older
    await bank.restart()
    const { partyChangeId } = (await owner.ask("PUT", party, undefined, "first")).json
    await bank.venue.leap(60_000)
    expect((await details(bank)).transfersForTheOperator).toBe(`${partyChangeId}: passkeys_not_pinned`)

    bank.signersRecords = new Map([...older].filter(([name]) => name !== owner.accountId))
    await bank.restart()
    await bank.venue.leap(60_000)
    expect(await owner.must("POST", `${party}/confirm`, { action: "initiate" })).toMatchObject({ status: "approval_required" })
    await bank.venue.stop()
  })
})
