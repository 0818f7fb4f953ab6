/** A market's trading session: what it is at a time, and the moments that come next. */

/** What a session may be, in the order of their codes in the journal. */
export const states = ["open", "reduce_only", "closed"] as const
export type State = (typeof states)[number]

/** What a session is, and its moments; 0 for one that is not known. */
export interface Session {
  readonly state: State
  readonly nextOpenEpochMs: number
  readonly nextCloseEpochMs: number
  /** When the session that closes next ceases to take what increases risk. */
  readonly riskIncreasingOrderCutoffEpochMs: number
}

/** Whether two sessions are the same. */
export const isSame = (one: Session, other: Session): boolean =>
  one.state === other.state && one.nextOpenEpochMs === other.nextOpenEpochMs && one.nextCloseEpochMs === other.nextCloseEpochMs
  && one.riskIncreasingOrderCutoffEpochMs === other.riskIncreasingOrderCutoffEpochMs

/** When a session becomes another by itself: at its cutoff, at its close; `Infinity` for a closed one, which somebody has to open. */
export const endOf = ({ nextCloseEpochMs, riskIncreasingOrderCutoffEpochMs, state }: Session): number => {
  if (state === "closed") return Number.POSITIVE_INFINITY
  return state === "open" ? Math.min(riskIncreasingOrderCutoffEpochMs, nextCloseEpochMs) : nextCloseEpochMs
}

/** What a session has become of itself by a time. */
export const heldTo = (session: Session, atEpochMs: number): Session => {
  if (endOf(session) > atEpochMs) return session
  return session.nextCloseEpochMs <= atEpochMs
    ? { state: "closed", nextOpenEpochMs: session.nextOpenEpochMs, nextCloseEpochMs: 0, riskIncreasingOrderCutoffEpochMs: 0 }
    : { ...session, state: "reduce_only" }
}
