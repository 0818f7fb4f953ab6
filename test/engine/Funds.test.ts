/** Deposits, withdrawals and changes of party: what is requested, what the ledger reports, and the effect on an account's money. */
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { firstBroken } from "../../src/engine/Invariants.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { Principal } from "../../src/operations/Header.js"
import { parameters } from "./drive.js"
import { FundsDriver } from "./FundsDriver.js"
import { FundsTwin } from "./FundsTwin.js"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const usdc = (amount: number): number => amount * 1_000_000

describe("a deposit", () => {
  test("takes three steps the first time, enables the account with the first, credits it with the last, and takes two from then on", () => {
    const driver = new FundsDriver()
    const { engine } = driver
    const owner = driver.owner()
    const number = driver.deposit(owner, usdc(5))
    expect(driver.transfer(number)).toMatchObject({
      id: Ids.depositId(number),
      kind: "deposit",
      account: owner.account,
      amountAtoms: usdc(5),
      status: "bound",
      awaits: "party",
      ledgerOutcome: undefined
    })
    expect(engine.transfersToDrive().map((each) => each.number)).toEqual([number])
    expect(driver.bind(owner)).toBe(Refusal.none)
    expect(driver.transfer(number)).toMatchObject({ awaits: "preparation", partyId: engine.party(owner.account)!.partyId })
    expect(engine.transfersToDrive()).toEqual([])
    expect(engine.state.standing.mayTrade(owner.account)).toBe(false)
    const steps = []
    while (driver.transfer(number).end === null) {
      steps.push(driver.atHand(number))
      driver.finishStep(owner, number)
      expect(engine.state.standing.mayTrade(owner.account)).toBe(true)
      expect(firstBroken(engine.state)).toBe(undefined)
    }
    expect(steps).toEqual(["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"])
    expect(driver.transfer(number)).toMatchObject({
      status: "ledger_confirmed",
      awaits: "nothing",
      ledgerOutcome: { step: "owner_offer_acceptance", outcome: "completion_accepted", guard: "" }
    })
    expect(engine.balance(owner.account).collateralAtoms).toBe(usdc(5))
    expect(engine.funds).toMatchObject({ depositedAtoms: BigInt(usdc(5)), openTransfers: 0 })

    const second = driver.deposit(owner, usdc(2))
    expect(driver.transfer(second).steps.map(({ name }) => name)).toEqual(["treasury_offer", "owner_offer_acceptance"])
    driver.finish(owner, second)
    expect(engine.balance(owner.account).collateralAtoms).toBe(usdc(7))
    expect(engine.balanceChanges(owner.account, -2, undefined, 9).map(({ amountAtoms, cause }) => [cause, amountAtoms]))
      .toEqual([["deposit", usdc(2)], ["deposit", usdc(5)]])
    expect(firstBroken(engine.state)).toBe(undefined)
  })
})

describe("a withdrawal", () => {
  test("holds its amount at once and spends it once the ledger has done it", () => {
    const driver = new FundsDriver()
    const { engine } = driver
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(4))
    expect(driver.transfer(number)).toMatchObject({ id: Ids.withdrawalId(number), status: "requested", awaits: "preparation" })
    expect(engine.balance(owner.account)).toMatchObject({ collateralAtoms: usdc(6), withdrawableAtoms: usdc(6) })
    expect(engine.funds.reservedAtoms).toBe(BigInt(usdc(4)))
    expect(firstBroken(engine.state)).toBe(undefined)
    driver.finish(owner, number)
    expect(driver.transfer(number).status).toBe("ledger_confirmed")
    expect(engine.funds).toMatchObject({ reservedAtoms: 0n, withdrawnAtoms: BigInt(usdc(4)) })
    expect(engine.balance(owner.account).collateralAtoms).toBe(usdc(6))
    expect(firstBroken(engine.state)).toBe(undefined)
  })
})

describe("a change of party", () => {
  test("keeps the present party until the ledger has confirmed the new one", () => {
    const driver = new FundsDriver()
    const { engine } = driver
    const owner = driver.funded(usdc(10))
    const before = engine.party(owner.account)!.partyId
    const number = driver.partyChange(owner)
    expect(driver.transfer(number)).toMatchObject({ id: Ids.partyChangeId(number), status: "bound", awaits: "party" })
    expect(driver.bind(owner, number, "anew::1220")).toBe(Refusal.none)
    expect(engine.party(owner.account)!.partyId).toBe(before)
    expect(engine.accountOfParty("anew::1220")).toBe(-1)
    driver.finish(owner, number)
    expect(engine.party(owner.account)!.partyId).toBe("anew::1220")
    expect([engine.accountOfParty("anew::1220"), engine.accountOfParty(before)]).toEqual([owner.account, -1])
    expect(firstBroken(engine.state)).toBe(undefined)
  })
})

