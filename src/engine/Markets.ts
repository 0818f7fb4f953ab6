/** Markets as the engine trades them: parameters, status, prices and what follows from them. */
import * as Market from "../domain/Market.js"
import type * as Session from "../domain/Session.js"
import { bpsOne } from "../domain/Units.js"
import * as FundingLog from "./FundingLog.js"
import * as MarkLog from "./MarkLog.js"
import { Minutes } from "./Minutes.js"
import type { Total } from "./Total.js"

/** Samples of the book's basis that the mark averages over. */
export const basisSamples = 30

/** Parameters with the time from which they hold. */
export interface Announcement {
  readonly effectiveAtEpochMs: number
  readonly parameters: Market.Parameters
}

/** What the index was at a market's ticks in one minute, price atoms. */
export interface IndexMinute {
  /** Counted from the epoch. */
  readonly minute: number
  sum: number
  ticks: number
}

/** What an interval's end has everyone with a position in a market pay or receive, as long as it is in line. */
export interface Payment {
  readonly market: number
  /** Its number among the market's payments: a position of a lower one owes it. */
  readonly epoch: number
  /** When the interval ended that it is for. */
  readonly endedAtEpochMs: number
  readonly rate8hE9: number
  /** The index that it is reckoned with, price atoms. */
  readonly indexAtoms: number
  readonly intervalMs: number
  /** Of those who came to the market, from the first on, how many may still owe it. */
  left: number
  /** Paid and not yet received, money atoms: below zero where more was received first. */
  readonly pool: Total
}

/** How far a market's delisting has come. */
export interface Delisting {
  state: "announced" | "settling" | "settled"
  /** When it is to take effect, and once it has, when it did. */
  effectiveAtEpochMs: number
  /** Price atoms; 0 until it has taken effect, and of a market that never had an index. */
  finalPriceAtoms: number
  /** When the last position was closed; 0 until then. */
  settledAtEpochMs: number
  /** What the settlement is about. */
  step: "orders" | "deficits" | "closing"
  /** Where it is among those who came to the market, the insurance fund behind them: with deficits, then with longs; with shorts. */
  at: number
  shortAt: number
  /** When it is gone through again, where somebody could not be closed; 0 until then, and a moment that has passed while it goes on. */
  againAtEpochMs: number
}

/** A market's session as it stands, and the time of the record that made it so. */
export interface StandingSession extends Session.Session {
  readonly asOfEpochMs: number
}

/**
 * What of a market's index, mark and funding a snapshot holds, and every value of it: what is added here is kept, digested
 * and restored at once.
 */
export class MarketRisk {
  /** A step of the index that waits for later samples to agree with it, price atoms; 0 for none. */
  heldPrice = 0
  /** When its source saw it, epoch milliseconds. */
  heldSource = 0
  /** When the source saw the first sample that agreed with it; 0 for none yet. */
  agreedSource = 0
  /** Price atoms; 0 while there is none. Constant between the records that set it. */
  mark = 0
  /** Since when the market has been live without a break, epoch milliseconds; 0 before it ever was. */
  liveSince = 0
  /** The second of the last tick since the epoch; 0 before the first. */
  tickedSecond = 0
  /** The five seconds since the epoch in which the book was last sampled; 0 before the first. */
  sampledSlot = 0
  /** The latest samples of impactBid + impactAsk - 2 x index, price atoms, oldest first: twice the basis. */
  basis: Array<number> = []
  /** Of the running funding interval: its number since the epoch (0 before the first), and its samples of the premium. */
  fundingInterval = 0
  premiumSumE9 = 0
  premiumSamples = 0
  /** Counts the payments of funding: a position of an older one has yet to settle those since. */
  fundingEpoch = 0
  /** What the last payment was reckoned with: the rate per 8 hours in 10^-9, and the index, price atoms. */
  paidRate8hE9 = 0
  paidIndex = 0
  /** The interval that the last payment was for, milliseconds. */
  paidIntervalMs = 0
  /** Parameters that the market takes by itself at a time; null where none are announced. */
  announced: Announcement | null = null
  /** The largest position limit before the present one under which what is held may have been taken, size atoms; 0 for none. */
  widestPositionAtoms = 0
  /** The latest minutes with ticks, oldest first, as far back as a final price looks. */
  indexMinutes: Array<IndexMinute> = []
  /** Null while the market is neither delisted nor to be. */
  delisting: Delisting | null = null
  /** Null in a market that is always open, and until one is journaled. */
  session: StandingSession | null = null
}

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
  readonly risk: Readonly<MarketRisk>
  /** There only while it is so: a market that waits for no mark has what it always had. */
  readonly awaitsMark?: true
}

export class MarketState extends MarketRisk {
  status: Market.Status = "draft"
  /** Money atoms per price atom and size atom. */
  factor = 1
  /** What the highest tier of notional asks as maintenance margin, bps. */
  steepestMarginBps = 0
  /** Price atoms; 0 before the first. */
  lastPrice = 0
  indexPrice = 0
  indexSource = 0
  /** No trade prints outside these, no bid rests above and no offer below them, price atoms. */
  bandLow = 0
  bandHigh = 0
  /** Counts changes of mark and parameters: cached margins of an older one are recomputed. */
  riskEpoch = 0
  bookSequence = 0
  marketSequence = 0
  /** Sum of long sizes, size atoms. */
  openInterest = 0

