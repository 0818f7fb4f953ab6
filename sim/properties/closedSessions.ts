/**
 * Safety (I7, decisions 10 "Session"). While a market's session is closed, by the feed, no order is accepted there, none is amended, and
 * nothing trades; past its cutoff no trade opens, grows or flips a position. A market that trades in sessions is closed until the feed has
 * an event of one.
 */
import { hasSessions, type Parameters } from "../../src/domain/Market.js"
import { type State as SessionState, states } from "../../src/domain/Session.js"
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import type { Record } from "../../src/journal/Record.js"
import { type Announced, parametersFrom } from "./Announced.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  readonly announced: Announced
  readonly parameters: Map<number, Parameters>
  readonly sessions: Map<number, SessionState>
  /** Positions, signed, by account and market. */
  readonly held: Map<string, number>
  /** Accounts that have traded in the current record and whose new position has had no event yet, by account and market. */
  readonly trading: Set<string>
  readonly marketOf: Map<number, number>
}

const sessionOf = ({ parameters, sessions }: State, market: number): SessionState =>
  hasSessions(parameters.get(market)!) ? sessions.get(market) ?? "closed" : "open"

const pair = (account: number, market: number): string => `${account}/${market}`

const changeVerdict = (state: State, sequence: number, event: Extract<DecodedEvent, { event: "PositionChanged" }>): Verdict => {
  const { account, market, quantityAtoms: after } = event
  const name = pair(account, market)
  const before = state.held.get(name) ?? 0
  state.held.set(name, after)
  if (!state.trading.delete(name) || sessionOf(state, market) !== "reduce_only") return holds
  return Math.abs(after) <= Math.abs(before) && after * before >= 0
    ? holds
    : broken(`record ${sequence} takes account ${account} from ${before} to ${after} in market ${market}, past its session's cutoff`)
}

const closedVerdict = (state: State, sequence: number, market: number, what: string): Verdict =>
  sessionOf(state, market) === "closed" ? broken(`record ${sequence}: ${what} in market ${market}, whose session is closed`) : holds

const follow = (state: State, { command, sequence }: Record, event: DecodedEvent): Verdict => {
  switch (event.event) {
    case "MarketPut":
    case "MarketAnnounced":
    case "MarketTookEffect": {
      const parameters = parametersFrom(state.announced, command, event)
      if (parameters === undefined) return holds
      if (parameters.marketType !== state.parameters.get(event.market)?.marketType) state.sessions.delete(event.market)
      state.parameters.set(event.market, parameters)
      return holds
    }
    case "MarketSessionSet":
      state.sessions.set(event.market, states[event.state]!)
      return holds
    case "OrderAccepted":
      state.marketOf.set(event.orderNumber, event.market)
      return closedVerdict(state, sequence, event.market, "an order is accepted")
    case "OrderTermsChanged":
      return closedVerdict(state, sequence, state.marketOf.get(event.orderNumber)!, "an order's terms change")
    case "Traded":
      state.trading.add(pair(event.makerAccount, event.market)).add(pair(event.takerAccount, event.market))
      return closedVerdict(state, sequence, event.market, "a trade")
    case "PositionChanged":
      return changeVerdict(state, sequence, event)
    default:
      return holds
  }
}

export const closedSessions: Property<State> = {
  name: "closed-sessions-trade-nothing-and-late-ones-only-reduce",
  invariant: "I7",
  kind: "safety",
  initial: () => ({
    announced: new Map(),
    parameters: new Map(),
    sessions: new Map(),
    held: new Map(),
    trading: new Set(),
    marketOf: new Map()
  }),
  observe: (state, seen) => {
    if (seen._tag !== "Fed") return holds
    state.trading.clear()
    for (const event of seen.decided.events) {
      const verdict = follow(state, seen.decided.record, event)
      if (verdict !== holds) return verdict
    }
    return holds
  }
}
