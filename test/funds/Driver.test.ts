/** How transfers progress while the ledger is slow or many requests come at once: which of them wait, and how that is answered. */
import { Clock, Effect, Exit, Fiber, Logger, Scope, TestClock, TestContext } from "effect"
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { defaults, Driver } from "../../src/funds/Driver.js"
import type { Parts } from "../../src/funds/Parts.js"
import { Spending } from "../../src/funds/Spending.js"
import { Bank, Owner } from "./Bank.js"

const depositAtoms = 25_000_000

describe("over a slow ledger", () => {
  const path = "/v1/accounts/{account}/withdrawals/confirm"

  const funded = (bank: Bank): Promise<Owner> => Owner.funded(bank, depositAtoms)

  const slow = (bank: Bank, afterMs: number, step?: "treasury_withdrawal") =>
    bank.script([{
      on: "prepare",
      skip: 0,
      times: 1_000,
      fault: { name: "answer_late", afterMs },
      ...(step === undefined ? {} : { step })
    }])

  test("withdrawals that wait for their turn hold up no deposit, and those that wait too long are told so", async () => {
    const bank = await Bank.open()
    const owners = [await funded(bank), await funded(bank), await funded(bank)]
    const depositor = await Owner.open(bank)
    const depositId = await depositor.request("deposit", depositAtoms)
    await bank.venue.leap(30_000)
    await slow(bank, 2_500, "treasury_withdrawal")
    const asked: Array<readonly [Owner, string]> = []
    for (const owner of owners)
      for (let each = 0; each < 8; each++) asked.push([owner, await owner.request("withdrawal", 1_000_000, await owner.party)])
    const answers: Array<string> = []
    for (const [owner, withdrawalId] of asked) {
      void bank.venue.ask("POST", path.replace("{account}", owner.accountId), {
        key: owner.token,
        body: { action: "initiate", withdrawalId }
      }).then(({ json }) => answers.push(json.status === "approval_required" ? json.status : json.rejectionGuard ?? json.code))
    }
    await bank.venue.settle()
    const before = bank.venue.epochMs
    const deposit = await depositor.ask("POST", "/v1/accounts/{account}/deposits/confirm", { action: "initiate", depositId })
    expect(deposit).toMatchObject({ status: 200, json: { status: "approval_required" } })
    expect(bank.venue.epochMs - before).toBeLessThan(2_500)
    await bank.venue.leap(60_000)
    expect(answers).toHaveLength(asked.length)
    // For one of them the ledger was still at work when the wait ended.
    expect([...new Set(answers)].toSorted()).toEqual(["approval_required", "dependency_unavailable", "treasury_busy"])
    expect(answers.filter((answer) => answer === "dependency_unavailable")).toHaveLength(1)
    await bank.script([])
    for (const [owner, withdrawalId] of asked.slice(-1)) expect(await owner.confirm("withdrawal", withdrawalId)).toBe("ledger_confirmed")
    await bank.venue.stop()
  })

  test("what is approved does not wait for all that owners ask to have prepared", async () => {
    const bank = await Bank.open()
    const owner = await funded(bank)
    const withdrawalId = await owner.request("withdrawal", 1_000_000, await owner.party)
    const { challenge, signingStep } = await owner.must("POST", path, { action: "initiate", withdrawalId })
    const depositors: Array<readonly [Owner, string]> = []
    for (let each = 0; each < 18; each++) {
      const depositor = await Owner.open(bank)
      depositors.push([depositor, await depositor.request("deposit", depositAtoms)])
    }
    await bank.venue.leap(60_000)
    await slow(bank, 300_000)
    for (const [depositor, depositId] of depositors) {
      void bank.venue.ask("POST", `/v1/accounts/${depositor.accountId}/deposits/confirm`, {
        key: depositor.token,
        body: { action: "initiate", depositId }
      })
    }
    await bank.venue.settle()
    // Looking at a pending approval again takes no place among those who begin.
    const again = await owner.must("POST", path, { action: "initiate", withdrawalId })
    expect(again.signingStep).toBe(signingStep)
    await owner.must("POST", path, { withdrawalId, ...owner.completion({ challenge, signingStep }) })
    await bank.venue.leap(30_000)
    expect(await owner.must("GET", `/v1/accounts/{account}/withdrawals/${withdrawalId}`)).toMatchObject({ status: "ledger_confirmed" })
    await bank.venue.stop()
  })
})

