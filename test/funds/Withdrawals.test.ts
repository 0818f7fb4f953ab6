/**
 * Withdrawals and changes of party with a faulty ledger, and with what owners and operators do meanwhile. Money withheld for a withdrawal
 * is spent or given back, once.
 */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Fault, Script } from "../../src/ledger/development/Faults.js"
import { Unsent } from "../../src/ledger/Transport.js"
import { SignerUnavailable } from "../../src/signer/PartySigner.js"
import { Authenticator } from "../identity/Authenticator.js"
import { Bank, origin, Owner } from "./Bank.js"

const depositAtoms = 25_000_000
const amountAtoms = 10_000_000
/** A party that no ledger knows. */
const nowhere = `nowhere::1220${"ab".repeat(32)}`

const on = (fault: Fault, times = 1): Script => [{ on: "execute", step: "treasury_withdrawal", skip: 0, times, fault }]

/** A bank with an owner whose first deposit is confirmed. */
const funded = async (): Promise<readonly [Bank, Owner]> => {
  const bank = await Bank.open()
  const owner = await Owner.open(bank)
  const id = await owner.request("deposit", depositAtoms)
  await bank.venue.leap(30_000)
  await bank.give(await owner.party, depositAtoms)
  expect(await owner.confirm("deposit", id)).toBe("ledger_confirmed")
  return [bank, owner]
}

/** The party of another owner, who has requested a deposit. */
const otherParty = async (bank: Bank): Promise<string> => {
  const other = await Owner.open(bank)
  await other.request("deposit", depositAtoms)
  await bank.venue.leap(30_000)
  return other.party
}

describe("a withdrawal", () => {
  const rows: ReadonlyArray<readonly [why: string, script: Script, ends: "ledger_confirmed" | "rejected"]> = [
    ["nothing goes wrong", [], "ledger_confirmed"],
    ["the request is lost", on({ name: "drop_request" }, 2), "ledger_confirmed"],
    ["the answer is lost", on({ name: "drop_answer" }), "ledger_confirmed"],
    ["it is told twice", on({ name: "complete_twice" }), "ledger_confirmed"],
    ["it is told after a minute", on({ name: "complete_after", afterMs: 60_000 }), "ledger_confirmed"],
    ["it is refused for certain", on({ name: "refuse", code: "INCONSISTENT", cause: "no" }), "rejected"],
    ["it may have been done, and was", on({ name: "refuse_indefinite", isDone: true }), "ledger_confirmed"],
    ["it may have been done, and was not", on({ name: "refuse_indefinite", isDone: false }), "ledger_confirmed"],
    ["it is said to be under way", on({ name: "in_flight" }), "ledger_confirmed"],
    ["the ledger starts again", on({ name: "restart" }), "ledger_confirmed"],
    [
      "the answer is lost, and a resubmission refused since the first won",
      [...on({ name: "drop_answer" }), ...on({ name: "refuse_since_first_won", by: "answer" })],
      "ledger_confirmed"
    ],
    ["the maximum passes before it is in order", on({ name: "pass_maximum", when: "before" }), "ledger_confirmed"]
  ]

  test.each(rows)("%s", async (_, script, ends) => {
    const [bank, owner] = await funded()
    await bank.script(script)
    const id = await owner.request("withdrawal", amountAtoms, await otherParty(bank))
    expect(await owner.collateralAtoms).toBe(depositAtoms - amountAtoms)
    const approvals: Array<string> = []
    expect(await owner.confirm("withdrawal", id, approvals)).toBe(ends)
    await bank.venue.leap(90_000)
    const left = ends === "ledger_confirmed" ? depositAtoms - amountAtoms : depositAtoms
    expect(await owner.collateralAtoms).toBe(left)
    expect(await bank.reconcile()).toMatchObject({ heldAtoms: String(left), unattributedAtoms: "0", withdrawalsStopped: false })
    const shown = await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)
    expect(shown).toMatchObject({ status: ends, amountAtoms: String(amountAtoms) })
    if (ends === "rejected") expect(shown).toMatchObject({ withdrawalFailure: "submission", ledgerOutcome: { guard: "INCONSISTENT" } })
    await bank.venue.stop()
  })
})