describe("what is asked for", () => {
  test.each([
    ["an asset that the venue does not take", usdc(5), "unsupported", Refusal.depositAssetUnsupported, Refusal.withdrawalAssetUnsupported],
    ["no amount", -1, "USDC", Refusal.depositAmountInvalid, Refusal.withdrawalAmountInvalid],
    ["nothing", 0, "USDC", Refusal.depositAmountInvalid, Refusal.withdrawalAmountInvalid],
    ["an atom less than the least", usdc(1) - 1, "USDC", Refusal.depositBelowMinimum, Refusal.withdrawalBelowMinimum],
    ["the least", usdc(1), "USDC", Refusal.none, Refusal.none],
    ["all that is free", usdc(10), "USDC", Refusal.none, Refusal.none],
    ["an atom more than is free", usdc(10) + 1, "USDC", Refusal.none, Refusal.withdrawableInsufficient],
    ["as much as may be", 2 ** 52 - usdc(10), "USDC", Refusal.none, Refusal.withdrawableInsufficient],
    ["an atom more than may be", 2 ** 52 - usdc(10) + 1, "USDC", Refusal.depositTotalLimit, Refusal.withdrawableInsufficient]
  ] as const)("%s", (_, amountAtoms, asset, deposit, withdrawal) => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    expect(driver.refusal(driver.askDeposit(owner, amountAtoms, asset))).toBe(deposit)
    const other = new FundsDriver()
    expect(other.refusal(other.askWithdrawal(other.funded(usdc(10)), amountAtoms, asset))).toBe(withdrawal)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test("of refusals that compare it is told what would have passed", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    driver.withdrawal(owner, usdc(4))
    const [entry] = driver.send(driver.askWithdrawal(owner, usdc(7))).entries
    expect(entry).toMatchObject({ refusal: Refusal.withdrawableInsufficient, limit: usdc(6), actual: usdc(7), nearest: usdc(6) })
    // Withheld money may come back, so a deposit must leave room for it.
    const [deposit] = driver.send(driver.askDeposit(owner, 2 ** 52)).entries
    expect(deposit).toMatchObject({ refusal: Refusal.depositTotalLimit, limit: 2 ** 52 - usdc(10) })
  })

  test("one deposit at a time, some withdrawals, and a change of party beside nothing", () => {
    const driver = new FundsDriver({ withdrawalsOfAccount: 2 })
    const owner = driver.funded(usdc(10))
    const deposit = driver.deposit(owner, usdc(5))
    expect(driver.refusal(driver.askDeposit(owner, usdc(5)))).toBe(Refusal.depositInProgress)
    expect(driver.refusal(driver.askPartyChange(owner))).toBe(Refusal.transferInProgress)
    driver.finish(owner, deposit)
    const withdrawals = [driver.withdrawal(owner, usdc(1)), driver.withdrawal(owner, usdc(1))]
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.withdrawalLimit)
    expect(driver.refusal(driver.askPartyChange(owner))).toBe(Refusal.transferInProgress)
    for (const number of withdrawals) driver.finish(owner, number)
    driver.partyChange(owner)
    expect(driver.refusal(driver.askDeposit(owner, usdc(5)))).toBe(Refusal.transferInProgress)
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.transferInProgress)
    expect(driver.refusal(driver.askPartyChange(owner))).toBe(Refusal.transferInProgress)
  })

  test("an account without a party changes none, and one whose party was never confirmed does", () => {
    const driver = new FundsDriver()
    const owner = driver.owner()
    expect(driver.refusal(driver.askPartyChange(owner))).toBe(Refusal.partyMissing)
    const deposit = driver.deposit(owner, usdc(5))
    driver.bind(owner)
    expect(driver.refusal(driver.askPartyChange(owner))).toBe(Refusal.transferInProgress)
    driver.send({ kind: "CancelTransfer", ...driver.by(owner), transfer: deposit })
    const change = driver.partyChange(owner)
    driver.bind(owner, change, "changed::1220")
    driver.finish(owner, change)
    expect(driver.engine.party(owner.account)).toMatchObject({ partyId: "changed::1220", confirmedAtEpochMs: expect.any(Number) })
    expect(driver.transfer(driver.deposit(owner, usdc(5))).steps.map(({ name }) => name)).toEqual(["treasury_offer",
      "owner_offer_acceptance"])
  })

  test("a disabled account moves no money, and what it has under way is not approved", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(4))
    driver.prepare(number)
    driver.send({ kind: "SetAccountFlags", idempotencyKey: driver.nextKey(), ofAccount: owner.account, set: 4, clear: 0 })
    for (const given of [driver.askDeposit(owner, usdc(5)), driver.askWithdrawal(owner, usdc(5)), driver.askPartyChange(owner)]) {
      expect(driver.refusal(given)).toBe(Refusal.accountNotEnabled)
    }
    expect(driver.approve(owner, number)).toBe(Refusal.accountNotEnabled)
    driver.send({ kind: "SetAccountFlags", idempotencyKey: driver.nextKey(), ofAccount: owner.account, set: 0, clear: 4 })
    expect(driver.approve(owner, number)).toBe(Refusal.none)
  })

  test("a withdrawal that was approved is not begun while its account is disabled, and what was begun is gone on with", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const [approved, begun] = [driver.withdrawal(owner, usdc(4)), driver.withdrawal(owner, usdc(2))]
    for (const number of [approved, begun]) {
      driver.prepare(number)
      driver.approve(owner, number)
    }
    driver.begin(begun, "one")
    driver.send({ kind: "SetAccountFlags", idempotencyKey: driver.nextKey(), ofAccount: owner.account, set: 4, clear: 0 })
    expect(driver.begin(approved, "one")).toBe(Refusal.ledgerFactConflict)
    expect(driver.begin(begun, "two")).toBe(Refusal.none)
  })

  test("a withdrawal that was approved is not begun once its passkey is removed, and what was begun is gone on with", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(20))
    const other = driver.addPasskey(owner)
    const [approved, begun, anew] = [driver.withdrawal(owner, usdc(4)), driver.withdrawal(owner, usdc(2)),
      driver.withdrawal(owner, usdc(3))]
    for (const number of [approved, begun, anew]) {
      driver.prepare(number)
      driver.approve(owner, number)
    }
    driver.begin(begun, "one")
    driver.begin(anew, "one")
    // It was never sent: the ledger could not be reached.
    driver.note(anew, "treasury_withdrawal", "one", "not_sent")
    expect(driver.engine.withheldFor(approved)).toBe(undefined)
    const removal = { kind: "RemovePasskey", ...driver.by(other), credentialId: owner.passkey, provedBy: other.passkey } as const
    expect(driver.refusal({ ...removal, signCount: 0, remoteAddress: "" })).toBe(Refusal.none)
    expect([approved, begun, anew].map((number) => driver.engine.withheldFor(number))).toEqual(
      ["passkey_removed", undefined, "passkey_removed"]
    )
    for (const number of [approved, anew]) expect(driver.begin(number, "two")).toBe(Refusal.ledgerFactConflict)
    expect(driver.begin(begun, "two")).toBe(Refusal.none)
    const rejection = {
      kind: "RejectStep",
      transfer: approved,
      step: "treasury_withdrawal",
      stage: "approval",
      guard: "passkey_removed"
    } as const
    expect(driver.refusal(rejection)).toBe(Refusal.none)
    expect(driver.transfer(approved)).toMatchObject({
      status: "rejected",
      ledgerOutcome: { outcome: "not_executed", guard: "passkey_removed" }
    })
    expect(driver.engine.withheldFor(approved)).toBe(undefined)
    expect(driver.engine.balance(owner.account).collateralAtoms).toBe(usdc(15))
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test("a deposit goes on that was approved by a passkey which is gone: what comes in harms nobody", () => {
    const driver = new FundsDriver()
    const owner = driver.owner()
    const other = driver.addPasskey(owner)
    const deposit = driver.deposit(owner, usdc(5))
    driver.bind(owner)
    driver.prepare(deposit)
    driver.approve(owner, deposit)
    driver.send({
      kind: "RemovePasskey",
      ...driver.by(other),
      credentialId: owner.passkey,
      provedBy: other.passkey,
      signCount: 0,
      remoteAddress: ""
    })
    expect(driver.engine.withheldFor(deposit)).toBe(undefined)
    expect(driver.begin(deposit, "one")).toBe(Refusal.none)
  })

  test("the same key gives the same transfer, and another body under it does nothing", () => {
    const driver = new FundsDriver()
    const owner = driver.owner()
    const given = driver.askDeposit(owner, usdc(5))
    const [first, again] = [driver.send(given), driver.send(given)]
    expect(again).toEqual({ ...first, replayed: true })
    expect(driver.refusal({ ...given, amountAtoms: usdc(6) })).toBe(Refusal.idempotencyConflict)
    expect(driver.engine.openTransfersOf(owner.account)).toHaveLength(1)
  })

  test("there is room for so many, and they take no record beyond it", () => {
    const driver = new FundsDriver({ open: 1 })
    const [one, other] = [driver.owner(), driver.owner()]
    driver.deposit(one, usdc(5))
    const { sequence } = driver.engine
    expect(driver.refusal(driver.askDeposit(other, usdc(5)))).toBe(Refusal.tableFull)
    expect(driver.engine.sequence).toBe(sequence)
  })

  test("an account that has placed its part of what is remembered may ask all the same", () => {
    const driver = new FundsDriver({}, Engine.make({ orders: 256, idempotencyKeys: 1_024, accountParts: 8 }))
    const owner = driver.funded(usdc(5))
    const signedIn = { principal: Principal.session, credential: owner.session }
    const place = (): Refusal => driver.run({ ...driver.placement(owner.account, { quantityAtoms: 0 }), ...signedIn }).refusal
    let refusal: Refusal = Refusal.none
    while (refusal === Refusal.none) refusal = place()
    expect(refusal).toBe(Refusal.accountShare)
    expect(driver.refusal(driver.askDeposit(owner, usdc(5)))).toBe(Refusal.none)
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.none)
    // This request is decided too, and refused because of the two before it.
    expect(driver.refusal(driver.askPartyChange(owner))).toBe(Refusal.transferInProgress)
    expect(place()).toBe(Refusal.accountShare)
  })

  test("an eighth of the room is kept for withdrawals: deposits that nobody pays hold nobody's money fast", () => {
    const driver = new FundsDriver({ open: 16 })
    const owner = driver.funded(usdc(100))
    for (let count = 0; count < 14; count++) driver.deposit(driver.owner(), usdc(5))
    expect(driver.refusal(driver.askDeposit(driver.owner(), usdc(5)))).toBe(Refusal.tableFull)
    expect(driver.refusal(driver.askPartyChange(owner))).toBe(Refusal.tableFull)
    const withdrawals = [driver.withdrawal(owner, usdc(5)), driver.withdrawal(owner, usdc(5))]
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(5)))).toBe(Refusal.tableFull)
    driver.finish(owner, withdrawals[0]!)
    expect(driver.refusal(driver.askDeposit(driver.owner(), usdc(5)))).toBe(Refusal.tableFull)
    expect(driver.withdrawal(owner, usdc(5))).toBeGreaterThan(withdrawals[1]!)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })
})

