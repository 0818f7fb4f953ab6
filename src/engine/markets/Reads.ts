/** Reads of markets: their state, books, trades and figures. */
import { assert } from "../../domain/Assert.js"
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import type { LevelWatch } from "../Book.js"
import type { Funding } from "../FundingLog.js"
import type { MarkMade } from "../MarkLog.js"
import type { MarketState, StandingSession } from "../Markets.js"
import type { BookView, DelistingOutlook, Fill, MarketView, StatsView } from "../Reads.js"
import type { State } from "../State.js"
import { Refusal } from "../../domain/Refusal.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import { noticeRequired, touched, type TouchedPart } from "./Announced.js"
import { hasRoom, type PutComesTo, putComesTo } from "./Deciding.js"
import { isMissed } from "./Delisting.js"
import { finalPriceAt } from "./FinalPrice.js"
import { isStale } from "./Freshness.js"
import { isLastUnpaid, nextEndEpochMs, perInterval, predictedRate8hE9, sampleMs } from "./Funding.js"
import { VenueReads } from "../venue/Reads.js"

/** The session of a market with trading sessions before any was journaled. */
const notJournaled: StandingSession = {
  state: "closed",
  asOfEpochMs: 0,
  nextOpenEpochMs: 0,
  nextCloseEpochMs: 0,
  riskIncreasingOrderCutoffEpochMs: 0
}

export class MarketReads extends VenueReads {
  get marketCount(): number {
    return this.state.markets.length
  }

  get registrySequence(): number {
    return this.state.registrySequence
  }

  findMarket(marketId: string): number {
    return this.state.marketById.get(marketId) ?? none
  }

  findSymbol(symbol: string): number {
    return this.state.marketBySymbol.get(symbol) ?? none
  }

  market(index: number): MarketView {
    const market = this.state.markets[index]
    assert(market !== undefined, "a market index is one that was made")
    return {
      index,
      parameters: market.parameters,
      status: market.status,
      lastPriceAtoms: market.lastPrice,
      indexPriceAtoms: market.indexPrice,
      indexSourceEpochMs: market.indexSource,
      isIndexHeld: market.heldPrice !== 0,
      change24hBps: market.change24hBps(this.state.atEpochMs),
      bookSequence: market.bookSequence,
      session: Market.hasSessions(market.parameters) ? market.session ?? notJournaled : undefined,
      announced: market.announced ?? undefined,
      delisting: delistingView(market),
      marketSequence: market.marketSequence
    }
  }

  touched(index: number, from: number): TouchedPart | undefined {
    const market = this.state.markets[index]
    assert(market !== undefined, "a market index is one that was made")
    return market.announced === null ? undefined : touched(this.state, market, market.announced.parameters, from)
  }

  touchedBy(index: number, parameters: Market.Parameters, from: number): TouchedPart {
    const market = this.state.markets[index]
    assert(market !== undefined, "a market index is one that was made")
    return touched(this.state, market, parameters, from)
  }

  putComesTo(parameters: Market.Parameters, effectiveAtEpochMs: number): PutComesTo | Refused {
    const put = { parameters, effectiveAtEpochMs }
    if (!hasRoom(this.state, put)) return refused(Refusal.tableFull, none)
    const comesTo = putComesTo(this.state, put)
    return comesTo === "at once" && this.surprises(parameters) ? noticeRequired(this.state) : comesTo
  }

  /**
   * Whether positions would follow another underlying's index from one record to the next, or whoever has a position or an order would
   * pay higher fees: up to fees at which a position could no longer be closed. A record may do both.
   */
  private surprises({ makerFeeBps, marketId, takerFeeBps, underlyingSymbol }: Market.Parameters): boolean {
    const { books, markets } = this.state
    const market = markets[this.findMarket(marketId)]
    if (market === undefined || market.status === "draft") return false
    const { openInterest, parameters: now } = market
    if (openInterest > 0 && now.underlyingSymbol !== underlyingSymbol) return true
    return (makerFeeBps > now.makerFeeBps || takerFeeBps > now.takerFeeBps) && (openInterest > 0 || books[market.index]!.orderCount > 0)
  }

