/**
 * Safety (I10). Money on the ledger follows the rules: transfers, including since when their owners have been asked for an approval,
 * parties and sums are the same in the engine and in the reference model.
 */
import { type NaiveTransfer, statusOf } from "../model/NaiveFunds.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { difference } from "./Difference.js"
import type { Glance } from "./Glance.js"
import { holds, type Property, type Verdict } from "./Property.js"

const transferVerdict = (reads: Glance["ledger"], transfer: NaiveTransfer): Verdict => {
  const found = reads.transfer(transfer.number)
  return difference(
    `transfer ${transfer.number}`,
    found === undefined ? undefined : {
      status: found.status,
      account: found.account,
      amountAtoms: found.amountAtoms,
      partyId: found.partyId,
      isSettled: found.isSettled,
      dueSinceEpochMs: found.end === null ? found.dueSinceEpochMs : undefined,
      failure: found.failure ?? undefined,
      steps: found.steps.map(({ approval, confirmation, name, preparation }) => [
        name,
        preparation?.hash,
        approval?.nonce,
        confirmation?.updateId
      ])
    },
    transfer.isForgotten ? undefined : {
      status: statusOf(transfer),
      account: transfer.account,
      amountAtoms: Number(transfer.amount),
      partyId: transfer.partyId,
      isSettled: transfer.isSettled,
      dueSinceEpochMs: transfer.end === undefined ? transfer.waitsSince : undefined,
      failure: transfer.failure,
      steps: transfer.steps.map(({ accepted, attempts, name }) => {
        const attempt = attempts.findLast(({ isVoid }) => !isVoid)
        return [name, attempt?.hash, attempt?.approval?.nonce, accepted?.updateId]
      })
    }
  )
}

const verdictOf = (reads: Glance["ledger"], { funds }: NaiveVenue, isAsked: (account: number) => boolean): Verdict => {
  for (const transfer of funds.transfers) {
    const verdict = isAsked(transfer.account) ? transferVerdict(reads, transfer) : holds
    if (verdict !== undefined) return verdict
  }
  for (const [account, { isConfirmed, partyId }] of funds.parties) {
    const party = reads.party(account)
    const verdict = difference(`the party of account ${account}`, [party?.partyId, (party?.confirmedAtEpochMs ?? 0) !== 0], [
      partyId,
      isConfirmed
    ])
    if (verdict !== undefined) return verdict
  }
  const { acceptedAtoms, alarms, depositedAtoms, offset, recordTimeEpochMs, reservedAtoms, stop, withdrawnAtoms } = reads.funds
  return difference(
    "money on the ledger",
    [String(depositedAtoms), String(withdrawnAtoms), String(reservedAtoms), offset, recordTimeEpochMs, stop, acceptedAtoms,
      Object.values(alarms).reduce((sum, each) => sum + each, 0)],
    [String(funds.deposited), String(funds.withdrawn), String(funds.reserved), funds.offset, funds.ledgerTime, funds.stop, funds.accepted,
      funds.contradictions]
  )
}

export const fundsEqualModel: Property<null> = {
  name: "money-on-the-ledger-equals-model",
  invariant: "I10",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Inspected") return holds
    const { decision, model, reads: { ledger }, whole } = seen
    return verdictOf(ledger, model, (account) => whole || decision?.touchedAccounts.has(account) === true)
  }
}