describe("what may be withdrawn", () => {
  const held = () => {
    const driver = new FundsDriver()
    const market = driver.market(parameters("BTC", { indexStaleMs: 10_000 }), 1000)
    const maker = driver.account(usdc(1_000))
    const owner = driver.funded(usdc(100))
    driver.mark()
    driver.place(maker, { side: 1 })
    const bySession = { principal: Principal.session, credential: owner.session } as const
    expect(driver.run({ ...driver.placement(owner.account, {}), ...bySession }).entries).toMatchObject([{ filledAtoms: 1000 }])
    return { driver, owner, market }
  }

  test("is what backs nothing, and less once some of it is held", () => {
    const { driver, owner } = held()
    const free = driver.engine.balance(owner.account).withdrawableAtoms
    // 100 USDC less the fee of 0.05 and the initial margin of a tenth of 100 USDC.
    expect(free).toBe(usdc(100) - 50_000 - usdc(10))
    expect(driver.refusal(driver.askWithdrawal(owner, free + 1))).toBe(Refusal.withdrawableInsufficient)
    driver.withdrawal(owner, free)
    expect(driver.engine.balance(owner.account).withdrawableAtoms).toBe(0)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test("is nothing while a position is held in a market that is not live", () => {
    const { driver, market, owner } = held()
    driver.atEpochMs += 20_000
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.withdrawableInsufficient)
    driver.index(market, 1000)
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.none)
    driver.send({ kind: "HaltEngine", idempotencyKey: driver.nextKey() })
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.withdrawableInsufficient)
  })
})

describe("a passkey", () => {
  test("that was added less than a day ago approves deposits, and neither withdrawals nor changes of party", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const late = driver.addPasskey(owner)
    const addedAtEpochMs = driver.atEpochMs
    const deposit = driver.deposit(owner, usdc(5))
    driver.prepare(deposit)
    expect(driver.approve(late, deposit)).toBe(Refusal.none)
    driver.send({ kind: "BeginSubmission", transfer: deposit, step: "treasury_offer", submissionId: "one" })
    const withdrawal = driver.withdrawal(owner, usdc(1))
    driver.prepare(withdrawal)
    expect(driver.approve(late, withdrawal)).toBe(Refusal.passkeyTooNew)
    driver.atEpochMs = addedAtEpochMs + dayMs - 1
    const again = { ...late, session: driver.signIn(owner).session }
    expect(driver.approve(again, withdrawal)).toBe(Refusal.passkeyTooNew)
    driver.atEpochMs++
    // That very record expired the withdrawal, so a new one is needed.
    expect(driver.approve(again, withdrawal)).toBe(Refusal.stepConflict)
    const other = driver.withdrawal(again, usdc(1))
    driver.prepare(other)
    expect(driver.approve(again, other)).toBe(Refusal.none)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test("whose counter goes back approves nothing, and its owner is told", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(1))
    driver.prepare(number)
    driver.approve(owner, number, "treasury_withdrawal", { signCount: 7 })
    driver.atEpochMs += hourMs
    driver.scan(number, "treasury_withdrawal", driver.atEpochMs)
    driver.prepare(number)
    const { sequence } = driver.engine
    expect(driver.approve(owner, number, "treasury_withdrawal", { signCount: 7 })).toBe(Refusal.signCountWentBack)
    expect(driver.engine.sequence).toBe(sequence + 1)
    expect(driver.engine.securityEvents(owner.account, Infinity, 1)).toMatchObject([{ kind: "approval_failed" }])
    expect(driver.transfer(number).awaits).toBe("approval")
    expect(driver.approve(owner, number, "treasury_withdrawal", { signCount: 8 })).toBe(Refusal.none)
  })

  test("of another account approves nothing, nor does one that was removed", () => {
    const driver = new FundsDriver()
    const [owner, other] = [driver.funded(usdc(10)), driver.owner()]
    const number = driver.withdrawal(owner, usdc(1))
    driver.prepare(number)
    expect(driver.approve({ ...owner, passkey: other.passkey }, number)).toBe(Refusal.passkeyUnknown)
    expect(driver.approve(other, number)).toBe(Refusal.transferNotFound)
    expect(driver.approve({ ...owner, passkey: "gone" }, number)).toBe(Refusal.passkeyUnknown)
  })
})

