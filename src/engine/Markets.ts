/** Markets as the engine trades them: parameters, status, prices and derived values. */
import * as Market from "../domain/Market.js"
import type * as Session from "../domain/Session.js"
import { bpsOne } from "../domain/Units.js"
import * as FundingLog from "./FundingLog.js"
import * as MarkLog from "./MarkLog.js"
import { Minutes } from "./Minutes.js"
import type { Positions } from "./Positions.js"
import { Total } from "./Total.js"

/** Basis samples that the mark averages over. */
export const basisSamples = 30

/** Parameters with the time from which they apply. */
export interface Announcement {
  readonly effectiveAtEpochMs: number
  readonly parameters: Market.Parameters
}

/** The sum of the index over a market's ticks in one minute, price atoms. */
export interface IndexMinute {
  /** The minute since the epoch. */
  readonly minute: number
  sum: number
  ticks: number
}

/** A funding payment that is not settled yet: what everyone with a position in a market pays or receives for an interval. */
export interface Payment {
  readonly market: number
  /** Its number among the market's payments: positions with a lower number owe it. */
  readonly epoch: number
  /** When the interval ended, epoch milliseconds. */
  readonly endedAtEpochMs: number
  readonly rate8hE9: number
  /** The index used, price atoms. */
  readonly indexAtoms: number
  readonly intervalMs: number
  /** How many of the market's positions, counted from the first, may still owe it. */
  left: number
  /** Funding paid and not received yet, money atoms; negative where more was received first. */
  readonly pool: Total
}

/** The state of a market's delisting. */
export interface Delisting {
  state: "announced" | "settling" | "settled"
  /** When it takes effect, or did, epoch milliseconds. */
  effectiveAtEpochMs: number
  /** Price atoms; 0 until it has taken effect, and for a market that never had an index. */
  finalPriceAtoms: number
  /** When the last position was closed; 0 until then. */
  settledAtEpochMs: number
  /** The current step of the settlement. */
  step: "orders" | "deficits" | "closing"
  /**
   * The place that the settlement has reached among the market's positions, with the insurance fund's last: of the deficits, then
   * of the longs; and of the shorts.
   */
  at: number
  shortAt: number
  /**
   * When the settlement is tried again because a position could not be closed; 0 until then, and a past time while it continues.
   */
  againAtEpochMs: number
}

/** A market's session, and the time of the record that set it. */
export interface StandingSession extends Session.Session {
  readonly asOfEpochMs: number
}

/**
 * A market's index, mark and funding. Snapshots, digests and restoring enumerate what is declared here, so that a new value needs
 * no further code.
 */
export class MarketRisk {
  /** A step of the index that is held back until later samples agree with it, price atoms; 0 for none. */
  heldPrice = 0
  /** The source's time of the held step, epoch milliseconds. */
  heldSource = 0
  /** The source's time of the first sample that agreed with it, epoch milliseconds; 0 for none yet. */
  agreedSource = 0
  /** Price atoms; 0 while there is none. Constant between the records that set it. */
  mark = 0
  /** Since when the market has been live without interruption, epoch milliseconds; 0 before it first was. */
  liveSince = 0
  /** The epoch second of the last tick; 0 before the first. */
  tickedSecond = 0
  /** The five-second slot since the epoch in which the book was last sampled; 0 before the first. */
  sampledSlot = 0
  /** The latest samples of impactBid + impactAsk - 2 x index, price atoms, oldest first: twice the basis. */
  basis: Array<number> = []
  /** The current funding interval: its number since the epoch (0 before the first), and its premium samples. */
  fundingInterval = 0
  premiumSumE9 = 0
  premiumSamples = 0
  /** The number of funding payments so far: a position with a lower number has yet to settle those since. */
  fundingEpoch = 0
  /** The figures of the last payment: rate per 8 hours in 10^-9, and index in price atoms. */
  paidRate8hE9 = 0
  paidIndex = 0
  /** The interval of the last payment, milliseconds. */
  paidIntervalMs = 0
  /** Announced parameters with their effective time; null where there are none. */
  announced: Announcement | null = null
  /** The largest earlier position limit under which present positions may have been opened, size atoms; 0 for none. */
  widestPositionAtoms = 0
  /** The latest minutes with ticks, oldest first, as far back as a final price needs them. */
  indexMinutes: Array<IndexMinute> = []
  /** Null where the market is not delisted and no delisting is announced. */
  delisting: Delisting | null = null
  /** Null in a market without sessions, and until one is journaled. */
  session: StandingSession | null = null
}

/** A market as a snapshot holds it, without its minutes. */
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
  /** Present only where the underlying has changed, for the same reason as the next. */
  readonly underlyingSince?: number
  /** Present only while true, so that snapshots of other markets stay the same. */
  readonly awaitsMark?: true
}

