/** Depositing and withdrawing: how each of the venue's states is shown, what may be done in it, and that closing a tab loses nothing. */
import { describe, expect, test } from "vitest"
import { atomsOf, usdc } from "../../src/console/state/Amount.js"
import type { Deposit, Withdrawal } from "../../src/console/state/Contract.js"
import type { Answered } from "../../src/console/state/Outside.js"
import { Store } from "../../src/console/state/Store.js"
import * as Transfer from "../../src/console/state/Transfer.js"
import { accountId, challenge, later, ok, refused, ScriptedOutside, session, startEpochMs } from "./Outside.js"

const account = `/v1/accounts/${accountId}`
const party = `owner::1220${"ab".repeat(32)}`
const allSteps = ["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"] as const

type Outcome = NonNullable<Deposit["ledgerOutcome"]>

const outcome = (step: Outcome["step"], come: Outcome["outcome"], guard: string | null = null): Outcome => ({ step, outcome: come, guard })

const deposit = (status: Deposit["status"], ledgerOutcome?: Outcome, more: Partial<Deposit> = {}): Deposit => ({
  version: "local-signing/v2",
  depositId: "dep_1",
  adminCommandId: "adm_1",
  fundingIntentId: "fin_1",
  engineCommandId: "eng_1",
  partyId: party,
  asset: "USDC",
  amountAtoms: "25000000",
  status,
  environment: "development",
  accountId,
  plannedLedgerCommands: allSteps.map((step) => ({ step, commandId: `cmd_${step}` })),
  ...(ledgerOutcome === undefined ? undefined : { ledgerOutcome }),
  createdAtEpochMs: startEpochMs,
  updatedAtEpochMs: startEpochMs,
  ...more
})

const withdrawal = (status: Withdrawal["status"], ledgerOutcome?: Outcome, more: Partial<Withdrawal> = {}): Withdrawal => ({
  version: "external-withdrawal/v1",
  withdrawalId: "wdr_1",
  destinationPartyId: party,
  asset: "USDC",
  amountAtoms: "10000000",
  status,
  environment: "development",
  accountId,
  plannedLedgerCommands: [{ step: "treasury_withdrawal", commandId: "cmd_1" }],
  ...(ledgerOutcome === undefined ? undefined : { ledgerOutcome }),
  createdAtEpochMs: startEpochMs,
  updatedAtEpochMs: startEpochMs,
  ...more
})

/** A browser whose passkeys sign approvals. */
class Approver extends ScriptedOutside {
  /** The passkey prompt stays open until this resolves. */
  prompt: Promise<unknown> = Promise.resolve()
  override readonly usePasskey: ScriptedOutside["usePasskey"] = async (options) => {
    this.ceremonies.push(["use", options])
    await this.prompt
    const response = { clientDataJSON: `over ${options.challenge}`, authenticatorData: "data", signature: "signed" }
    return this.troubles.shift()
      ?? { credential: { id: "passkey", rawId: "passkey", type: "public-key", response, clientExtensionResults: {} } }
  }
}

const depositList = (...deposits: ReadonlyArray<Deposit>) =>
  ok({ version: "external-deposit-list/v1", accountId, deposits, nextCursor: null })
const withdrawalList = (...withdrawals: ReadonlyArray<Withdrawal>) =>
  ok({ version: "external-withdrawal-list/v1", accountId, withdrawals, nextCursor: null })

/** A newly opened tab, as after closing the last one: it has only what the venue returns. */
const opened = async (outside: ScriptedOutside): Promise<Store> => {
  outside.stored = JSON.stringify({ accessToken: "ses_1", accountId, expiresAtEpochMs: startEpochMs + 1_000 })
  const store = new Store(outside, { page: "funds", userCode: "", marketId: "" })
  await store.funds.load()
  return store
}

const venue = (deposits: ReadonlyArray<Deposit> = [], withdrawals: ReadonlyArray<Withdrawal> = []): Approver =>
  new Approver()
    .on(`GET ${account}/balance`, ok({ withdrawable: "100.000000" }))
    .on(`GET ${account}/ledger-party`, ok({ accountId, partyId: null, confirmed: false, change: null }))
    .on(`GET ${account}/deposits`, depositList(...deposits))
    .on(`GET ${account}/withdrawals`, withdrawalList(...withdrawals))

const challengeOf = (name: string, webauthn: ReadonlyArray<string> = ["passkey"]) => ({
  challenge: `challenge of ${name}`,
  challengeIdentifier: `chl_${name}`,
  allowCredentials: { key: [], webauthn: webauthn.map((id) => ({ type: "public-key", id })) },
  userVerification: "required",
  rpId: "localhost",
  expiresAtEpochMs: startEpochMs + 1_000
})

const due = (step: string, told: Deposit, webauthn?: ReadonlyArray<string>) =>
  ok({ version: "local-signing/v2", status: "approval_required", signingStep: step, challenge: challengeOf(step, webauthn), deposit: told })
const stands = (told: Deposit) => ok({ version: "local-signing/v2", status: told.status, deposit: told })

