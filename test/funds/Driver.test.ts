/** What goes on with transfers while the ledger is slow or many ask at once: who waits for whom, and what is said of it. */
import { Effect, Fiber, Logger, Scope, TestClock, TestContext } from "effect"
import { describe, expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { defaults, Driver } from "../../src/funds/Driver.js"
import type { Parts } from "../../src/funds/Parts.js"
import { Spending } from "../../src/funds/Spending.js"
import { Bank, Owner } from "./Bank.js"

const depositAtoms = 25_000_000

describe("over a slow ledger", () => {
  const path = "/v1/accounts/{account}/withdrawals/confirm"

  const funded = async (bank: Bank): Promise<Owner> => {
    const owner = await Owner.open(bank)
    const id = await owner.request("deposit", depositAtoms)
    await bank.venue.leap(30_000)
    await bank.give(await owner.party, depositAtoms)
    expect(await owner.confirm("deposit", id)).toBe("ledger_confirmed")
    return owner
  }

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
    for (const [owner, withdrawalId] of asked) {
      void bank.venue.ask("POST", path.replace("{account}", owner.accountId), {
        key: owner.token,
        body: { action: "initiate", withdrawalId }
      })
    }
    await bank.venue.settle()
    const before = bank.venue.epochMs
    const deposit = await depositor.ask("POST", "/v1/accounts/{account}/deposits/confirm", { action: "initiate", depositId })
    expect(deposit).toMatchObject({ status: 200, json: { status: "approval_required" } })
    expect(bank.venue.epochMs - before).toBeLessThan(2_500)
    await bank.venue.leap(60_000)
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
    await owner.must("POST", path, {
      action: "complete",
      withdrawalId,
      signingStep,
      challengeIdentifier: challenge.challengeIdentifier,
      firstFactor: owner.factor(challenge)
    })
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

/** Parts of which a test gives those that are asked. */
// oxlint-disable-next-line typescript/no-explicit-any -- a part of the parts
const partsOf = (given: any): Parts => given

test("several who bind at first have the same, and choose holdings in the same turn", async () => {
  const parts = partsOf({
    signer: { treasuryKey: Effect.delay(Effect.succeed({ keyId: "k", publicKey: new Uint8Array(32) }), 5) },
    ledger: { participantId: Effect.succeed("p"), allocateParty: () => Effect.succeed({ partyId: "t::1" }) },
    setting: {},
    reads: { openTransfers: () => [] }
  })
  await Effect.runPromise(Effect.gen(function*() {
    const driver = new Driver(parts, yield* Scope.make())
    const [one, other] = yield* Effect.all([driver.binding, driver.binding], { concurrency: 2 })
    expect(one).toBe(other)
    expect(yield* driver.binding).toBe(one)
  }))
})

test("a withdrawal of a disabled account is told of once it has ended, and not each time that it cannot be noted", async () => {
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
      isDisabled: () => true,
      openTransfers: () => [],
      transfer: () => transfer,
      transfersToDrive: () => [transfer]
    },
    submit: (_: unknown, then: (outcome: unknown) => void) => {
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
      expect(lines).toContainEqual(["wdr_1: it was approved, and its account was disabled before it was executed"])
    }).pipe(
      Effect.scoped,
      Effect.provide(Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void lines.push(message))))
    )
  )
})
