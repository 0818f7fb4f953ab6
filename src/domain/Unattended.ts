/**
 * Loops that run for as long as the venue does, and for which nobody waits: what ends one would be told by nothing but the work that is no
 * longer done.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/** How long a loop rests after a defect, in milliseconds: one that meets it each time is not to fill the log. */
const restMs = 5_000

/**
 * One turn of such a loop, which goes on after a defect: that is logged as an error with its cause, and ends this turn after a rest. Only
 * for turns that leave nothing half done on which others rely: they look each time what there is to do, and have the writer decide it.
 */
export const unattended = (what: string, turn: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.catchAllDefect(turn, (defect) =>
    Effect.zipRight(Effect.logError(`${what} met a defect, and goes on`, Cause.die(defect)), Effect.sleep(restMs)))