describe("withdrawals at the same time", () => {
  const path = "/v1/accounts/{account}/withdrawals/confirm"
  const begin = async (owner: Owner, atoms: number) => {
    const withdrawalId = await owner.request("withdrawal", atoms, await owner.party)
    return { owner, withdrawalId, ...await owner.must("POST", path, { action: "initiate", withdrawalId }) }
  }
  const complete = async ({ owner, withdrawalId, ...asked }: any) => owner.must("POST", path, { withdrawalId, ...owner.completion(asked) })
  const statusOf = async ({ owner, withdrawalId }: any): Promise<string> =>
    (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)).status

  const deposit = async (bank: Bank, owner: Owner, atoms: number): Promise<void> => {
    const id = await owner.request("deposit", atoms)
    await bank.venue.leap(30_000)
    await bank.give(await owner.party, atoms)
    expect(await owner.confirm("deposit", id)).toBe("ledger_confirmed")
  }

  test("are paid from holdings of their own, and where there is one only, whoever loses it is asked again", async () => {
    const [bank, first] = await funded()
    // There is only one holding: both name it, and the second one to be approved finds it spent.
    const [fast, slow] = [await begin(first, 1_000_000), await begin(first, 2_000_000)]
    await complete(fast)
    await bank.venue.leap(30_000)
    await complete(slow)
    await bank.venue.leap(60_000)
    expect([await statusOf(fast), await statusOf(slow)]).toEqual(["ledger_confirmed", "requested"])
    expect(await first.collateralAtoms).toBe(depositAtoms - 3_000_000)
    expect(await first.confirm("withdrawal", slow.withdrawalId)).toBe("ledger_confirmed")

    const others = [await Owner.open(bank), await Owner.open(bank)]
    for (const other of others) await deposit(bank, other, depositAtoms)
    const begun = []
    for (const owner of [first, ...others]) begun.push(await begin(owner, 5_000_000))
    for (const each of begun) await complete(each)
    await bank.venue.leap(60_000)
    for (const each of begun) expect(await statusOf(each)).toBe("ledger_confirmed")
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
    await bank.venue.stop()
  })

  test("that are approved at the same time over one holding are paid, the second after another approval", async () => {
    const [bank, owner] = await funded()
    await bank.script(on({ name: "complete_after", afterMs: 30_000 }))
    const [one, other] = [await begin(owner, 1_000_000), await begin(owner, 2_000_000)]
    // One after the other, as an authenticator counts: requests sent at once may be checked in either order.
    for (const each of [one, other]) await complete(each)
    await bank.venue.leap(20_000)
    expect(await statusOf(one)).toBe("submitted")
    await bank.venue.leap(60_000)
    expect([await statusOf(one), await statusOf(other)].sort()).toEqual(["ledger_confirmed", "requested"])
    expect(await owner.collateralAtoms).toBe(depositAtoms - 3_000_000)
    for (const { withdrawalId } of [one, other]) expect(await owner.confirm("withdrawal", withdrawalId)).toBe("ledger_confirmed")
    expect(await bank.reconcile()).toMatchObject({ heldAtoms: "22000000", unattributedAtoms: "0", withdrawalsStopped: false })
    await bank.venue.stop()
  })

  test.each(["LOCAL_VERDICT_LOCKED_CONTRACTS", "UNKNOWN_CONTRACT_SYNCHRONIZERS", "LOCAL_VERDICT_INACTIVE_CONTRACTS"])(
    "that are refused for %s are asked for again",
    async (code) => {
      const [bank, owner] = await funded()
      await bank.script(on({ name: "refuse", code, cause: "another spends it" }))
      const withdrawal = await begin(owner, 1_000_000)
      await complete(withdrawal)
      await bank.venue.leap(30_000)
      expect(await statusOf(withdrawal)).toBe("requested")
      expect(await owner.confirm("withdrawal", withdrawal.withdrawalId)).toBe("ledger_confirmed")
      expect(await owner.collateralAtoms).toBe(depositAtoms - 1_000_000)
      await bank.venue.stop()
    }
  )

  test("do not wait for one that only an operator can set right, once its transaction can be recorded no more", async () => {
    const [bank, owner] = await funded()
    const [one, other] = [await begin(owner, 1_000_000), await owner.request("withdrawal", 1_000_000, await owner.party)]
    await bank.script([
      ...on({ name: "drop_request" }),
      ...on({ name: "refuse", code: "INVALID_DEDUPLICATION_PERIOD", cause: "pruned" }, 1_000)
    ])
    await complete(one)
    await bank.venue.leap(300_000, 2_500)
    const asked = { action: "initiate", withdrawalId: other }
    expect(await owner.ask("POST", path, asked)).toMatchObject({ status: 503, json: { rejectionGuard: "treasury_busy" } })
    await bank.venue.leap(420_000, 2_500)
    expect(await statusOf(one)).toBe("submitted_unknown")
    expect(await owner.ask("POST", path, asked)).toMatchObject({ status: 200, json: { status: "approval_required" } })
    await bank.venue.stop()
  })

  test("wait for what is approved, and are told so", async () => {
    const [bank, owner] = await funded()
    const [one, other] = [await begin(owner, 1_000_000), await owner.request("withdrawal", 1_000_000, await owner.party)]
    await bank.script(on({ name: "drop_request" }, 1_000))
    await complete(one)
    const asked = { action: "initiate", withdrawalId: other }
    expect(await owner.ask("POST", path, asked)).toMatchObject({
      status: 503,
      json: { code: "dependency_unavailable", dependency: "ledger", rejectionGuard: "treasury_busy", retryable: true }
    })
    await bank.script([])
    await bank.venue.leap(120_000)
    expect(await statusOf(one)).toBe("ledger_confirmed")
    expect(await owner.confirm("withdrawal", other)).toBe("ledger_confirmed")
    await bank.venue.stop()
  })

  test("approved with a passkey that counts are signed in that order, although the second is tried before the first", async () => {
    const [bank, owner] = await funded()
    await deposit(bank, owner, depositAtoms)
    const [one, other] = [await begin(owner, 5_000_000), await begin(owner, 6_000_000)]
    bank.signerFaultAt = "sign"
    bank.signerFault = new SignerUnavailable({ detail: "it cannot write" })
    await complete(one)
    // Long enough that the first waits for a while after each failure.
    await bank.venue.leap(120_000)
    bank.signerFault = undefined
    await complete(other)
    expect([await statusOf(one), await statusOf(other)]).toEqual(["requested", "requested"])
    await bank.venue.leap(180_000)
    expect([await statusOf(one), await statusOf(other)]).toEqual(["ledger_confirmed", "ledger_confirmed"])
    await bank.venue.stop()
  })

  test("of more than one transaction spends are refused, with what could be paid", async () => {
    const bank = await Bank.open()
    const owner = await Owner.open(bank)
    for (let times = 0; times < 13; times++) await deposit(bank, owner, 1_000_000)
    const withdrawalId = await owner.request("withdrawal", 13_000_000, await owner.party)
    expect(await owner.ask("POST", path, { action: "initiate", withdrawalId })).toMatchObject({
      status: 422,
      json: { code: "withdrawal_rejected", rejectionGuard: "too_many_pieces", limit: "12.000000", withdrawalFailure: "approval" }
    })
    await owner.must("DELETE", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)
    await bank.reconcile()
    expect((await bank.venue.ask("GET", "/metrics")).json).toContain("venue_treasury_holdings 13\n")
    expect(await owner.confirm("withdrawal", await owner.request("withdrawal", 12_000_000, await owner.party))).toBe("ledger_confirmed")
    await bank.venue.stop()
  })
})

