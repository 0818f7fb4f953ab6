/** How commands about markets are decided: their parameters, their status, their index, their marks. */
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { MarketChanged } from "../../operations/markets/MarketChanged.js"
import type { PutMarket } from "../../operations/markets/PutMarket.js"
import type { SetIndexPrice } from "../../operations/markets/SetIndexPrice.js"
import type { SetMarketSession } from "../../operations/markets/SetMarketSession.js"
import { done, type Refused, refused } from "../../operations/Outcome.js"
import { Book } from "../Book.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import * as Band from "../orders/Band.js"
import { MarketState } from "../Markets.js"
import type { State } from "../State.js"
import * as Announced from "./Announced.js"
import * as Changing from "./Changing.js"
import * as Delisting from "./Delisting.js"
import { revive } from "./Freshness.js"
import * as Index from "./Index.js"
import * as Mark from "./Mark.js"
import * as Sessions from "./Sessions.js"

/** Most markets a venue may have: everything that grows has a bound. */
const maxMarkets = 1024

/** A market that changed at once. */
const changed = (market: MarketState): MarketChanged => ({
  _tag: "MarketChanged",
  market: market.index,
  effectiveAtEpochMs: 0,
  underInitialMargin: 0,
  underMaintenanceMargin: 0
})

const create = (state: State, parameters: Market.Parameters): MarketChanged => {
  const market = new MarketState(state.markets.length, parameters)
  state.markets.push(market)
  state.books.push(new Book(state.orders))
  state.marketById.set(parameters.marketId, market.index)
  state.marketBySymbol.set(Market.symbol(parameters), market.index)
  Changing.touch(state, market)
  state.events.event2(Event.MarketPut, market.index, 1)
  return changed(market)
}

const putMarket = (state: State, { effectiveAtEpochMs, parameters }: PutMarket): MarketChanged | Refused => {
  if (Market.fault(parameters) !== undefined) return refused(Refusal.marketInvalid, none)
  const existing = state.markets[state.marketById.get(parameters.marketId) ?? none]
  if (existing === undefined) return effectiveAtEpochMs === 0 ? create(state, parameters) : refused(Refusal.marketUnknown, none)
  if (existing.isDelisted) return refused(Refusal.marketDelisted, none)
  return effectiveAtEpochMs === 0 || Market.isSame(parameters, existing.parameters)
    ? update(state, existing, parameters)
    : Announced.announce(state, existing, parameters, effectiveAtEpochMs)
}

/** Parameters that hold at once. They withdraw what was announced, which was said of other ones. */
const update = (state: State, market: MarketState, parameters: Market.Parameters): MarketChanged | Refused => {
  const when = Changing.whenTaken(state, market, parameters)
  if (when === "never") return refused(Refusal.marketInvalid, none)
  if (when === "with notice") return Announced.noticeRequired(state)
  const strands = Changing.stranding(state, market, parameters)
  if (strands !== undefined) return strands
  Announced.withdraw(state, market)
  Changing.take(state, market, parameters)
  Band.clear(state)
  state.events.event2(Event.MarketPut, market.index, 0)
  return changed(market)
}

const setStatus = (state: State, index: number, status: Market.Status): MarketChanged | Refused => {
  const market = state.markets[index]
  if (market === undefined) return refused(Refusal.marketUnknown, none)
  if (market.isDelisted) return refused(Refusal.marketDelisted, none)
  if (!Market.mayMove(market.status, status)) return refused(Refusal.statusMoveRefused, none)
  // Under a halt nothing is paid for, and an interval that ended under it neither.
  if (market.status === "halted" && status !== "halted") revive(market, state.atEpochMs)
  Changing.setStatus(state, market, status)
  return changed(market)
}

const setIndexPrice = (state: State, command: SetIndexPrice): MarketChanged | Refused => {
  const market = state.markets[command.market]
  if (market === undefined) return refused(Refusal.marketUnknown, none)
  if (market.isDelisted) return refused(Refusal.marketDelisted, none)
  const refusal = Index.take(state, market, command)
  Band.clear(state)
  return refusal ?? changed(market)
}

const setSession = (state: State, command: SetMarketSession): MarketChanged | Refused => {
  const market = state.markets[command.market]
  if (market === undefined) return refused(Refusal.marketUnknown, none)
  if (market.isDelisted) return refused(Refusal.marketDelisted, none)
  // A draft may have become a market that is always open while the command was on its way.
  if (!Market.hasSessions(market.parameters)) return refused(Refusal.marketInvalid, none)
  Sessions.set(state, market, command)
  return changed(market)
}

export const deciders: Deciders<"markets"> = {
  PutMarket: {
    admit: (state, { parameters }) =>
      state.marketById.has(parameters.marketId) || state.markets.length < maxMarkets ? Refusal.none : Refusal.tableFull,
    decide: (state, command) => [putMarket(state, command)]
  },
  SetMarketStatus: {
    admit: always,
    decide: (state, { market, status }) => [setStatus(state, market, status)]
  },
  SetIndexPrice: {
    admit: always,
    decide: (state, command) => [setIndexPrice(state, command)]
  },
  DelistMarket: {
    admit: always,
    decide: (state, command) => [Delisting.decide(state, command)]
  },
  MarkTick: {
    admit: always,
    decide: (state) => {
      Mark.tick(state)
      return [done]
    }
  },
  SetMarketSession: {
    admit: always,
    decide: (state, command) => [setSession(state, command)]
  }
}
