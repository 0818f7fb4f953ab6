/** Reads about money on the ledger. */
import { none } from "../../domain/None.js"
import type { TransferKind } from "../../operations/funds/Transfers.js"
import { AccountReads } from "../accounts/Reads.js"
import type { ForgottenTransfers, FundsView, PartyView, StepOfCommandView, TransferView } from "../Reads.js"
import { minDepositAtoms, minWithdrawalAtoms } from "./Bounds.js"
import { type Alarm, alarms } from "./Funds.js"
import { type Withheld, withheldFor } from "./Moving.js"
import { awaitedBy, idOf, ledgerOutcomeOf, statusOf, stepAtHand, type Transfer } from "./Transfer.js"

const view = (transfer: Transfer): TransferView => ({
  ...transfer,
  id: idOf(transfer),
  status: statusOf(transfer),
  awaits: awaitedBy(transfer),
  stepAtHand: stepAtHand(transfer),
  ledgerOutcome: ledgerOutcomeOf(transfer)
})

export class FundsReads extends AccountReads {
  transfer(number: number): TransferView | undefined {
    const transfer = this.state.funds.transfers.find(number)
    return transfer === undefined ? undefined : view(transfer)
  }

  transfersOf(account: number, kind: TransferKind, before: number, limit: number): ReadonlyArray<TransferView> {
    return this.state.funds.transfers.of(account, kind, before, limit).map(view)
  }

  depositsSequence(account: number): number {
    const { transfers } = this.state.funds
    // A forgotten transfer last changed before it was forgotten, and a deposit that failed has changed nothing else of its account.
    const forgotten = transfers.mayHaveForgottenOf(account) ? transfers.forgotBySequence : 0
    return transfers.of(account, "deposit", Infinity, Infinity).reduce((last, { lastSequence }) => Math.max(last, lastSequence), forgotten)
  }

  forgottenTransfers(account: number): ForgottenTransfers {
    const { transfers } = this.state.funds
    return { knownFrom: transfers.knownFrom(account), bySequence: transfers.forgotBySequence }
  }

  openTransfers(): ReadonlyArray<TransferView> {
    return this.state.funds.transfers.allOpen().map(view)
  }

  heldByWithdrawals(): ReadonlyMap<number, bigint> {
    return this.state.funds.transfers.heldByAccount()
  }

  openTransfersOf(account: number): ReadonlyArray<TransferView> {
    return this.state.funds.transfers.openOf(account).map(view)
  }

  withheldFor(number: number): Withheld | undefined {
    const transfer = this.state.funds.transfers.find(number)
    return transfer === undefined ? undefined : withheldFor(this.state, transfer)
  }

  transfersToDrive(): ReadonlyArray<TransferView> {
    return this.state.funds.transfers.allVenues().map(view)
  }

  stepOfCommand(commandId: string): StepOfCommandView | undefined {
    const { transfers } = this.state.funds
    const of = transfers.ofCommand(commandId)
    return of === undefined ? undefined : { transfer: of.transfer, step: transfers.find(of.transfer)!.steps[of.at]!.name }
  }

  party(account: number): PartyView | undefined {
    return this.state.funds.parties.of(account)
  }

  accountOfParty(partyId: string): number {
    const { parties } = this.state.funds
    const account = parties.accountOf(partyId)
    return account !== none && parties.of(account)?.partyId === partyId ? account : none
  }

  get parties(): ReadonlyArray<PartyView> {
    return this.state.funds.parties.all()
  }

  get hasParties(): boolean {
    return this.state.funds.parties.count > 0
  }

  get funds(): FundsView {
    const { credited, fees, fundingPool, funds } = this.state
    return {
      depositedAtoms: funds.deposited.atoms,
      withdrawnAtoms: funds.withdrawn.atoms,
      reservedAtoms: funds.reserved.atoms,
      creditedAtoms: credited.atoms,
      feesAtoms: fees.atoms,
      fundingPoolAtoms: fundingPool.atoms,
      offset: funds.offset,
      recordTimeEpochMs: funds.recordTimeEpochMs,
      stop: funds.stop ?? undefined,
      acceptedAtoms: funds.acceptedAtoms,
      alarms: Object.fromEntries(alarms.map((alarm, code) => [alarm, funds.alarmCounts[code]!])) as Record<Alarm, number>,
      openTransfers: funds.transfers.openCount,
      openCapacity: funds.bounds.open,
      preparedLength: funds.transfers.preparedLength,
      preparedCapacity: funds.bounds.preparedLength,
      keptTransfers: funds.transfers.count,
      minDepositAtoms,
      minWithdrawalAtoms
    }
  }
}
