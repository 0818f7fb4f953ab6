/** The reference model and the properties of money on the ledger: the engine's decisions satisfy them, and violations are detected. */
import { describe, expect, test } from "vitest"
import { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { conservation } from "../../sim/properties/conservation.js"
import { fundsEqualModel } from "../../sim/properties/fundsEqualModel.js"
import { Glance } from "../../sim/properties/Glance.js"
import { identityEqualsModel } from "../../sim/properties/identityEqualsModel.js"
import { ledgerMoney } from "../../sim/properties/ledgerMoney.js"
import { type Property, watch } from "../../sim/properties/Property.js"
import { stateEqualsModel } from "../../sim/properties/stateEqualsModel.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { State } from "../../src/engine/State.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { FundsDriver } from "../engine/FundsDriver.js"

const usdc = (amount: number): number => amount * 1_000_000
const dayMs = 86_400_000

/** A driver whose every record is shown to the properties, with the model at the same record. */
class Watched extends FundsDriver {
  private readonly model = new NaiveVenue()
  readonly verdicts: Array<string> = []
  private readonly watchers

  constructor(properties: ReadonlyArray<Property<any>>) {
    super()
    this.watchers = properties.map((property) => watch(property))
  }

  override run(command: Command): Outcome {
    const { sequence } = this.engine
    const outcome = super.run(command)
    if (this.engine.sequence === sequence) return outcome
    const record = { sequence: sequence + 1, atEpochMs: this.atEpochMs, command }
    const { model } = this
    const decision = model.apply(record)
    const block = { epoch: 1, digest: "", firstSequence: record.sequence, count: 1, bytes: 512, misread: undefined }
    for (const watcher of this.watchers) {
      const seen = [watcher.observe({ _tag: "Committed", record, decision, model, block }), this.inspect(watcher)]
      this.verdicts.push(...seen.flatMap((verdict) => verdict === undefined ? [] : [`${watcher.name}: ${verdict}`]))
    }
    return outcome
  }

  private inspect(watcher: ReturnType<typeof watch>) {
    return watcher.observe({ _tag: "Inspected", reads: new Glance(this.engine), model: this.model, decision: undefined, whole: true })
  }

  /** The properties' verdicts after the engine's state was changed behind its back. */
  tampered(change: (state: State) => void): ReadonlyArray<string> {
    change(this.engine.state)
    return this.watchers.flatMap((watcher) => this.inspect(watcher) === undefined ? [] : [watcher.name])
  }
}

const all = [conservation, ledgerMoney, fundsEqualModel, stateEqualsModel, identityEqualsModel]

describe("the model", () => {
  test("comes to what the engine comes to, whatever befalls a transfer", () => {
    const driver = new Watched(all)
    const owner = driver.funded(usdc(50))
    const late = driver.addPasskey(owner)
    const step = "treasury_withdrawal"
    const withdrawals = [1, 2, 3, 4, 5].map((amount) => driver.withdrawal(owner, usdc(amount))) as [number, number, number, number, number]
    const [done, refused, voided, given, left] = withdrawals
    driver.finish(owner, done)
    for (const number of [refused, voided]) {
      driver.prepare(number)
      driver.approve(owner, number, step, { signCount: number })
      driver.begin(number, "one")
    }
    driver.note(refused, step, "one", "unknown")
    driver.begin(refused, "two")
    driver.note(refused, step, "two", "refused", "NO")
    driver.complete(refused, step, "one", { outcome: "refused", guard: "NO" })
    driver.scan(refused)
    driver.atEpochMs += 600_001
    driver.scan(voided, step, driver.atEpochMs)
    driver.prepare(voided)
    driver.approve(owner, voided, step, { signCount: 1 })
    driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: given })
    driver.complete(done, step, "again", { updateId: "another" })
    const deposit = driver.deposit(owner, usdc(7))
    driver.finishStep(late, deposit)
    driver.refusal({ kind: "NoteLedgerOffset", offset: 500, recordTimeEpochMs: driver.atEpochMs })
    driver.send({ kind: "StopWithdrawals", idempotencyKey: "", reason: "reconciliation", differenceAtoms: 1, atOffset: 9 })
    expect(driver.refusal(driver.askWithdrawal(owner, usdc(1)))).toBe(Refusal.withdrawalsStopped)
    driver.send({ kind: "AllowWithdrawals", idempotencyKey: driver.nextKey() })
    driver.atEpochMs += dayMs
    driver.send({ kind: "PassTime" })
    expect([left, deposit].map((number) => driver.transfer(number).status)).toEqual(["expired", "expired"])
    driver.finishStep(owner, deposit)
    // With the owner's first passkey, whose counter is higher by now, this sign-in would set the counter back.
    const again = driver.signIn(late)
    driver.refusal({ kind: "CancelTransfer", ...driver.by(again), transfer: voided })
    driver.finish(again, driver.withdrawal(again, usdc(1)))
    const change = driver.partyChange(again)
    driver.bind(again, change)
    driver.finish(again, change)
    for (const amount of [0, 1, usdc(1_000), 2 ** 52]) {
      driver.refusal(driver.askDeposit(again, amount))
      driver.refusal(driver.askWithdrawal(again, amount))
    }
    expect(driver.verdicts).toEqual([])
  })
})

describe("the properties", () => {
  const withDeposit = () => {
    const driver = new Watched([conservation, ledgerMoney, fundsEqualModel])
    const owner = driver.funded(usdc(50))
    const number = driver.withdrawal(owner, usdc(5))
    driver.prepare(number)
    driver.approve(owner, number)
    driver.begin(number, "one")
    expect(driver.verdicts).toEqual([])
    return { driver, number }
  }

  test("see a deposit that is credited again", () => {
    const { driver } = withDeposit()
    expect(driver.tampered(({ accounts, funds }) => {
      accounts.setCollateral(0, accounts.collateral(0) + usdc(50))
      funds.deposited.add(usdc(50))
    })).toEqual(["money-is-conserved", "what-the-ledger-did-is-booked-once", "money-on-the-ledger-equals-model"])
  })

  test("see a reserve that is given back while the ledger may yet do the withdrawal", () => {
    const { driver, number } = withDeposit()
    expect(driver.tampered(({ accounts, funds }) => {
      accounts.setCollateral(0, accounts.collateral(0) + usdc(5))
      funds.reserved.add(-usdc(5))
      funds.put({ ...funds.transfers.find(number)!, end: "rejected", isSettled: true })
    })).toEqual(["what-the-ledger-did-is-booked-once", "money-on-the-ledger-equals-model"])
  })

  test("see a transfer that is confirmed although the ledger has not done it", () => {
    const { driver, number } = withDeposit()
    expect(driver.tampered(({ funds }) => {
      funds.reserved.add(-usdc(5))
      funds.withdrawn.add(usdc(5))
      funds.put({ ...funds.transfers.find(number)!, end: "ledger_confirmed", isSettled: true })
    })).toEqual(["money-is-conserved", "what-the-ledger-did-is-booked-once", "money-on-the-ledger-equals-model"])
  })
})
