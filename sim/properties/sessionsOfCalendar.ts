/**
 * Safety and liveness (decisions 10 "Session"). The journaled sessions of a market are those of its calendar, not before their time, and
 * once; whatever the driver and the clock do, nothing trades while the market is closed by the calendar; and once faults have stopped the
 * session is the calendar's.
 */
import { hasSessions } from "../../src/domain/Market.js"
import { heldTo, isSame, type Session } from "../../src/domain/Session.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { SetMarketSession } from "../../src/operations/markets/SetMarketSession.js"
import { NaiveCalendar, type Said } from "../model/NaiveCalendar.js"
import { isDelisted, type NaiveDecision, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A calendar, and its last result. */
class Kept {
  #from = 0
  #last: Said | undefined

  constructor(readonly calendar: NaiveCalendar) {}

  at(epochMs: number): Said {
    if (this.#last === undefined || epochMs < this.#from || epochMs >= this.#last.untilEpochMs) {
      this.#from = epochMs
      this.#last = this.calendar.at(epochMs)
    }
    return this.#last
  }
}

interface State {
  /** The calendars of all markets files so far, by market. */
  readonly calendars: Map<string, Kept>
  model: NaiveVenue | undefined
  /** The sessions after the last record, by market. */
  standing: ReadonlyArray<Session>
}

/** Longest delay of a live driver, ms. */
const graceMs = 1_000

const text = ({ nextCloseEpochMs, nextOpenEpochMs, riskIncreasingOrderCutoffEpochMs, state }: Session): string =>
  `${state}, opens ${nextOpenEpochMs}, cutoff ${riskIncreasingOrderCutoffEpochMs}, closes ${nextCloseEpochMs}`

/** The last moment at which a session would still be correct as stated. */
const lastMomentOf = ({ nextCloseEpochMs, nextOpenEpochMs, riskIncreasingOrderCutoffEpochMs, state }: Session): number =>
  (state === "open" ? riskIncreasingOrderCutoffEpochMs : state === "closed" ? nextOpenEpochMs : nextCloseEpochMs) - 1

const saidVerdict = (
  kept: Kept | undefined,
  before: Session | undefined,
  said: SetMarketSession,
  { atEpochMs, sequence }: Record
): Verdict => {
  if (kept === undefined) return broken(`record ${sequence} sets the session of market ${said.market}, which has no calendar`)
  const { session } = kept.calendar.at(lastMomentOf(said))
  if (!isSame(session, said)) return broken(`record ${sequence} has a session ${text(said)}, and the calendar ${text(session)}`)
  const isOver = lastMomentOf(said) < atEpochMs
  if (before !== undefined && isSame(before, said) && !isOver) return broken(`record ${sequence} says again what stands: ${text(said)}`)
  // The moment before the session began it had another state: a session journaled too early differs from the calendar's at the record's
  // time.
  const now = kept.at(atEpochMs)
  const isEarly = !isSame(now.session, said) && now.untilEpochMs <= lastMomentOf(said)
  return isEarly ? broken(`record ${sequence} at ${atEpochMs} says ${text(said)} too early: it is ${text(now.session)}`) : holds
}

const tradesVerdict = ({ calendars, model }: State, { atEpochMs, sequence }: Record, { fills }: NaiveDecision): Verdict => {
  for (const { market } of fills) {
    const { marketId } = model!.markets[market]!.parameters
    const now = calendars.get(marketId)?.at(atEpochMs).session
    if (now?.state === "closed") return broken(`record ${sequence} trades in ${marketId} at ${atEpochMs}, and its calendar is ${text(now)}`)
  }
  return holds
}

const standing = ({ session }: NaiveMarket): Session => ({
  state: session?.state ?? "closed",
  nextOpenEpochMs: session?.opens ?? 0,
  nextCloseEpochMs: session?.closes ?? 0,
  riskIncreasingOrderCutoffEpochMs: session?.cutoff ?? 0
})

const finishedVerdict = ({ calendars, model }: State, atEpochMs: number): Verdict => {
  for (const market of model?.markets ?? []) {
    const { marketId } = market.parameters
    const kept = calendars.get(marketId)
    if (kept === undefined || !hasSessions(market.parameters) || isDelisted(market)) continue
    const latest = Math.max(atEpochMs, model!.atEpochMs)
    const earliest = Math.max(atEpochMs, model!.atEpochMs) - graceMs
    const candidates = [kept.at(earliest), kept.at(latest)].map(({ session }) => heldTo(session, model!.atEpochMs))
    if (!candidates.some((session) => isSame(session, standing(market)))) {
      return broken(`the session of ${marketId} is ${text(standing(market))}, and at ${latest} the calendar says ${text(candidates[1]!)}`)
    }
  }
  return holds
}

export const sessionsOfCalendar: Property<State> = {
  name: "sessions-are-those-of-the-calendar",
  invariant: "sessions",
  kind: "safety",
  initial: () => ({ calendars: new Map(), model: undefined, standing: [] }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        for (const { calendar, marketId } of seen.calendars) {
          if (!state.calendars.has(marketId)) state.calendars.set(marketId, new Kept(new NaiveCalendar(calendar)))
        }
        return holds
      case "Committed": {
        const { decision, model, record } = seen
        const { command } = record
        state.model = model
        if (command.kind === "SetMarketSession" && decision.outcomes[0]!.refusal === Refusal.none) {
          const kept = state.calendars.get(model.markets[command.market]!.parameters.marketId)
          const verdict = saidVerdict(kept, state.standing[command.market], command, record)
          if (verdict !== holds) return verdict
        }
        state.standing = model.markets.map(standing)
        return tradesVerdict(state, record, decision)
      }
      case "Finished":
        return seen.ready ? finishedVerdict(state, seen.atEpochMs) : holds
      default:
        return holds
    }
  }
}