const confirm = `POST ${account}/deposits/confirm`
const bodies = (outside: ScriptedOutside, route: string) =>
  outside.sent.filter(({ method, path }) => `${method} ${path}` === route).map(({ body }) => body)

describe("an amount", () => {
  test.each([
    ["1", "1000000"],
    ["250.5", "250500000"],
    [" 0.000001 ", "1"],
    [".5", "500000"],
    ["007.", "7000000"],
    ["9007199254.740993", "9007199254740993"]
  ])("%j is %s atoms", (text, atoms) => {
    expect(atomsOf(text)).toBe(atoms)
  })

  test.each(["", ".", "0", "0.000000", "1.0000001", "-1", "1e3", "1,000", "1 000", "12345678901", "USDC"])("%j is none", (text) => {
    expect(atomsOf(text)).toBeUndefined()
  })

  test.each([
    ["1", "0.000001"],
    ["1000000", "1.00"],
    ["250500000", "250.50"],
    ["1234567000100", "1,234,567.0001"],
    ["9007199254740993", "9,007,199,254.740993"]
  ])("of %s atoms is read as %s", (atoms, read) => {
    expect(usdc(atoms)).toBe(read)
  })
})

interface Shown {
  readonly states: ReadonlyArray<Transfer.StepState>
  readonly atHand: string | undefined
  readonly offered: boolean
  readonly unfinished: boolean
  readonly said: string
}

const depositStates: ReadonlyArray<readonly [why: string, told: Deposit, shown: Shown]> = [
  ["that was just asked for, before it has a party", deposit("bound", undefined), {
    states: ["due", "later", "later"],
    atHand: "owner_account_acceptance",
    offered: true,
    unfinished: true,
    said: "without your approval"
  }],
  ["whose first step is with the ledger", deposit("submitted", outcome("owner_account_acceptance", "sequenced_accepted")), {
    states: ["submitted", "later", "later"],
    atHand: "owner_account_acceptance",
    offered: false,
    unfinished: true,
    said: "has taken the step in"
  }],
  ["of whose first step nobody knows", deposit("submitted_unknown", outcome("owner_account_acceptance", "submission_unknown")), {
    states: ["submitted_unknown", "later", "later"],
    atHand: "owner_account_acceptance",
    offered: false,
    unfinished: true,
    said: "The ledger has not answered for certain; nothing is lost; we look it up."
  }],
  ["whose first step is done", deposit("bound", outcome("owner_account_acceptance", "completion_accepted")), {
    states: ["done", "due", "later"],
    atHand: "treasury_offer",
    offered: true,
    unfinished: true,
    said: "24 hours"
  }],
  ["whose offer is with the ledger", deposit("submitted", outcome("treasury_offer", "sequenced_accepted")), {
    states: ["done", "submitted", "later"],
    atHand: "treasury_offer",
    offered: false,
    unfinished: true,
    said: "goes on without you"
  }],
  ["whose offer stands", deposit("bound", outcome("treasury_offer", "completion_accepted")), {
    states: ["done", "done", "due"],
    atHand: "owner_offer_acceptance",
    offered: true,
    unfinished: true,
    said: "Nothing happens"
  }],
  ["of whose last step nobody knows", deposit("submitted_unknown", outcome("owner_offer_acceptance", "submission_unknown")), {
    states: ["done", "done", "submitted_unknown"],
    atHand: "owner_offer_acceptance",
    offered: false,
    unfinished: true,
    said: "nothing is lost"
  }],
  ["that is done", deposit("ledger_confirmed", outcome("owner_offer_acceptance", "completion_accepted")), {
    states: ["done", "done", "done"],
    atHand: undefined,
    offered: false,
    unfinished: false,
    said: "25.00 USDC were credited"
  }],
  ["that the ledger refused", deposit("rejected", outcome("owner_offer_acceptance", "completion_refused", "INSUFFICIENT_FUNDS")), {
    states: ["done", "done", "rejected"],
    atHand: undefined,
    offered: false,
    unfinished: false,
    said: "The reason: INSUFFICIENT_FUNDS."
  }],
  ["that was given up at once", deposit("rejected", outcome("owner_account_acceptance", "not_executed", "given_up")), {
    states: ["given_up", "later", "later"],
    atHand: undefined,
    offered: false,
    unfinished: false,
    said: "You gave it up: nothing was taken from your party."
  }],
  ["whose offer was withdrawn", deposit("expired", outcome("treasury_offer_withdrawal", "completion_accepted")), {
    states: ["done", "done", "expired"],
    atHand: undefined,
    offered: false,
    unfinished: false,
    said: "nothing was taken"
  }]
]

