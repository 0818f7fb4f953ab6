/**
 * Looks for what became of a step's command: by the hash of its transaction, and through the completions behind the offset that the
 * step is bound to, without a gap. That nothing is found proves nothing, but that the ledger's time has passed does.
 */
import * as Effect from "effect/Effect"
import type { TransferView } from "../engine/Reads.js"
import * as Ledger from "../ledger/Ledger.js"
import { isOwners } from "../ledger/Planned.js"
import type { NoteCompletion } from "../operations/funds/NoteCompletion.js"
import { elsewhere, placeOf } from "./Elsewhere.js"
import type { StepView } from "./Facts.js"
import { note } from "./Journaled.js"
import { type Bound, ofLedger, type Parts } from "./Parts.js"
import { Stopped, type Trouble } from "./Trouble.js"

/** Completions that are asked for at once, and how many such pages one look takes: the next goes on behind them. */
const pageLimit = 200
const mostPages = 64

/** How far the completions of a step were read: kept in memory, since it is found again from the step's own offset. */
export interface Place {
  readonly throughOffset: number
  /** 0 while no page has told one. */
  readonly recordTimeEpochMs: number
}

/** What a look came to. */
export interface Looked extends Place {
  /** Whether a completion has accepted the command. */
  readonly isAccepted: boolean
  /** Whether it reached what was the ledger's end when it began. */
  readonly isWhole: boolean
}

type Fields = Omit<NoteCompletion, "kind" | "principal" | "account" | "credential" | "operation" | "idempotencyKey" | "fingerprint">

/** Refusals that say of another submission that it is decided or under way, and nothing of their own command. */
const pointElsewhere: ReadonlySet<string> = new Set([Ledger.codes.duplicate, Ledger.codes.inFlight])

/** A completion as it is journaled. */
export const factOf = ({ commandId, offset, outcome, recordTimeEpochMs = 0, submissionId }: Ledger.Completion): Fields => {
  const said = { commandId, submissionId, offset, recordTimeEpochMs }
  return outcome._tag === "Accepted"
    ? { ...said, outcome: "accepted", guard: "", updateId: outcome.updateId }
    : { ...said, outcome: pointElsewhere.has(outcome.code) ? "duplicate" : "refused", guard: outcome.code, updateId: "" }
}

/** Who acts in a step: the treasury, or the party that the transfer is of. */
export const actorOf = (treasury: string, { partyId }: Pick<TransferView, "partyId">, { name }: Pick<StepView, "name">): string =>
  isOwners(name) ? partyId : treasury

const ofCompletions = (error: Ledger.LedgerError): Trouble =>
  error._tag === "Refused" && error.code === Ledger.codes.pruned
    ? new Stopped({ reason: "completions_pruned", detail: error.message })
    : ofLedger(error)

/**
 * Reads on from a place to the ledger's end, and journals what it finds of the step's command. Of a step that is bound to another
 * participant nothing is read, as offsets are each participant's own, nor of one that another treasury acts in; of one that is bound to
 * another synchronizer an acceptance is found, and nothing else is said: the record time that is read is not that of the step.
 */
export const through = (
  { ledger, reads, submit }: Parts,
  bound: Bound,
  transfer: TransferView,
  step: StepView,
  from: Place | undefined
): Effect.Effect<Looked, Trouble> =>
  Effect.gen(function*() {
    const { binding } = step
    if (binding === null) return { throughOffset: 0, recordTimeEpochMs: 0, isAccepted: false, isWhole: false }
    const { commandId, ledgerEndOffset, userId } = binding
    const stopped = elsewhere(placeOf(bound), step)
    if (stopped !== undefined && stopped.reason !== "synchronizer_changed") return yield* stopped
    const end = yield* Effect.mapError(ledger.end, ofLedger)
    let place: Place = from ?? { throughOffset: ledgerEndOffset, recordTimeEpochMs: 0 }
    if (end.offset < Math.max(place.throughOffset, ledgerEndOffset)) {
      return yield* new Stopped({ reason: "ledger_went_back", detail: `its end is ${end.offset}, and ${place.throughOffset} was read` })
    }
    const parties = [actorOf(bound.custody.treasury, transfer, step)]
    for (let page = 0; page < mostPages; page++) {
      const { completions, recordTimeEpochMs, throughOffset } = yield* Effect.mapError(
        ledger.completions({ userId, parties, beginExclusive: place.throughOffset, limit: pageLimit }),
        ofCompletions
      )
      const own = completions.filter((completion) => completion.commandId === commandId)
      for (const completion of own) yield* note({ submit }, "NoteCompletion", factOf(completion))
      const isStill = throughOffset <= place.throughOffset
      place = {
        throughOffset: Math.max(throughOffset, place.throughOffset),
        recordTimeEpochMs: recordTimeEpochMs ?? place.recordTimeEpochMs
      }
      const isAccepted = own.some(({ outcome }) => outcome._tag === "Accepted") || isConfirmed(reads.transfer(transfer.number), step)
      const isWhole = place.throughOffset >= end.offset
      if (isAccepted) return { ...place, isAccepted, isWhole }
      if (isWhole || isStill) return stopped === undefined ? { ...place, isAccepted, isWhole } : yield* stopped
    }
    if (stopped !== undefined) return yield* stopped
    return { ...place, isAccepted: false, isWhole: false }
  })

const isConfirmed = (transfer: TransferView | undefined, { name }: StepView): boolean =>
  transfer?.steps.some((step) => step.name === name && step.confirmation !== null) ?? false

/** Looks the acceptance of the step's transaction up by its hash, where the ledger can; whether there is one. */
export const byHash = ({ ledger, submit }: Parts, { binding, preparation }: StepView): Effect.Effect<boolean, Trouble> =>
  Effect.gen(function*() {
    if (binding === null || preparation === null) return false
    // Whatever goes wrong here says nothing: the completions will tell.
    const found = yield* Effect.orElseSucceed(ledger.completionByHash(Buffer.from(preparation.hash, "hex")), () => undefined)
    if (found === undefined || found.outcome._tag !== "Accepted" || found.commandId !== binding.commandId) return false
    yield* note({ submit }, "NoteCompletion", factOf(found))
    return true
  })
