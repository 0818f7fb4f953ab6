/**
 * The latest fills of the whole venue: a bounded ring from which the public trades of a market and an account's own fills are read,
 * newest first. Part of the state, so that a restart from a snapshot has them.
 */
import { anyMarket, none } from "../domain/None.js"
import { Newest } from "./Newest.js"
import type { SectionReader, SectionWriter } from "./Sections.js"
import { SlotQueue } from "./SlotQueue.js"

/** One fill with both sides. */
export interface Fill {
  /** The number of the fill, counted over the whole venue from 0. */
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

/** Where the retained fills begin. */
export type OldestFill = Pick<Fill, "ordinal" | "sequence" | "atEpochMs">

/** Which of an account's fills are looked for, newest first. */
export interface FillsAsked {
  readonly account: number
  /** `anyMarket` for all. */
  readonly market: number
  /** Only those with a lower ordinal; `Infinity` for all. */
  readonly before: number
  /** Only those at or after this time, epoch milliseconds. */
  readonly sinceEpochMs: number
  readonly limit: number
}

/** What some of an account's fills came to. */
export interface FillsFound {
  /** Those that were asked for, newest first. */
  readonly found: ReadonlyArray<Fill>
  /** The ordinal of the account's next older fill, where more has to be looked at; otherwise -1. */
  readonly next: number
}

/** Fills kept: the same everywhere, since they are part of the state. */
export const fillsKept = 131_072

/** The index of each value in a fill's row of 16 numbers, and its name in snapshots: columns of numbers, then of words. */
const floatColumns = {
  sequence: 0,
  at: 1,
  price: 2,
  size: 3,
  makerOrder: 4,
  takerOrder: 5,
  makerFee: 6,
  takerFee: 7,
  /** Ordinal of the previous fill of the same account or market; -1 for none. The market's is only written: snapshots hold it. */
  makerOlder: 8,
  takerOlder: 9,
  marketOlder: 10
} as const
const intColumns = { market: 11, makerAccount: 12, takerAccount: 13, takerSide: 14 } as const
const column = { ...floatColumns, ...intColumns } as const
const rowBits = 4

/** Rows lie in chunks of this many, each allocated for its first fill: nothing is ever copied to make room. */
const chunkBits = 10
const chunkMask = (1 << chunkBits) - 1

/** Prefix of the section names of the columns and of all else that a snapshot holds of the fills. */
const sectionOf = (name: string): string => `fills.${name}`

export class Fills {
  /** Fills so far, which is also the ordinal of the next. */
  total = 0
  /** The ring index of the next fill: its ordinal modulo the capacity, kept to save a division. */
  private place = 0
  private readonly chunks: Array<Float64Array> = []
  private newestOfAccount = new Newest()
  private newestOfMarket = new Newest()
  /** Where each market's retained fills lie. No snapshot has them, since they follow from the rows. */
  private readonly ofMarkets: Array<SlotQueue> = []

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
    const ordinal = this.total++
    const slot = this.place
    this.place = slot + 1 === this.capacity ? 0 : slot + 1
    const rows = this.chunkOf(slot)
    const row = (slot & chunkMask) << rowBits
    if (ordinal >= this.capacity) this.queueOf(rows[row | column.market]!).shift()
    this.queueOf(market).push(slot)
    rows[row | column.sequence] = sequence
    rows[row | column.at] = atEpochMs
    rows[row | column.market] = market
    rows[row | column.price] = priceAtoms
    rows[row | column.size] = sizeAtoms
    rows[row | column.makerOrder] = makerOrder
    rows[row | column.takerOrder] = takerOrder
    rows[row | column.makerAccount] = makerAccount
    rows[row | column.takerAccount] = takerAccount
    rows[row | column.takerSide] = takerSide
    rows[row | column.makerFee] = makerFeeAtoms
    rows[row | column.takerFee] = takerFeeAtoms
    this.newestOfAccount.reach(Math.max(makerAccount, takerAccount))
    rows[row | column.makerOlder] = this.newestOfAccount.replace(makerAccount, ordinal)
    rows[row | column.takerOlder] = this.newestOfAccount.replace(takerAccount, ordinal)
    rows[row | column.marketOlder] = this.newestOfMarket.replace(market, ordinal)
  }