const withdrawalStates: ReadonlyArray<readonly [why: string, told: Withdrawal, shown: Shown]> = [
  ["that was asked for", withdrawal("requested"), {
    states: ["due"],
    atHand: "treasury_withdrawal",
    offered: true,
    unfinished: true,
    said: "held"
  }],
  ["that is with the ledger", withdrawal("submitted", outcome("treasury_withdrawal", "sequenced_accepted")), {
    states: ["submitted"],
    atHand: "treasury_withdrawal",
    offered: false,
    unfinished: true,
    said: "has taken the step in"
  }],
  ["of which nobody knows", withdrawal("submitted_unknown", outcome("treasury_withdrawal", "submission_unknown")), {
    states: ["submitted_unknown"],
    atHand: "treasury_withdrawal",
    offered: false,
    unfinished: true,
    said: "nothing is lost"
  }],
  ["that is done", withdrawal("ledger_confirmed", outcome("treasury_withdrawal", "completion_accepted")), {
    states: ["done"],
    atHand: undefined,
    offered: false,
    unfinished: false,
    said: "10.00 USDC have left"
  }],
  ["that was refused", withdrawal("rejected", outcome("treasury_withdrawal", "submission_refused", "limit")), {
    states: ["rejected"],
    atHand: undefined,
    offered: false,
    unfinished: false,
    said: "back in your account"
  }],
  ["that was not approved in time", withdrawal("expired", outcome("treasury_withdrawal", "not_executed", "not_approved")), {
    states: ["expired"],
    atHand: undefined,
    offered: false,
    unfinished: false,
    said: "back in your account"
  }]
]

const seen = (transfer: Transfer.Transfer, unfinished: boolean) => ({
  states: Transfer.stepsOf(transfer).map(({ state }) => state),
  atHand: Transfer.stepAtHand(transfer),
  offered: Transfer.awaitsOwner(transfer),
  unfinished
})

describe("a tab that is opened shows where a transfer stands:", () => {
  test.each(depositStates)("a deposit %s", async (_why, told, { said, ...shown }) => {
    const { funds: { deposits } } = await opened(venue([told]))
    const transfer = deposits.list.value.value!.transfers[0]!
    expect(seen(transfer, deposits.unfinished.length === 1)).toEqual(shown)
    expect(Transfer.meaning(transfer)).toContain(said)
    expect(Transfer.isApproved(transfer)).toBe(false)
  })

  test.each(withdrawalStates)("a withdrawal %s", async (_why, told, { said, ...shown }) => {
    const { funds: { withdrawals } } = await opened(venue([], [told]))
    const transfer = withdrawals.list.value.value!.transfers[0]!
    expect(seen(transfer, withdrawals.unfinished.length === 1)).toEqual(shown)
    expect(Transfer.meaning(transfer)).toContain(said)
  })
})

test.each([
  ["policy_daily", "10.00 USDC are back in your account. The venue pays no more than so much in one day (UTC)"],
  ["policy_per_withdrawal", "The venue pays less in one withdrawal"],
  ["passkey_removed", "(passkey_removed)."],
  ["LOCKED_CONTRACTS", "The reason: LOCKED_CONTRACTS."]
])("a withdrawal that is rejected for %s says why in words where it can", async (guard, said) => {
  const rejected = withdrawal("rejected", outcome("treasury_withdrawal", "not_executed", guard), { withdrawalFailure: "approval" })
  const { funds: { withdrawals } } = await opened(venue([], [rejected]))
  expect(Transfer.meaning(withdrawals.list.value.value!.transfers[0]!)).toContain(said)
})

test("a tab that is opened shows that a step is approved and waits for the venue, and offers no approval", async () => {
  const approvedAtEpochMs = startEpochMs
  const told = [
    deposit("bound", outcome("owner_account_acceptance", "completion_accepted"), { approvedAtEpochMs }),
    withdrawal("requested", undefined, { approvedAtEpochMs })
  ] as const
  const { funds } = await opened(venue([told[0]], [told[1]]))
  for (const { unfinished: [transfer] } of [funds.deposits, funds.withdrawals]) {
    expect([Transfer.isApproved(transfer!), Transfer.awaitsOwner(transfer!), Transfer.standing(transfer!)]).toEqual([true, false,
      "Approved"])
    expect(Transfer.meaning(transfer!)).toMatch(/^It waits for the venue.* within ten minutes, it asks for your approval again/)
  }
  const states = ({ unfinished: [transfer] }: typeof funds.deposits) => Transfer.stepsOf(transfer!).map(({ state }) => state)
  expect([states(funds.deposits), states(funds.withdrawals)]).toEqual([["done", "approved", "later"], ["approved"]])
})

test("every approval says in words what it approves", () => {
  const transfer = { amountAtoms: "25000000", partyId: party }
  expect([...allSteps, "treasury_withdrawal" as const].map((step) => Transfer.approves(step, transfer))).toEqual([
    "Your party on the ledger opens its account with this venue. No money moves.",
    "The venue\u2019s treasury offers to take 25.00 USDC into custody. No money moves yet.",
    "Your party accepts the offer: 25.00 USDC move from your party to the venue, and your account here is credited.",
    `25.00 USDC move from the venue\u2019s treasury to the party ${party}.`
  ])
})

