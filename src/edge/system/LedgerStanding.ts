/**
 * The status of the ledger, transfers and reconciliation for `/metrics` and `/readyz`. None of it makes the venue unready, since
 * trading continues.
 */
import type { Stopped } from "../../domain/Shortfall.js"
import { mostContracts, mostHoldings } from "../../ledger/Ledger.js"
import type { FundsView } from "../../engine/Reads.js"
import type { Services } from "../http/Call.js"
import { transferStatuses } from "../../operations/funds/Transfers.js"

/** Most transfers listed by name. */
const mostNamed = 16

/**
 * Why withdrawals are stopped, and what the stop reported as lacking, which is what an operator who lets them continue accepts: of a
 * contradiction the last comparison may know nothing yet.
 */
const stoppedBy = ({ differenceAtoms, reason }: NonNullable<FundsView["stop"]>): string =>
  reason === "operator" ? `stopped: ${reason}` : `stopped: ${reason}, differs by ${differenceAtoms} atoms`

/** The stop that the details tell; undefined where withdrawals are open. An operator's own says nothing of the ledger. */
export const stopIn = (withdrawals: string): Stopped | undefined => {
  const [, reason, differenceAtoms = "0"] = /^stopped: (\w+)(?:, differs by (-?\d+) atoms)?$/.exec(withdrawals) ?? []
  return reason === undefined ? undefined : { reason, differenceAtoms: Number(differenceAtoms) }
}

/** What the last comparison found. Of what is lacking, an operator may have accepted a part. */
const comparedIn = (report: ReturnType<Services["funds"]["standing"]>["report"], acceptedAtoms: number): string => {
  if (report === undefined) return "not compared yet"
  const { atOffset, differenceAtoms } = report
  if (differenceAtoms === 0n) return `agrees at ledger offset ${atOffset}`
  const accepted = differenceAtoms < 0n && acceptedAtoms !== 0 ? `, of which ${acceptedAtoms} are accepted` : ""
  return `differs by ${differenceAtoms} atoms at ledger offset ${atOffset}${accepted}`
}

/** The details in `/readyz`. */
export const ledgerDetails = ({ funds, state }: Services): Readonly<Record<string, string | number | boolean>> => {
  const { offsetLag, report, stopped, trouble, uncompared } = funds.standing()
  const { acceptedAtoms, alarms, offset, openTransfers, stop } = state.funds
  const alarmed = Object.values(alarms).reduce((sum, count) => sum + count, 0)
  return {
    ledger: trouble ?? "live",
    ledgerOffset: offset,
    ledgerOffsetLag: offsetLag,
    openTransfers,
    transfersForTheOperator: stopped.slice(0, mostNamed).map(({ reason, transfer }) =>
      `${state.transfer(transfer)?.id ?? transfer}: ${reason}`
    ).join(", "),
    ledgerAlarms: alarmed,
    withdrawals: stop === undefined ? "open" : stoppedBy(stop),
    reconciliation: comparedIn(report, acceptedAtoms),
    // The line above is from the last completed comparison, however long ago that was.
    ...(uncompared === undefined ? undefined : { reconciliationTrouble: uncompared }),
    // However the books stand: a loss of as much would stop nothing, so it has to be revoked once the treasury was made whole.
    ...(acceptedAtoms === 0 ? undefined : { acceptedAtoms })
  }
}

/** The metrics. */
export const registerLedger = ({ funds, metrics, now, state }: Services): void => {
  metrics.gauges("venue_open_transfers", "Deposits, withdrawals and changes of party that are not over, by status.", ["kind", "status"],
    () => {
      const counts = new Map<string, { readonly labels: { readonly kind: string; readonly status: string }; value: number }>()
      for (const { kind, status } of state.openTransfers()) {
        const key = `${kind} ${status}`
        const counted = counts.get(key)
        if (counted === undefined) counts.set(key, { labels: { kind, status }, value: 1 })
        else counted.value++
      }
      return counts.values()
    })
  metrics.gauge("venue_open_transfers_capacity", "Transfers that may be open.", () => state.funds.openCapacity)
  metrics.gauge(
    "venue_unknown_submissions",
    "Open transfers whose step at hand was executed, or is about to be, and nobody knows whether the ledger has it.",
    () => state.openTransfers().filter(({ status }) => status === unknownStatus).length
  )
  metrics.gauge("venue_stopped_transfers", "Open transfers that wait for an operator.", () => funds.standing().stopped.length)
  metrics.gauge(
    "venue_open_approvals",
    "Challenges to owners, of deposits, withdrawals and passkeys to pin, that are open or whose answer is being decided.",
    () => funds.standing().openQuestions
  )
  metrics.gauge("venue_ledger_reachable", "1 while the ledger and the signer answer.", () => funds.standing().trouble === undefined ? 1 : 0)
  metrics.gauge("venue_ledger_offset", "The offset of the ledger up to which the journal has its completions.", () => state.funds.offset)
  metrics.gauge("venue_ledger_offset_lag", "Offsets of the ledger that were not read yet.", () => funds.standing().offsetLag)
  metrics.counter(
    "venue_unknown_completions_total",
    "Completions since the start of commands that are none of the venue's.",
    () => funds.standing().unknownCompletions
  )
  metrics.counters("venue_ledger_alarms_total", "What the ledger said that cannot be.", ["alarm"],
    () => Object.entries(state.funds.alarms).map(([alarm, value]) => ({ labels: { alarm }, value })))
  metrics.gauge("venue_withdrawals_stopped", "1 while withdrawals are stopped.", () => state.funds.stop === undefined ? 0 : 1)
  metrics.gauge(
    "venue_withdrawals_contradicted",
    "1 while withdrawals are stopped because the ledger has paid, or may have, what was given back.",
    () => state.funds.stop?.reason === "contradiction" ? 1 : 0
  )
  metrics.gauges("venue_reconciliation_difference_atoms",
    "What the treasury holds less what the journal says; absent before it was compared.", [], () => {
    const { report } = funds.standing()
    return report === undefined ? [] : [{ labels: {}, value: Number(report.differenceAtoms) }]
  })
  metrics.gauge(
    "venue_reconciliation_accepted_atoms",
    "What an operator has accepted that the treasury lacks, 0 or below: a difference below it stops withdrawals.",
    () => state.funds.acceptedAtoms
  )
  metrics.gauges("venue_treasury_holdings",
    `Holdings of the settlement asset that the treasury has, of ${mostHoldings} that can be read; absent before it was compared.`, [],
    () => {
      const { report } = funds.standing()
      return report === undefined ? [] : [{ labels: {}, value: report.pieces }]
    })
  metrics.gauges("venue_treasury_contracts",
    `Holdings of any asset, however fine, that the treasury sees, of ${mostContracts} that can be read; absent before it was compared.`, [],
    () => {
      const { report } = funds.standing()
      return report === undefined ? [] : [{ labels: {}, value: report.seen }]
    })
  metrics.gauge(
    "venue_reconciliation_failing",
    "1 while the books cannot be compared with the ledger, or a comparison has lasted for over a minute: what else is told of them is of "
      + "the last one that came to an end.",
    () => funds.standing().uncompared === undefined ? 0 : 1
  )
  metrics.gauges("venue_reconciliation_age_ms", "How long ago the books were last compared; absent before that.", [], () => {
    const { report } = funds.standing()
    return report === undefined ? [] : [{ labels: {}, value: now() - report.atEpochMs }]
  })
}

const unknownStatus: (typeof transferStatuses)[number] = "submitted_unknown"
