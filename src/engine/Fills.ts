/**
 * The latest fills of the whole venue, bounded: a ring from which the public trades of a market and an
 * account's own fills are read, newest first. Part of the state, so that a restart from a snapshot has them.
 */
import { anyMarket, none } from "../domain/None.js"
import { growFloats, grownLength, growInts } from "./Columns.js"

/** One fill, with both sides. */
export interface Fill {
  /** Counts all fills of the venue, from 0. */
  readonly ordinal: number
  readonly sequence: number
  readonly atEpochMs: number
  readonly market: number
  readonly priceAtoms: number
  readonly sizeAtoms: number
  readonly makerOrder: number
  readonly takerOrder: number
  readonly makerAccount: number
  readonly takerAccount: number
  /** The taker's side. */
  readonly takerSide: 0 | 1
  readonly makerFeeAtoms: number
  readonly takerFeeAtoms: number
}

/** Fills kept: the same everywhere, since it is part of the state. */
export const fillsKept = 131_072

const floatColumns = [
  "sequence",
  "at",
  "price",
  "size",
  "makerOrder",
  "takerOrder",
  "makerFee",
  "takerFee",
  "makerOlder",
  "takerOlder",
  "marketOlder"
] as const
const intColumns = ["market", "makerAccount", "takerAccount", "takerSide"] as const

/** What of the fills a snapshot holds. */
export type FillsDump =
  & { readonly [K in (typeof floatColumns)[number]]: Float64Array }
  & { readonly [K in (typeof intColumns)[number]]: Int32Array }
  & { readonly newestOfAccount: Float64Array; readonly newestOfMarket: Float64Array; readonly total: Float64Array }

export class Fills {
  /** Fills ever made; the ordinal of the next. */
  total = 0
  private length = 0
  private sequence = new Float64Array(0)
  private at = new Float64Array(0)
  private price = new Float64Array(0)
  private size = new Float64Array(0)
  private makerOrder = new Float64Array(0)
  private takerOrder = new Float64Array(0)
  private makerFee = new Float64Array(0)
  private takerFee = new Float64Array(0)
  /** Ordinal of the fill before, of the same account or market; -1 for none. */
  private makerOlder = new Float64Array(0)
  private takerOlder = new Float64Array(0)
  private marketOlder = new Float64Array(0)
  private market = new Int32Array(0)
  private makerAccount = new Int32Array(0)
  private takerAccount = new Int32Array(0)
  private takerSide = new Int32Array(0)
  /** Ordinal of the newest fill by account and by market; -1 for none. */
  private newestOfAccount = new Float64Array(0)
  private newestOfMarket = new Float64Array(0)

  constructor(readonly capacity: number = fillsKept) {}

  add(
    sequence: number,
    atEpochMs: number,
    market: number,
    priceAtoms: number,
    sizeAtoms: number,
    makerOrder: number,
    takerOrder: number,
    makerAccount: number,
    takerAccount: number,
    takerSide: number,
    makerFeeAtoms: number,
    takerFeeAtoms: number
  ): void {
    if (this.total >= this.length && this.length < this.capacity) this.grow(Math.min(this.capacity, Math.max(1024, this.length * 2)))
    const highest = Math.max(makerAccount, takerAccount)
    if (highest >= this.newestOfAccount.length) {
      this.newestOfAccount = growFloats(this.newestOfAccount, grownLength(this.newestOfAccount.length, highest + 1), none)
    }
    if (market >= this.newestOfMarket.length) {
      this.newestOfMarket = growFloats(this.newestOfMarket, grownLength(this.newestOfMarket.length, market + 1), none)
    }
    const ordinal = this.total++
    const slot = ordinal % this.capacity
    this.sequence[slot] = sequence
    this.at[slot] = atEpochMs
    this.market[slot] = market
    this.price[slot] = priceAtoms
    this.size[slot] = sizeAtoms
    this.makerOrder[slot] = makerOrder
    this.takerOrder[slot] = takerOrder
    this.makerAccount[slot] = makerAccount
    this.takerAccount[slot] = takerAccount
    this.takerSide[slot] = takerSide
    this.makerFee[slot] = makerFeeAtoms
    this.takerFee[slot] = takerFeeAtoms
    this.makerOlder[slot] = this.newestOfAccount[makerAccount]!
    this.newestOfAccount[makerAccount] = ordinal
    this.takerOlder[slot] = this.newestOfAccount[takerAccount]!
    this.newestOfAccount[takerAccount] = ordinal
    this.marketOlder[slot] = this.newestOfMarket[market]!
    this.newestOfMarket[market] = ordinal
  }

  private retained(ordinal: number): boolean {
    return ordinal >= 0 && ordinal >= this.total - this.capacity
  }

