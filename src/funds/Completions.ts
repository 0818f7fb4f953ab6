/**
 * Journals completions, one at a time, and logs where the ledger has told something that cannot be. The journal and the metrics have
 * such an alarm as well, but whoever is called because of it reads the log first.
 */
import * as Effect from "effect/Effect"
import { formatDecimal, moneyScale } from "../domain/Units.js"
import type { FundsView, TransferView } from "../engine/Reads.js"
import * as Ledger from "../ledger/Ledger.js"
import { note, type Noted } from "./Journaled.js"
import type { Bound, Parts } from "./Parts.js"
import type { Withheld } from "./Trouble.js"

/** Completions that are asked for at once. */
export const pageLimit = 200

/** Refusals that report another submission as decided or in progress, and say nothing about their own command. */
const pointElsewhere: ReadonlySet<string> = new Set([Ledger.codes.duplicate, Ledger.codes.inFlight])

/** A completion in journaled form. */
const factOf = ({ commandId, offset, outcome, recordTimeEpochMs = 0, submissionId }: Ledger.Completion) => {
  const said = { commandId, submissionId, offset, recordTimeEpochMs }
  return outcome._tag === "Accepted"
    ? { ...said, outcome: "accepted", guard: "", updateId: outcome.updateId } as const
    : { ...said, outcome: pointElsewhere.has(outcome.code) ? "duplicate" : "refused", guard: outcome.code, updateId: "" } as const
}

/** The alarms that were raised between two views. */
const raised = (before: FundsView, after: FundsView): ReadonlyArray<string> =>
  Object.entries(after.alarms).flatMap(([alarm, count]) => count > before.alarms[alarm as keyof FundsView["alarms"]] ? [alarm] : [])

/** Whose a transfer is, and of what amount, as an alarm tells it. */
export const amountOf = (reads: Parts["reads"], { account, amountAtoms, kind }: TransferView): string =>
  `${kind === "party_change" ? "" : `${formatDecimal(amountAtoms, moneyScale)} USDC of `}${reads.accountId(account)}`

/** Logs an alarm that a completion has raised. */
const tell = (reads: Parts["reads"], alarm: string, { commandId, offset, outcome }: Ledger.Completion): Effect.Effect<void> => {
  const of = reads.stepOfCommand(commandId)
  const transfer = of === undefined ? undefined : reads.transfer(of.transfer)
  if (of === undefined || transfer === undefined) return Effect.void
  const update = outcome._tag === "Accepted" ? ` in update ${outcome.updateId}` : ""
  const { stop } = reads.funds
  const stopped = stop === undefined ? "" : `; withdrawals are stopped (${stop.reason})`
  return Effect.logError(
    `alarm: ${of.step} of ${transfer.id} ${alarm.replaceAll("_", " ")}${update} at offset ${offset}: ${amountOf(reads, transfer)}${stopped}`
  )
}

/** Journals a completion. Only one is on its way at a time, so that an alarm raised meanwhile is known to be its own. */
export const noteCompletion = (
  { reads, submit }: Pick<Parts, "reads" | "submit">,
  { completing }: Pick<Bound, "completing">,
  completion: Ledger.Completion
): Effect.Effect<Noted, Withheld> => {
  const noting = Effect.suspend(() => {
    const before = reads.funds
    return Effect.tap(note({ submit }, "NoteCompletion", factOf(completion)),
      () => Effect.forEach(raised(before, reads.funds), (alarm) => tell(reads, alarm, completion)))
  })
  return completing.withPermits(1)(noting)
}