describe("an approval", () => {
  test("is of one transaction: of another hash, of another step, and twice with different words it is none", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.deposit(owner, usdc(5))
    expect(driver.approve(owner, number)).toBe(Refusal.stepConflict)
    driver.prepare(number)
    expect(driver.approve(owner, number, "treasury_offer", { hash: "another" })).toBe(Refusal.stepConflict)
    expect(driver.approve(owner, number, "owner_offer_acceptance")).toBe(Refusal.stepConflict)
    const given = driver.approval(owner, number, "treasury_offer")
    const stands = { _tag: "TransferStands", transfer: number }
    expect(driver.ask(given)).toMatchObject(stands)
    expect(driver.ask(given)).toMatchObject(stands)
    expect(driver.refusal({ ...given, nonce: "other" })).toBe(Refusal.stepConflict)
    expect(driver.transfer(number).stepAtHand!.approval).toMatchObject({ credentialId: owner.passkey, nonce: given.nonce })
  })

  test("is void once the ledger's time has passed its transaction, and then the step is prepared anew under the same command", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(5))
    driver.prepare(number)
    driver.approve(owner, number)
    driver.begin(number, "one")
    const { maxRecordTimeEpochMs } = driver.transfer(number).stepAtHand!.preparation!
    expect(driver.scan(number, "treasury_withdrawal", maxRecordTimeEpochMs)).toBe(Refusal.ledgerFactConflict)
    expect(driver.scan(number, "treasury_withdrawal", maxRecordTimeEpochMs + 1, 49)).toBe(Refusal.ledgerFactConflict)
    expect(driver.prepare(number, "treasury_withdrawal")).toBe(Refusal.ledgerFactConflict)
    expect(driver.scan(number, "treasury_withdrawal", maxRecordTimeEpochMs + 1)).toBe(Refusal.none)
    expect(driver.transfer(number)).toMatchObject({ status: "requested", awaits: "preparation", ledgerOutcome: undefined })
    for (const other of ["commandId", "participantId", "synchronizerId", "userId"])
      expect(driver.prepare(number, "treasury_withdrawal", { [other]: "another" })).toBe(Refusal.ledgerFactConflict)
    expect(driver.prepare(number, "treasury_withdrawal", { ledgerEndOffset: 99 })).toBe(Refusal.none)
    // Its completions are still searched for from the offset of the first preparation.
    expect(driver.transfer(number).stepAtHand).toMatchObject({ preparations: 2, binding: { ledgerEndOffset: 50 } })
  })

  test("of a scheme that does not sign the largest record time never becomes void by time", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(5))
    driver.prepare(number, "treasury_withdrawal", { hashingScheme: 2 })
    driver.approve(owner, number)
    driver.begin(number, "one")
    expect(driver.scan(number, "treasury_withdrawal", Number.MAX_SAFE_INTEGER)).toBe(Refusal.ledgerFactConflict)
    expect(driver.transfer(number)).toMatchObject({ status: "submitted_unknown", awaits: "resolution" })
  })
})

