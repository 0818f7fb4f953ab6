/** An engine and the naive model of money on the ledger side by side: every command goes to both, and both must give the same result. */
import { expect } from "vitest"
import { isOfFunds, NaiveFunds, statusOf } from "../../sim/model/NaiveFunds.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import type { FundsBounds } from "../../src/engine/funds/Bounds.js"
import { firstBroken } from "../../src/engine/Invariants.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { answerOf } from "./commands.js"
import { FundsDriver } from "./FundsDriver.js"

export class FundsTwin extends FundsDriver {
  readonly model: NaiveFunds
  private readonly collateral = new Map<number, bigint>()
  private readonly signCounts = new Map<string, number>()
  /** With what both refused the last command; 0 if it was accepted. */
  refused: Refusal = Refusal.none

  /** The records given to the model, to be given to a fork's. */
  private readonly records: Array<{ readonly command: Command; readonly sequence: number; readonly atEpochMs: number }> = []
  private sequence = 0
  /** The engine's state as it is kept, once it was asked for: many are forked from one. */
  private kept: ReturnType<typeof Snapshot.encode> | undefined

  constructor(given: Partial<FundsBounds> = {}, engine?: Engine) {
    super(given, engine)
    const { bounds } = this.funds
    this.model = new NaiveFunds({
      now: () => this.atEpochMs,
      sequence: () => this.sequence,
      isDisabled: () => false,
      collateral: (account) => this.collateral.get(account) ?? 0n,
      withdrawable: (account) => this.collateral.get(account) ?? 0n,
      pay: (account, amount) => void this.collateral.set(account, (this.collateral.get(account) ?? 0n) + amount),
      enable: () => {},
      passkey: (credentialId) => {
        const passkey = this.engine.findPasskey(credentialId)
        return passkey === undefined ? undefined : { ...passkey, signCount: this.signCounts.get(credentialId) ?? 0 }
      },
      usePasskey: (credentialId, signCount) => void this.signCounts.set(credentialId, signCount),
      note: () => {}
    }, bounds)
  }

  /** A copy in the same state: its engine is restored from this one's state. */
  fork(): FundsTwin {
    const { state } = this.engine
    this.kept ??= Snapshot.encode(state)
    const forked = new FundsTwin(this.given, new Engine(Snapshot.unsafeDecode(this.kept, state.capacity)))
    for (const { atEpochMs, command, sequence } of this.records) {
      forked.atEpochMs = atEpochMs
      forked.told(command, sequence)
    }
    forked.atEpochMs = this.atEpochMs
    forked.born = this.born
    forked.offset = this.offset
    return forked
  }

  /** Gives the model a record; returns its refusal. */
  private told(command: Command, sequence: number): Refusal {
    this.sequence = sequence
    this.records.push({ command, sequence, atEpochMs: this.atEpochMs })
    this.model.doWhatIsDue()
    const came = isOfFunds(command) ? this.model.decide(command) : undefined
    return came !== undefined && "refusal" in came ? came.refusal : Refusal.none
  }

  override run(command: Command): Outcome {
    this.kept = undefined
    const before = this.engine.sequence
    const outcome = super.run(command)
    this.refused = outcome.refusal === Refusal.none ? answerOf(outcome.entries[0]).refusal : outcome.refusal
    const expected = this.engine.sequence !== before ? this.told(command, this.engine.sequence) : this.refusedBy(command)
    if (isOfFunds(command) && this.refused !== expected)
      throw new Error(`${command.kind} came to ${this.refused}, and to ${expected} in the model`)
    return outcome
  }

  /** The model's refusal of a command that the engine refused without a record. */
  private refusedBy(command: Command): Refusal {
    const came = isOfFunds(command) ? this.model.decide(command) : undefined
    return came !== undefined && "refusal" in came ? came.refusal : Refusal.none
  }

  /** Both have the same transfers, money and parties, and the engine's invariants hold. */
  check(): void {
    const { engine, model } = this
    for (const transfer of model.transfers) {
      const found = engine.transfer(transfer.number)!
      expect({
        status: found.status,
        isSettled: found.isSettled,
        failure: found.failure ?? undefined,
        steps: found.steps.map(({ confirmation, name }) => [name, confirmation?.updateId])
      }).toEqual({
        status: statusOf(transfer),
        isSettled: transfer.isSettled,
        failure: transfer.failure,
        steps: transfer.steps.map(({ accepted, name }) => [name, accepted?.updateId])
      })
      expect(engine.balance(transfer.account).collateralAtoms).toBe(Number(this.collateral.get(transfer.account) ?? 0n))
      expect(engine.party(transfer.account)?.partyId).toBe(model.parties.get(transfer.account)?.partyId)
    }
    const { alarms, depositedAtoms, reservedAtoms, stop, withdrawnAtoms } = engine.funds
    expect([depositedAtoms, withdrawnAtoms, reservedAtoms]).toEqual([model.deposited, model.withdrawn, model.reserved])
    expect(engine.heldByWithdrawals()).toEqual(model.held)
    expect(Object.values(alarms).reduce((sum, each) => sum + each, 0)).toBe(model.contradictions)
    expect(stop !== undefined).toBe(model.isStopped)
    expect(firstBroken(engine.state)).toBe(undefined)
  }
}