test("who waits for a turn longer than its owner does is not prepared for", async () => {
  const spending = new Spending({ openTransfers: () => [] })
  const came = await Effect.runPromise(
    Effect.gen(function*() {
      const first = yield* Effect.fork(spending.inTurn(Effect.as(Effect.sleep(30_001), "first")))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(Effect.flip(spending.inTurn(Effect.succeed("second"))))
      yield* TestClock.adjust(1_000)
      const third = yield* Effect.fork(spending.inTurn(Effect.succeed("third")))
      yield* TestClock.adjust(30_000)
      return yield* Effect.all([first, second, third].map((fiber) => Fiber.join<unknown, unknown>(fiber)))
    }).pipe(Effect.provide(TestContext.TestContext))
  )
  expect(came).toMatchObject(["first", { _tag: "Declined", code: "HOLDINGS_IN_USE" }, "third"])
})

/** A partial object in place of the driver's parts. */
// oxlint-disable-next-line typescript/no-explicit-any -- a part of the parts
const partsOf = (given: any): Parts => ({
  ...given,
  venue: Effect.succeed("a venue"),
  signer: { claim: () => Effect.void, ...given.signer }
})

describe("among many deposits over a slow ledger", () => {
  const depositors = Array.from({ length: 36 }, (_, each) => 100 + each)

  /**
   * A driver over withdrawals and deposits that wait to be prepared, which takes ten seconds each; and when each withdrawal was prepared.
   */
  const scene = Effect.gen(function*() {
    const preparedAt: Array<number> = []
    const kindOf = (number: number) => number < 100 ? ["withdrawal", "treasury_withdrawal"] : ["deposit", "treasury_offer"]
    const transfer = (number: number) => ({
      account: number,
      amountAtoms: 1_000_000,
      awaits: "preparation",
      end: null,
      id: `${number}`,
      kind: kindOf(number)[0],
      number,
      partyId: "p",
      stepAtHand: { name: kindOf(number)[1], binding: null, preparation: null }
    })
    const parts = partsOf({
      barrier: { whenDurable: (_: unknown, then: () => void) => then() },
      ledger: {
        participantId: Effect.succeed("p"),
        allocateParty: () => Effect.succeed({ partyId: "t::1" }),
        end: Effect.delay(Effect.succeed({ offset: 1, recordTimeEpochMs: 0 }), 10_000),
        prepare: ({ facts }: { readonly facts: { readonly step: string } }) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            if (facts.step === "treasury_withdrawal") preparedAt.push(now)
            return Effect.fail({ _tag: "Refused", code: "X", cause: "x", context: {} })
          })
      },
      reads: { accountId: String, funds: { offset: 0 }, openTransfers: () => [], transfer },
      setting: { token: {} },
      signer: { treasuryKey: Effect.succeed({ keyId: "k", publicKey: new Uint8Array(32) }) }
    })
    const driver = new Driver(parts, yield* Scope.Scope)
    const ask = (number: number) => Effect.either(driver.ask(number))
    const asksOn = (number: number) => Effect.forkScoped(Effect.forever(Effect.zipRight(ask(number), Effect.sleep(1_000))))
    return { ask, asksOn, preparedAt }
  })

  const run = <A>(effect: Effect.Effect<A, unknown, Scope.Scope>): Promise<A> =>
    Effect.runPromise(effect.pipe(Effect.scoped, Effect.provide(TestContext.TestContext)))

  test("withdrawals are prepared one right after the other", () =>
    run(Effect.gen(function*() {
      const { asksOn, preparedAt } = yield* scene
      for (const number of [...depositors, 1, 2, 3, 4]) yield* asksOn(number)
      yield* TestClock.adjust(120_000)
      const [first] = preparedAt
      expect(preparedAt.slice(0, 3).map((at) => at - first!)).toEqual([0, 10_000, 20_000])
    })))

  test("who waits for the turn is told so, and so is whoever asks as his turn is refused", () =>
    run(Effect.gen(function*() {
      const { ask, preparedAt } = yield* scene
      const asked = yield* Effect.forEach([1, 2, 3, 4, 5, 6], (number) => Effect.fork(ask(number)))
      yield* TestClock.adjust(12_000)
      const answers = yield* Fiber.join(Fiber.all(asked))
      expect(answers.slice(1)).toMatchObject(asked.slice(1).map(() => ({ left: { _tag: "Declined", code: "HOLDINGS_IN_USE" } })))
      yield* TestClock.adjust(20_000)
      const late = yield* Effect.fork(ask(6))
      yield* TestClock.adjust(8_500)
      expect(yield* Fiber.poll(late)).toMatchObject({ value: { value: { left: { code: "HOLDINGS_IN_USE" } } } })
      expect(preparedAt).toEqual([10_000, 20_000, 30_000, 40_000])
    })))
})

