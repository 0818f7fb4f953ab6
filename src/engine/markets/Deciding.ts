/** How commands about markets are decided: parameters, status, index, marks. */
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
import { awaitMark, revive } from "./Freshness.js"
import * as Index from "./Index.js"
import * as Mark from "./Mark.js"
import * as Sessions from "./Sessions.js"

/** Most markets of a venue. */
const maxMarkets = 1024

/** The outcome of a market that changed at once. */
const changed = (market: MarketState): MarketChanged => ({
  _tag: "MarketChanged",
  market: market.index,
  effectiveAtEpochMs: 0,
  underInitialMargin: 0,
  underMaintenanceMargin: 0
})

const create = (state: State, parameters: Market.Parameters): MarketChanged => {
  const market = new MarketState(state.markets.length, parameters, state.capacity)
  state.markets.push(market)
  state.books.push(new Book(state.orders))
  state.marketById.set(parameters.marketId, market.index)
  state.marketBySymbol.set(Market.symbol(parameters), market.index)
  Changing.touch(state, market)
  state.events.event2(Event.MarketPut, market.index, 1)
  return changed(market)
}

/** What a put of parameters results in: a new market, a change at once, or a change with notice. */
export type PutComesTo = "created" | "at once" | "announced"

/** What the command would result in, or its refusal. Changes nothing. */
export const putComesTo = (state: State, { effectiveAtEpochMs, parameters }: Put): PutComesTo | Refused => {
  if (Market.fault(parameters) !== undefined) return refused(Refusal.marketInvalid, none)
  const existing = state.markets[state.marketById.get(parameters.marketId) ?? none]
  if (existing === undefined) return effectiveAtEpochMs === 0 ? "created" : refused(Refusal.marketUnknown, none)
  if (existing.isDelisted) return refused(Refusal.marketDelisted, none)
  return effectiveAtEpochMs === 0 || Market.isSame(parameters, existing.parameters)
    ? updateRefusal(state, existing, parameters) ?? "at once"
    : Announced.refusalOf(state, existing, parameters, effectiveAtEpochMs) ?? "announced"
}

/** The part of an operator's command that decides this. */
type Put = Pick<PutMarket, "effectiveAtEpochMs" | "parameters">

/** Whether the market exists already, or the venue has room for another. */
export const hasRoom = (state: State, { parameters }: Put): boolean =>
  state.marketById.has(parameters.marketId) || state.markets.length < (state.capacity.markets ?? maxMarkets)

const putMarket = (state: State, command: PutMarket): MarketChanged | Refused => {
  const { effectiveAtEpochMs, parameters } = command
  const comesTo = putComesTo(state, command)
  if (typeof comesTo !== "string") return comesTo
  if (comesTo === "created") return create(state, parameters)
  const market = state.markets[state.marketById.get(parameters.marketId)!]!
  return comesTo === "at once" ? update(state, market, parameters) : Announced.announce(state, market, parameters, effectiveAtEpochMs)
}

/** Why parameters cannot apply at once; undefined where they can. */
const updateRefusal = (state: State, market: MarketState, parameters: Market.Parameters): Refused | undefined => {
  const when = Changing.whenTaken(state, market, parameters)
  if (typeof when !== "string") return when
  return when === "with notice" ? Announced.noticeRequired(state) : Changing.stranding(state, market, parameters)
}

/** Applies parameters at once, and withdraws an announcement, which was made with respect to the old ones. */
const update = (state: State, market: MarketState, parameters: Market.Parameters): MarketChanged => {
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
  // No funding is paid for the time of a halt, nor for an interval that ended during it.
  if (market.status === "halted" && status !== "halted") revive(state, market)
  // Before a listing only the first index price sets the mark, so that the mark may be outdated.
  if (!Market.isListed(market.status) && Market.isListed(status)) awaitMark(state, market)
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
  // A draft may have become a market without sessions since the command was sent.
  if (!Market.hasSessions(market.parameters)) return refused(Refusal.marketInvalid, none)
  Sessions.set(state, market, command)
  return changed(market)
}

export const deciders: Deciders<"markets"> = {
  PutMarket: {
    admit: (state, command) => hasRoom(state, command) ? Refusal.none : Refusal.tableFull,
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
