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
import * as Market from "../../domain/Market.js"
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

/**
 * Most markets whose marks one tick updates: a fraction of a millisecond's work, and a dozen milliseconds where all of their books are made
 * of thousands of small orders. The others follow at once in records of their own.
 */
export const tickedAtOnce = 16

/** Milliseconds between two marks of a market. */
const secondMs = 1_000

/** How many levels of a side are read for its impact price, one after the other while they do not suffice; the first nearly always do. */
const depths = [16, 512, Market.impactLevels]

/** Whether a market is due for a new mark at a time. */
const isDue = (market: MarketState, atEpochMs: number): boolean =>
  (market.tickedSecond + 1) * secondMs <= atEpochMs && isTicking(market, atEpochMs)

/**
 * When the next tick is due, given the present time; `Infinity` where no market is live or will be by then. A late tick makes no
 * mark from an index that has become stale by the time of its record.
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

/**
 * Whether a market has come back and a tick would make its first mark at a time: until then nobody should act on the outdated one.
 * The markets are only examined while some wait for a mark, and once for each time.
 */
export const isAwaited = (state: State, atEpochMs: number): boolean => {
  const { halted, markets, unawaitedAtEpochMs } = state
  if (unawaitedAtEpochMs === Number.POSITIVE_INFINITY || unawaitedAtEpochMs === atEpochMs || halted) return false
  let waits = false
  for (const market of markets) {
    if (!market.awaitsMark) continue
    if (isDue(market, atEpochMs)) return true
    waits = true
  }
  state.unawaitedAtEpochMs = waits ? atEpochMs : Number.POSITIVE_INFINITY
  return false
}

/** Updates the marks that are due, in index order of the markets, and cancels orders that the moved bands leave behind. */
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
    state.sampledSequence = state.sequence
    sample(market, bid, ask)
  }
  const made = inputs(market, bid, ask, atEpochMs)
  const mark = ofInputs(made)
  publish(state, market, bid, ask, made, mark)
  if (mark !== market.mark) Index.moveMark(state, market, mark)
  AutoClose.noteAll(state, market)
}

/** Publishes a mark with the inputs it was computed from. */
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

/** Samples the basis and the premium. A thin side counts as the index price. */
const sample = (market: MarketState, bid: number, ask: number): void => {
  const { basis, indexPrice } = market
  basis.push(bid === none || ask === none ? 0 : bid + ask - 2 * indexPrice)
  if (basis.length > basisSamples) basis.shift()
  Funding.sample(market, bid === none ? indexPrice : bid, ask === none ? indexPrice : ask)
}

/**
 * The average price, in price atoms, of trading `impactNotional` into the bids (for the buy side) or the offers of the book; -1
 * where the side is thin.
 */
const impactPrice = (market: MarketState, book: Book, side: Order.Side): number => {
  for (const depth of depths) {
    const levels = book.levels(side, depth)
    const price = averagePrice(market, side, levels)
    if (price !== none || levels.length < depth) return price
  }
  return none
}

/** The average price of trading `impactNotional` into the given levels, best first; -1 where they cannot fill it. */
export const averagePrice = (
  { factor, parameters: { impactNotionalAtoms } }: MarketState,
  side: Order.Side,
  levels: ReadonlyArray<readonly [priceAtoms: number, sizeAtoms: number]>
): number => {
  let notional = 0
  let size = 0
  for (const [priceAtoms, sizeAtoms] of levels) {
    // What is added up stays below the notional and is exact; a level that is too large for a number is larger than that in any case.
    const more = priceAtoms * sizeAtoms * factor
    if (notional + more < impactNotionalAtoms) {
      notional += more
      size += sizeAtoms
      continue
    }
    // All of the better levels and part of this one: wanted / (K x (size + (wanted - notional) / (price x K))).
    const [price, wanted] = [BigInt(priceAtoms), BigInt(impactNotionalAtoms)]
    const divisor = BigInt(size) * price * BigInt(factor) + wanted - BigInt(notional)
    const product = wanted * price
    return Number(side === Order.buy ? product / divisor : (product + divisor - 1n) / divisor)
  }
  return none
}

/** round(a / b) for b > 0, with halves rounded toward +infinity. */
const halfUp = (a: bigint, b: bigint): number => Number(floorDiv(2n * a + b, 2n * b))

const median = (one: number, two: number, three: number): number => Math.max(Math.min(one, two), Math.min(Math.max(one, two), three))

/** The inputs of a mark, price atoms. */
export interface Inputs {
  /** The three prices of the median: index with the running funding, index with the average basis, and the book's own price. */
  readonly p1: number
  readonly p2: number
  readonly p3: number
  /** The band around the index to which the median is held. */
  readonly low: number
  readonly high: number
}

/** The inputs of a market's mark from its present book at a given time. */
export const inputsOf = ({ atEpochMs, books }: State, market: MarketState): Inputs => {
  const book = books[market.index]!
  return inputs(market, impactPrice(market, book, Order.buy), impactPrice(market, book, Order.sell), atEpochMs)
}

/** The mark computed from its inputs, price atoms. */
export const ofInputs = ({ high, low, p1, p2, p3 }: Inputs): number => Math.min(high, Math.max(low, median(p1, p2, p3)))

/** The inputs of a mark where the impact prices are `bid` and `ask`, -1 where thin, price atoms. */
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
