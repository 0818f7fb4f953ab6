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
import { awaitMark, revive } from "./Freshness.js"
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
  const market = new MarketState(state.markets.length, parameters, state.capacity)
  state.markets.push(market)
  state.books.push(new Book(state.orders))
  state.marketById.set(parameters.marketId, market.index)
  state.marketBySymbol.set(Market.symbol(parameters), market.index)
  Changing.touch(state, market)
  state.events.event2(Event.MarketPut, market.index, 1)
  return changed(market)
}

/** What parameters come to: a new market, other parameters at once, other parameters with notice; or why not. */
export type PutComesTo = "created" | "at once" | "announced"

/** What the command comes to. It changes nothing. */
export const putComesTo = (state: State, { effectiveAtEpochMs, parameters }: Put): PutComesTo | Refused => {
  if (Market.fault(parameters) !== undefined) return refused(Refusal.marketInvalid, none)
  const existing = state.markets[state.marketById.get(parameters.marketId) ?? none]
  if (existing === undefined) return effectiveAtEpochMs === 0 ? "created" : refused(Refusal.marketUnknown, none)
  if (existing.isDelisted) return refused(Refusal.marketDelisted, none)
  return effectiveAtEpochMs === 0 || Market.isSame(parameters, existing.parameters)
    ? updateRefusal(state, existing, parameters) ?? "at once"
    : Announced.refusalOf(state, existing, parameters, effectiveAtEpochMs) ?? "announced"
}

/** What an operator puts. */
type Put = Pick<PutMarket, "effectiveAtEpochMs" | "parameters">

/** Whether the venue has room for a market of that name. */
export const hasRoom = (state: State, { parameters }: Put): boolean =>
  state.marketById.has(parameters.marketId) || state.markets.length < maxMarkets

const putMarket = (state: State, command: PutMarket): MarketChanged | Refused => {
  const { effectiveAtEpochMs, parameters } = command
  const comesTo = putComesTo(state, command)
  if (typeof comesTo !== "string") return comesTo
  if (comesTo === "created") return create(state, parameters)
  const market = state.markets[state.marketById.get(parameters.marketId)!]!
  return comesTo === "at once" ? update(state, market, parameters) : Announced.announce(state, market, parameters, effectiveAtEpochMs)
}

/** Why parameters cannot hold at once; undefined where they can. */
const updateRefusal = (state: State, market: MarketState, parameters: Market.Parameters): Refused | undefined => {
  const when = Changing.whenTaken(state, market, parameters)
  if (when === "never") return refused(Refusal.marketInvalid, none)
  return when === "with notice" ? Announced.noticeRequired(state) : Changing.stranding(state, market, parameters)
}

/** Parameters that hold at once. They withdraw what was announced, which was said of other ones. */
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
  // Under a halt nothing is paid for, and an interval that ended under it neither.
  if (market.status === "halted" && status !== "halted") revive(market, state.atEpochMs)
  // What was told of the index before anybody could trade has made no mark but the first.
  if (!Market.isListed(market.status) && Market.isListed(status)) awaitMark(market, state.atEpochMs)
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
