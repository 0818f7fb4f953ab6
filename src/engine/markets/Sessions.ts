/**
 * Trading sessions of markets. The calendar is external; its states are journaled together with the next times of change. A session
 * reaches its cutoff and closes at those times by itself, so that no operator is needed to close a market; it opens with the next
 * journaled state.
 */
import { none } from "../../domain/None.js"
import * as Session from "../../domain/Session.js"
import { Event } from "../EventLog.js"
import type { MarketState, StandingSession } from "../Markets.js"
import type { State } from "../State.js"
import * as Changing from "./Changing.js"
import { revive, sessionOf } from "./Freshness.js"

/** Sets a market's session, and publishes it where it differs from the previous one. */
export const set = (state: State, market: MarketState, said: Session.Session): void => {
  const { atEpochMs } = state
  const before = sessionOf(market)
  const next = Session.heldTo(said, atEpochMs)
  if (market.session !== null && Session.isSame(market.session, next)) return
  market.session = standing(next, atEpochMs)
  schedule(state, market)
  if (before === "closed" && next.state !== "closed") {
    state.capacity.reached?.("a market opened its session")
    revive(state, market)
  }
  Changing.touch(state, market)
  state.events.event5(
    Event.MarketSessionSet,
    market.index,
    Session.states.indexOf(next.state),
    next.nextOpenEpochMs,
    next.nextCloseEpochMs,
    next.riskIncreasingOrderCutoffEpochMs
  )
}

/** Fixes the order of the fields, so that the digest does not depend on where the values came from. */
const standing = (session: Session.Session, asOfEpochMs: number): StandingSession => ({
  state: session.state,
  asOfEpochMs,
  nextOpenEpochMs: session.nextOpenEpochMs,
  nextCloseEpochMs: session.nextCloseEpochMs,
  riskIncreasingOrderCutoffEpochMs: session.riskIncreasingOrderCutoffEpochMs
})

/** Removes a market's session for good, with its timer. */
export const end = (state: State, market: MarketState): void => {
  market.session = null
  schedule(state, market)
}

/** Sets the timer for the cutoff or the close of a market's session. */
export const schedule = ({ sessions }: State, { index, session }: MarketState): void => {
  const end = session === null ? Number.POSITIVE_INFINITY : Session.endOf(session)
  if (end === Number.POSITIVE_INFINITY) sessions.remove(index)
  else sessions.set(index, end)
}

/** Applies the cutoffs and closes that are due; at equal times the market with the lowest index comes first. */
export const pass = (state: State): void => {
  for (let index = state.sessions.shiftDue(state.atEpochMs); index !== none; index = state.sessions.shiftDue(state.atEpochMs)) {
    const market = state.markets[index]!
    set(state, market, market.session!)
    state.capacity.reached?.(market.session!.state === "closed" ? "a session closed by itself" : "a session reached its cutoff by itself")
  }
}

/** When the next session reaches its cutoff or closes, epoch milliseconds; `Infinity` where none does. */
export const nextEpochMs = ({ sessions }: State): number => sessions.earliest