  /** Reads the place of an account's newest fill ahead of its use. The result means nothing. */
  readAhead(account: number): number {
    return this.newestOfAccount.at(account)
  }

  /** The chunk of a ring index, allocated if need be. */
  private chunkOf(slot: number): Float64Array {
    const { chunks } = this
    const at = slot >> chunkBits
    while (chunks.length <= at) chunks.push(new Float64Array(1 << (chunkBits + rowBits)))
    return chunks[at]!
  }

  private queueOf(market: number): SlotQueue {
    const { ofMarkets } = this
    while (ofMarkets.length <= market) ofMarkets.push(new SlotQueue())
    return ofMarkets[market]!
  }

  /** The ordinal of the retained fill at a ring index. */
  private ordinalAt(slot: number): number {
    const newer = this.place - 1 - slot
    return this.total - 1 - (newer < 0 ? newer + this.capacity : newer)
  }

  /** The ordinal, record and time of the oldest retained fill; all 0 while none has been forgotten. */
  oldest(): OldestFill {
    const ordinal = this.total - this.capacity
    if (ordinal <= 0) return { ordinal: 0, sequence: 0, atEpochMs: 0 }
    const slot = ordinal % this.capacity
    return { ordinal, sequence: this.value(slot, column.sequence), atEpochMs: this.value(slot, column.at) }
  }

  private value(slot: number, at: number): number {
    return this.chunks[slot >> chunkBits]![(slot & chunkMask) << rowBits | at]!
  }

  private retained(ordinal: number): boolean {
    return ordinal >= 0 && ordinal >= this.total - this.capacity
  }

  private fill(ordinal: number): Fill {
    const slot = ordinal % this.capacity
    return {
      ordinal,
      sequence: this.value(slot, column.sequence),
      atEpochMs: this.value(slot, column.at),
      market: this.value(slot, column.market),
      priceAtoms: this.value(slot, column.price),
      sizeAtoms: this.value(slot, column.size),
      makerOrder: this.value(slot, column.makerOrder),
      takerOrder: this.value(slot, column.takerOrder),
      makerAccount: this.value(slot, column.makerAccount),
      takerAccount: this.value(slot, column.takerAccount),
      takerSide: this.value(slot, column.takerSide) as 0 | 1,
      makerFeeAtoms: this.value(slot, column.makerFee),
      takerFeeAtoms: this.value(slot, column.takerFee)
    }
  }

  /** Retained fills of a market, newest first, at most `limit`, below the ordinal `before` (`Infinity`: from the newest). */
  ofMarket(market: number, before: number, limit: number): ReadonlyArray<Fill> {
    const slots = this.ofMarkets[market]
    if (slots === undefined) return []
    const found: Array<Fill> = []
    const end = slots.firstNot((slot) => this.ordinalAt(slot) < before)
    for (let at = end - 1; at >= 0 && found.length < limit; at--) found.push(this.fill(this.ordinalAt(slots.at(at))))
    return found
  }

