/**
 * Delistings: announced by an operator or ordered at once, visible to everybody, and put into effect by the venue at their time.
 * From then on the market is halted for good with its final price as its mark, and `accounts/Settlement.ts` closes the positions.
 */
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { DelistMarket } from "../../operations/markets/DelistMarket.js"
import type { MarketChanged } from "../../operations/markets/MarketChanged.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import { Event } from "../EventLog.js"
import type { Delisting, MarketState } from "../Markets.js"
import type { State } from "../State.js"
import * as Announced from "./Announced.js"
import * as Changing from "./Changing.js"
import { averagedMs, finalPriceAt } from "./FinalPrice.js"
import * as Funding from "./Funding.js"
import * as Index from "./Index.js"
import * as Sessions from "./Sessions.js"

/** States of a delisting. Events carry the index as a code: never renumber. */
export const delistingStates = ["withdrawn", "announced", "settling", "settled"] as const

const begun: Delisting = {
  state: "announced",
  effectiveAtEpochMs: 0,
  finalPriceAtoms: 0,
  settledAtEpochMs: 0,
  step: "orders",
  at: 0,
  shortAt: 0,
  againAtEpochMs: 0
}

/** Decides an operator's command about the delisting of a market. */
export const decide = (
  state: State,
  { action, effectiveAtEpochMs, market: index }: DelistMarket
): MarketChanged | Refused => {
  const market = state.markets[index]
  if (market === undefined) return refused(Refusal.marketUnknown, none)
  if (market.isDelisted) return refused(Refusal.marketDelisted, none)
  if (action === "withdraw") {
    withdraw(state, market)
    return changed(market, 0)
  }
  if (!Market.isListed(market.status)) return refused(Refusal.statusMoveRefused, none)
  if (effectiveAtEpochMs === 0) {
    begin(state, market)
    return changed(market, 0)
  }
  const earliest = state.atEpochMs + (state.capacity.noticeMs ?? Announced.noticeMs)
  if (effectiveAtEpochMs < earliest) return refused(Refusal.delistingTooEarly, none, earliest, effectiveAtEpochMs, earliest)
  announce(state, market, effectiveAtEpochMs)
  return changed(market, effectiveAtEpochMs)
}

/** Announces a market's delisting for a time, in place of an earlier announcement. */
const announce = (state: State, market: MarketState, effectiveAtEpochMs: number): void => {
  market.delisting = { ...begun, effectiveAtEpochMs }
  tell(state, market, "announced")
}

const changed = ({ index }: MarketState, effectiveAtEpochMs: number): MarketChanged => ({
  _tag: "MarketChanged",
  market: index,
  effectiveAtEpochMs,
  underInitialMargin: 0,
  underMaintenanceMargin: 0
})

/** Withdraws an announced delisting, if there is one. */
const withdraw = (state: State, market: MarketState): void => {
  if (market.delisting === null) return
  market.delisting = null
  state.capacity.reached?.("an announced delisting was withdrawn")
  tell(state, market, "withdrawn")
}

/** Publishes the state of a market's delisting. */
const tell = (state: State, market: MarketState, became: (typeof delistingStates)[number]): void => {
  const { effectiveAtEpochMs, finalPriceAtoms } = market.delisting ?? begun
  queue(state)
  Changing.touch(state, market)
  state.events.event4(Event.MarketDelisting, market.index, delistingStates.indexOf(became), effectiveAtEpochMs, finalPriceAtoms)
}

/** Collects the markets that are to be delisted or are being settled, in index order. */
export const queue = ({ delistings, markets }: State): void => {
  delistings.length = 0
  for (const { delisting, index } of markets) if (delisting !== null && delisting.state !== "settled") delistings.push(index)
}

/** When the next announced delisting takes effect, epoch milliseconds; `Infinity` where none is announced. */
export const nextEpochMs = ({ delistings, markets }: State): number => {
  let earliest = Number.POSITIVE_INFINITY
  for (const index of delistings) {
    const { effectiveAtEpochMs, state } = markets[index]!.delisting!
    if (state === "announced") earliest = Math.min(earliest, effectiveAtEpochMs)
  }
  return earliest
}

/** How late an announced delisting may take effect, in milliseconds: a venue that is up has a record for it at its time. */
const missedMs = 60_000

/**
 * Whether a market's announced delisting has been missed: its time is over by a minute, because the venue was down or halted, and the
 * market has made no marks since. Its final price would be one of before, or of few marks, and everybody knows it by now.
 */
export const isMissed = ({ delisting }: MarketState, atEpochMs: number): boolean =>
  delisting?.state === "announced" && atEpochMs - delisting.effectiveAtEpochMs >= missedMs

/**
 * Puts due delistings into effect. One that was missed is announced anew, for half an hour later, so that the market can make marks that
 * it is settled at, and an operator has time to withdraw it.
 */
export const takeEffect = (state: State): void => {
  const { atEpochMs, capacity, delistings, markets } = state
  if (nextEpochMs(state) > atEpochMs) return
  for (const index of [...delistings]) {
    const market = markets[index]!
    const { delisting } = market
    if (delisting?.state !== "announced" || delisting.effectiveAtEpochMs > atEpochMs) continue
    if (!isMissed(market, atEpochMs)) begin(state, market)
    else {
      capacity.reached?.("a delisting was missed and announced anew")
      announce(state, market, atEpochMs + averagedMs(capacity.finalMinutes))
    }
  }
}

/** Halts a market for good with its final price as its mark. */
const begin = (state: State, market: MarketState): void => {
  const { atEpochMs } = state
  state.capacity.reached?.("a market was delisted")
  // There is no further tick that would pay for an interval whose time is over.
  Funding.endInterval(state, market)
  Announced.withdraw(state, market)
  market.letGo()
  Sessions.end(state, market)
  const finalPriceAtoms = finalPriceAt(market, atEpochMs, state.capacity.finalMinutes)
  market.delisting = { ...begun, state: "settling", effectiveAtEpochMs: atEpochMs, finalPriceAtoms }
  Changing.setStatus(state, market, "halted")
  tell(state, market, "settling")
  if (finalPriceAtoms !== market.mark) Index.moveMark(state, market, finalPriceAtoms)
}

/** Ends a settlement once no position is left in the market. */
export const settled = (state: State, market: MarketState, delisting: Delisting): void => {
  state.capacity.reached?.("a delisted market was settled")
  delisting.state = "settled"
  delisting.settledAtEpochMs = state.atEpochMs
  tell(state, market, "settled")
}
