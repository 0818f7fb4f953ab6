/** Deposits, withdrawals and changes of party: what is asked for, what the ledger says, and what it comes to for an account's money. */
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { firstBroken } from "../../src/engine/Invariants.js"
import { FundsDriver } from "./FundsDriver.js"

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
