/**
 * Settlement of a delisted market, step by step: its orders are cancelled; accounts with negative equity are closed as in a
 * liquidation, so that deficits fall to the insurance fund or to the ranked counterparties; then longs and shorts are paired at the
 * final price. Each record does a bounded part at its beginning, and at every point long and short sizes are equal.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import * as Breadth from "../Breadth.js"
import { Event } from "../EventLog.js"
import { Movement, Step } from "../LiquidationLog.js"
import * as Margin from "../Margin.js"
import * as Delisting from "../markets/Delisting.js"
import type { Delisting as Progress, MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import * as Leaving from "../orders/Leaving.js"
import type { State } from "../State.js"
import { atOnce, deleverage } from "./Deleveraging.js"
import * as InsuranceFund from "./InsuranceFund.js"
import { bankruptcyPrice, takeOver } from "./Liquidation.js"
import { type Direction, directionOf, long, short } from "./Triggers.js"

/** Where a deficit has no counterparty, the settlement is tried again after this time, milliseconds. */
const againAfterMs = 60_000

/** Continues the settlements, in index order of the markets. */
export const run = (state: State): void => {
  if (state.delistings.length === 0 || state.halted || state.settling > 0) return
  for (let market = next(state); market !== undefined; market = next(state)) if (!settle(state, market)) return
}

/** The first market whose settlement can continue. */
const next = ({ atEpochMs, delistings, markets }: State): MarketState | undefined => {
  const index = delistings.find((each) => {
    const { againAtEpochMs, state } = markets[each]!.delisting!
    return state === "settling" && againAtEpochMs <= atEpochMs
  })
  return index === undefined ? undefined : markets[index]
}

/** When a record has to come for a settlement: 0 for at once, `Infinity` where there is none. */
export const nextEpochMs = ({ delistings, halted, markets }: State): number => {
  let earliest = Number.POSITIVE_INFINITY
  if (halted) return earliest
  for (const index of delistings) {
    const { againAtEpochMs, state } = markets[index]!.delisting!
    if (state === "settling") earliest = Math.min(earliest, againAtEpochMs)
  }
  return earliest
}

/** Positions that a record examines, for deficits and pairs together. */
const lookedAt = ({ capacity }: State): number => (capacity.liquidatedAtOnce ?? atOnce).settled

/**
 * Continues with a market. Returns whether the record is done with it, as it is settled or has to wait; otherwise the next record
 * continues.
 */
const settle = (state: State, market: MarketState): boolean => {
  const { delisting } = market
  assert(delisting !== null, "a market that is settled is delisted")
  if (delisting.step === "orders") {
    if (!cancelOrders(state, market)) return false
    delisting.step = "deficits"
  }
  if (delisting.step === "deficits") {
    if (!coverDeficits(state, market, delisting)) return false
    delisting.step = "closing"
    delisting.at = 0
    delisting.shortAt = 0
  }
  if (!close(state, market, delisting)) return false
  if (market.openInterest === 0) {
    Delisting.settled(state, market, delisting)
    return true
  }
  state.capacity.reached?.("a settlement waited for somebody to close against")
  delisting.step = "deficits"
  delisting.at = 0
  delisting.againAtEpochMs = state.atEpochMs + againAfterMs
  return true
}

/** Cancels resting orders of a market, bids before offers, as many as a record may end. Returns whether none is left. */
const cancelOrders = (state: State, market: MarketState): boolean => {
  const book = state.books[market.index]!
  const { liquidating } = state
  const most = state.capacity.endedAtOnce ?? Leaving.endedAtOnce
  for (; book.orderCount > 0; liquidating.swept++) {
    if (liquidating.swept >= most) {
      state.capacity.reached?.("orders of a delisted market were left to the next record")
      return false
    }
    const bid = book.best(Order.buy)
    const order = bid === none ? book.best(Order.sell) : bid
    Matching.cancelResting(state, order, Leaving.reasonOr(state, order, Order.CancelReason.marketDelisted))
  }
  return true
}

/**
 * The result of examining a position: no deficit; a deficit that is covered; one that the next record continues with; or one
 * without a counterparty.
 */
type Covered = "healthy" | "covered" | "unfinished" | "nobody"

/** Searches the positions for deficits. Returns whether all were examined. */
const coverDeficits = (state: State, market: MarketState, delisting: Progress): boolean => {
  const { liquidating } = state
  for (;; delisting.at++) {
    delisting.at = nextHeld(state, market, delisting.at, undefined)
    if (hasWalked(state)) return false
    const slot = slotAt(state, market, delisting.at)
    if (slot === none) return true
    if (liquidating.settled >= lookedAt(state)) {
      state.capacity.reached?.("a settlement went on in the next record")
      return false
    }
    liquidating.settled += 1 + Breadth.beyondOneLook(state, state.positions.account(slot))
    if (cover(state, slot) === "unfinished") return false
  }
}

/** Examines the account of a position, and closes the position at its bankruptcy price where the equity is negative. */
const cover = (state: State, slot: number): Covered => {
  const account = state.positions.account(slot)
  if (!owes(state, account)) return "healthy"
  state.capacity.reached?.("a deficit was covered in a settlement")
  const priceAtoms = bankruptcyPrice(state, account, slot)
  const came = account === InsuranceFund.find(state)
    ? InsuranceFund.moved(state, Movement.deleveraging, state.positions.market(slot), () => deleverage(state, slot, priceAtoms))
    : handOn(state, account, slot, priceAtoms)
  return came === "closed" ? "covered" : came
}

