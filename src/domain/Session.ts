/** A market's trading session: its state, and the times of its next changes. */

/** Session states, in the order of their codes in the journal. */
export const states = ["open", "reduce_only", "closed"] as const
export type State = (typeof states)[number]

/** A session's state and its next times, in milliseconds since 1970; 0 for a time that is not known. */
export interface Session {
  readonly state: State
  readonly nextOpenEpochMs: number
  readonly nextCloseEpochMs: number
  /** When the session stops taking orders that increase risk, before its next close. */
  readonly riskIncreasingOrderCutoffEpochMs: number
}

/** Whether two sessions are the same. */
export const isSame = (one: Session, other: Session): boolean =>
  one.state === other.state && one.nextOpenEpochMs === other.nextOpenEpochMs && one.nextCloseEpochMs === other.nextCloseEpochMs
  && one.riskIncreasingOrderCutoffEpochMs === other.riskIncreasingOrderCutoffEpochMs

/** When a session next changes by itself, at its cutoff or its close; `Infinity` for a closed one, which only a command opens. */
export const endOf = ({ nextCloseEpochMs, riskIncreasingOrderCutoffEpochMs, state }: Session): number => {
  if (state === "closed") return Number.POSITIVE_INFINITY
  return state === "open" ? Math.min(riskIncreasingOrderCutoffEpochMs, nextCloseEpochMs) : nextCloseEpochMs
}

/** The session as it stands at a time, after the changes that happen by themselves. */
export const heldTo = (session: Session, atEpochMs: number): Session => {
  if (endOf(session) > atEpochMs) return session
  return session.nextCloseEpochMs <= atEpochMs
    ? { state: "closed", nextOpenEpochMs: session.nextOpenEpochMs, nextCloseEpochMs: 0, riskIncreasingOrderCutoffEpochMs: 0 }
    : { ...session, state: "reduce_only" }
}

/**
 * When a session is known to be open from a time on: its beginnings and ends, in order; an end that is not known is `Infinity`. A closed
 * session whose opening is over waits for a command, and nobody knows for how long.
 */
export const spansFrom = (said: Session, atEpochMs: number): ReadonlyArray<readonly [fromEpochMs: number, toEpochMs: number]> => {
  const { nextCloseEpochMs: closes, nextOpenEpochMs: opens, state } = heldTo(said, atEpochMs)
  if (state === "closed") return opens <= atEpochMs ? [] : [[opens, closes > opens ? closes : Number.POSITIVE_INFINITY]]
  return opens > closes ? [[atEpochMs, closes], [opens, Number.POSITIVE_INFINITY]] : [[atEpochMs, closes]]
}