describe("what the ledger says", () => {
  const executed = () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(4))
    const step = "treasury_withdrawal" as const
    driver.prepare(number)
    driver.approve(owner, number)
    driver.begin(number, "one")
    return { driver, owner, number, step }
  }

  test("of a resubmission that is refused because the first had won: nothing, until the completion of the first", () => {
    const { driver, number, step } = executed()
    driver.note(number, step, "one", "unknown")
    driver.begin(number, "two")
    driver.note(number, step, "two", "refused", "DUPLICATE_COMMAND")
    expect(driver.scan(number)).toBe(Refusal.ledgerFactConflict)
    expect(driver.transfer(number)).toMatchObject({ status: "submitted_unknown", awaits: "resolution" })
    driver.complete(number, step, "one")
    expect(driver.transfer(number).status).toBe("ledger_confirmed")
    expect(driver.engine.funds.reservedAtoms).toBe(0n)
  })

  test("of a submission that it was one of several: whatever is answered to it later says nothing more", () => {
    const { driver, number, step } = executed()
    driver.note(number, step, "one", "duplicate", "DUPLICATE_COMMAND")
    for (const later of ["refused", "accepted", "unknown"] as const) driver.note(number, step, "one", later, "LATER")
    expect(driver.transfer(number)).toMatchObject({ status: "submitted_unknown", awaits: "resolution" })
    expect(driver.scan(number)).toBe(Refusal.ledgerFactConflict)
  })

  test("of every submission that it is refused: it is rejected once the completions hold no other, and the amount is back", () => {
    const { driver, number, owner, step } = executed()
    driver.note(number, step, "one", "unknown")
    driver.begin(number, "two")
    driver.note(number, step, "two", "refused", "CONTENTION")
    driver.complete(number, step, "one", { outcome: "refused", guard: "NOT_ENOUGH", offset: 300 })
    expect(driver.transfer(number)).toMatchObject({ status: "submitted_unknown", awaits: "scan" })
    expect(driver.begin(number, "three")).toBe(Refusal.ledgerFactConflict)
    expect(driver.scan(number, step, 0, 299)).toBe(Refusal.ledgerFactConflict)
    expect(driver.scan(number, step, 0, 300)).toBe(Refusal.none)
    expect(driver.transfer(number)).toMatchObject({
      status: "rejected",
      failure: { step, stage: "completion", guard: "NOT_ENOUGH" },
      ledgerOutcome: { step, outcome: "completion_refused", guard: "NOT_ENOUGH" }
    })
    expect(driver.engine.balance(owner.account).collateralAtoms).toBe(usdc(10))
    expect(driver.engine.balanceChanges(owner.account, -2, undefined, 2).map(({ amountAtoms, cause }) => [cause, amountAtoms]))
      .toEqual([["withdrawal_returned", usdc(4)], ["withdrawal_reserved", -usdc(4)]])
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test.each(["CONTRACT_NOT_FOUND", "CONTRACT_NOT_ACTIVE", "LOCAL_VERDICT_INACTIVE_CONTRACTS", "LOCAL_VERDICT_LOCKED_CONTRACTS",
    "UNKNOWN_CONTRACT_SYNCHRONIZERS"])("of holdings that another spends (%s): the step is at hand again, and the amount is held",
      (guard) => {
        const twin = new FundsTwin()
        const owner = twin.funded(usdc(10))
        const number = twin.withdrawal(owner, usdc(4))
        for (const by of ["answer", "completion"] as const) {
          twin.prepare(number)
          twin.approve(owner, number)
          twin.begin(number, by)
          if (by === "answer") twin.note(number, "treasury_withdrawal", by, "refused", guard)
          else twin.complete(number, "treasury_withdrawal", by, { outcome: "refused", guard, offset: 300 })
          expect(twin.scan(number)).toBe(Refusal.none)
          expect(twin.transfer(number)).toMatchObject({ status: "requested", awaits: "preparation", end: null })
          expect(twin.engine.funds.reservedAtoms).toBe(BigInt(usdc(4)))
          twin.check()
        }
        twin.finish(owner, number)
        expect(twin.transfer(number).status).toBe("ledger_confirmed")
        twin.check()
      })

  test("of a submission of which nothing is known: it may still be accepted, whatever is said of others", () => {
    const { driver, number, step } = executed()
    driver.begin(number, "two")
    driver.note(number, step, "two", "refused")
    expect(driver.scan(number)).toBe(Refusal.ledgerFactConflict)
    driver.note(number, step, "one", "not_sent")
    expect(driver.scan(number)).toBe(Refusal.none)
    expect(driver.transfer(number).status).toBe("rejected")
  })

  test("before its answer was noted, twice, and in another update: it is done once, and the last raises an alarm", () => {
    const { driver, number, owner, step } = executed()
    driver.complete(number, step, "one", { offset: 200, updateId: "u" })
    expect(driver.transfer(number).status).toBe("ledger_confirmed")
    const { sequence } = driver.engine
    expect(driver.note(number, step, "one", "accepted")).toBe(Refusal.ledgerFactKnown)
    expect(driver.complete(number, step, "one", { offset: 200, updateId: "u" })).toBe(Refusal.ledgerFactKnown)
    expect(driver.engine.sequence).toBe(sequence)
    expect(driver.complete(number, step, "one", { offset: 201, updateId: "other" })).toBe(Refusal.none)
    expect(driver.complete(number, step, "one", { offset: 201, updateId: "other" })).toBe(Refusal.ledgerFactKnown)
    expect(driver.engine.funds).toMatchObject({ withdrawnAtoms: BigInt(usdc(4)), reservedAtoms: 0n, alarms: { accepted_again: 1 } })
    expect(driver.engine.balance(owner.account).collateralAtoms).toBe(usdc(6))
  })

  test("of a command that nobody knows nothing becomes, and no record is written", () => {
    const { driver, number, step } = executed()
    const { sequence } = driver.engine
    expect(driver.complete(number, step, "one", { commandId: "unknown" })).toBe(Refusal.transferNotFound)
    expect(driver.engine.sequence).toBe(sequence)
  })

  test("of a withdrawal that was given back that it was done: withdrawals stop, and nobody's money is touched", () => {
    const { driver, number, owner, step } = executed()
    driver.note(number, step, "one", "refused", "NO")
    driver.scan(number)
    driver.complete(number, step, "one")
    expect(driver.transfer(number).status).toBe("rejected")
    expect(driver.engine.balance(owner.account).collateralAtoms).toBe(usdc(10))
    expect(driver.engine.funds).toMatchObject({ stop: { reason: "contradiction" }, alarms: { accepted_after_its_end: 1 } })
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.withdrawalsStopped)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  const stops = [
    ["operator", 0, usdc(-4)],
    ["reconciliation", usdc(-1), usdc(-4)],
    ["reconciliation", usdc(-6), usdc(-6)]
  ] as const
  test.each(stops)("of a withdrawal that was given back, while they are stopped (%s, %d): that is why they are, and is what is let go", (
    reason,
    before,
    lacking
  ) => {
    const { driver, number, step } = executed()
    driver.note(number, step, "one", "refused", "NO")
    driver.scan(number)
    driver.send({ kind: "StopWithdrawals", idempotencyKey: driver.nextKey(), reason, differenceAtoms: before, atOffset: 7 })
    const { sinceEpochMs } = driver.engine.funds.stop!
    driver.atEpochMs += 1_000
    driver.complete(number, step, "one")
    expect(driver.engine.funds.stop).toEqual({ reason: "contradiction", differenceAtoms: lacking, atOffset: 7, sinceEpochMs })
    // A later reason does not replace it.
    driver.send({ kind: "StopWithdrawals", idempotencyKey: driver.nextKey(), reason: "operator", differenceAtoms: 0, atOffset: 0 })
    expect(driver.engine.funds.stop).toMatchObject({ reason: "contradiction", differenceAtoms: lacking })
    driver.send({ kind: "AllowWithdrawals", idempotencyKey: driver.nextKey() })
    expect(driver.engine.funds).toMatchObject({ stop: undefined, acceptedAtoms: lacking })
  })

  /** A deposit whose offer is on the ledger, and whose acceptance was not approved within a day. */
  const expired = () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.deposit(owner, usdc(5))
    driver.finishStep(owner, number)
    driver.prepare(number)
    driver.atEpochMs += dayMs
    driver.send({ kind: "PassTime" })
    return { driver, owner, number }
  }

  test("of a deposit that was over that its last step was done: it is credited all the same, with an alarm", () => {
    const { driver, number, owner } = expired()
    expect(driver.transfer(number)).toMatchObject({ status: "expired", stepAtHand: { name: "treasury_offer_withdrawal" } })
    driver.complete(number, "owner_offer_acceptance", "unasked")
    expect(driver.transfer(number)).toMatchObject({ status: "ledger_confirmed", stepAtHand: undefined, failure: null })
    expect(driver.engine.balance(owner.account).collateralAtoms).toBe(usdc(15))
    expect(driver.engine.funds.alarms.accepted_after_its_end).toBe(1)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test("of a deposit that was over that its last step was done: what withdraws its offer is a command of nobody's from then on", () => {
    const { driver, number } = expired()
    const step = "treasury_offer_withdrawal"
    driver.prepare(number)
    driver.begin(number, "one")
    driver.complete(number, "owner_offer_acceptance", "unasked")
    expect(driver.transfer(number)).toMatchObject({ status: "ledger_confirmed", stepAtHand: undefined })
    // The offer is used up.
    const told = driver.complete(number, step, "one", { outcome: "refused", guard: "CONTRACT_NOT_FOUND" })
    expect(told).toBe(Refusal.transferNotFound)
    expect(driver.engine.stepOfCommand(`${step}-${number}`)).toBe(undefined)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test("before any submission was begun that it was done: it is believed, with an alarm", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(5))
    driver.prepare(number)
    driver.complete(number, "treasury_withdrawal", "unasked")
    expect(driver.transfer(number).status).toBe("ledger_confirmed")
    expect(driver.engine.funds.alarms.accepted_unasked).toBe(1)
  })
})

describe("a transfer that nobody approves", () => {
  test("expires a day after its step came to its owner, and not a millisecond before", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(5))
    const due = driver.atEpochMs + dayMs
    expect(driver.engine.nextDueEpochMs).toBe(due)
    driver.atEpochMs = due - 1
    driver.send({ kind: "PassTime" })
    expect(driver.transfer(number).status).toBe("requested")
    driver.atEpochMs = due
    driver.send({ kind: "PassTime" })
    expect(driver.transfer(number)).toMatchObject({
      status: "expired",
      failure: { step: "treasury_withdrawal", stage: "approval", guard: "not_approved" },
      ledgerOutcome: { outcome: "not_executed" }
    })
    expect(driver.engine.balance(owner.account).collateralAtoms).toBe(usdc(10))
    expect(driver.engine.nextDueEpochMs).toBeGreaterThan(due)
  })

  test("has no more time where it is prepared anew, and a day again where its approval became void", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(5))
    const due = driver.atEpochMs + dayMs
    const step = "treasury_withdrawal"
    const pass = () => {
      const { maxRecordTimeEpochMs } = driver.transfer(number).stepAtHand!.preparation!
      expect(driver.scan(number, step, maxRecordTimeEpochMs + 1)).toBe(Refusal.none)
    }
    driver.atEpochMs += 23 * hourMs
    driver.prepare(number)
    pass()
    expect(driver.engine.nextDueEpochMs).toBe(due)
    driver.prepare(number)
    expect(driver.approve(driver.signIn(owner), number)).toBe(Refusal.none)
    driver.atEpochMs += 2 * hourMs
    pass()
    expect(driver.transfer(number)).toMatchObject({ status: "requested", awaits: "preparation" })
    expect(driver.engine.nextDueEpochMs).toBe(driver.atEpochMs + dayMs)
    driver.atEpochMs += dayMs
    driver.send({ kind: "PassTime" })
    expect(driver.transfer(number).status).toBe("expired")
  })

  test("expires under a halt too, so many in a record, the longest waiting first", () => {
    const driver = new FundsDriver({ expiredAtOnce: 2 })
    const numbers = [driver.owner(), driver.owner(), driver.owner()].map((owner) => {
      driver.atEpochMs++
      return driver.deposit(owner, usdc(5))
    })
    driver.send({ kind: "HaltEngine", idempotencyKey: driver.nextKey() })
    driver.atEpochMs += dayMs
    const statuses = () => numbers.map((number) => driver.transfer(number).status)
    driver.send({ kind: "PassTime" })
    expect(statuses()).toEqual(["expired", "expired", "bound"])
    expect(driver.engine.nextDueEpochMs).toBeLessThanOrEqual(driver.atEpochMs)
    driver.send({ kind: "PassTime" })
    expect(statuses()).toEqual(["expired", "expired", "expired"])
  })

  test("has its offer withdrawn by the venue, as often as it takes", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.deposit(owner, usdc(5))
    driver.finishStep(owner, number)
    driver.atEpochMs += dayMs
    driver.send({ kind: "PassTime" })
    const step = "treasury_offer_withdrawal"
    expect(driver.transfer(number)).toMatchObject({ status: "expired", awaits: "preparation" })
    expect(driver.engine.transfersToDrive().map((each) => each.number)).toEqual([number])
    // The expired deposit no longer blocks its owner.
    expect(driver.refusal(driver.askDeposit(driver.signIn(owner), usdc(5)))).toBe(Refusal.none)
    driver.prepare(number)
    expect(driver.approve(driver.signIn(owner), number)).toBe(Refusal.stepConflict)
    driver.begin(number, "one")
    driver.note(number, step, "one", "refused", "BUSY")
    driver.scan(number)
    expect(driver.transfer(number)).toMatchObject({ status: "expired", awaits: "preparation" })
    driver.finishStep(owner, number)
    expect(driver.transfer(number)).toMatchObject({ status: "expired", awaits: "nothing" })
    expect(firstBroken(driver.engine.state)).toBe(undefined)
  })

  test("may be given up by its owner, and once it is approved no more", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const [one, other] = [driver.withdrawal(owner, usdc(2)), driver.withdrawal(owner, usdc(3))]
    const cancel = (number: number, by = owner) => driver.refusal({ kind: "CancelTransfer", ...driver.by(by), transfer: number })
    expect(cancel(one, driver.owner())).toBe(Refusal.transferNotFound)
    expect(cancel(one)).toBe(Refusal.none)
    expect(cancel(one)).toBe(Refusal.stepConflict)
    expect(driver.transfer(one)).toMatchObject({ status: "rejected", failure: { guard: "given_up" } })
    driver.prepare(other)
    driver.approve(owner, other)
    expect(cancel(other)).toBe(Refusal.stepConflict)
    expect(driver.engine.funds.reservedAtoms).toBe(BigInt(usdc(3)))
    expect(driver.engine.heldByWithdrawals()).toEqual(new Map([[owner.account, BigInt(usdc(3))]]))
  })
})