describe("a step is approved", () => {
  const first = deposit("bound")
  const moved = deposit("submitted", outcome("owner_account_acceptance", "sequenced_accepted"), { updatedAtEpochMs: startEpochMs + 1 })

  test.each([0, 1, 2])("wherever a closed tab left the deposit: step %i", async (index) => {
    const step = allSteps[index]!
    const told = deposit("bound", index === 0 ? undefined : outcome(allSteps[index - 1]!, "completion_accepted"))
    const next = deposit("submitted", outcome(step, "sequenced_accepted"), { updatedAtEpochMs: startEpochMs + 1 })
    const outside = venue([told]).on(confirm,
      ({ body }) => (body as { readonly action: string }).action === "initiate" ? due(step, told) : stands(next))
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    expect(bodies(outside, confirm)).toEqual([
      { action: "initiate", depositId: "dep_1", signingStep: step },
      {
        action: "complete",
        depositId: "dep_1",
        signingStep: step,
        challengeIdentifier: `chl_${step}`,
        firstFactor: {
          kind: "Fido2",
          credentialAssertion: {
            credId: "passkey",
            clientData: `over challenge of ${step}`,
            signature: "signed",
            authenticatorData: "data"
          }
        }
      }
    ])
    expect(outside.ceremonies).toMatchObject([["use", {
      challenge: `challenge of ${step}`,
      rpId: "localhost",
      userVerification: "required",
      allowCredentials: [{ type: "public-key", id: "passkey" }]
    }]])
    expect(deposits.unfinished[0]?.status).toBe("submitted")
  })

  test("not where the prompt is closed: it can be asked again", async () => {
    const outside = venue([first]).on(confirm, due("owner_account_acceptance", first)).on(`GET ${account}/deposits/dep_1`, ok(first))
    outside.troubles = [{ trouble: { name: "NotAllowedError", code: "" } }]
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    const { approving } = deposits.workOf("dep_1")
    expect(approving.failure.value?.message).toContain("Nothing was done")
    expect([approving.isBusy.value, Transfer.isApproved(deposits.unfinished[0]!)]).toEqual([false, false])
  })

  test("and where that answer is lost, the venue is asked how it stands", async () => {
    const outside = venue([first]).on(`GET ${account}/deposits/dep_1`, ok(moved)).on(confirm,
      ({ body }) => (body as { readonly action: string }).action === "initiate" ? due("owner_account_acceptance", first) : undefined)
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    // The deposit has moved on: nothing has to be tried again.
    expect(deposits.workOf("dep_1").approving.failure.value).toBeUndefined()
    expect(deposits.unfinished[0]?.status).toBe("submitted")
  })

  test("once: where the venue has the approval and has not executed it, no passkey is asked for", async () => {
    const approved = deposit("bound", undefined, { approvedAtEpochMs: startEpochMs })
    const outside = venue([first]).on(confirm, stands(approved))
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    expect(outside.ceremonies).toEqual([])
    expect(Transfer.isApproved(deposits.unfinished[0]!)).toBe(true)
    // The step is executed, and then turns out definitely not to have taken effect: it needs another approval.
    outside.on(`GET ${account}/deposits`, depositList(moved))
    await deposits.refresh()
    outside.on(`GET ${account}/deposits`, depositList({ ...first, updatedAtEpochMs: startEpochMs + 2 }))
    await deposits.refresh()
    expect(Transfer.isApproved(deposits.unfinished[0]!)).toBe(false)
  })

  test("by none of the passkeys where none may yet, and says so", async () => {
    const outside = venue([first]).on(confirm, due("owner_account_acceptance", first, [])).on(`GET ${account}/deposits/dep_1`, ok(first))
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    expect(outside.ceremonies).toEqual([])
    expect(deposits.workOf("dep_1").approving.failure.value?.advice).toContain("24 hours")
  })

  test("or it is told that the venue did not answer, where it has not moved", async () => {
    const outside = venue([first]).on(confirm, undefined).on(`GET ${account}/deposits/dep_1`, undefined)
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    const { approving } = deposits.workOf("dep_1")
    expect(approving.failure.value).toMatchObject({ message: "The venue did not answer.", again: true })
    await deposits.refresh()
    expect(approving.failure.value).toBeDefined()
  })

  test("not where another tab has brought it further: the page shows where it is", async () => {
    const outside = venue([first]).on(confirm, refused(409, "deposit_step_conflict")).on(`GET ${account}/deposits/dep_1`, ok(moved))
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    expect(outside.ceremonies).toEqual([])
    expect(deposits.unfinished[0]?.status).toBe("submitted")
  })

  test.each([
    [422, "deposit_rejected"],
    [503, "dependency_unavailable"],
    [403, "passkey_required"]
  ])("not where the venue refuses (%i %s), in the venue's words", async (status, code) => {
    const outside = venue([first]).on(confirm, refused(status, code)).on(`GET ${account}/deposits/dep_1`, ok(first))
    const { funds: { deposits } } = await opened(outside)
    await deposits.approve(deposits.unfinished[0]!)
    expect(deposits.workOf("dep_1").approving.failure.value?.message).toBe(`It is ${code}.`)
    expect(Transfer.awaitsOwner(deposits.unfinished[0]!)).toBe(true)
  })
})