test("who asked as the venue stopped is told so, and not that the ledger were to blame", async () => {
  const parts = partsOf({
    ledger: { participantId: Effect.never },
    reads: {
      transfer: (number: number) => ({ awaits: "preparation", kind: "withdrawal", number, stepAtHand: { name: "treasury_withdrawal" } })
    }
  })
  const told = await Effect.runPromise(Effect.gen(function*() {
    const scope = yield* Scope.make()
    const driver = new Driver(parts, scope)
    const asked = yield* Effect.fork(Effect.flip(driver.ask(1)))
    yield* Effect.yieldNow()
    yield* Scope.close(scope, Exit.void)
    return yield* Fiber.join(asked)
  }).pipe(Effect.provide(TestContext.TestContext)))
  expect(told).toMatchObject({ _tag: "Unreachable", whom: "venue", message: "the venue: it stops" })
})

test("transfers that fail together are not all tried again together", async () => {
  const tried = new Map<string, Array<number>>()
  const transfer = (number: number) => ({
    account: 1,
    amountAtoms: 1_000_000,
    awaits: "submission",
    id: `wdr_${number}`,
    keyId: "",
    kind: "withdrawal",
    number,
    partyId: "p",
    stepAtHand: {
      name: "treasury_withdrawal",
      approval: null,
      binding: { participantId: "p", commandId: "c", ledgerEndOffset: 0 },
      preparation: { maxRecordTimeEpochMs: 1e12, preparedTransaction: "", hash: "", hashingScheme: 3 },
      submissions: [],
      unlisted: 0
    }
  })
  const numbers = [Ids.ordinal(15, 0), Ids.ordinal(16, 0)]
  const parts = partsOf({
    barrier: { whenDurable: (_: unknown, then: () => void) => then() },
    ledger: {
      participantId: Effect.succeed("p"),
      end: Effect.succeed({ offset: 0 }),
      allocateParty: () => Effect.succeed({ partyId: "t::1" })
    },
    reads: {
      accountId: String,
      funds: { offset: 0 },
      withheldFor: () => undefined,
      openTransfers: () => [],
      openTransfersOf: () => [],
      transfer,
      transfersToDrive: () => numbers.map(transfer)
    },
    setting: {},
    signer: {
      treasuryKey: Effect.succeed({ keyId: "k", publicKey: new Uint8Array(32) }),
      sign: ({ id }: { readonly id: string }) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          tried.set(id, [...tried.get(id) ?? [], now])
          return Effect.fail({ _tag: "SignerUnavailable", message: "down" })
        })
    }
  })
  await Effect.runPromise(
    Effect.gen(function*() {
      const driver = new Driver(parts, yield* Scope.Scope, { ...defaults, busyMs: 50 })
      yield* Effect.forkScoped(driver.loops[0]!)
      yield* TestClock.adjust(20_000)
    }).pipe(Effect.scoped, Effect.provide(TestContext.TestContext))
  )
  const [one, other] = numbers.map((number) => tried.get(`wdr_${number}`)!)
  expect([one![0], other![0]]).toEqual([0, 0])
  expect(one!.length).toBeGreaterThan(4)
  // After each failure the wait is at most a quarter shorter.
  expect(other![4]! - one![4]!).toBeGreaterThan(1_000)
})