  private fill(ordinal: number): Fill {
    const slot = ordinal % this.capacity
    return {
      ordinal,
      sequence: this.sequence[slot]!,
      atEpochMs: this.at[slot]!,
      market: this.market[slot]!,
      priceAtoms: this.price[slot]!,
      sizeAtoms: this.size[slot]!,
      makerOrder: this.makerOrder[slot]!,
      takerOrder: this.takerOrder[slot]!,
      makerAccount: this.makerAccount[slot]!,
      takerAccount: this.takerAccount[slot]!,
      takerSide: this.takerSide[slot] as 0 | 1,
      makerFeeAtoms: this.makerFee[slot]!,
      takerFeeAtoms: this.takerFee[slot]!
    }
  }

  /**
   * Retained fills of a market, newest first, at most `limit`, older than the ordinal `before` (`Infinity`: from
   * the newest). A `before` that is a fill of this market costs no walk.
   */
  ofMarket(market: number, before: number, limit: number): ReadonlyArray<Fill> {
    const found: Array<Fill> = []
    const from = this.slotOf(before)
    let ordinal = from !== none && this.market[from] === market ? this.marketOlder[from]! : this.newestOfMarket[market] ?? none
    for (; this.retained(ordinal) && found.length < limit; ordinal = this.marketOlder[ordinal % this.capacity]!) {
      if (ordinal < before) found.push(this.fill(ordinal))
    }
    return found
  }

  /** Retained fills of an account, likewise, of one market unless `anyMarket`. */
  ofAccount(account: number, market: number, before: number, limit: number): ReadonlyArray<Fill> {
    const found: Array<Fill> = []
    const from = this.slotOf(before)
    let ordinal = from !== none && this.isOf(from, account) ? this.olderOf(from, account) : this.newestOfAccount[account] ?? none
    for (let slot = 0; this.retained(ordinal) && found.length < limit; ordinal = this.olderOf(slot, account)) {
      slot = ordinal % this.capacity
      if (ordinal < before && (market === anyMarket || this.market[slot] === market)) found.push(this.fill(ordinal))
    }
    return found
  }

  /** The first `limit` retained fills at or after a time, oldest first: of one market unless `anyMarket`, of one account unless `none`. */
  since(market: number, account: number, sinceEpochMs: number, limit: number): ReadonlyArray<Fill> {
    let low = Math.max(0, this.total - this.capacity)
    let high = this.total
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.at[middle % this.capacity]! < sinceEpochMs) low = middle + 1
      else high = middle
    }
    const found: Array<Fill> = []
    for (let ordinal = low; ordinal < this.total && found.length < limit; ordinal++) {
      const slot = ordinal % this.capacity
      if (market !== anyMarket && this.market[slot] !== market) continue
      if (account === none || this.isOf(slot, account)) found.push(this.fill(ordinal))
    }
    return found
  }

  /** Where a retained fill is kept; -1 for any other number. */
  private slotOf(ordinal: number): number {
    return Number.isInteger(ordinal) && ordinal < this.total && this.retained(ordinal) ? ordinal % this.capacity : none
  }

  private isOf(slot: number, account: number): boolean {
    return this.makerAccount[slot] === account || this.takerAccount[slot] === account
  }

  private olderOf(slot: number, account: number): number {
    return this.makerAccount[slot] === account ? this.makerOlder[slot]! : this.takerOlder[slot]!
  }

  private grow(length: number): void {
    for (const column of floatColumns) this[column] = growFloats(this[column], length)
    for (const column of intColumns) this[column] = growInts(this[column], length)
    this.length = length
  }

  dump(): FillsDump {
    const used = Math.min(this.total, this.capacity)
    const dump: Record<string, Float64Array | Int32Array> = {}
    for (const column of floatColumns) dump[column] = this[column].slice(0, used)
    for (const column of intColumns) dump[column] = this[column].slice(0, used)
    dump["newestOfAccount"] = this.newestOfAccount.slice()
    dump["newestOfMarket"] = this.newestOfMarket.slice()
    dump["total"] = Float64Array.of(this.total, this.capacity)
    return dump as unknown as FillsDump
  }

  static restore(dump: FillsDump): Fills {
    const fills = new Fills(dump.total[1]!)
    fills.total = dump.total[0]!
    fills.grow(dump.sequence.length)
    for (const column of floatColumns) fills[column].set(dump[column])
    for (const column of intColumns) fills[column].set(dump[column])
    fills.newestOfAccount = growFloats(dump.newestOfAccount, dump.newestOfAccount.length)
    fills.newestOfMarket = growFloats(dump.newestOfMarket, dump.newestOfMarket.length)
    return fills
  }
}
