/**
 * The mark, made once a second by a `MarkTick` and constant between: the median of three prices, held to a band around the
 * index.
 *
 *   p1 = index + index x running funding rate x time to funding / interval
 *   p2 = index + average over the last 30 samples of (impactBid + impactAsk) / 2 - index
 *   p3 = median(impactBid, impactAsk, last trade), the index while either side is thin
 *
 * An impact price is what selling or buying `impactNotional` into the book comes to on average; a side that cannot take it
 * is thin. Its rounding is towards the book: an impact bid down, an impact ask up.
 */
import { floorDiv } from "../../domain/FloorDiv.js"
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { bpsOne } from "../../domain/Units.js"
import * as AutoClose from "../accounts/AutoClose.js"
import type { Book } from "../Book.js"
import { basisSamples, type MarketState } from "../Markets.js"
import * as Band from "../orders/Band.js"
import type { State } from "../State.js"
import * as FinalPrice from "./FinalPrice.js"
import * as Funding from "./Funding.js"
import { isTicking } from "./Freshness.js"
import * as Index from "./Index.js"

/** Markets that one tick moves at most: a fraction of a millisecond's work. The others follow at once, in records of their own. */
export const tickedAtOnce = 16

/** Between two marks of a market. */
const secondMs = 1_000

/** Levels of a side that stand for it: what they cannot take, the side cannot. */
const impactLevels = 512
/** Nearly always so many are enough. */
const touchLevels = 16

/** Whether a market's mark is to be made anew at a time. */
const isDue = (market: MarketState, atEpochMs: number): boolean =>
  (market.tickedSecond + 1) * secondMs <= atEpochMs && isTicking(market, atEpochMs)

/**
 * When the next tick is due, as of a time; `Infinity` where nothing is live, or will be by then. A tick that comes late makes
 * no mark of an index that is stale by the time of its record.
 */
export const nextTickEpochMs = ({ halted, markets }: State, nowEpochMs: number): number => {
  if (halted) return Number.POSITIVE_INFINITY
  let earliest = Number.POSITIVE_INFINITY
  for (const market of markets) {
    const due = (market.tickedSecond + 1) * secondMs
    if (due < earliest && isTicking(market, Math.max(due, nowEpochMs))) earliest = due
  }
  return earliest
}

/** Makes the marks that are due anew, of the lowest markets first, and clears what their bands leave behind. */
export const tick = (state: State): void => {
  let left = tickedAtOnce
  Funding.begin(state)
  for (const market of state.markets) {
    if (!isDue(market, state.atEpochMs)) continue
    if (left-- === 0) break
    tickMarket(state, market)
  }
  Band.clear(state)
  Funding.settleSome(state)
}

const tickMarket = (state: State, market: MarketState): void => {
  const { atEpochMs } = state
  const book = state.books[market.index]!
  market.tickedSecond = Math.floor(atEpochMs / secondMs)
  market.awaitsMark = false
  FinalPrice.note(market, atEpochMs, state.capacity.finalMinutes)
  Funding.goOn(state, market)
  const bid = impactPrice(market, book, Order.buy)
  const ask = impactPrice(market, book, Order.sell)
  const slot = Math.floor(atEpochMs / Funding.sampleMs)
  if (slot > market.sampledSlot) {
    market.sampledSlot = slot
    sample(market, bid, ask)
  }
  const made = inputs(market, bid, ask, atEpochMs)
  const mark = ofInputs(made)
  publish(state, market, bid, ask, made, mark)
  if (mark !== market.mark) Index.moveMark(state, market, mark)
  AutoClose.noteAll(state, market)
}

/** Publishes a mark with what it was made of. */
const publish = ({ atEpochMs, sequence }: State, market: MarketState, bid: number, ask: number, made: Inputs, mark: number): void => {
  const { basis, indexPrice, lastPrice, parameters: { fundingIntervalMs } } = market
  market.marks.add({
    atEpochMs,
    sequence,
    indexPriceAtoms: indexPrice,
    impactBidAtoms: bid,
    impactAskAtoms: ask,
    lastPriceAtoms: lastPrice,
    fundingRateE9: Funding.runningRateE9(market),
    fundingIntervalMs,
    basisSumTwiceAtoms: sumOf(basis),
    basisSamples: basis.length,
    p1Atoms: made.p1,
    p2Atoms: made.p2,
    p3Atoms: made.p3,
    lowestAtoms: made.low,
    highestAtoms: made.high,
    markAtoms: mark
  })
}

const sumOf = (atoms: ReadonlyArray<number>): number => {
  let sum = 0
  for (const each of atoms) sum += each
  return sum
}

