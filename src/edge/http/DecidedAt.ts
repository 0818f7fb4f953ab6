/** By which time things end, where the clock and the journal say otherwise. */
import type { Reads } from "../../engine/Reads.js"

/**
 * The time by which a command would be decided now: the journal's never goes back, and stands still where the clock was set back. What
 * ends by its time (a key, a session, a ticket, an index's freshness) has ended for reads as for commands.
 */
export const decidedAt = ({ now, state }: { readonly now: () => number; readonly state: Pick<Reads, "atEpochMs"> }): number =>
  Math.max(now(), state.atEpochMs)
