/**
 * Steps that the ledger has done and this journal has not prepared. A step is journaled before it is submitted, so this happens only
 * where the journal is an older copy: what it continued with before is lost, and the ledger has kept it. The ids of commands are
 * fixed when a transfer is requested, so such an acceptance is the step's all the same, and the transfer goes on by it. Otherwise a
 * withdrawal would be paid once more, and a deposit never credited.
 */
import * as Effect from "effect/Effect"
import { sequenceOf } from "../domain/Ids.js"
import type { TransferView } from "../engine/Reads.js"
import type * as Ledger from "../ledger/Ledger.js"
import type { StepName } from "../operations/funds/Transfers.js"
import { amountOf, noteCompletion } from "./Completions.js"
import { plannedCommands } from "./Facts.js"
import { note, type Noted } from "./Journaled.js"
import type { Bound, Parts } from "./Parts.js"
import type { Withheld } from "./Trouble.js"

/**
 * Whether a transfer was requested before this process began, with the given sequence as its last. Of later ones nothing that was
 * lost can be known, even where the lost ones had the same ids.
 */
export const isFromBefore = (number: number, beganAtSequence: number): boolean => sequenceOf(number) <= beganAtSequence

/**
 * How far the ledger's clock and the journal's time may be apart, in ms: the clocks of two machines, or a venue whose clock ran ahead
 * and was put right, after which the journal's time stands still for as long.
 */
const clocksApartMs = 10 * 60 * 1000

interface Unprepared {
  readonly transfer: TransferView
  readonly step: StepName
}

/** Of one page of completions, so that the commands of open transfers are made at most once for it. */
export class Ahead {
  private commands: ReadonlyMap<string, Unprepared> | undefined

  /** `beganAtSequence`: the journal's last sequence when this process began. */
  constructor(private readonly parts: Parts, private readonly bound: Bound, private readonly beganAtSequence: number) {}

  /** The steps of transfers from before this process that are not prepared yet, by the ids of their commands. */
  private unprepared(): ReadonlyMap<string, Unprepared> {
    const { bound: { custody: { environment } }, parts: { reads } } = this
    return new Map(
      reads.openTransfers()
        .filter(({ number }) => isFromBefore(number, this.beganAtSequence))
        .flatMap((transfer) =>
          plannedCommands(environment, { ...transfer, accountId: reads.accountId(transfer.account) })
            .filter((_, at) => transfer.steps[at]!.binding === null)
            .map(({ commandId, step }) => [commandId, { transfer, step }] as const)
        )
    )
  }

  /**
   * Notes a completion of a command of which the journal knows nothing, if it accepts a step that is not prepared: binds the step to
   * the place right before it, without a transaction, and then confirms it. One that the ledger recorded long before the transfer was
   * requested seems to belong to a lost transfer that had the same id, unless a clock was wrong.
   */
  note(completion: Ledger.Completion): Effect.Effect<Noted, Withheld> {
    return Effect.gen(this, function*() {
      const { commandId, offset, outcome, recordTimeEpochMs } = completion
      if (outcome._tag !== "Accepted") return "unknown"
      const found = (this.commands ??= this.unprepared()).get(commandId)
      if (found === undefined) return "unknown"
      const { step, transfer: { id, number, requestedAtEpochMs } } = found
      if (recordTimeEpochMs !== undefined && recordTimeEpochMs < requestedAtEpochMs - clocksApartMs) {
        const said = `${id}: an acceptance of its ${step}, in update ${outcome.updateId} at ${offset}, is from long before its request`
        if (step === "treasury_withdrawal") return yield* this.stopFor(found, said)
        yield* Effect.logWarning(`${said}, so of a lost transfer`)
        return "unknown"
      }
      const { custody: { synchronizerId, userId }, participantId } = this.bound
      yield* note(this.parts, "PrepareStep", {
        transfer: number,
        step,
        commandId,
        preparedTransaction: "",
        hash: "",
        hashingScheme: 3,
        userId,
        synchronizerId,
        participantId,
        ledgerEndOffset: offset - 1,
        maxRecordTimeEpochMs: 0
      })
      const noted = yield* noteCompletion(this.parts, this.bound, completion)
      if (noted === "noted") {
        yield* Effect.logWarning(`${id}: the ledger has done its ${step}, which this journal, an older copy, has not prepared`)
      }
      return noted
    })
  }

  /**
   * Stops withdrawals and then ends this one, of which nobody can tell whether it is paid. Its step is bound to nothing: a process that
   * reads the acceptance once more, because this one ended between the two records or behind them, would take it for the step's own.
   */
  private stopFor({ step, transfer }: Unprepared, said: string): Effect.Effect<Noted, Withheld> {
    const { amountAtoms, number } = transfer
    const stop = { reason: "contradiction", differenceAtoms: -amountAtoms, atOffset: 0 } as const
    const rejection = { transfer: number, step, stage: "approval", guard: "accepted_before_request" } as const
    // Told once it is journaled: while there is no room for the stop, each attempt would tell it anew.
    return note(this.parts, "StopWithdrawals", stop).pipe(
      Effect.zipRight(
        Effect.logError(`alarm: ${said}: ${amountOf(this.parts.reads, transfer)}; it may be of a lost withdrawal, or this one `
          + `be paid, and withdrawals are stopped until an operator knows`)
      ),
      Effect.zipRight(note(this.parts, "RejectStep", rejection))
    )
  }
}