describe("withdrawals that are stopped", () => {
  test("are not asked for, approved or begun; what was executed is gone on with", () => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const [executed, approved, prepared] = [1, 1, 1].map((amount) => driver.withdrawal(owner, usdc(amount))) as [number, number, number]
    for (const number of [executed, approved, prepared]) driver.prepare(number)
    for (const number of [executed, approved]) driver.approve(owner, number)
    driver.begin(executed, "one")
    driver.send({ kind: "StopWithdrawals", idempotencyKey: "", reason: "reconciliation", differenceAtoms: -1, atOffset: 9 })
    expect(driver.engine.funds.stop).toMatchObject({ reason: "reconciliation", differenceAtoms: -1, atOffset: 9 })
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.withdrawalsStopped)
    expect(driver.approve(owner, prepared)).toBe(Refusal.withdrawalsStopped)
    expect(driver.begin(approved, "one")).toBe(Refusal.ledgerFactConflict)
    expect(driver.begin(executed, "two")).toBe(Refusal.none)
    expect(driver.refusal(driver.askDeposit(owner, usdc(1)))).toBe(Refusal.none)
    driver.send({ kind: "AllowWithdrawals", idempotencyKey: driver.nextKey() })
    expect(driver.engine.funds.stop).toBe(undefined)
    expect(driver.approve(owner, prepared)).toBe(Refusal.none)
    expect(driver.begin(approved, "one")).toBe(Refusal.none)
  })

  test("that are let go on accept what their stop says is lacking, until an operator's own stop takes it back", () => {
    const driver = new FundsDriver()
    const stop = (reason: "operator" | "reconciliation", differenceAtoms: number) =>
      driver.send({ kind: "StopWithdrawals", idempotencyKey: "", reason, differenceAtoms, atOffset: 9 })
    const accepted = (): number => {
      driver.send({ kind: "AllowWithdrawals", idempotencyKey: driver.nextKey() })
      return driver.engine.funds.acceptedAtoms
    }
    expect(accepted()).toBe(0)
    stop("reconciliation", -3)
    // The latest comparison is what counts, whether it found more or less.
    stop("reconciliation", -9)
    stop("reconciliation", -7)
    expect(driver.engine.funds).toMatchObject({ acceptedAtoms: 0, stop: { reason: "reconciliation", differenceAtoms: -7 } })
    expect([accepted(), accepted()]).toStrictEqual([-7, -7])
    // An operator's own stop is replaced by one, behind which nothing is accepted any more that was so before.
    stop("operator", 0)
    stop("reconciliation", -2)
    stop("operator", 0)
    expect(driver.engine.funds).toMatchObject({ acceptedAtoms: 0, stop: { reason: "reconciliation", differenceAtoms: -2 } })
    expect(accepted()).toBe(-2)
    stop("reconciliation", -7)
    expect(accepted()).toBe(-7)
    const { state } = driver.engine
    expect(new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity)).funds.acceptedAtoms).toBe(-7)
    // Older journals have stops because of a surplus: allowing withdrawals then accepts no difference.
    stop("reconciliation", 5)
    expect(accepted()).toBe(-7)
    stop("operator", 0)
    expect(accepted()).toBe(0)
  })
})