describe("asking for a transfer", () => {
  const create = `POST ${account}/withdrawals`
  const keys = (outside: ScriptedOutside) =>
    outside.sent.filter(({ method, path }) => `${method} ${path}` === create).map(({ idempotencyKey }) => idempotencyKey)

  test("is the same request again while nobody knows what became of it, and another one once that is known", async () => {
    const outside = venue().on(create, undefined)
    const { funds } = await opened(outside)
    expect(await funds.withdraw("10000000", party)).toBe(false)
    outside.on(create, refused(422, "withdrawal_rejected"))
    expect(await funds.withdraw("10000000", party)).toBe(false)
    expect(funds.withdrawals.requesting.failure.value?.message).toBe("It is withdrawal_rejected.")
    outside.on(create, ok(withdrawal("requested")))
    expect(await funds.withdraw("10000000", party)).toBe(true)
    expect(keys(outside)).toEqual(["key-1", "key-1", "key-2"])
    expect(bodies(outside, create)[2]).toEqual({ asset: "USDC", amountAtoms: "10000000", destinationPartyId: party })
    expect(funds.withdrawals.unfinished).toHaveLength(1)
    expect([funds.withdrawals.takeBegun("wdr_1"), funds.withdrawals.takeBegun("wdr_1")]).toEqual([true, false])
  })

  test("is the same request again behind a defect of the venue, which may have come after it was done", async () => {
    const outside = venue().on(create, refused(500, "internal_error", { recoveryActions: ["retry_same_identity"] }))
    const { funds } = await opened(outside)
    expect(await funds.withdraw("10000000", party)).toBe(false)
    outside.on(create, ok(withdrawal("requested")))
    expect(await funds.withdraw("10000000", party)).toBe(true)
    expect(keys(outside)).toEqual(["key-1", "key-1"])
  })

  test("whose answer was lost is found in the list, and the same once more is another request", async () => {
    const older = withdrawal("ledger_confirmed", undefined, { withdrawalId: "wdr_0" })
    const outside = venue([], [older]).on(create, undefined)
    const { funds } = await opened(outside)
    const made = withdrawal("requested")
    // An earlier withdrawal of the same amount does not answer this one.
    expect(await funds.withdraw("10000000", party)).toBe(false)
    outside.on(`GET ${account}/withdrawals`, withdrawalList(made, older))
    expect(await funds.withdraw("10000000", party)).toBe(true)
    expect([funds.withdrawals.requesting.failure.value, funds.withdrawals.takeBegun("wdr_1")]).toEqual([undefined, true])
    const second = withdrawal("requested", undefined, { withdrawalId: "wdr_2" })
    outside.on(create, ok(second))
    expect(await funds.withdraw("10000000", party)).toBe(true)
    expect(keys(outside)).toEqual(["key-1", "key-1", "key-2"])
    expect(funds.withdrawals.unfinished.map(({ id }) => id)).toEqual(["wdr_2", "wdr_1"])
  })

  test("whose answer was lost is found also where the list is read later, and then says no more that it may be tried again", async () => {
    const outside = venue().on(create, undefined)
    const { funds } = await opened(outside)
    outside.on(`GET ${account}/withdrawals`, undefined)
    expect(await funds.withdraw("10000000", party)).toBe(false)
    expect(funds.withdrawals.requesting.failure.value?.again).toBe(true)
    outside.on(`GET ${account}/withdrawals`, withdrawalList(withdrawal("ledger_confirmed", undefined)))
    await funds.withdrawals.list.load()
    expect(funds.withdrawals.requesting.failure.value).toBeUndefined()
    outside.on(create, ok(withdrawal("requested", undefined, { withdrawalId: "wdr_2" })))
    expect(await funds.withdraw("10000000", party)).toBe(true)
    expect(keys(outside)).toEqual(["key-1", "key-2"])
  })

  test("is another request once its key may be forgotten", async () => {
    const outside = venue().on(create, undefined)
    const { funds } = await opened(outside)
    await funds.withdraw("10000000", party)
    outside.nowEpochMs += 599_999
    await funds.withdraw("10000000", party)
    outside.nowEpochMs += 1
    await funds.withdraw("10000000", party)
    expect(keys(outside)).toEqual(["key-1", "key-1", "key-2"])
  })

  test("is another request where another amount is asked for", async () => {
    const outside = venue().on(create, undefined)
    const { funds } = await opened(outside)
    await funds.withdraw("10000000", party)
    await funds.withdraw("20000000", party)
    expect(keys(outside)).toEqual(["key-1", "key-2"])
  })

  test("shows the deposit that it collides with", async () => {
    const outside = venue().on(`POST ${account}/deposits`, refused(422, "deposit_rejected"))
    const { funds } = await opened(outside)
    outside.on(`GET ${account}/deposits`, depositList(deposit("bound")))
    expect(await funds.deposit("25000000")).toBe(false)
    expect(funds.deposits.takeBegun("dep_1")).toBe(false)
    expect(bodies(outside, `POST ${account}/deposits`)).toEqual([{ asset: "USDC", amountAtoms: "25000000" }])
    expect(funds.deposits.unfinished).toHaveLength(1)
  })

  test("outlives a tab that is closed before its answer: opened again it is there", async () => {
    const outside = venue().on(`POST ${account}/deposits`, undefined)
    await (await opened(outside)).funds.deposit("25000000")
    outside.on(`GET ${account}/deposits`, depositList(deposit("bound")))
    expect((await opened(outside)).funds.deposits.unfinished).toMatchObject([{ id: "dep_1", amountAtoms: "25000000" }])
  })
})

