/**
 * Steps that are bound to another participant or synchronizer than the venue now deals with, since a setting was changed while they
 * were under way, or that another treasury acts in than the signer now has the key of. Only their own participant deduplicates them,
 * only their own synchronizer's time tells that they can take no effect any more, and only the completions of who acts tell what became
 * of them: nothing is concluded of them and nothing executed until all of it is what it was. That they were accepted is believed whoever
 * tells it.
 */
import * as Effect from "effect/Effect"
import type { Reads } from "../engine/Reads.js"
import { isOwners } from "../ledger/Planned.js"
import * as PreparedTransaction from "../ledger/prepared/PreparedTransaction.js"
import type { StepView } from "./Facts.js"
import type { Bound } from "./Parts.js"
import { Stopped } from "./Trouble.js"

/** Where steps are bound to, and who acts in those of the venue's own. */
export interface Place {
  readonly participantId: string
  readonly synchronizerId: string
  readonly treasury: string
}

/** What of a step says where it is bound to. */
type Bindable = Pick<StepView, "name" | "binding" | "preparation">

/** Where the venue deals. */
export const placeOf = ({ custody: { synchronizerId, treasury }, participantId }: Bound): Place => ({
  participantId,
  synchronizerId,
  treasury
})

/** The treasury that acts in a step as it is prepared; undefined where it is its owner's, or nothing is prepared. */
const treasuryIn = ({ name, preparation }: Bindable): string | undefined => {
  if (isOwners(name) || preparation === null) return undefined
  const bytes = new Uint8Array(Buffer.from(preparation.preparedTransaction, "base64"))
  const prepared = PreparedTransaction.decode(bytes)
  return "metadata" in prepared ? prepared.metadata.submitterInfo.actAs[0] : undefined
}

/** Why a step cannot be gone on with from here; undefined where it can, and where it is bound to nothing yet. */
export const elsewhere = (place: Place, step: Bindable): Stopped | undefined => {
  const { binding } = step
  if (binding === null) return undefined
  const { participantId, synchronizerId } = binding
  if (participantId !== place.participantId) {
    return new Stopped({
      reason: "participant_changed",
      detail: `the step is bound to ${participantId}, and not to ${place.participantId}`
    })
  }
  const treasury = treasuryIn(step)
  if (treasury !== undefined && treasury !== place.treasury) {
    return new Stopped({
      reason: "treasury_changed",
      detail: `${treasury} acts in the step, and the signer has the key of ${place.treasury}`
    })
  }
  return synchronizerId === place.synchronizerId ? undefined : new Stopped({
    reason: "synchronizer_changed",
    detail: `the step is bound to ${synchronizerId}, and not to ${place.synchronizerId}`
  })
}

/** Stops what is bound elsewhere. */
export const here = (bound: Bound, step: Bindable): Effect.Effect<void, Stopped> =>
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