describe("parties", () => {
  test("are bound once, of one account each, and given up with the change that they were for", () => {
    const driver = new FundsDriver()
    const [owner, other] = [driver.funded(usdc(10)), driver.funded(usdc(10))]
    expect(driver.bind(owner, -1, driver.engine.party(owner.account)!.partyId)).toBe(Refusal.ledgerFactKnown)
    expect(driver.bind(owner, -1, "second")).toBe(Refusal.ledgerFactConflict)
    const [change, theirs] = [driver.partyChange(owner), driver.partyChange(other)]
    expect(driver.bind(owner, change, driver.engine.party(other.account)!.partyId)).toBe(Refusal.ledgerFactConflict)
    expect(driver.bind(other, change, "anew")).toBe(Refusal.transferNotFound)
    expect(driver.bind(owner, change, "anew")).toBe(Refusal.none)
    expect(driver.bind(other, theirs, "anew")).toBe(Refusal.ledgerFactConflict)
    expect(driver.bind(owner, change, "other")).toBe(Refusal.ledgerFactConflict)
    driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: change })
    expect(driver.bind(other, theirs, "anew")).toBe(Refusal.none)
  })

  test("are as they were before for a deposit that begins anew", () => {
    const driver = new FundsDriver()
    const owner = driver.owner()
    const first = driver.deposit(owner, usdc(5))
    driver.bind(owner)
    driver.prepare(first)
    driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: first })
    // The acceptance of an account is one command, whichever deposit needs it.
    const second = driver.deposit(owner, usdc(5))
    expect(driver.commandOf(second, "owner_account_acceptance")).toBe(driver.commandOf(first, "owner_account_acceptance"))
    driver.finish(owner, second)
    expect(driver.engine.stepOfCommand(driver.commandOf(second, "owner_account_acceptance"))!.transfer).toBe(second)
    expect(driver.engine.balance(owner.account).collateralAtoms).toBe(usdc(5))
  })

  test("must be there before anything is prepared for them", () => {
    const driver = new FundsDriver()
    const number = driver.deposit(driver.owner(), usdc(5))
    expect(driver.prepare(number)).toBe(Refusal.ledgerFactConflict)
  })
})

describe("what is kept", () => {
  test("of transfers that are over is the latest of each account; what was deposited is still known", () => {
    const driver = new FundsDriver({ endedOfAccount: 2 })
    const owner = driver.funded(usdc(1))
    const numbers = [2, 3, 4].map((amount) => {
      const number = driver.deposit(owner, usdc(amount))
      driver.finish(owner, number)
      return number
    })
    expect(driver.engine.transfersOf(owner.account, "deposit", Infinity, 9).map(({ number }) => number)).toEqual(numbers.slice(1).reverse())
    expect(driver.engine.transfersOf(owner.account, "deposit", numbers[2]!, 9).map(({ number }) => number)).toEqual([numbers[1]])
    expect(driver.engine.transfer(numbers[0]!)).toBe(undefined)
    expect(driver.engine.funds.depositedAtoms).toBe(BigInt(usdc(10)))
    expect(firstBroken(driver.engine.state)).toBe(undefined)
    // A completion of a transfer that is no longer kept belongs to none.
    const completion = { submissionId: "late", outcome: "accepted", guard: "", updateId: "u", offset: 999, recordTimeEpochMs: 0 } as const
    expect(driver.refusal({ kind: "NoteCompletion", commandId: `owner_offer_acceptance-${numbers[0]}`, ...completion }))
      .toBe(Refusal.transferNotFound)
  })

  test.each([{ endedOfAccount: 2 }, { endedInAll: 2 }])("of deposits leaves it known when the last of them changed, with %j", (bounds) => {
    const driver = new FundsDriver(bounds)
    const [owner, other] = [driver.owner(), driver.owner()]
    // A transfer that came to nothing has changed nothing else of its account.
    for (let count = 0; count < 4; count++) {
      const number = driver.deposit(owner, usdc(5))
      expect(driver.engine.depositsSequence(owner.account)).toBe(driver.engine.sequence)
      driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: number })
      expect(driver.engine.depositsSequence(owner.account)).toBe(driver.engine.sequence)
    }
    const last = driver.engine.sequence
    for (let count = 0; count < 2; count++) {
      driver.refusal({ kind: "CancelTransfer", ...driver.by(other), transfer: driver.deposit(other, usdc(5)) })
    }
    expect(driver.engine.depositsSequence(owner.account)).toBeGreaterThanOrEqual(last)
  })

  test("of all together is bounded as well", () => {
    const driver = new FundsDriver({ endedInAll: 2 })
    const owners = [driver.owner(), driver.owner(), driver.owner()]
    const numbers = owners.map((owner) => {
      const number = driver.deposit(owner, usdc(5))
      driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: number })
      return number
    })
    expect(numbers.map((number) => driver.engine.transfer(number)?.number)).toEqual([undefined, numbers[1], numbers[2]])
    expect(driver.engine.funds.keptTransfers).toBe(2)
  })

  test("of prepared transactions is bounded, and nothing once their step is over", () => {
    const driver = new FundsDriver({ preparedLength: 6 })
    const owner = driver.funded(usdc(10))
    const [one, other] = [driver.withdrawal(owner, usdc(1)), driver.withdrawal(owner, usdc(1))]
    driver.prepare(one)
    expect(driver.engine.funds.preparedLength).toBe(4)
    expect(driver.prepare(other)).toBe(Refusal.tableFull)
    expect(driver.prepare(other, "treasury_withdrawal", { preparedTransaction: "AA" })).toBe(Refusal.none)
    driver.approve(owner, one)
    driver.begin(one, "one")
    driver.complete(one, "treasury_withdrawal", "one")
    expect(driver.engine.funds.preparedLength).toBe(2)
    const { approval, preparation } = driver.transfer(one).steps[0]!
    expect([preparation!.preparedTransaction, approval!.signature]).toEqual(["", ""])
    expect([preparation!.hash, approval!.credentialId]).toEqual([driver.hashOf(one, "treasury_withdrawal", 1), owner.passkey])
    expect(driver.prepare(other, "treasury_withdrawal", { preparedTransaction: "A".repeat(43_693) })).toBe(Refusal.ledgerFactOutOfBounds)
  })

  test("of prepared transactions leaves an eighth of its room to withdrawals, however many deposits nobody pays", () => {
    const driver = new FundsDriver({ preparedLength: 16 })
    const owner = driver.funded(usdc(10))
    const prepared = Array.from({ length: 4 }, () => {
      const payer = driver.owner()
      const number = driver.deposit(payer, usdc(5))
      driver.bind(payer)
      return driver.prepare(number)
    })
    expect(prepared).toEqual([Refusal.none, Refusal.none, Refusal.none, Refusal.tableFull])
    const withdrawals = [driver.withdrawal(owner, usdc(1)), driver.withdrawal(owner, usdc(1))]
    expect(withdrawals.map((number) => driver.prepare(number))).toEqual([Refusal.none, Refusal.tableFull])
    expect(driver.engine.funds.preparedLength).toBe(16)
  })

  test("of prepared transactions lets the venue take an offer back, however many withdrawals are prepared", () => {
    const driver = new FundsDriver({ preparedLength: 16 })
    const payer = driver.owner()
    driver.bind(payer)
    const deposit = driver.deposit(payer, usdc(5))
    for (let step = driver.atHand(deposit); step !== "owner_offer_acceptance"; step = driver.atHand(deposit))
      driver.finishStep(payer, deposit)
    driver.atEpochMs += dayMs
    driver.send({ kind: "PassTime" })
    const owner = driver.funded(usdc(10))
    for (let each = 0; each < 3; each++) expect(driver.prepare(driver.withdrawal(owner, usdc(1)))).toBe(Refusal.none)
    const other = driver.owner()
    driver.bind(other)
    expect(driver.prepare(driver.deposit(other, usdc(5)))).toBe(Refusal.tableFull)
    expect(driver.prepare(deposit, "treasury_offer_withdrawal")).toBe(Refusal.none)
    expect(driver.engine.funds.preparedLength).toBe(16)
  })

  test("of submissions is bounded: of one that is not kept any more nobody will know that it was refused", () => {
    const driver = new FundsDriver({ submissions: 2 })
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(1))
    const step = "treasury_withdrawal"
    driver.prepare(number)
    driver.approve(owner, number)
    for (const id of ["one", "two", "three"]) driver.begin(number, id)
    expect(driver.note(number, step, "one", "refused")).toBe(Refusal.ledgerFactKnown)
    for (const id of ["two", "three"]) driver.note(number, step, id, "refused")
    expect(driver.transfer(number).awaits).toBe("resolution")
    expect(driver.scan(number)).toBe(Refusal.ledgerFactConflict)
    driver.begin(number, "four")
    expect(driver.transfer(number).stepAtHand).toMatchObject({ unlisted: 1 })
    expect(driver.transfer(number).stepAtHand!.submissions.map(({ submissionId }) => submissionId)).toEqual(["three", "four"])
    driver.complete(number, step, "one")
    expect(driver.transfer(number).status).toBe("ledger_confirmed")
  })
})

