/**
 * Steps that are bound to another participant or synchronizer than the venue now deals with, since a setting was changed while they
 * were under way. Only their own participant deduplicates them, and only their own synchronizer's time tells that they can take no
 * effect any more: nothing is concluded of them and nothing executed until the setting is what it was. That they were accepted is
 * believed whoever tells it.
 */
import * as Effect from "effect/Effect"
import type { Reads } from "../engine/Reads.js"
import type { StepView } from "./Facts.js"
import type { Bound } from "./Parts.js"
import { Stopped } from "./Trouble.js"

/** Where steps are bound to. */
export interface Place {
  readonly participantId: string
  readonly synchronizerId: string
}

/** Where the venue deals. */
export const placeOf = ({ custody, participantId }: Bound): Place => ({ participantId, synchronizerId: custody.synchronizerId })

/** Why a step cannot be gone on with from here; undefined where it can, and where it is bound to nothing yet. */
export const elsewhere = (place: Place, { binding }: Pick<StepView, "binding">): Stopped | undefined => {
  if (binding === null) return undefined
  const { participantId, synchronizerId } = binding
  if (participantId !== place.participantId) {
    return new Stopped({
      reason: "participant_changed",
      detail: `the step is bound to ${participantId}, and not to ${place.participantId}`
    })
  }
  return synchronizerId === place.synchronizerId ? undefined : new Stopped({
    reason: "synchronizer_changed",
    detail: `the step is bound to ${synchronizerId}, and not to ${place.synchronizerId}`
  })
}

/** Stops what is bound elsewhere. */
export const here = (bound: Bound, step: Pick<StepView, "binding">): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => elsewhere(placeOf(bound), step) ?? Effect.void)

/** Says once, when it is first known where the venue deals, what is open that is bound elsewhere. */
export const warn = (reads: Pick<Reads, "openTransfers">, bound: Bound): Effect.Effect<void> =>
  Effect.suspend(() => {
    const place = placeOf(bound)
    const found = reads.openTransfers().flatMap(({ id, stepAtHand: step }) => {
      const stopped = step === undefined ? undefined : elsewhere(place, step)
      return stopped === undefined ? [] : [`${id}: ${stopped.message}`]
    })
    return found.length === 0
      ? Effect.void
      : Effect.logWarning(`open transfers whose step is bound elsewhere, and that are not gone on with: ${found.length}; ${found[0]}`)
  })
