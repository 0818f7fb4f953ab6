/**
 * Trades of a market by minute over the last day, in a ring from which the 24 h figures are computed. Minutes without trades carry
 * the previous price and no volume.
 */
import { assert } from "../domain/Assert.js"
import { minuteMs } from "../domain/Durations.js"

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
  /** Size atoms, exact. */
  readonly volumeBaseAtoms: bigint
  readonly highAtoms: number
  readonly lowAtoms: number
  /** The last price 24 h ago, or the first ever. */
  readonly openAtoms: number
}

/** Adds to a minute what makes another multiple of 2^53 of it. Subtracted first, since the sum itself would not be exact. */
const addWhole = (rests: Float64Array, wholes: Float64Array, at: number, atoms: number): void => {
  rests[at] = rests[at]! - whole + atoms
  wholes[at]! += 1
}

/** What a minute's rest and its multiples of 2^53 come to. */
const atomsAt = (rests: Float64Array, wholes: Float64Array, at: number): bigint =>
  BigInt(rests[at]!) + (wholes.length === 0 ? 0n : BigInt(wholes[at]!) * BigInt(whole))

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
  /** Size by minute, size atoms, likewise. */
  private base = none()
  /**
   * The multiples of 2^53 of each minute's notional and of its size. Most markets never have any: these have no such columns, and dumps
   * leave them out. A size atom is worth a money atom at least, so sizes have multiples only where notionals have.
   */
  private quoteWholes = none()
  private baseWholes = none()

  traded(priceAtoms: number, sizeAtoms: number, notionalAtoms: number, atEpochMs: number): void {
    const minute = Math.floor(atEpochMs / minuteMs)
    if (minute !== this.last) this.begin(minute, priceAtoms)
    const at = this.place
    this.lastPrice = priceAtoms
    this.closes[at] = priceAtoms
    this.highs[at] = Math.max(this.highs[at]!, priceAtoms)
    this.lows[at] = this.lows[at] === 0 ? priceAtoms : Math.min(this.lows[at]!, priceAtoms)
    const quote = this.quote[at]! + notionalAtoms
    const base = this.base[at]! + sizeAtoms
    if (quote <= Number.MAX_SAFE_INTEGER) this.quote[at] = quote
    else {
      if (this.quoteWholes.length === 0) this.quoteWholes = new Float64Array(kept)
      addWhole(this.quote, this.quoteWholes, at, notionalAtoms)
    }
    if (base <= Number.MAX_SAFE_INTEGER) this.base[at] = base
    else {
      if (this.baseWholes.length === 0) this.baseWholes = new Float64Array(kept)
      addWhole(this.base, this.baseWholes, at, sizeAtoms)
    }
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
      if (this.quoteWholes.length > 0) this.quoteWholes[at] = 0
      if (this.baseWholes.length > 0) this.baseWholes[at] = 0
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
    let volumeBaseAtoms = 0n
    let highAtoms = 0
    let lowAtoms = 0
    for (let minute = Math.max(this.first, now - window + 1); minute <= this.last && this.first >= 0; minute++) {
      const at = minute % kept
      if (this.highs[at] === 0) continue
      volumeQuoteAtoms += atomsAt(this.quote, this.quoteWholes, at)
      volumeBaseAtoms += atomsAt(this.base, this.baseWholes, at)
      highAtoms = Math.max(highAtoms, this.highs[at]!)
      lowAtoms = lowAtoms === 0 ? this.lows[at]! : Math.min(lowAtoms, this.lows[at]!)
    }
    return { volumeQuoteAtoms, volumeBaseAtoms, highAtoms, lowAtoms, openAtoms: this.openAtoms(atEpochMs) }
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
    const columns = (dump.length - 4) / kept
    assert(columns === 5 || columns === 6 || columns === 7, "a dump of minutes has one of its lengths")
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
    // A column that the memory does not have is empty.
    this.quoteWholes = column(5)
    this.baseWholes = column(6)
  }

  private columns(): ReadonlyArray<Float64Array> {
    const wholes = [this.quoteWholes, this.baseWholes].filter(({ length }) => length > 0)
    return [this.closes, this.highs, this.lows, this.quote, this.base, ...wholes]
  }
}