test("an amount that its account could not hold exactly waits until it can", () => {
  const driver = new FundsDriver()
  const { engine } = driver
  const owner = driver.funded(usdc(10))
  const number = driver.deposit(owner, usdc(5))
  driver.finishStep(owner, number)
  // Only profits could give an account so much.
  const most = Number.MAX_SAFE_INTEGER - usdc(4)
  const { state } = engine
  state.credited.add(most - usdc(10))
  state.accounts.setCollateral(owner.account, most)
  state.noteBalance(owner.account, 1, -1, most - usdc(10), most)
  driver.finishStep(owner, number)
  expect(driver.transfer(number)).toMatchObject({ status: "ledger_confirmed", isSettled: false })
  expect(engine.balance(owner.account).collateralAtoms).toBe(most)
  expect(firstBroken(state)).toBe(undefined)
  driver.withdrawal(owner, usdc(3))
  driver.send({ kind: "PassTime" })
  expect(driver.transfer(number)).toMatchObject({ isSettled: true })
  expect(engine.balance(owner.account).collateralAtoms).toBe(most + usdc(2))
  expect(engine.funds.depositedAtoms).toBe(BigInt(usdc(15)))
  expect(firstBroken(state)).toBe(undefined)
})

test("of amounts that wait each has its turn, however many before it find no room again", () => {
  const driver = new FundsDriver()
  const { accounts } = driver.engine.state
  const waiting = Array.from({ length: 6 }, () => {
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(5))
    accounts.setCollateral(owner.account, Number.MAX_SAFE_INTEGER - usdc(1))
    driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: number })
    return { number, owner }
  })
  const settled = () => waiting.map(({ number }) => driver.transfer(number).isSettled)
  driver.send({ kind: "PassTime" })
  expect(settled()).toEqual(waiting.map(() => false))
  const last = waiting[5]!
  accounts.setCollateral(last.owner.account, 0)
  driver.send({ kind: "PassTime" })
  driver.send({ kind: "PassTime" })
  expect(settled()).toEqual(waiting.map((each) => each === last))
  expect(driver.engine.balance(last.owner.account).collateralAtoms).toBe(usdc(5))
})

test("an offset is noted when it goes on, and not otherwise", () => {
  const driver = new FundsDriver()
  const at = (offset: number, recordTimeEpochMs: number) => driver.refusal({ kind: "NoteLedgerOffset", offset, recordTimeEpochMs })
  expect([at(5, 100), at(5, 200), at(4, 200), at(6, 0)]).toEqual([
    Refusal.none,
    Refusal.ledgerFactKnown,
    Refusal.ledgerFactKnown,
    Refusal.none
  ])
  expect(driver.engine.funds).toMatchObject({ offset: 6, recordTimeEpochMs: 100 })
})

test("what is tampered with is found", () => {
  const tampered = (change: (driver: FundsDriver, number: number) => void): string | undefined => {
    const driver = new FundsDriver()
    const owner = driver.funded(usdc(10))
    const number = driver.withdrawal(owner, usdc(4))
    driver.prepare(number)
    expect(firstBroken(driver.engine.state)).toBe(undefined)
    change(driver, number)
    return firstBroken(driver.engine.state)
  }
  const put = (driver: FundsDriver, number: number, change: object): void => {
    driver.funds.transfers.put({ ...driver.funds.transfers.find(number)!, ...change })
  }
  expect(tampered((driver) => driver.funds.reserved.add(1))).toMatch("credited")
  expect(tampered((driver) => driver.funds.withdrawn.add(1))).toMatch("credited")
  expect(tampered((driver, number) => put(driver, number, { amountAtoms: 1 }))).toMatch("are reserved")
  expect(tampered((driver, number) => put(driver, number, { isSettled: true }))).toMatch("settled and not over")
  expect(tampered((driver, number) => put(driver, number, { end: "ledger_confirmed" }))).toMatch("confirmed without its last step")
})

test("an acceptance from before a step was bound is another's, except of an account's first step, which serves all of its deposits", () => {
  const driver = new FundsTwin()
  const owner = driver.funded(20_000_000)
  const number = driver.withdrawal(owner, 5_000_000)
  driver.prepare(number)
  const { withdrawnAtoms } = driver.engine.funds
  expect(driver.complete(number, "treasury_withdrawal", "lost", { offset: 50 })).toBe(Refusal.ledgerFactKnown)
  expect(driver.engine.funds).toMatchObject({ withdrawnAtoms })
  expect(driver.transfer(number)).toMatchObject({ status: "requested", awaits: "approval" })
  expect(driver.complete(number, "treasury_withdrawal", "own", { offset: 51 })).toBe(Refusal.none)
  expect(driver.transfer(number)).toMatchObject({ status: "ledger_confirmed" })

  const other = driver.owner()
  const deposit = driver.deposit(other, 5_000_000)
  driver.bind(other)
  driver.prepare(deposit)
  expect(driver.complete(deposit, "owner_account_acceptance", "earlier", { offset: 50 })).toBe(Refusal.none)
  expect(driver.atHand(deposit)).toBe("treasury_offer")
})