  /** Whether the market has come back, and its mark is of before: it is not live until its next tick. */
  awaitsMark = false

  /** Its payments of funding that are in line, the oldest first: see `markets/Funding.ts`. */
  readonly payments: Array<Payment> = []

  minutes = new Minutes()
  fundings: FundingLog.FundingLog
  marks: MarkLog.MarkLog

  parameters: Market.Parameters

  /** `kept`: how many marks, and payments of funding, can be read of it; as many as of a venue unless given. */
  constructor(
    readonly index: number,
    parameters: Market.Parameters,
    kept: { readonly marksKept?: number; readonly fundingsKept?: number } = {}
  ) {
    super()
    this.fundings = FundingLog.make(kept.fundingsKept)
    this.marks = MarkLog.make(kept.marksKept)
    this.parameters = Market.inOrder(parameters)
    this.factor = Market.notionalFactor(parameters)
    this.steepestMarginBps = steepestOf(parameters)
  }

  /**
   * Takes new parameters. A price that is none under them (another scale, outside the bounds) is dropped, and what was made
   * of it: the market has no mark until its index speaks again, and no notional at mark leaves the safe integers.
   */
  setParameters(parameters: Market.Parameters): void {
    if (!this.hasIndexIn(parameters)) {
      this.indexPrice = 0
      this.indexSource = 0
      this.mark = 0
      this.basis = []
      this.indexMinutes = []
      this.awaitsMark = false
      this.letGo()
      this.beginInterval(0)
    }
    if (parameters.marketType !== this.parameters.marketType) this.session = null
    if (parameters.fundingIntervalMs !== this.parameters.fundingIntervalMs) this.beginInterval(0)
    this.parameters = Market.inOrder(parameters)
    this.factor = Market.notionalFactor(parameters)
    this.steepestMarginBps = steepestOf(parameters)
    const { maxPriceAtoms, minPriceAtoms } = parameters
    this.setMark(this.mark === 0 ? this.indexPrice : Math.min(maxPriceAtoms, Math.max(minPriceAtoms, this.mark)))
  }

  /** Whether its index price is one under other parameters too: in their atoms, and within their bounds. */
  hasIndexIn({ maxPriceAtoms, minPriceAtoms, priceScale }: Market.Parameters): boolean {
    return priceScale === this.parameters.priceScale && this.indexPrice >= minPriceAtoms && this.indexPrice <= maxPriceAtoms
  }

  /** Whether a delisting has taken effect: the market is halted for good, and its mark is its final price. */
  get isDelisted(): boolean {
    return this.delisting !== null && this.delisting.state !== "announced"
  }

  /** Forgets a step of the index that was held back. */
  letGo(): void {
    this.heldPrice = 0
    this.heldSource = 0
    this.agreedSource = 0
  }

  /** Begins a funding interval without samples. */
  beginInterval(interval: number): void {
    this.fundingInterval = interval
    this.premiumSumE9 = 0
    this.premiumSamples = 0
  }

  /** Sets the mark and, around it, the band: rounded inward, to the side that admits less. */
  setMark(mark: number): void {
    this.mark = mark
    const { priceBandBps } = this.parameters
    this.bandLow = bandLowOf(mark, priceBandBps)
    this.bandHigh = bandHighOf(mark, priceBandBps)
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
      openInterest: this.openInterest,
      risk: Object.fromEntries(riskNames.map((name) => [name, this[name]])) as unknown as MarketRisk,
      ...(this.awaitsMark ? { awaitsMark: true } : undefined)
    }
  }

  static restore(
    index: number,
    dump: MarketDump,
    minutes: Minutes,
    fundings: FundingLog.FundingLog,
    marks: MarkLog.MarkLog
  ): MarketState {
    const market = new MarketState(index, dump.parameters)
    market.status = dump.status
    market.lastPrice = dump.lastPrice
    market.indexPrice = dump.indexPrice
    market.indexSource = dump.indexSource
    market.bookSequence = dump.bookSequence
    market.marketSequence = dump.marketSequence
    market.openInterest = dump.openInterest
    market.minutes = minutes
    market.fundings = fundings
    market.marks = marks
    Object.assign(market, dump.risk)
    market.awaitsMark = dump.awaitsMark === true
    market.setMark(market.mark)
    return market
  }
}

/** The edges of a band around a mark, price atoms. */
export const bandLowOf = (mark: number, priceBandBps: number): number => Math.ceil((mark * (bpsOne - priceBandBps)) / bpsOne)
export const bandHighOf = (mark: number, priceBandBps: number): number => Math.floor((mark * (bpsOne + priceBandBps)) / bpsOne)

const steepestOf = ({ maintenanceMarginTiers }: Market.Parameters): number => maintenanceMarginTiers.at(-1)!.maintenanceMarginBps

const riskNames = Object.keys(new MarketRisk()) as ReadonlyArray<keyof MarketRisk>
