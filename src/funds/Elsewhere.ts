/**
 * Steps bound to another participant or synchronizer than the venue now uses, because a setting changed while they were in
 * progress, or to a treasury other than the one whose key the signer now has. Only their own participant deduplicates them, only
 * their own synchronizer's time shows that they can no longer take effect, and only the completions of their own party show their
 * result. Nothing is concluded about them or submitted until the former setting is restored. An acceptance is believed from any
 * source.
 */
import * as Effect from "effect/Effect"
import type { Reads } from "../engine/Reads.js"
import { isOwners } from "../ledger/Planned.js"
import * as PreparedTransaction from "../ledger/prepared/PreparedTransaction.js"
import type { StepView } from "./Facts.js"
import type { Bound } from "./Parts.js"
import { Stopped } from "./Trouble.js"

/** Where a step is bound, and the treasury that acts in the venue's own steps. */
export interface Place {
  readonly participantId: string
  readonly synchronizerId: string
  readonly treasury: string
}

/** The fields of a step that say where it is bound. */
type Bindable = Pick<StepView, "name" | "binding" | "preparation">

/** Where the venue now acts. */
export const placeOf = ({ custody: { synchronizerId, treasury }, participantId }: Bound): Place => ({
  participantId,
  synchronizerId,
  treasury
})

/** The treasury that acts in a prepared step; undefined where the owner acts, or nothing is prepared. */
const treasuryIn = ({ name, preparation }: Bindable): string | undefined => {
  if (isOwners(name) || preparation === null) return undefined
  const bytes = new Uint8Array(Buffer.from(preparation.preparedTransaction, "base64"))
  const prepared = PreparedTransaction.decode(bytes)
  return "metadata" in prepared ? prepared.metadata.submitterInfo.actAs[0] : undefined
}

/** Why a step cannot be continued from here; undefined where it can, or is not bound yet. */
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

/**
 * Why a step cannot be prepared from here: besides the above, the engine takes no other user for a bound step, since a ledger
 * deduplicates by user. What is prepared already continues under its own user.
 */
export const unpreparable = (bound: Bound, step: Bindable): Stopped | undefined => {
  const { binding } = step
  const { userId } = bound.custody
  return elsewhere(placeOf(bound), step) ?? (binding === null || binding.userId === userId ? undefined : new Stopped({
    reason: "user_changed",
    detail: `the step is bound to the user ${binding.userId}, and not to ${userId}`
  }))
}

/** Fails for a step that is bound elsewhere. */
export const here = (bound: Bound, step: Bindable): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => elsewhere(placeOf(bound), step) ?? Effect.void)

/** Logs once, when the venue's place is first known, which open steps are bound elsewhere. */
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
