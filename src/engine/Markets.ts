/** Markets as the engine trades them: parameters, status, prices and what follows from them. */
import * as Market from "../domain/Market.js"
import { bpsOne } from "../domain/Units.js"
import { Minutes } from "./Minutes.js"

/** What of a market a snapshot holds, beside its minutes. */
export interface MarketDump {
  readonly parameters: Market.Parameters
  readonly status: Market.Status
  readonly lastPrice: number
  readonly indexPrice: number
  readonly indexSource: number
  readonly bookSequence: number
  readonly marketSequence: number
  readonly openInterest: number
}

export class MarketState {
  status: Market.Status = "draft"
  /** Money atoms per price atom and size atom. */
  factor = 1
  /** Price atoms; 0 before the first. */
  lastPrice = 0
  indexPrice = 0
  indexSource = 0
  /** Price atoms; 0 while there is none. Constant between the records that set it. */
  mark = 0
  /** No trade prints outside these, no bid rests above and no offer below them, price atoms. */
  bandLow = 0
  bandHigh = 0
  /** Counts changes of mark and parameters: cached margins of an older one are recomputed. */
  riskEpoch = 0
  bookSequence = 0
  marketSequence = 0
  /** Sum of long sizes, size atoms. */
  openInterest = 0

  minutes = new Minutes()

  constructor(readonly index: number, public parameters: Market.Parameters) {
    this.factor = Market.notionalFactor(parameters)
  }

  /**
   * Takes new parameters. A price that is none under them (another scale, outside the bounds) is dropped: the
   * market has no mark until its index speaks again, and no notional at mark leaves the safe integers.
   */
  setParameters(parameters: Market.Parameters): void {
    if (
      parameters.priceScale !== this.parameters.priceScale || this.indexPrice < parameters.minPriceAtoms
      || this.indexPrice > parameters.maxPriceAtoms
    ) {
      this.indexPrice = 0
      this.indexSource = 0
    }
    this.parameters = parameters
    this.factor = Market.notionalFactor(parameters)
    this.setMark(this.indexPrice)
  }

  /** Sets the mark and, around it, the band: rounded inward, to the side that admits less. */
  setMark(mark: number): void {
    this.mark = mark
    const band = this.parameters.priceBandBps
    this.bandLow = Math.ceil((mark * (bpsOne - band)) / bpsOne)
    this.bandHigh = Math.floor((mark * (bpsOne + band)) / bpsOne)
    this.riskEpoch++
  }

  traded(priceAtoms: number, sizeAtoms: number, notionalAtoms: number, atEpochMs: number): void {
    this.lastPrice = priceAtoms
    this.minutes.traded(priceAtoms, sizeAtoms, notionalAtoms, atEpochMs)
  }

  /** Last price against the last of 24 h before `atEpochMs` (or the first ever), bps toward zero; 0 without trades. */
  change24hBps(atEpochMs: number): number {
    const before = this.minutes.openAtoms(atEpochMs)
    return before === 0 ? 0 : Math.trunc(((this.lastPrice - before) * bpsOne) / before)
  }

  dump(): MarketDump {
    return {
      parameters: this.parameters,
      status: this.status,
      lastPrice: this.lastPrice,
      indexPrice: this.indexPrice,
      indexSource: this.indexSource,
      bookSequence: this.bookSequence,
      marketSequence: this.marketSequence,
      openInterest: this.openInterest
    }
  }

  static restore(index: number, dump: MarketDump, minutes: Minutes): MarketState {
    const market = new MarketState(index, dump.parameters)
    market.status = dump.status
    market.lastPrice = dump.lastPrice
    market.indexPrice = dump.indexPrice
    market.indexSource = dump.indexSource
    market.bookSequence = dump.bookSequence
    market.marketSequence = dump.marketSequence
    market.openInterest = dump.openInterest
    market.minutes = minutes
    market.setMark(dump.indexPrice)
    return market
  }
}