describe("what is unfinished", () => {
  const looks = (outside: ScriptedOutside) => outside.asked.filter((asked) => asked.startsWith(`GET ${account}/deposits?`)).length

  test("is looked at again, what is over is not; its end is told, and the balance read anew", async () => {
    const outside = venue([deposit("submitted", outcome("owner_offer_acceptance", "sequenced_accepted"))])
    const { funds } = await opened(outside)
    const done = deposit("ledger_confirmed", outcome("owner_offer_acceptance", "completion_accepted"), {
      updatedAtEpochMs: startEpochMs + 5
    })
    outside.on(`GET ${account}/deposits`, depositList(done)).on(`GET ${account}/balance`, ok({ withdrawable: "125.000000" }))
    await funds.refresh()
    expect(funds.deposits.ended.value?.id).toBe("dep_1")
    expect(funds.balance.value.value?.withdrawable).toBe("125.000000")
    const before = looks(outside)
    // What may be withdrawn moves with the marks, too.
    outside.on(`GET ${account}/balance`, ok({ withdrawable: "120.000000" }))
    await funds.refresh()
    expect(looks(outside)).toBe(before)
    expect(funds.balance.value.value?.withdrawable).toBe("120.000000")
  })

  test("is not looked at twice at once", async () => {
    const outside = venue([deposit("bound")])
    const { funds } = await opened(outside)
    const { answer, come } = later()
    outside.on(`GET ${account}/deposits`, answer)
    const before = looks(outside)
    const looking = funds.refresh()
    await funds.refresh()
    expect(looks(outside)).toBe(before + 1)
    come(depositList(deposit("bound")))
    await looking
  })

  test("is not set back by an answer that was overtaken", async () => {
    const outside = venue([deposit("bound")]).on(confirm,
      stands(deposit("submitted", outcome("owner_account_acceptance", "sequenced_accepted"), { updatedAtEpochMs: startEpochMs + 9 })))
    const { funds: { deposits } } = await opened(outside)
    const { answer, come } = later()
    outside.on(`GET ${account}/deposits`, answer)
    const looking = deposits.refresh()
    await deposits.approve(deposits.unfinished[0]!)
    come(depositList(deposit("bound")))
    await looking
    expect(deposits.unfinished[0]?.status).toBe("submitted")
  })

  test("brings the party as soon as there is one", async () => {
    const { partyId: _, ...bare } = deposit("bound")
    const outside = venue([bare])
    const { funds } = await opened(outside)
    expect(funds.partyId).toBeUndefined()
    outside.on(`GET ${account}/deposits`, depositList(deposit("bound")))
    outside.on(`GET ${account}/ledger-party`, ok({ accountId, partyId: party, confirmed: false, change: null }))
    await funds.refresh()
    expect([funds.partyId, funds.party.value.value?.partyId]).toEqual([party, party])
  })

  test("is given up while it is unapproved; what it held is back", async () => {
    const outside = venue([], [withdrawal("requested")]).on(`DELETE ${account}/withdrawals/wdr_1`,
      ok(withdrawal("rejected", outcome("treasury_withdrawal", "not_executed", "given_up"), { updatedAtEpochMs: startEpochMs + 1 })))
    const { funds } = await opened(outside)
    outside.on(`GET ${account}/balance`, ok({ withdrawable: "110.000000" }))
    expect(await funds.giveUp(funds.withdrawals, "wdr_1")).toBe(true)
    expect(funds.withdrawals.unfinished).toEqual([])
    expect(funds.balance.value.value?.withdrawable).toBe("110.000000")
    expect(Transfer.meaning(funds.withdrawals.ended.value!)).toBe("You gave it up: 10.00 USDC are back in your account.")
  })

  test("is not given up once it was approved: the venue's words, and how it stands", async () => {
    const outside = venue([], [withdrawal("requested")])
      .on(`DELETE ${account}/withdrawals/wdr_1`, refused(409, "deposit_step_conflict"))
      .on(`GET ${account}/withdrawals/wdr_1`, ok(withdrawal("submitted", undefined, { updatedAtEpochMs: startEpochMs + 1 })))
    const { funds } = await opened(outside)
    expect(await funds.giveUp(funds.withdrawals, "wdr_1")).toBe(false)
    expect(funds.withdrawals.workOf("wdr_1").givingUp.failure.value?.message).toBe("It is deposit_step_conflict.")
    expect(funds.withdrawals.unfinished[0]?.status).toBe("submitted")
  })

  test("is being given up until its state is read behind a refusal", async () => {
    const { answer, come } = later()
    const outside = venue([], [withdrawal("requested")])
      .on(`DELETE ${account}/withdrawals/wdr_1`, refused(409, "deposit_step_conflict"))
      .on(`GET ${account}/withdrawals/wdr_1`, answer)
    const { funds } = await opened(outside)
    const ending = funds.giveUp(funds.withdrawals, "wdr_1")
    await expect.poll(() => outside.asked.at(-1)).toBe(`GET ${account}/withdrawals/wdr_1`)
    const { isBusy } = funds.withdrawals.workOf("wdr_1").givingUp
    expect([isBusy.value, await funds.giveUp(funds.withdrawals, "wdr_1")]).toEqual([true, false])
    come(ok(withdrawal("submitted", undefined, { updatedAtEpochMs: startEpochMs + 1 })))
    expect([await ending, isBusy.value]).toEqual([false, false])
    expect(outside.asked.filter((each) => each.startsWith("DELETE"))).toHaveLength(1)
  })

  test("stays in sight, however many newer ones there are, and older ones are added", async () => {
    const outside = venue()
    const page = (ids: ReadonlyArray<string>, nextCursor: string | null) =>
      ok({ withdrawals: ids.map((withdrawalId) => withdrawal("requested", undefined, { withdrawalId })), nextCursor })
    outside.on(`GET ${account}/withdrawals`,
      ({ path }) => path.includes("cursor=c1") ? page(["wdr_1"], null) : page(["wdr_3", "wdr_2"], "c1"))
    const { funds: { withdrawals } } = await opened(outside)
    await withdrawals.more()
    const ids = () => withdrawals.list.value.value?.transfers.map(({ id }) => id)
    expect(ids()).toEqual(["wdr_3", "wdr_2", "wdr_1"])
    outside.on(`GET ${account}/withdrawals/wdr_1`, ok(withdrawal("ledger_confirmed", undefined, { updatedAtEpochMs: startEpochMs + 1 })))
    await withdrawals.refresh()
    expect(ids()).toEqual(["wdr_3", "wdr_2", "wdr_1"])
    expect(withdrawals.list.value.value?.nextCursor).toBeNull()
    expect(withdrawals.ended.value?.id).toBe("wdr_1")
  })
})