/** Takes a sample of the basis and of the premium. A thin side counts as the index. */
const sample = (market: MarketState, bid: number, ask: number): void => {
  const { basis, indexPrice } = market
  basis.push(bid === none || ask === none ? 0 : bid + ask - 2 * indexPrice)
  if (basis.length > basisSamples) basis.shift()
  Funding.sample(market, bid === none ? indexPrice : bid, ask === none ? indexPrice : ask)
}

/** The average price at which `impactNotional` goes into the book's bids (for a buy side) or offers; -1 where it does not. */
const impactPrice = (market: MarketState, book: Book, side: Order.Side): number => {
  const touch = book.levels(side, touchLevels)
  const price = averagePrice(market, side, touch)
  return price !== none || touch.length < touchLevels ? price : averagePrice(market, side, book.levels(side, impactLevels))
}

/** The average price at which `impactNotional` goes into levels, the best first; -1 where they cannot take it. */
export const averagePrice = (
  { factor, parameters: { impactNotionalAtoms } }: MarketState,
  side: Order.Side,
  levels: ReadonlyArray<readonly [priceAtoms: number, sizeAtoms: number]>
): number => {
  const wanted = BigInt(impactNotionalAtoms)
  const unit = BigInt(factor)
  let notional = 0n
  let size = 0n
  for (const [priceAtoms, sizeAtoms] of levels) {
    const price = BigInt(priceAtoms)
    const more = price * BigInt(sizeAtoms) * unit
    if (notional + more < wanted) {
      notional += more
      size += BigInt(sizeAtoms)
      continue
    }
    // All of the better levels and a part of this one: wanted / (K x (size + (wanted - notional) / (price x K))).
    const divisor = size * price * unit + wanted - notional
    const product = wanted * price
    return Number(side === Order.buy ? product / divisor : (product + divisor - 1n) / divisor)
  }
  return none
}

/** round(a / b) for b > 0: half goes toward +infinity. */
const halfUp = (a: bigint, b: bigint): number => Number(floorDiv(2n * a + b, 2n * b))

const median = (one: number, two: number, three: number): number => Math.max(Math.min(one, two), Math.min(Math.max(one, two), three))

/** What a mark is made of, price atoms. */
export interface Inputs {
  /** The index with the running funding until it is paid, the index with the average basis, and the book's own. */
  readonly p1: number
  readonly p2: number
  readonly p3: number
  /** What the band around the index leaves of them. */
  readonly low: number
  readonly high: number
}

/** What a market's mark is made of as its book stands at a time. */
export const inputsOf = ({ atEpochMs, books }: State, market: MarketState): Inputs => {
  const book = books[market.index]!
  return inputs(market, impactPrice(market, book, Order.buy), impactPrice(market, book, Order.sell), atEpochMs)
}

/** The mark that inputs come to. */
export const ofInputs = ({ high, low, p1, p2, p3 }: Inputs): number => Math.min(high, Math.max(low, median(p1, p2, p3)))

/** The mark of a market whose impact prices are `bid` and `ask`, -1 where thin, price atoms. */
export const markOf = (market: MarketState, bid: number, ask: number, atEpochMs: number): number =>
  ofInputs(inputs(market, bid, ask, atEpochMs))

/** What a mark is made of where the impact prices are `bid` and `ask`, -1 where thin, price atoms. */
export const inputs = (market: MarketState, bid: number, ask: number, atEpochMs: number): Inputs => {
  const { basis, indexPrice, lastPrice, parameters } = market
  const { fundingIntervalMs, markBandBps, maxPriceAtoms, minPriceAtoms } = parameters
  const toFundingMs = fundingIntervalMs - atEpochMs % fundingIntervalMs
  const funded = BigInt(indexPrice) * BigInt(Funding.runningRateE9(market)) * BigInt(toFundingMs)
  const p1 = indexPrice + halfUp(funded, BigInt(fundingIntervalMs) * 1_000_000_000n)
  const p2 = basis.length === 0 ? indexPrice : indexPrice + halfUp(BigInt(sumOf(basis)), BigInt(2 * basis.length))
  const p3 = bid === none || ask === none ? indexPrice : median(bid, ask, lastPrice === 0 ? indexPrice : lastPrice)
  const low = Math.max(minPriceAtoms, Math.ceil((indexPrice * (bpsOne - markBandBps)) / bpsOne))
  const high = Math.min(maxPriceAtoms, Math.floor((indexPrice * (bpsOne + markBandBps)) / bpsOne))
  return { p1, p2, p3, low, high }
}
