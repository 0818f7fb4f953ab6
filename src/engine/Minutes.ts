/**
 * Trades of a market by minute over the last day, in a ring from which the 24 h figures are computed. Minutes without trades carry
 * the previous price and no volume.
 */
import { assert } from "../domain/Assert.js"
import { Total } from "./Total.js"

const minuteMs = 60_000
/** Minutes in the 24 h window. */
const window = 1440
/** One minute more than the window: the opening price of the first minute is the last price of the minute before. */
const kept = window + 1

/** The first number beyond those that a double counts exactly. */
const whole = 2 ** 53

/** A column of a market that has never traded. */
const none = (): Float64Array => new Float64Array(0)

/** The figures of the last 24 h. Prices in price atoms, 0 without trades. */
export interface Day {
  /** Money atoms, exact. */
  readonly volumeQuoteAtoms: bigint
  /** Size atoms; the nearest number where the minutes come to more than a number holds. */
  readonly volumeBaseAtoms: number
  readonly highAtoms: number
  readonly lowAtoms: number
  /** The last price 24 h ago, or the first ever. */
  readonly openAtoms: number
}

export class Minutes {
  private first = -1
  private last = -1
  /** The ring index of the latest minute, kept to spare every fill a division. */
  private place = 0
  private firstPrice = 0
  private lastPrice = 0
  /** The columns have memory from the first trade on: a preview's market, or one that is about to be restored, needs none. */
  private closes = none()
  private highs = none()
  private lows = none()
  /**
   * Notional by minute, money atoms, less whole multiples of 2^53: a few fills near a market's largest notional exceed what a
   * double counts exactly.
   */
  private quote = none()
  private base = none()
  /** The multiples of 2^53 of each minute. Most markets never have any: these have no such column, and dumps leave it out. */
  private quoteWholes = none()
  private hasWholes = false

  traded(priceAtoms: number, sizeAtoms: number, notionalAtoms: number, atEpochMs: number): void {
    const minute = Math.floor(atEpochMs / minuteMs)
    if (minute !== this.last) this.begin(minute, priceAtoms)
    const at = this.place
    this.lastPrice = priceAtoms
    this.closes[at] = priceAtoms
    this.highs[at] = Math.max(this.highs[at]!, priceAtoms)
    this.lows[at] = this.lows[at] === 0 ? priceAtoms : Math.min(this.lows[at]!, priceAtoms)
    const quote = this.quote[at]! + notionalAtoms
    if (quote <= Number.MAX_SAFE_INTEGER) this.quote[at] = quote
    else {
      if (!this.hasWholes) {
        this.quoteWholes = new Float64Array(kept)
        this.hasWholes = true
      }
      // Subtracted first, since the sum itself would not be exact.
      this.quote[at] = this.quote[at]! - whole + notionalAtoms
      this.quoteWholes[at]! += 1
    }
    this.base[at]! += sizeAtoms
  }

  /** Begins a minute with its first trade, and fills the minutes without trades before it. */
  private begin(minute: number, priceAtoms: number): void {
    if (this.first < 0) {
      this.take(new Float64Array(5 * kept))
      this.first = minute
      this.firstPrice = priceAtoms
      this.last = minute - 1
    }
    for (let fresh = Math.max(this.last + 1, minute - window); fresh <= minute; fresh++) {
      const at = fresh % kept
      this.closes[at] = this.lastPrice
      this.highs[at] = 0
      this.lows[at] = 0
      this.quote[at] = 0
      this.base[at] = 0
      if (this.hasWholes) this.quoteWholes[at] = 0
    }
    this.last = minute
    this.place = minute % kept
  }

  /** The opening price of the last 24 h: the last price before them, or the first ever; 0 without trades. */
  openAtoms(atEpochMs: number): number {
    const reference = Math.floor(atEpochMs / minuteMs) - window
    if (reference >= this.last) return this.lastPrice
    return reference < this.first ? this.firstPrice : this.closes[reference % kept]!
  }

  /** The figures of the last 24 h in whole minutes, including the current one. */
  day(atEpochMs: number): Day {
    const now = Math.floor(atEpochMs / minuteMs)
    let volumeQuoteAtoms = 0n
    const base = new Total()
    let highAtoms = 0
    let lowAtoms = 0
    for (let minute = Math.max(this.first, now - window + 1); minute <= this.last && this.first >= 0; minute++) {
      const at = minute % kept
      if (this.base[at] === 0) continue
      volumeQuoteAtoms += BigInt(this.quote[at]!)
      if (this.hasWholes) volumeQuoteAtoms += BigInt(this.quoteWholes[at]!) * BigInt(whole)
      base.add(this.base[at]!)
      highAtoms = Math.max(highAtoms, this.highs[at]!)
      lowAtoms = lowAtoms === 0 ? this.lows[at]! : Math.min(lowAtoms, this.lows[at]!)
    }
    return { volumeQuoteAtoms, volumeBaseAtoms: base.nearest, highAtoms, lowAtoms, openAtoms: this.openAtoms(atEpochMs) }
  }

  dump(): Float64Array {
    const columns = this.columns()
    const dump = new Float64Array(4 + columns.length * kept)
    dump.set([this.first, this.last, this.firstPrice, this.lastPrice])
    columns.forEach((column, index) => dump.set(column, 4 + index * kept))
    return dump
  }

  static restore(dump: Float64Array): Minutes {
    const minutes = new Minutes()
    minutes.hasWholes = dump.length === 4 + 6 * kept
    assert(dump.length === 4 + minutes.columns().length * kept, "a dump of minutes has one of its two lengths")
    minutes.first = dump[0]!
    minutes.last = dump[1]!
    minutes.place = Math.max(0, minutes.last) % kept
    minutes.firstPrice = dump[2]!
    minutes.lastPrice = dump[3]!
    if (minutes.first >= 0) minutes.take(dump.slice(4))
    return minutes
  }

  /** Takes its columns from one piece of memory, which they divide in the order of a dump. */
  private take(memory: Float64Array): void {
    const column = (index: number): Float64Array => memory.subarray(index * kept, (index + 1) * kept)
    this.closes = column(0)
    this.highs = column(1)
    this.lows = column(2)
    this.quote = column(3)
    this.base = column(4)
    if (this.hasWholes) this.quoteWholes = column(5)
  }

  private columns(): ReadonlyArray<Float64Array> {
    const columns = [this.closes, this.highs, this.lows, this.quote, this.base]
    return this.hasWholes ? [...columns, this.quoteWholes] : columns
  }
}