test("a passkey that was added is approved by one that approves already", async () => {
  const pins = `POST ${account}/ledger-party/passkeys`
  const asked = { accountId, status: "approval_required", change: "add", credentialId: "new", challenge: challengeOf("pin", ["old"]) }
  const outside = venue().on(`GET ${account}/ledger-party`, ok({ accountId, partyId: party, confirmed: true, change: null }))
    .on(pins, ({ body }) => (body as { readonly action: string }).action === "initiate" ? ok(asked) : ok({ accountId, status: "current" }))
  const { funds } = await opened(outside)
  expect(funds.pins.value.value?.change).toBe("add")
  await funds.pin()
  expect(bodies(outside, pins).at(-1)).toMatchObject({ action: "complete", challengeIdentifier: "chl_pin" })
  expect(funds.pins.value.value?.status).toBe("current")
})

test("nothing of it is left for whoever signs in next", async () => {
  const store = await opened(venue([deposit("bound")], [withdrawal("requested")]))
  store.credential.drop(undefined)
  const { funds } = store
  expect([funds.deposits.unfinished, funds.withdrawals.unfinished, funds.balance.value.value, funds.partyId]).toEqual([[], [], undefined,
    undefined])
})

describe("an answer that comes when another has signed in is for nobody:", () => {
  const others = "/v1/accounts/acc_other"
  const pins = `POST ${account}/ledger-party/passkeys`
  const waiting = deposit("bound")
  const asked = { accountId, status: "approval_required", change: "add", credentialId: "new", challenge: challengeOf("pin", ["old"]) }

  /** An action of the first account whose last answer arrives only when another account is shown, which has no funds. */
  const leaving = async (outside: Approver, does: (store: Store) => Promise<unknown>, held: string, answer: Answered | undefined) => {
    const store = await opened(outside)
    const { answer: hold, come } = later()
    outside.on(held, hold)
    const done = does(store)
    outside.on("DELETE /v1/auth/sessions/current", ok(undefined))
      .on("POST /v1/auth/passkeys/authentication/options", challenge("chl_in"))
      .on("POST /v1/auth/passkeys/authentication/verify", session("ses_other", { accountId: "acc_other" }))
      .on(`GET ${others}/balance`, ok({ withdrawable: "1.000000" }))
      .on(`GET ${others}/ledger-party`, ok({ accountId: "acc_other", partyId: null, confirmed: false, change: null }))
      .on(`GET ${others}/deposits`, ok({ deposits: [], nextCursor: null }))
      .on(`GET ${others}/withdrawals`, ok({ withdrawals: [], nextCursor: null }))
    await store.signIn.signOut()
    await store.signIn.signIn()
    await store.funds.load()
    const ceremonies = outside.ceremonies.length
    come(answer)
    await done
    const { deposits, pinning, withdrawals } = store.funds
    const tasks = [deposits, withdrawals].flatMap(({ older, requesting }) => [older, requesting]).concat(pinning)
    return {
      shown: [deposits, withdrawals].map(({ list }) => list.value.value),
      said: [deposits.ended.value, withdrawals.ended.value, store.funds.pins.value.value, store.funds.partyId, deposits.takeBegun("dep_1")],
      tasks: tasks.filter(({ failure, isBusy }) => isBusy.value || failure.value !== undefined).length,
      prompts: outside.ceremonies.length - ceremonies,
      asOther: outside.sent.filter(({ path, token }) => token === "ses_other" && !path.startsWith(others)).length
    }
  }
  const none = { transfers: [], nextCursor: null }
  const nothing = { shown: [none, none], said: [undefined, undefined, undefined, undefined, false], tasks: 0, prompts: 0, asOther: 0 }

  const older = ok({ deposits: [deposit("ledger_confirmed", undefined, { depositId: "dep_0" })], nextCursor: "c2" })
  const first = ({ funds: { deposits } }: Store): Transfer.Transfer => deposits.unfinished[0]!

  test.each<readonly [string, Approver, (store: Store) => Promise<unknown>, string, Answered | undefined]>([
    ["to a deposit that was asked for", venue(), ({ funds }) => funds.deposit("25000000"), `POST ${account}/deposits`, ok(waiting)],
    ["to one that was refused", venue(), ({ funds }) => funds.deposit("25000000"), `POST ${account}/deposits`,
      refused(422, "deposit_rejected")],
    ["to a withdrawal that was asked for", venue(), ({ funds }) => funds.withdraw("10000000", party), `POST ${account}/withdrawals`,
      ok(withdrawal("requested"))],
    ["to an approval", venue([waiting]), (store) => store.funds.deposits.approve(first(store)), confirm, stands(waiting)],
    ["of a challenge, and no passkey is asked for", venue([waiting]), (store) => store.funds.deposits.approve(first(store)), confirm,
      due("owner_account_acceptance", waiting)],
    ["to how a transfer stands", venue([waiting]).on(confirm, undefined), (store) => store.funds.deposits.approve(first(store)),
      `GET ${account}/deposits/dep_1`, ok(waiting)],
    ["to giving up", venue([waiting]), ({ funds }) => funds.giveUp(funds.deposits, "dep_1"), `DELETE ${account}/deposits/dep_1`,
      ok(deposit("rejected", outcome("owner_account_acceptance", "not_executed", "given_up"), { updatedAtEpochMs: startEpochMs + 1 }))],
    ["of older ones", venue().on(`GET ${account}/deposits`, ok({ deposits: [], nextCursor: "c1" })), ({ funds }) => funds.deposits.more(),
      `GET ${account}/deposits`, older],
    ["of the newest ones", venue(), ({ funds }) => funds.deposits.list.load(), `GET ${account}/deposits`, depositList(waiting)],
    ["of passkeys on the ledger", venue(), ({ funds }) => funds.pin(), pins, ok(asked)],
    ["of passkeys that are as they should be", venue(), ({ funds }) => funds.pin(), pins, ok({ accountId, status: "current" })]
  ])("%s", async (_why, outside, does, held, answer) => {
    expect(await leaving(outside, does, held, answer)).toEqual(nothing)
  })
})

