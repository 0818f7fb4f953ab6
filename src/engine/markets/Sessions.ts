/**
 * Sessions of markets. What a session is comes from a calendar outside, journaled with the moments that come next. A session
 * ends by itself at its moments, so that nobody has to be there to close a market.
 */
import { none } from "../../domain/None.js"
import * as Session from "../../domain/Session.js"
import { Event } from "../EventLog.js"
import type { MarketState, StandingSession } from "../Markets.js"
import type { State } from "../State.js"
import * as Changing from "./Changing.js"
import { revive, sessionOf } from "./Freshness.js"

/** Gives a market a session, and says so where it is another than it had. */
export const set = (state: State, market: MarketState, said: Session.Session): void => {
  const { atEpochMs } = state
  const before = sessionOf(market)
  const next = Session.heldTo(said, atEpochMs)
  if (market.session !== null && Session.isSame(market.session, next)) return
  market.session = standing(next, atEpochMs)
  schedule(state, market)
  if (before === "closed" && next.state !== "closed") {
    state.capacity.reached?.("a market opened its session")
    revive(market, atEpochMs)
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

/** Its members in one order: what is digested of them does not depend on where they came from. */
const standing = (session: Session.Session, asOfEpochMs: number): StandingSession => ({
  state: session.state,
  asOfEpochMs,
  nextOpenEpochMs: session.nextOpenEpochMs,
  nextCloseEpochMs: session.nextCloseEpochMs,
  riskIncreasingOrderCutoffEpochMs: session.riskIncreasingOrderCutoffEpochMs
})

/** Takes a market's session away for good, with what was to come of it. */
export const end = (state: State, market: MarketState): void => {
  market.session = null
  schedule(state, market)
}

/** Enters when a market's session ends by itself. */
export const schedule = ({ sessions }: State, { index, session }: MarketState): void => {
  const end = session === null ? Number.POSITIVE_INFINITY : Session.endOf(session)
  if (end === Number.POSITIVE_INFINITY) sessions.remove(index)
  else sessions.set(index, end)
}

/** Ends the sessions whose moments have come, of equal ones the lowest market first. */
export const pass = (state: State): void => {
  for (let index = state.sessions.shiftDue(state.atEpochMs); index !== none; index = state.sessions.shiftDue(state.atEpochMs)) {
    const market = state.markets[index]!
    set(state, market, market.session!)
    state.capacity.reached?.(market.session!.state === "closed" ? "a session closed by itself" : "a session reached its cutoff by itself")
  }
}

/** When the next session ends by itself; `Infinity` where none does. */
export const nextEpochMs = ({ sessions }: State): number => sessions.earliest
