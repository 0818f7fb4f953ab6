/** How commands about markets are decided: their parameters, their status, their index, their marks. */
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { MarketChanged } from "../../operations/markets/MarketChanged.js"
import type { SetIndexPrice } from "../../operations/markets/SetIndexPrice.js"
import { done, type Refused, refused } from "../../operations/Outcome.js"
import { Book } from "../Book.js"
import * as Watch from "../accounts/Watch.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import * as Margin from "../Margin.js"
import * as Band from "../orders/Band.js"
import { MarketState } from "../Markets.js"
import type { State } from "../State.js"
import { revive } from "./Freshness.js"
import * as Index from "./Index.js"
import * as Mark from "./Mark.js"

/** Most markets a venue may have: everything that grows has a bound. */
const maxMarkets = 1024

const changed = (market: MarketState): MarketChanged => ({ _tag: "MarketChanged", market: market.index })

const putMarket = (state: State, parameters: Market.Parameters): MarketChanged | Refused => {
  if (Market.fault(parameters) !== undefined) return refused(Refusal.marketInvalid, none)
  const existing = state.markets[state.marketById.get(parameters.marketId) ?? none]
  if (existing === undefined) {
    const market = new MarketState(state.markets.length, parameters)
    state.markets.push(market)
    state.books.push(new Book(state.orders))
    state.marketById.set(parameters.marketId, market.index)
    state.marketBySymbol.set(Market.symbol(parameters), market.index)
    touch(state, market)
    state.events.event2(Event.MarketPut, market.index, 1)
    return changed(market)
  }
  if (!mayUpdate(state, existing, parameters)) return refused(Refusal.marketInvalid, none)
  const strands = stranding(state, existing, parameters)
  if (strands !== undefined) return strands
  const before = existing.mark
  existing.setParameters(parameters)
  if (existing.mark !== before) state.events.event2(Event.MarkSet, existing.index, existing.mark)
  state.riskEpoch++
  Watch.note(state, existing)
  clearBeyondBand(state, existing)
  touch(state, existing)
  state.events.event2(Event.MarketPut, existing.index, 0)
  return changed(existing)
}

/**
 * Whether a market may take new parameters. Its scales never change once orders can have been sent for it,
 * and while anyone has a position or an order in it, neither its bounds nor its margins get tighter.
 */
const mayUpdate = (state: State, market: MarketState, next: Market.Parameters): boolean => {
  const now = market.parameters
  if (market.status === "draft") return true
  if (next.priceScale !== now.priceScale || next.quantityScale !== now.quantityScale) return false
  if (market.openInterest === 0 && state.books[market.index]!.orderCount === 0) return true
  return next.minPriceAtoms <= now.minPriceAtoms && next.maxPriceAtoms >= now.maxPriceAtoms
    && next.maxPositionQuantityAtoms >= now.maxPositionQuantityAtoms
    && next.initialMarginBps <= now.initialMarginBps && next.maxLeverageX >= now.maxLeverageX
    && next.maintenanceMarginTiers.every((tier) =>
      Margin.maintenance(next.maintenanceMarginTiers, tier.notionalThresholdAtoms)
        <= Margin.maintenance(now.maintenanceMarginTiers, tier.notionalThresholdAtoms)
    )
    && now.maintenanceMarginTiers.every((tier) =>
      Margin.maintenance(next.maintenanceMarginTiers, tier.notionalThresholdAtoms)
        <= Margin.maintenance(now.maintenanceMarginTiers, tier.notionalThresholdAtoms)
    )
    && next.maintenanceMarginTiers.at(-1)!.maintenanceMarginBps <= now.maintenanceMarginTiers.at(-1)!.maintenanceMarginBps
}

/**
 * The refusal of quantity bounds that some position could not be closed within: a higher minimum than it, or a lower
 * maximum. It names the bound that would pass. Only a bound that gets tighter is looked at, and then every position.
 */
const stranding = ({ positions }: State, market: MarketState, next: Market.Parameters): Refused | undefined => {
  const now = market.parameters
  const raises = next.minQuantityAtoms > now.minQuantityAtoms
  const lowers = next.maxQuantityAtoms < now.maxQuantityAtoms
  if (market.openInterest === 0 || !raises && !lowers) return undefined
  const { least, most } = positions.range(market.index)
  // What was out of the bounds before they changed may stay so: they do not get tighter for it.
  const lowest = Math.max(least, now.minQuantityAtoms)
  if (raises && next.minQuantityAtoms > lowest) {
    return refused(Refusal.positionStranded, none, least, next.minQuantityAtoms, lowest)
  }
  const highest = Math.min(most, now.maxQuantityAtoms)
  return lowers && next.maxQuantityAtoms < highest
    ? refused(Refusal.positionStranded, none, most, next.maxQuantityAtoms, highest)
    : undefined
}

/** Begins to cancel what a band that moved has left beyond its edges. */
const clearBeyondBand = (state: State, market: MarketState): void => {
  Band.note(state, market)
  Band.clear(state)
}

/** Notes that the market's snapshot changed, and so the registry. */
const touch = (state: State, market: MarketState): void => {
  market.marketSequence = state.sequence
  state.registrySequence = state.sequence
}

const setStatus = (state: State, index: number, status: Market.Status): MarketChanged | Refused => {
  const market = state.markets[index]
  if (market === undefined) return refused(Refusal.marketUnknown, none)
  if (!Market.mayMove(market.status, status)) return refused(Refusal.statusMoveRefused, none)
  // Under a halt nothing is paid for, and an interval that ended under it neither.
  if (market.status === "halted" && status !== "halted") revive(market, state.atEpochMs)
  market.status = status
  touch(state, market)
  state.events.event2(Event.MarketStatusSet, index, Market.statuses.indexOf(status))
  return changed(market)
}

const setIndexPrice = (state: State, command: SetIndexPrice): MarketChanged | Refused => {
  const market = state.markets[command.market]
  if (market === undefined) return refused(Refusal.marketUnknown, none)
  const refusal = Index.take(state, market, command)
  Band.clear(state)
  return refusal ?? changed(market)
}

export const deciders: Deciders<"markets"> = {
  PutMarket: {
    admit: (state, { parameters }) =>
      state.marketById.has(parameters.marketId) || state.markets.length < maxMarkets ? Refusal.none : Refusal.tableFull,
    decide: (state, { parameters }) => [putMarket(state, parameters)]
  },
  SetMarketStatus: {
    admit: always,
    decide: (state, { market, status }) => [setStatus(state, market, status)]
  },
  SetIndexPrice: {
    admit: always,
    decide: (state, command) => [setIndexPrice(state, command)]
  },
  MarkTick: {
    admit: always,
    decide: (state) => {
      Mark.tick(state)
      return [done]
    }
  }
}