test("what a passkey signs behind its owner's back is sent by nobody", async () => {
  const waiting = deposit("bound")
  const outside = venue([waiting]).on(confirm, due("owner_account_acceptance", waiting))
  const store = await opened(outside)
  const { answer, come } = later()
  outside.prompt = answer()
  const approving = store.funds.deposits.approve(store.funds.deposits.unfinished[0]!)
  await expect.poll(() => outside.ceremonies.length).toBe(1)
  store.credential.drop(undefined)
  come(undefined)
  await approving
  expect(bodies(outside, confirm)).toMatchObject([{ action: "initiate" }])
})

test("whose party the account's own is, no listing decides: it is not offered before it is read", async () => {
  const outside = venue([deposit("bound")]).on(`GET ${account}/ledger-party`, undefined)
  const { funds } = await opened(outside)
  expect([funds.deposits.unfinished[0]?.partyId, funds.partyId]).toEqual([party, undefined])
  // The page says that reading failed, and reads again by itself.
  expect(funds.party.failure.value?.message).toBe("The venue did not answer.")
  const own = `own::1220${"cd".repeat(32)}`
  outside.on(`GET ${account}/ledger-party`, ok({ accountId, partyId: own, confirmed: false, change: null }))
  await funds.refresh()
  expect(funds.partyId).toBe(own)
})

test("a deposit that brings the party has it read at once", async () => {
  const outside = venue().on(`POST ${account}/deposits`, ok(deposit("bound")))
  const { funds } = await opened(outside)
  outside.on(`GET ${account}/ledger-party`, ok({ accountId, partyId: party, confirmed: false, change: null }))
  await funds.deposit("25000000")
  expect(funds.partyId).toBe(party)
})