/** Passes a position to the insurance fund, and the rest to the ranked counterparties. */
const handOn = (state: State, account: number, slot: number, priceAtoms: number): ReturnType<typeof deleverage> => {
  takeOver(state, account, slot, priceAtoms)
  return state.positions.quantity(slot) === 0 || !owes(state, account) ? "closed" : deleverage(state, slot, priceAtoms)
}

/** Whether an account's equity is below zero at the marks. */
const owes = (state: State, account: number): boolean => {
  Margin.refreshAccount(state, account)
  return Margin.equityOf(state, account) < 0
}

/** Pairs longs with shorts at the final price. Returns whether one of the two sides is used up. */
const close = (state: State, market: MarketState, delisting: Progress): boolean => {
  const { liquidating } = state
  for (;;) {
    delisting.at = nextHeld(state, market, delisting.at, long)
    delisting.shortAt = nextHeld(state, market, delisting.shortAt, short)
    if (hasWalked(state)) return false
    const [longSlot, shortSlot] = [slotAt(state, market, delisting.at), slotAt(state, market, delisting.shortAt)]
    if (longSlot === none || shortSlot === none) return true
    if (liquidating.settled >= lookedAt(state)) {
      state.capacity.reached?.("a settlement went on in the next record")
      return false
    }
    liquidating.settled += 1 + Breadth.beyondOneLook(state, state.positions.account(longSlot))
      + Breadth.beyondOneLook(state, state.positions.account(shortSlot))
    const ofLong = cover(state, longSlot)
    if (ofLong === "unfinished") return false
    if (ofLong === "nobody") delisting.at++
    if (ofLong !== "healthy") continue
    const ofShort = cover(state, shortSlot)
    if (ofShort === "unfinished") return false
    if (ofShort === "nobody") delisting.shortAt++
    if (ofShort === "healthy") pair(state, market, longSlot, shortSlot)
  }
}

/**
 * The position at a place of a market: first those of all accounts that ever entered it, in slot order, then the insurance fund's,
 * which may still take over others; -1 where it is flat, and past the last place.
 */
const slotAt = ({ accounts, positions }: State, { index }: MarketState, place: number): number => {
  const held = positions.heldCount(index)
  if (place > held) return none
  const fund = accounts.find(Ids.insuranceFundId)
  if (place === held) return fund === none ? none : ofHolder(positions, positions.find(fund, index))
  const slot = positions.heldSlot(index, place)
  return positions.account(slot) === fund ? none : ofHolder(positions, slot)
}

const ofHolder = (positions: State["positions"], slot: number): number => slot === none || positions.quantity(slot) === 0 ? none : slot

/** Most places that a record visits: those of accounts without a position cost a read each. */
const walkedAtOnce = 8_192

/** Whether the record has visited as many places as it may. */
const hasWalked = ({ liquidating }: State): boolean => liquidating.walked >= walkedAtOnce

/**
 * The first place at or after `from` with a position, of one direction if given; past the last where there is none. Where the
 * record may not go further, the place at which it stopped.
 */
const nextHeld = (state: State, market: MarketState, from: number, direction: Direction | undefined): number => {
  const { liquidating, positions } = state
  const held = positions.heldCount(market.index)
  for (let place = from; place <= held; place++) {
    if (++liquidating.walked >= walkedAtOnce) return place
    if (place < held && positions.heldSize(market.index, place) === 0) continue
    const slot = slotAt(state, market, place)
    if (slot !== none && (direction === undefined || directionOf(positions.quantity(slot)) === direction)) return place
  }
  return held + 1
}

/** Closes the smaller size of a long and a short position against each other at the market's final price. */
const pair = (state: State, market: MarketState, longSlot: number, shortSlot: number): void => {
  const { atEpochMs, liquidationLog, positions, sequence } = state
  const [account, counterparty] = [positions.account(longSlot), positions.account(shortSlot)]
  const sizeAtoms = Math.min(positions.quantity(longSlot), -positions.quantity(shortSlot))
  const priceAtoms = market.mark
  state.events.event5(Event.Settled, market.index, account, counterparty, sizeAtoms, priceAtoms)
  liquidationLog.add({
    sequence,
    atEpochMs,
    market: market.index,
    step: Step.settlement,
    account,
    counterparty,
    rank: 0,
    rankingSequence: 0,
    direction: long,
    sizeAtoms,
    filledAtoms: sizeAtoms,
    priceAtoms,
    markAtoms: market.mark,
    feeAtoms: 0,
    // Neither side is tested for its margin: both are closed in any case.
    equityAtoms: 0,
    maintenanceMarginAtoms: 0
  })
  const fund = InsuranceFund.find(state)
  const pass = (): void => Matching.transfer(state, market, longSlot, shortSlot, sizeAtoms, priceAtoms)
  if (account === fund || counterparty === fund) InsuranceFund.moved(state, Movement.settlement, market.index, pass)
  else pass()
}