export class MarketState extends MarketRisk {
  status: Market.Status = "draft"
  /** Money atoms per price atom and size atom. */
  factor = 1
  /** The maintenance margin rate of the highest tier, bps. */
  steepestMarginBps = 0
  /** Price atoms; 0 before the first. */
  lastPrice = 0
  indexPrice = 0
  indexSource = 0
  /** The price band, price atoms: no trade happens outside it, no bid rests above it and no offer below it. */
  bandLow = 0
  bandHigh = 0
  /** Incremented with changes of mark and parameters: cached margins with an older value are recomputed. */
  riskEpoch = 0
  /** When the market last changed to another underlying, epoch milliseconds; 0 if never. A price seen before is not the present one's. */
  underlyingSince = 0
  bookSequence = 0
  marketSequence = 0
  /** Sum of long sizes, size atoms. */
  openInterest = 0
  /** The exact open interest, where a number cannot hold it. Not in snapshots: it is summed anew. */
  private largeInterest: Total | undefined = undefined

  /** Whether the market has resumed with an outdated mark: it is not live until its next tick. */
  awaitsMark = false

  /** Its funding payments in the queue, oldest first: see `markets/Funding.ts`. */
  readonly payments: Array<Payment> = []

  minutes = new Minutes()
  fundings: FundingLog.FundingLog
  marks: MarkLog.MarkLog

  parameters: Market.Parameters

  /** `kept`: how many marks and funding intervals can be read of it; the defaults of a venue unless given. */
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
   * Sets new parameters. An index price that is invalid under them (another scale, or outside the bounds) is dropped together with
   * everything derived from it: the market has no mark until the next index price, so that no notional at the mark leaves the safe
   * integers.
   */
  setParameters(parameters: Market.Parameters): void {
    if (!this.hasIndexIn(parameters)) {
      this.forgetIndex()
      this.indexPrice = 0
      this.mark = 0
      this.awaitsMark = false
    }
    if (parameters.marketType !== this.parameters.marketType) this.session = null
    if (parameters.fundingIntervalMs !== this.parameters.fundingIntervalMs) this.beginInterval(0)
    this.parameters = Market.inOrder(parameters)
    this.factor = Market.notionalFactor(parameters)
    this.steepestMarginBps = steepestOf(parameters)
    const { maxPriceAtoms, minPriceAtoms } = parameters
    this.setMark(this.mark === 0 ? this.indexPrice : Math.min(maxPriceAtoms, Math.max(minPriceAtoms, this.mark)))
  }

  /**
   * Leaves its underlying for another, of which no price is known yet. With nobody in the market, new parameters find no index price that
   * they could keep; otherwise its mark and, to measure the next price against, the old price stay, which is stale at once.
   */
  leaveUnderlying(atEpochMs: number, isEmpty: boolean): void {
    this.underlyingSince = atEpochMs
    this.forgetIndex()
    if (isEmpty) this.indexPrice = 0
  }

  /** Makes the index price stale, and discards everything derived from it but the mark. */
  private forgetIndex(): void {
    this.indexSource = 0
    this.basis = []
    this.indexMinutes = []
    this.letGo()
    this.beginInterval(0)
  }

  /** Whether its index price is also valid under other parameters: of the same scale and within their bounds. */
  hasIndexIn({ maxPriceAtoms, minPriceAtoms, priceScale }: Market.Parameters): boolean {
    return priceScale === this.parameters.priceScale && this.indexPrice >= minPriceAtoms && this.indexPrice <= maxPriceAtoms
  }

  /** Whether a delisting has taken effect: the market is halted for good, and its mark is its final price. */
  get isDelisted(): boolean {
    return this.delisting !== null && this.delisting.state !== "announced"
  }

  /** Discards a step of the index that was held back. */
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

  /** Sets the mark and the band around it, rounded inward. */
  setMark(mark: number): void {
    this.mark = mark
    const { priceBandBps } = this.parameters
    this.bandLow = bandLowOf(mark, priceBandBps)
    this.bandHigh = bandHighOf(mark, priceBandBps)
    this.riskEpoch++
  }

  /** Adds to the open interest, before the positions have changed. Positions come to their own only where the sum is too large. */
  addOpenInterest(positions: Positions, sizeAtoms: number): void {
    const { openInterest } = this
    if (openInterest + Math.abs(sizeAtoms) <= Number.MAX_SAFE_INTEGER) {
      this.openInterest = openInterest + sizeAtoms
      return
    }
    const total = this.largeInterest ?? (Number.isSafeInteger(openInterest) ? Total.of(openInterest) : this.summedInterest(positions))
    total.add(sizeAtoms)
    this.openInterest = total.nearest
    this.largeInterest = total.nearest <= Number.MAX_SAFE_INTEGER ? undefined : total
  }

  /** Sums the long sizes of all positions. */
  private summedInterest(positions: Positions): Total {
    const total = new Total()
    const count = positions.heldCount(this.index)
    for (let at = 0; at < count; at++) total.add(Math.max(0, positions.quantity(positions.heldSlot(this.index, at))))
    return total
  }

  traded(priceAtoms: number, sizeAtoms: number, notionalAtoms: number, atEpochMs: number): void {
    this.lastPrice = priceAtoms
    this.minutes.traded(priceAtoms, sizeAtoms, notionalAtoms, atEpochMs)
  }

  /**
   * Change from the last price 24 h before `atEpochMs` (or the first ever) to the last price, bps toward zero; 0 without trades.
   */
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
      ...(this.underlyingSince === 0 ? undefined : { underlyingSince: this.underlyingSince }),
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
    market.underlyingSince = dump.underlyingSince ?? 0
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