  /** The first `limit` retained fills of a market at or after a time, oldest first. */
  ofMarketSince(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Fill> {
    const slots = this.ofMarkets[market]
    if (slots === undefined) return []
    const found: Array<Fill> = []
    const from = slots.firstNot((slot) => this.value(slot, column.at) < sinceEpochMs)
    for (let at = from; at < slots.length && found.length < limit; at++) found.push(this.fill(this.ordinalAt(slots.at(at))))
    return found
  }

  /** Retained fills of an account, newest first, at most `limit`, below an ordinal, in one market unless `anyMarket`. */
  ofAccount(account: number, market: number, before: number, limit: number): ReadonlyArray<Fill> {
    return this.amongOfAccount({ account, market, before, limit, sinceEpochMs: 0 }, Number.POSITIVE_INFINITY).found
  }

  /**
   * The same among `most` of an account's fills: from its newest on, or from the one with the ordinal `from`, which is the `next` of what
   * was found before. Between two calls fills may be added, which are not looked at, and forgotten, where the account's fills end then.
   */
  amongOfAccount({ account, before, limit, market, sinceEpochMs }: FillsAsked, most: number, from?: number): FillsFound {
    const found: Array<Fill> = []
    let ordinal = from ?? this.newestBefore(account, before)
    for (let looked = 0; this.retained(ordinal) && found.length < limit; looked++) {
      if (looked === most) return { found, next: ordinal }
      const slot = ordinal % this.capacity
      // Record times never decrease.
      if (this.value(slot, column.at) < sinceEpochMs) break
      if (ordinal < before && (market === anyMarket || this.value(slot, column.market) === market)) found.push(this.fill(ordinal))
      ordinal = this.olderOf(slot, account)
    }
    return { found, next: none }
  }

  /** The ordinal of the fill from which on an account's are looked at that are below an ordinal: the next older one, if that is its own. */
  private newestBefore(account: number, before: number): number {
    // Nothing that is retained lies below a fill that is forgotten.
    if (before <= Math.max(0, this.total - this.capacity)) return none
    const from = this.slotOf(before)
    return from !== none && this.isOf(from, account) ? this.olderOf(from, account) : this.newestOfAccount.at(account)
  }

  /**
   * The first `limit` retained fills of an account at or after a time, oldest first, in one market unless `anyMarket`; undefined where they
   * are not all among the venue's first `most` fills from then on.
   */
  ofAccountSince(account: number, market: number, sinceEpochMs: number, limit: number, most: number): ReadonlyArray<Fill> | undefined {
    const first = this.firstSince(sinceEpochMs)
    const found: Array<Fill> = []
    for (let ordinal = first; ordinal < this.total && found.length < limit; ordinal++) {
      if (ordinal - first === most) return undefined
      const slot = ordinal % this.capacity
      if (market !== anyMarket && this.value(slot, column.market) !== market) continue
      if (this.isOf(slot, account)) found.push(this.fill(ordinal))
    }
    return found
  }

  /** The ordinal of the first retained fill at or after a time; that of the next fill where there is none. */
  private firstSince(sinceEpochMs: number): number {
    let low = Math.max(0, this.total - this.capacity)
    let high = this.total
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.value(middle % this.capacity, column.at) < sinceEpochMs) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The ring index of a retained fill; -1 for any other number. */
  private slotOf(ordinal: number): number {
    return Number.isInteger(ordinal) && ordinal < this.total && this.retained(ordinal) ? ordinal % this.capacity : none
  }

  private isOf(slot: number, account: number): boolean {
    return this.value(slot, column.makerAccount) === account || this.value(slot, column.takerAccount) === account
  }

  private olderOf(slot: number, account: number): number {
    return this.value(slot, column.makerAccount) === account ? this.value(slot, column.makerOlder) : this.value(slot, column.takerOlder)
  }

  encode(into: SectionWriter): void {
    const used = Math.min(this.total, this.capacity)
    for (const [name, at] of Object.entries(floatColumns)) into.numbers(sectionOf(name), used, (slot) => this.value(slot, at))
    for (const [name, at] of Object.entries(intColumns)) into.ints(sectionOf(name), used, (slot) => this.value(slot, at))
    this.newestOfAccount.encode(sectionOf("newestOfAccount"), into)
    this.newestOfMarket.encode(sectionOf("newestOfMarket"), into)
    into.column(sectionOf("total"), Float64Array.of(this.total, this.capacity))
  }

  static decode(from: SectionReader): Fills {
    const [total, capacity] = from.floats(sectionOf("total"))
    const fills = new Fills(capacity)
    fills.total = total!
    fills.place = fills.total % fills.capacity
    const put = (values: Float64Array | Int32Array, at: number): void => {
      for (let slot = 0; slot < values.length; slot++) fills.chunkOf(slot)[(slot & chunkMask) << rowBits | at] = values[slot]!
    }
    for (const [name, at] of Object.entries(floatColumns)) put(from.floats(sectionOf(name)), at)
    for (const [name, at] of Object.entries(intColumns)) put(from.ints(sectionOf(name)), at)
    fills.newestOfAccount = Newest.decode(from.floats(sectionOf("newestOfAccount")))
    fills.newestOfMarket = Newest.decode(from.floats(sectionOf("newestOfMarket")))
    for (let ordinal = Math.max(0, fills.total - fills.capacity); ordinal < fills.total; ordinal++) {
      const slot = ordinal % fills.capacity
      fills.queueOf(fills.value(slot, column.market)).push(slot)
    }
    return fills
  }
}