  delistingOutlook(index: number, atEpochMs = this.state.atEpochMs): DelistingOutlook {
    const { books, capacity, markets } = this.state
    const market = markets[index]
    assert(market !== undefined, "a market index is one that was made")
    return {
      finalPriceAtoms: market.isDelisted ? market.mark : finalPriceAt(market, atEpochMs, capacity.finalMinutes),
      openInterestAtoms: market.openInterest,
      openOrders: books[index]!.orderCount,
      againAtEpochMs: market.delisting?.state === "settling" ? market.delisting.againAtEpochMs : 0,
      isMissed: isMissed(market, atEpochMs)
    }
  }

  book(market: number, depth: number): BookView {
    const book = this.state.books[market]
    assert(book !== undefined, "a market index is one that was made")
    return { bids: book.levels(Order.buy, depth), asks: book.levels(Order.sell, depth) }
  }

  levelSize(market: number, side: Order.Side, priceAtoms: number): number {
    return this.state.books[market]!.levelSize(side, priceAtoms)
  }

  watchLevels(market: number, watch: LevelWatch | undefined): void {
    this.state.books[market]!.watch = watch
  }

  trades(market: number, before: number, limit: number): ReadonlyArray<Fill> {
    return this.state.fills.ofMarket(market, before, limit)
  }

  tradesSince(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Fill> {
    return this.state.fills.ofMarketSince(market, sinceEpochMs, limit)
  }

  stats(index: number, atEpochMs = this.state.atEpochMs): StatsView {
    const market = this.state.markets[index]
    assert(market !== undefined, "a market index is one that was made")
    return {
      ...market.minutes.day(this.state.atEpochMs),
      lastPriceAtoms: market.lastPrice,
      indexPriceAtoms: market.indexPrice,
      indexSourceEpochMs: market.indexSource,
      markPriceAtoms: market.mark,
      openInterestBaseAtoms: market.openInterest,
      openInterestQuoteAtoms: BigInt(market.openInterest) * BigInt(market.mark * market.factor),
      change24hBps: market.change24hBps(this.state.atEpochMs),
      isStale: isStale(market, this.state.atEpochMs),
      isIndexHeld: market.heldPrice !== 0,
      ...fundingRates(this.state, market, atEpochMs),
      nextFundingEpochMs: nextEndEpochMs(market, atEpochMs)
    }
  }

  hasSampledAny(): boolean {
    return this.state.sampledSequence === this.state.sequence
  }

  hasSampled(index: number): boolean {
    const { marks } = this.state.markets[index]!
    if (marks.length === 0 || marks.column("sequence")(0) !== this.state.sequence) return false
    // A mark was made with a premium sample where it is the first mark of its sampling slot.
    const slotOf = (newer: number): number => Math.floor(marks.column("atEpochMs")(newer) / sampleMs)
    return marks.length === 1 || slotOf(1) < slotOf(0)
  }

  fundings(index: number, sinceEpochMs: number, limit: number): ReadonlyArray<Funding> {
    return this.state.markets[index]!.fundings.since(sinceEpochMs, limit)
  }

  marks(index: number, sinceEpochMs: number, limit: number): ReadonlyArray<MarkMade> {
    return this.state.markets[index]!.marks.since(sinceEpochMs, limit)
  }
}

const delistingView = ({ delisting }: MarketState): MarketView["delisting"] => {
  if (delisting === null) return undefined
  const { effectiveAtEpochMs, finalPriceAtoms, settledAtEpochMs, state } = delisting
  return { state, effectiveAtEpochMs, finalPriceAtoms, settledAtEpochMs }
}

/** The funding rates of the last interval, published or not, and of the current one, judged at a time. */
const fundingRates = (state: State, market: MarketState, atEpochMs: number) => {
  const last = isLastUnpaid(state, market, atEpochMs) ? undefined : market.fundings.at(0)
  const predicted = predictedRate8hE9(state, market, atEpochMs)
  return {
    fundingRate8hE9: last?.rate8hE9 ?? 0,
    fundingRateE9: last?.rateE9 ?? 0,
    predictedFundingRate8hE9: predicted,
    predictedFundingRateE9: perInterval(predicted, market.parameters.fundingIntervalMs)
  }
}