test("a defect of the venue's own as completions are read is not blamed on the ledger", async () => {
  const parts = partsOf({
    signer: { treasuryKey: Effect.succeed({ keyId: "k", publicKey: new Uint8Array(32) }) },
    ledger: {
      participantId: Effect.succeed("p"),
      allocateParty: () => Effect.succeed({ partyId: "t::1" }),
      end: Effect.die(new Error("a bug"))
    },
    setting: {},
    reads: { funds: { offset: 0 }, openTransfers: () => [] }
  })
  const said: Array<unknown> = []
  const trouble = await Effect.runPromise(
    Effect.gen(function*() {
      const driver = new Driver(parts, yield* Scope.Scope)
      yield* Effect.forkScoped(driver.loops[1]!)
      yield* TestClock.adjust(100)
      return driver.trouble?.message
    }).pipe(
      Effect.scoped,
      Effect.provide(Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void said.push(String(message))))),
      Effect.provide(TestContext.TestContext)
    )
  )
  expect(trouble).toBe("the venue: it met a defect, which is in its log")
  expect(said).toEqual([
    "the reader of completions met a defect",
    "completions cannot be read: the venue: it met a defect, which is in its log"
  ])
})

test("several who bind at first have the same, and choose holdings in the same turn", async () => {
  const parts = partsOf({
    signer: { treasuryKey: Effect.delay(Effect.succeed({ keyId: "k", publicKey: new Uint8Array(32) }), 5) },
    ledger: { participantId: Effect.succeed("p"), allocateParty: () => Effect.succeed({ partyId: "t::1" }) },
    setting: {},
    reads: { funds: { offset: 0 }, openTransfers: () => [] }
  })
  await Effect.runPromise(Effect.gen(function*() {
    const driver = new Driver(parts, yield* Scope.make())
    const [one, other] = yield* Effect.all([driver.binding, driver.binding], { concurrency: 2 })
    expect(one).toBe(other)
    expect(yield* driver.binding).toBe(one)
  }))
})

test.each([
  ["account_disabled", "its account was disabled"],
  ["passkey_removed", "the passkey that approved it was removed"]
])("a withdrawal that is not begun any more (%s) is told of once it has ended, and not each time that it cannot be noted", async (
  guard,
  why
) => {
  const lines: Array<unknown> = []
  let [tried, isFull] = [0, true]
  const transfer = {
    account: 1,
    awaits: "submission",
    id: "wdr_1",
    kind: "withdrawal",
    number: 7,
    stepAtHand: { name: "treasury_withdrawal" }
  }
  const parts = partsOf({
    signer: { treasuryKey: Effect.never },
    ledger: {},
    setting: {},
    reads: {
      withheldFor: () => guard,
      openTransfers: () => [],
      transfer: () => transfer,
      transfersToDrive: () => [transfer]
    },
    submit: (command: unknown, then: (outcome: unknown) => void) => {
      expect(command).toMatchObject({ kind: "RejectStep", stage: "approval", guard })
      tried++
      then(isFull ? { entries: [], refusal: Refusal.tableFull } : { entries: [{ _tag: "TransferStands" }], refusal: Refusal.none })
    }
  })
  await Effect.runPromise(
    Effect.gen(function*() {
      const driver = new Driver(parts, yield* Scope.Scope, { ...defaults, busyMs: 2 })
      yield* Effect.forkScoped(driver.loops[0]!)
      while (tried < 5) yield* Effect.sleep(2)
      expect(lines).toEqual([])
      isFull = false
      const before = tried
      while (tried <= before + 1) yield* Effect.sleep(2)
      expect(lines).toContainEqual([`wdr_1: it was approved, and before it was executed ${why}`])
    }).pipe(
      Effect.scoped,
      Effect.provide(Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void lines.push(message))))
    )
  )
})