describe("around withdrawals", () => {
  let bank: Bank
  let owner: Owner
  let destination: string
  beforeAll(async () => {
    ;[bank, owner] = await funded()
    destination = await otherParty(bank)
  })
  afterAll(() => bank.venue.stop())

  const refusals: ReadonlyArray<readonly [why: string, body: object, status: number, told: object]> = [
    ["no amount", { asset: "USDC", amountAtoms: "1.5", destinationPartyId: nowhere }, 422, {
      code: "withdrawal_rejected",
      rejectionGuard: "amount_atoms_invalid",
      withdrawalFailure: "requested"
    }],
    ["another asset", { asset: "BTC", amountAtoms: "1000000", destinationPartyId: nowhere }, 422, { rejectionGuard: "asset_unsupported" }],
    ["too little", { asset: "USDC", amountAtoms: "1", destinationPartyId: nowhere }, 422, { rejectionGuard: "amount_below_minimum" }],
    ["more than there is", { asset: "USDC", amountAtoms: "99000000", destinationPartyId: nowhere }, 422, {
      rejectionGuard: "withdrawable_insufficient"
    }],
    ["to what is no party", { asset: "USDC", amountAtoms: "1000000", destinationPartyId: "somebody" }, 400, { code: "invalid_request" }]
  ]
  test.each(refusals)("%s is refused", async (_, body, status, told) => {
    expect(await owner.ask("POST", "/v1/accounts/{account}/withdrawals", body)).toMatchObject({ status, json: told })
    expect(await owner.collateralAtoms).toBe(depositAtoms)
  })

  test("a withdrawal that is given up is given back, once", async () => {
    const id = await owner.request("withdrawal", amountAtoms, destination)
    const path = `/v1/accounts/{account}/withdrawals/${id}`
    expect(await owner.must("DELETE", path)).toMatchObject({
      status: "rejected",
      ledgerOutcome: { outcome: "not_executed", guard: "given_up" }
    })
    expect((await owner.ask("DELETE", path)).json).toMatchObject({ code: "deposit_step_conflict" })
    expect(await owner.collateralAtoms).toBe(depositAtoms)
  })

  test("the same request under the same key is the same withdrawal, and another body a conflict", async () => {
    const target = "/v1/accounts/{account}/withdrawals"
    const body = { asset: "USDC", amountAtoms: String(amountAtoms), destinationPartyId: destination }
    const first = await owner.ask("POST", target, body, "once")
    expect(first.status).toBe(200)
    expect(await owner.ask("POST", target, body, "once")).toEqual(first)
    expect(await owner.ask("POST", target, { ...body, amountAtoms: "2000000" }, "once")).toMatchObject({
      status: 409,
      json: { code: "idempotency_key_conflict" }
    })
    expect(await owner.collateralAtoms).toBe(depositAtoms - amountAtoms)
    await owner.must("DELETE", `${target}/${first.json.withdrawalId}`)
  })

  test("a new passkey approves nothing in its first day, and the signer nothing by it until an older one says so", async () => {
    const phone = new Authenticator()
    const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", { authentication: await owner.proof("add_passkey") })
    await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: phone.register(begun.options, origin)
    })
    const path = "/v1/accounts/{account}/withdrawals/confirm"
    const withdrawalId = await owner.request("withdrawal", amountAtoms, destination)
    const ask = () => owner.must("POST", path, { action: "initiate", withdrawalId })
    const complete = async (authenticator: Authenticator) => {
      return owner.ask("POST", path, { withdrawalId, ...owner.completion(await ask(), authenticator) })
    }
    expect((await ask()).challenge.allowCredentials.webauthn).toEqual([{ type: "public-key", id: owner.authenticator.credentialId }])
    expect(await complete(phone)).toMatchObject({ status: 403, json: { code: "passkey_required", rejectionGuard: "passkey_not_pinned" } })

    const pins = "/v1/accounts/{account}/ledger-party/passkeys"
    const due = await owner.must("POST", pins, { action: "initiate" })
    expect(due).toMatchObject({ status: "approval_required", change: "add", credentialId: phone.credentialId })
    const by = (authenticator: Authenticator, { challenge, challengeIdentifier, rpId }: any) =>
      owner.ask("POST", pins, {
        action: "complete",
        challengeIdentifier,
        firstFactor: owner.factor({ challenge, rpId }, authenticator)
      })
    expect(await by(phone, due.challenge)).toMatchObject({ status: 401, json: { code: "passkey_assertion_invalid" } })
    const again = await owner.must("POST", pins, { action: "initiate" })
    expect(await by(owner.authenticator, again.challenge)).toMatchObject({ status: 200, json: { status: "current" } })
    const tooNew = await complete(phone)
    expect(tooNew).toMatchObject({ status: 403, json: { code: "passkey_required", rejectionGuard: "passkey_too_new" } })
    expect(Number(tooNew.json.limit) - Number(tooNew.json.actual)).toBeGreaterThan(86_000_000)
    await bank.venue.leap(5_000)
    await owner.must("DELETE", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)
  })

  test("while withdrawals are stopped none is taken, and those that were approved are held back", async () => {
    expect((await bank.venue.ask("PUT", "/v1/operator/withdrawals/stop")).status).toBe(200)
    const body = { asset: "USDC", amountAtoms: "1000000", destinationPartyId: destination }
    expect(await owner.ask("POST", "/v1/accounts/{account}/withdrawals", body)).toMatchObject({
      status: 422,
      json: { rejectionGuard: "withdrawals_stopped", recoveryActions: ["contact_operator"] }
    })
    expect((await bank.venue.ask("GET", "/readyz")).json.details).toMatchObject({ withdrawals: "stopped: operator", ledger: "live" })
    expect((await bank.venue.ask("DELETE", "/v1/operator/withdrawals/stop")).status).toBe(200)
    await owner.must("DELETE", `/v1/accounts/{account}/withdrawals/${await owner.request("withdrawal", 1_000_000, destination)}`)
  })

  test("one that was approved while the signer was down ends where its account is disabled, and leaves no more", async () => {
    const withdrawalId = await owner.request("withdrawal", amountAtoms, destination)
    const path = "/v1/accounts/{account}/withdrawals/confirm"
    const { challenge, signingStep } = await owner.must("POST", path, { action: "initiate", withdrawalId })
    bank.signerFails = true
    const asked = { action: "complete", withdrawalId, signingStep, challengeIdentifier: challenge.challengeIdentifier }
    await owner.must("POST", path, { ...asked, firstFactor: owner.factor(challenge) })
    const target = `/v1/accounts/{account}/withdrawals/${withdrawalId}`
    expect(await owner.must("GET", target)).toMatchObject({ status: "requested" })
    const flags = (isDisabled: boolean) =>
      bank.venue.ask("PUT", `/v1/operator/accounts/${owner.accountId}/flags`, { body: { disabled: isDisabled } })
    expect((await flags(true)).status).toBe(200)
    await bank.venue.leap(10_000)
    expect(await owner.must("GET", target)).toMatchObject({
      status: "rejected",
      withdrawalFailure: "approval",
      ledgerOutcome: { outcome: "not_executed", guard: "account_disabled" }
    })
    bank.signerFails = false
    expect((await flags(false)).status).toBe(200)
    await bank.venue.leap(60_000)
    expect(await owner.collateralAtoms).toBe(depositAtoms)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0" })
  })

  test("the ledger prepares nothing for a party that it does not know, which is told", async () => {
    const withdrawalId = await owner.request("withdrawal", amountAtoms, nowhere)
    expect(await owner.ask("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId })).toMatchObject({
      status: 422,
      json: {
        code: "withdrawal_rejected",
        rejectionGuard: "ledger_declines",
        withdrawalFailure: "approval",
        recoveryActions: ["fix_request"],
        safeMessage: expect.stringContaining("does not know the party that is to receive")
      }
    })
    await owner.must("DELETE", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)
  })

  test("that it does not know the treasury's party is not told as if it were the receiver's", async () => {
    const { treasuryPartyId } = await bank.reconcile()
    const withdrawalId = await owner.request("withdrawal", amountAtoms, nowhere)
    const initiate = async (...unknown: ReadonlyArray<string>) => {
      const cause = `Unknown informees: ${unknown.join(", ")}`
      await bank.script([{ on: "prepare", fault: { name: "refuse", code: "UNKNOWN_INFORMEES", cause }, skip: 0, times: 1 }])
      const { json } = await owner.ask("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId })
      return json.code
    }
    expect([await initiate(treasuryPartyId, nowhere), await initiate(nowhere)]).toEqual(["dependency_unavailable", "withdrawal_rejected"])
    await owner.must("DELETE", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)
  })

  test("a withdrawal to the venue's own treasury is refused under its key, and leaves everything as it was", async () => {
    const { heldAtoms, treasuryPartyId } = await bank.reconcile()
    const body = { asset: "USDC", amountAtoms: "1000000", destinationPartyId: treasuryPartyId }
    const told = {
      status: 422,
      json: { code: "withdrawal_rejected", rejectionGuard: "receiver_is_treasury", withdrawalFailure: "requested" }
    }
    for (let times = 0; times < 2; times++) {
      expect(await owner.ask("POST", "/v1/accounts/{account}/withdrawals", body, "to-the-treasury")).toMatchObject(told)
    }
    expect(await owner.collateralAtoms).toBe(depositAtoms)
    expect(await bank.reconcile()).toMatchObject({ heldAtoms, unattributedAtoms: "0", withdrawalsStopped: false })
  })

  test("one to the treasury that was asked for before the venue knew its treasury is given back before it is prepared", async () => {
    const { treasuryPartyId } = await bank.reconcile()
    await bank.script([{ on: "generate_topology", skip: 0, times: 1_000, fault: { name: "drop_request" } }])
    await bank.restart()
    const withdrawalId = await owner.request("withdrawal", 1_000_000, treasuryPartyId)
    await bank.script([])
    await bank.venue.leap(60_000)
    await owner.ask("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId })
    expect(await owner.must("GET", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)).toMatchObject({
      status: "rejected",
      withdrawalFailure: "approval",
      ledgerOutcome: { outcome: "not_executed", guard: "receiver_is_treasury" }
    })
    expect(await owner.collateralAtoms).toBe(depositAtoms)
  })

  test("the party is changed by an approval, and pays from then on", async () => {
    const target = "/v1/accounts/{account}/ledger-party"
    const before = await owner.party
    await owner.must("PUT", target)
    for (let turn = 0; turn < 20; turn++) {
      const { challenge, signingStep, status } = await owner.must("POST", `${target}/confirm`, { action: "initiate" })
      if (status === "ledger_confirmed") break
      if (status === "approval_required") {
        await owner.must("POST", `${target}/confirm`, owner.completion({ challenge, signingStep }))
      }
      await bank.venue.leap(5_000)
    }
    const { change, partyId } = await owner.must("GET", target)
    expect(change).toMatchObject({ status: "ledger_confirmed", partyId })
    expect(partyId).not.toBe(before)
    const id = await owner.request("deposit", 5_000_000)
    await bank.give(partyId, 5_000_000)
    expect(await owner.confirm("deposit", id)).toBe("ledger_confirmed")
    expect(await owner.collateralAtoms).toBe(depositAtoms + 5_000_000)
    const { events } = await owner.must("GET", "/v1/accounts/{account}/security-events")
    expect(events.map(({ kind }: { readonly kind: string }) => kind)).toEqual(
      expect.arrayContaining(["ledger_party_changed", "party_change_requested", "withdrawal_requested", "ledger_step_approved"])
    )
  })

  const details = async () => (await bank.venue.ask("GET", "/readyz")).json.details
  const metrics = async (): Promise<string> => (await bank.venue.ask("GET", "/metrics")).json

  test("what anybody sends the treasury is told, and stops no withdrawal", async () => {
    const { heldAtoms, treasuryPartyId } = await bank.reconcile()
    expect(heldAtoms).toBe(String(depositAtoms + 5_000_000))
    await bank.give(treasuryPartyId, 1)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "1", withdrawalsStopped: false })
    expect((await details()).reconciliation).toMatch(/^differs by 1 atoms at ledger offset/)
    expect(await metrics()).toContain("venue_reconciliation_difference_atoms 1\n")
  })

  test("what the treasury lacks stops them until an operator lets them go on, and then only more of it does", async () => {
    const allow = async (accept?: string) => expect((await bank.allow(accept)).status).toBe(200)
    await bank.take(3_000_001)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-3000000", withdrawalsStopped: true })
    expect(await details()).toMatchObject({ withdrawals: "stopped: reconciliation, differs by -3000000 atoms" })
    await allow()
    for (let times = 0; times < 2; times++) {
      expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-3000000", withdrawalsStopped: false })
    }
    expect((await details()).reconciliation).toContain("of which -3000000 are accepted")
    expect(await metrics()).toContain("venue_reconciliation_accepted_atoms -3000000\n")
    // It is journaled, so that another process knows it too.
    await bank.restart()
    await bank.venue.leap(30_000)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-3000000", withdrawalsStopped: false })
    await bank.take(1)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-3000001", withdrawalsStopped: true })
    await allow("3.000001")
  })

  test("beside an operator's own stop they go on only if what the treasury lacks is accepted, to the atom", async () => {
    const at = "/v1/operator/withdrawals/stop"
    expect((await bank.venue.ask("PUT", at, { idempotencyKey: "stops" })).status).toBe(200)
    const refusal = { code: "invalid_request", rejectionGuard: "shortfall_not_accepted", actual: "3.000001", nearest: "3.000001" }
    for (const [accept, limit] of [[undefined, "0.000000"], ["0", "0.000000"], ["3", "3.000000"]] as const) {
      expect(await bank.allow(accept)).toMatchObject({ status: 400, json: { ...refusal, limit } })
    }
    for (const accept of ["-3", "3e0", "3.0000001", "much"]) expect((await bank.allow(accept)).status).toBe(400)
    expect(await details()).toMatchObject({ withdrawals: "stopped: operator", acceptedAtoms: -3_000_001 })
    const before = Number((await bank.venue.ask("GET", "/readyz")).json.durableSequence)
    const key = "accepts-what-is-lacking"
    expect(await bank.allow("3.000001", key)).toMatchObject({ status: 200, json: { sequence: before + 2 } })
    expect(await details()).toMatchObject({ withdrawals: "open", acceptedAtoms: -3_000_001 })
    // Another request under its key is refused, and changes nothing, whatever stands by then.
    expect((await bank.venue.ask("PUT", at, { idempotencyKey: "stops-once-more" })).status).toBe(200)
    expect(await bank.allow("2", key)).toMatchObject({ status: 409 })
    expect(await details()).toMatchObject({ withdrawals: "stopped: operator", acceptedAtoms: -3_000_001 })
    expect(await bank.allow("3.000001")).toMatchObject({ status: 200 })
    // More is lacking than the venue's own stop says: that is seen before anything is paid.
    await bank.take(1)
    await bank.reconcile()
    await bank.take(2)
    expect(await details()).toMatchObject({ withdrawals: "stopped: reconciliation, differs by -3000002 atoms" })
    const more = { limit: "3.000002", actual: "3.000004", nearest: "3.000004" }
    expect(await bank.allow()).toMatchObject({ status: 400, json: more })
    expect(await bank.allow("3.000002")).toMatchObject({ status: 400, json: more })
    // A repetition gets its decision, whatever the books say by now.
    expect(await bank.allow("3.000001", key)).toMatchObject({ status: 200, json: { sequence: before + 2 } })
    // Less is lacking than it says and than is named: no more than that is accepted, which would hide a loss of as much.
    await bank.take(10)
    await bank.give((await bank.reconcile()).treasuryPartyId, 10)
    expect(await bank.allow("3.000009")).toMatchObject({ status: 200 })
    expect(await details()).toMatchObject({ withdrawals: "open", acceptedAtoms: -3_000_004 })
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-3000004", withdrawalsStopped: false })
  })

  test("a stop that comes while the books are compared for who lets them go on is the last word", async () => {
    const at = "/v1/operator/withdrawals/stop"
    expect((await bank.venue.ask("PUT", at, { idempotencyKey: "before-the-comparison" })).status).toBe(200)
    await bank.script([{ on: "active_contracts", skip: 0, times: 1, fault: { name: "answer_late", afterMs: 5_000 } }])
    const allowed = bank.allow("3.000004")
    expect((await bank.venue.ask("PUT", at, { idempotencyKey: "during-the-comparison" })).status).toBe(200)
    expect(await allowed).toMatchObject({ status: 400, json: { rejectionGuard: "stopped_meanwhile" } })
    expect(await details()).toMatchObject({ withdrawals: "stopped: operator" })
    expect(await bank.allow("3.000004")).toMatchObject({ status: 200 })
  })

  test("they stay stopped while the ledger does not answer, and the same request lets them go on once it does", async () => {
    const ledger = { isDown: true }
    expect((await bank.venue.ask("PUT", "/v1/operator/withdrawals/stop", { idempotencyKey: "stops-again" })).status).toBe(200)
    await bank.restartOver((transport) => (question) => ledger.isDown ? Effect.fail(new Unsent("down")) : transport(question))
    const ask = () => bank.allow("3.000004", "while-the-ledger-is-down")
    expect(await ask()).toMatchObject({ status: 503, json: { code: "dependency_unavailable", dependency: "ledger" } })
    expect(await details()).toMatchObject({ withdrawals: "stopped: operator" })
    ledger.isDown = false
    await bank.venue.leap(60_000)
    expect(await ask()).toMatchObject({ status: 200 })
    expect(await details()).toMatchObject({ withdrawals: "open", acceptedAtoms: -3_000_004 })
    await bank.take(3)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-3000007", withdrawalsStopped: true })
  })

  test("an operator's stop beside the venue's own is nothing, which is told, and so is what is accepted however the books stand", async () => {
    const at = "/v1/operator/withdrawals/stop"
    const standing = async () => {
      const { acceptedAtoms, reconciliation, withdrawals } = await details()
      return { acceptedAtoms, reconciliation: reconciliation.replace(/ at ledger offset \d+/, ""), withdrawals }
    }
    expect(await standing()).toMatchObject({ withdrawals: "stopped: reconciliation, differs by -3000007 atoms" })
    expect((await bank.venue.ask("PUT", at, { idempotencyKey: "beside" })).status).toBe(200)
    const stopped = "stopped: reconciliation, differs by -3000007 atoms"
    expect(await standing()).toEqual({
      acceptedAtoms: -3_000_004,
      reconciliation: "differs by -3000007 atoms, of which -3000004 are accepted",
      withdrawals: stopped
    })
    const stop = { reason: "reconciliation", differenceAtoms: "-3000007" }
    const books = await bank.reconcile()
    expect([books.stop, books.acceptedAtoms]).toEqual([stop, "-3000004"])
    expect((await bank.allow()).status).toBe(200)
    const acceptedAtoms = -3_000_007
    expect(await standing()).toMatchObject({
      acceptedAtoms,
      reconciliation: "differs by -3000007 atoms, of which -3000007 are accepted",
      withdrawals: "open"
    })
    // Once the treasury was made whole, and where it holds more, the acceptance stands still, and would hide a loss of as much.
    await bank.give(books.treasuryPartyId, -acceptedAtoms)
    const whole = await bank.reconcile()
    expect([whole.unattributedAtoms, whole.acceptedAtoms, "stop" in whole]).toEqual(["0", String(acceptedAtoms), false])
    expect(await standing()).toEqual({ acceptedAtoms, reconciliation: "agrees", withdrawals: "open" })
    await bank.give(books.treasuryPartyId, 1)
    await bank.reconcile()
    expect(await standing()).toEqual({ acceptedAtoms, reconciliation: "differs by 1 atoms", withdrawals: "open" })
    expect([(await bank.venue.ask("PUT", at, { idempotencyKey: "revokes" })).status, (await bank.allow()).status]).toEqual([200, 200])
    expect(await standing()).toEqual({ acceptedAtoms: undefined, reconciliation: "differs by 1 atoms", withdrawals: "open" })
  })
})
