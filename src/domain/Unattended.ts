/**
 * Loops that run for as long as the venue does, and for which nobody waits: what ends one would be told by nothing but the work that is no
 * longer done.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

/** How long a loop rests after a defect, in milliseconds: one that meets it each time is not to fill the log. */
const restMs = 5_000

const tell = (what: string, defect: unknown): Effect.Effect<void> => Effect.logError(`${what} met a defect, and goes on`, Cause.die(defect))

/**
 * One turn of such a loop, which goes on after a defect: that is logged as an error with its cause, and ends this turn at once. For what is
 * done beside others that are not to wait for it, in a loop with a pause of its own.
 */
export const told = (what: string, turn: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.catchAllDefect(turn, (defect) => tell(what, defect))

/**
 * One turn of such a loop, which goes on after a defect: that is logged as an error with its cause, and a rest follows it. Only for turns
 * that leave nothing half done on which others rely: they look each time what there is to do, and have the writer decide it.
 */
export const unattended = (what: string, turn: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.catchAllDefect(turn, (defect) => Effect.zipRight(tell(what, defect), Effect.sleep(restMs)))
