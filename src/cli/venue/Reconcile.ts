/** A comparison of the venue's books with the ledger, formatted for an operator. */
import * as Units from "../../domain/Units.js"
import type { Reconciliation } from "../../edge/operator/reconcile.js"
import * as Format from "../replay/Format.js"

/** Money atoms as USDC, exact for any amount. */
const usdc = (atoms: string): string => {
  const digits = atoms.replace("-", "").padStart(Units.moneyScale + 1, "0")
  const whole = digits.slice(0, -Units.moneyScale)
  return `${atoms.startsWith("-") ? "-" : ""}${whole}.${digits.slice(-Units.moneyScale)}`
}

const byStop = ({ differenceAtoms, reason }: NonNullable<Reconciliation["stop"]>): string =>
  reason === "operator" ? " by an operator" : `: ${reason}, ${usdc(differenceAtoms)}`

export const lines = (report: Reconciliation): ReadonlyArray<string> => [
  `treasury ${report.treasuryPartyId} at ledger offset ${report.atLedgerOffset}, ${Format.time(report.comparedAtEpochMs)}`,
  Format.table(["what", "USDC>"], [
    ["confirmed deposits", usdc(report.confirmedDepositsAtoms)],
    ["confirmed deposits, not credited yet", usdc(report.uncreditedDepositsAtoms)],
    ["confirmed withdrawals", usdc(report.confirmedWithdrawalsAtoms === "0" ? "0" : `-${report.confirmedWithdrawalsAtoms}`)],
    ["owed by the journal", usdc(report.owedAtoms)],
    ["held on the ledger", usdc(report.heldAtoms)],
    ["not attributed", usdc(report.unattributedAtoms)]
  ]),
  report.withdrawalsStopped ? `withdrawals are stopped${report.stop === undefined ? "" : byStop(report.stop)}` : "withdrawals are open",
  ...(report.acceptedAtoms === undefined ? [] : [`accepted as lacking: ${usdc(report.acceptedAtoms)}`])
]
