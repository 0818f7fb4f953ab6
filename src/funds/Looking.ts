/**
 * Finds out what became of a step's command: by the hash of its transaction, and through the completions after the offset to which
 * the step is bound, without a gap. Finding nothing proves nothing, but the passing of the ledger's time does.
 */
import * as Effect from "effect/Effect"
import type { TransferView } from "../engine/Reads.js"
import * as Ledger from "../ledger/Ledger.js"
import { isOwners } from "../ledger/Planned.js"
import { noteCompletion, pageLimit } from "./Completions.js"
import { elsewhere, placeOf } from "./Elsewhere.js"
import type { StepView } from "./Facts.js"
import { wentBack } from "./Offsets.js"
import { type Bound, endBehind, ofLedger, type Parts } from "./Parts.js"
import { Stopped, type Trouble } from "./Trouble.js"

/** Most pages of completions per search, unless it has to be in one go; the next search continues from there. */
const mostPages = 64

/** How far a step's completions have been read: kept in memory, since it can be found again from the step's own offset. */
export interface Place {
  readonly throughOffset: number
  /** 0 while no page has reported it. */
  readonly recordTimeEpochMs: number
}

/** The result of a search. */
export interface Looked extends Place {
  /** Whether a completion has accepted the command. */
  readonly isAccepted: boolean
  /** Whether the search reached the ledger's end as of its beginning. */
  readonly isWhole: boolean
  /** Whether it began where the step is bound, so that no earlier search is part of what it shows. */
  readonly isInOneGo: boolean
}

/** The party that acts in a step: the treasury, or the transfer's own party. */
export const actorOf = (treasury: string, { partyId }: Pick<TransferView, "partyId">, { name }: Pick<StepView, "name">): string =>
  isOwners(name) ? partyId : treasury

const ofCompletions = (error: Ledger.LedgerError): Trouble =>
  error._tag === "Refused" && error.code === Ledger.codes.pruned
    ? new Stopped({ reason: "completions_pruned", detail: error.message })
    : ofLedger(error)

/**
 * Reads from a place to the ledger's end, and journals what it finds about the step's command. Nothing is read for a step bound to
 * another participant, since offsets are specific to each, nor for one of another treasury. For one bound to another synchronizer
 * an acceptance is found but nothing else is reported, since the record time read is not that of the step; likewise where the
 * ledger went back. Without a place the search begins where the step is bound.
 */
export const through = (
  parts: Parts,
  bound: Bound,
  transfer: TransferView,
  step: StepView,
  from: Place | undefined,
  pages = mostPages
): Effect.Effect<Looked, Trouble> =>
  Effect.gen(function*() {
    const { ledger, reads } = parts
    const { binding } = step
    if (binding === null) return { throughOffset: 0, recordTimeEpochMs: 0, isAccepted: false, isWhole: false, isInOneGo: true }
    const { commandId, ledgerEndOffset, userId } = binding
    const isElsewhere = elsewhere(placeOf(bound), step)
    if (isElsewhere !== undefined && isElsewhere.reason !== "synchronizer_changed") return yield* isElsewhere
    const end = yield* endBehind({ ledger }, bound, ledgerEndOffset)
    const stopped = isElsewhere ?? bound.offsets.doubt(step)
    const isInOneGo = from === undefined || end.offset < from.throughOffset || stopped !== undefined
    let place: Place = isInOneGo ? { throughOffset: ledgerEndOffset, recordTimeEpochMs: 0 } : from
    const parties = [actorOf(bound.custody.treasury, transfer, step)]
    for (let page = 0; page < pages; page++) {
      const { completions, recordTimeEpochMs, throughOffset } = yield* Effect.mapError(
        ledger.completions({ userId, parties, beginExclusive: place.throughOffset, limit: pageLimit }),
        ofCompletions
      )
      const own = completions.filter((completion) => completion.commandId === commandId)
      for (const completion of own) yield* noteCompletion(parts, bound, completion)
      const isStill = throughOffset <= place.throughOffset
      place = {
        throughOffset: Math.max(throughOffset, place.throughOffset),
        recordTimeEpochMs: recordTimeEpochMs ?? place.recordTimeEpochMs
      }
      const isAccepted = own.some(({ outcome }) => outcome._tag === "Accepted") || isConfirmed(reads.transfer(transfer.number), step)
      const isWhole = place.throughOffset >= end.offset
      if (isAccepted) return { ...place, isAccepted, isWhole, isInOneGo }
      if (isWhole || isStill) return stopped === undefined ? { ...place, isAccepted, isWhole, isInOneGo } : yield* stopped
    }
    if (stopped !== undefined) return yield* stopped
    return { ...place, isAccepted: false, isWhole: false, isInOneGo }
  })

const isConfirmed = (transfer: TransferView | undefined, { name }: StepView): boolean =>
  transfer?.steps.some((step) => step.name === name && step.confirmation !== null) ?? false

/**
 * Looks up the acceptance of the step's transaction by its hash, where the ledger supports it. Returns whether there is one. One that
 * is not behind where the step is bound cannot be journaled as the step's: the ledger has numbered its events anew since.
 */
export const byHash = (
  parts: Pick<Parts, "ledger" | "reads" | "submit">,
  bound: Pick<Bound, "completing">,
  { binding, name, preparation }: StepView
): Effect.Effect<boolean, Trouble> =>
  Effect.gen(function*() {
    if (binding === null || preparation === null) return false
    // A failure here means nothing: the completions will decide.
    const found = yield* Effect.orElseSucceed(parts.ledger.completionByHash(Buffer.from(preparation.hash, "hex")), () => undefined)
    if (found === undefined || found.outcome._tag !== "Accepted" || found.commandId !== binding.commandId) return false
    if (found.offset <= binding.ledgerEndOffset && name !== "owner_account_acceptance") {
      return yield* wentBack(`it accepted the step at ${found.offset}, and the step is bound to ${binding.ledgerEndOffset}`)
    }
    yield* noteCompletion(parts, bound, found)
    return true
  })
