/**
 * Positions by slot, one for each account and market in which the account has ever placed an order, held a position or set its
 * leverage, with the open orders of that pair; flat ones are included. Sizes in size atoms, money in money atoms.
 *
 * A position is a row of 128 bytes with what every order and cancel needs, and one of 64 bytes about its episode, which only fills
 * and reads touch. Each row has two views, of 8-byte numbers and of 4-byte words. The number of positions is not limited: a large
 * table grows step by step, see `Successor`.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import { mulDivCeil, mulDivFloor } from "../domain/Units.js"
import type { Accounts } from "./Accounts.js"
import {
  bytesOf,
  copiedNext,
  type Growth,
  growFloats,
  growInts,
  grownLength,
  growRows,
  isSoonFull,
  lengthByAccount,
  newRows,
  Successor,
  usualGrowth,
  wordsOf
} from "./Columns.js"
import type { SectionReader, SectionWriter } from "./Sections.js"

/** Numbers of 8 bytes in a row, and in a row of the episode: the accessors shift slots by 4 and by 3, and by 5 for words. */
const rowNumbers = 16
const pastRowNumbers = 8
/** The range of a row's contributions to the account's sums. */
const contributions = { from: 9, to: 15 }
/**
 * The words of a row that hold the index of its size among those of its market, and its index among the market's holders. Snapshots
 * do not contain the number that they make up.
 */
const heldAtWord = 30
const holderWord = 31
const placesNumber = 15

/** The lower half of a word holds the pair's open orders, the upper half its leverage: both always fit. */
const openCountMask = 0xffff
const leverageShift = 16

/** The result of a fill for a position; the object is reused. */
export interface Filled {
  quantity: number
  entryNotional: number
  /** PnL realised by the closing part, before fees. */
  realizedPnl: number
  /** Whether a new episode begins: from flat, or by a flip. */
  opens: boolean
}

export class Positions {
  count = 0
  private numbers: Float64Array
  private words: Int32Array
  private pastNumbers: Float64Array
  /** Unsigned sizes and slots by market, in slot order: a pass over all positions of a market reads nothing else. */
  private readonly held: Array<{ sizes: Float64Array; slots: Int32Array; count: number }> = []
  /** Hash table of slot + 1 by account and market, with linear probing; 0 is empty. At most half full. */
  private table: Int32Array

  // The buffers that replace the present ones when these are full, filled step by step.
  private longer: Successor | undefined = undefined
  private longerPast: Successor | undefined = undefined
  private longerTable = new Int32Array(0)
  private copied = 0
  private readonly growth: Growth

  constructor(growth: Growth = usualGrowth) {
    const { rows } = growth
    this.growth = growth
    this.numbers = newRows(rows * rowNumbers)
    this.words = wordsOf(this.numbers)
    this.pastNumbers = newRows(rows * pastRowNumbers)
    this.table = new Int32Array(placesFor(rows))
  }

  /** The slot of an account in a market, or -1. */
  find(account: number, market: number): number {
    const { table } = this
    const mask = table.length - 1
    for (let place = placeOf(account, market) & mask;; place = (place + 1) & mask) {
      const slot = table[place]! - 1
      if (slot === none || (this.market(slot) === market && this.account(slot) === account)) return slot
    }
  }

  /** Reads the row of a pair ahead of its use, if it lies in its home slot of the table. The result means nothing. */
  readAhead(account: number, market: number): number {
    const { table } = this
    return this.readRow(table[placeOf(account, market) & (table.length - 1)]! - 1)
  }

  /** Reads a slot's row ahead of its use; nothing for -1. The result means nothing. */
  readRow(slot: number): number {
    return slot === none ? 0 : this.words[slot << 5]! ^ this.words[slot << 5 | 16]!
  }

  /** Reads a slot's row and its episode's ahead of their use; nothing for -1. The result means nothing. */
  readBoth(slot: number): number {
    return slot === none ? 0 : this.readRow(slot) ^ this.pastNumbers[slot << 3]!
  }

  /** The slot of an account in a market, created if need be. */
  touch(accounts: Accounts, account: number, market: number): number {
    const found = this.find(account, market)
    if (found !== none) return found
    const slot = this.count
    this.makeRoom()
    this.count++
    this.setAccount(slot, account)
    this.setMarket(slot, market)
    this.setFirstOrder(slot, none)
    this.setLastOrder(slot, none)
    this.setRiskEpoch(slot, -1)
    this.setNextOfAccount(slot, accounts.firstPosition(account))
    accounts.setFirstPosition(account, slot)
    accounts.setMarkets(account, accounts.markets(account) + 1)
    index(this.table, slot, placeOf(account, market))
    this.hold(slot)
    return slot
  }

  /** Removes the newest slot again, before anything was written to it, without leaving a trace. */
  untouch(accounts: Accounts, slot: number): void {
    assert(slot === this.count - 1 && accounts.firstPosition(this.account(slot)) === slot, "only the newest slot is taken back")
    assert(slot >= this.copied, "the newest slot is not copied yet")
    accounts.setFirstPosition(this.account(slot), this.nextOfAccount(slot))
    accounts.setMarkets(this.account(slot), accounts.markets(this.account(slot)) - 1)
    // No later entry was inserted, so no probe sequence passes this one and it can simply be cleared.
    const mask = this.table.length - 1
    let place = placeOf(this.account(slot), this.market(slot)) & mask
    while (this.table[place] !== slot + 1) place = (place + 1) & mask
    this.table[place] = 0
    this.held[this.market(slot)]!.count--
    this.numbers.fill(0, slot * rowNumbers, (slot + 1) * rowNumbers)
    this.count--
  }

  /** Signed, long positive. */
  quantity(slot: number): number {
    return this.numbers[slot << 4 | 0]!
  }

  setQuantity(slot: number, value: number): void {
    this.set(slot, 0, value)
    this.held[this.market(slot)]!.sizes[this.heldAt(slot)] = Math.abs(value)
  }

  /** Unsigned. */
  entryNotional(slot: number): number {
    return this.numbers[slot << 4 | 1]!
  }

  setEntryNotional(slot: number, value: number): void {
    this.set(slot, 1, value)
  }

  /** Remaining size of open buys that may grow the position. */
  openBuys(slot: number): number {
    return this.numbers[slot << 4 | 2]!
  }

  setOpenBuys(slot: number, value: number): void {
    this.set(slot, 2, value)
  }

  /** Remaining size of open sells that may grow the position. */
  openSells(slot: number): number {
    return this.numbers[slot << 4 | 3]!
  }

  setOpenSells(slot: number, value: number): void {
    this.set(slot, 3, value)
  }

  /** Remaining size of resting reduce-only buys. */
  reduceBuys(slot: number): number {
    return this.numbers[slot << 4 | 4]!
  }

  setReduceBuys(slot: number, value: number): void {
    this.set(slot, 4, value)
  }

  /** Remaining size of resting reduce-only sells. */
  reduceSells(slot: number): number {
    return this.numbers[slot << 4 | 5]!
  }

  setReduceSells(slot: number, value: number): void {
    this.set(slot, 5, value)
  }

  /** Account index. */
  account(slot: number): number {
    return this.words[slot << 5 | 12]!
  }

  setAccount(slot: number, value: number): void {
    this.setWord(slot, 12, value)
  }

  /** Market index. */
  market(slot: number): number {
    return this.words[slot << 5 | 13]!
  }

  setMarket(slot: number, value: number): void {
    this.setWord(slot, 13, value)
  }

  /** Number of resting orders of the pair. */
  openCount(slot: number): number {
    return this.words[slot << 5 | 14]! & openCountMask
  }

  setOpenCount(slot: number, value: number): void {
    this.setWord(slot, 14, this.words[slot << 5 | 14]! & ~openCountMask | value)
  }

  /** The leverage limit that the account has set in the market; 0 where it has set none. */
  leverage(slot: number): number {
    return this.words[slot << 5 | 14]! >>> leverageShift
  }

  setLeverage(slot: number, value: number): void {
    this.setWord(slot, 14, value << leverageShift | this.openCount(slot))
  }

  /** The account's next position, or -1. */
  nextOfAccount(slot: number): number {
    return this.words[slot << 5 | 15]!
  }

  setNextOfAccount(slot: number, value: number): void {
    this.setWord(slot, 15, value)
  }

  /** Oldest resting order of the pair, linked through the order pool; or -1. */
  firstOrder(slot: number): number {
    return this.words[slot << 5 | 16]!
  }

  setFirstOrder(slot: number, value: number): void {
    this.setWord(slot, 16, value)
  }

  /** Youngest resting order of the pair, or -1. */
  lastOrder(slot: number): number {
    return this.words[slot << 5 | 17]!
  }

  setLastOrder(slot: number, value: number): void {
    this.setWord(slot, 17, value)
  }

  /** The market's `riskEpoch` for which the contributions below were computed; -1 for none. */
  riskEpoch(slot: number): number {
    return this.numbers[slot << 4 | 9]!
  }

  setRiskEpoch(slot: number, value: number): void {
    this.set(slot, 9, value)
  }

  initialMargin(slot: number): number {
    return this.numbers[slot << 4 | 10]!
  }

  setInitialMargin(slot: number, value: number): void {
    this.set(slot, 10, value)
  }

  maintenanceMargin(slot: number): number {
    return this.numbers[slot << 4 | 11]!
  }

  setMaintenanceMargin(slot: number, value: number): void {
    this.set(slot, 11, value)
  }

  unrealizedPnl(slot: number): number {
    return this.numbers[slot << 4 | 12]!
  }

  setUnrealizedPnl(slot: number, value: number): void {
    this.set(slot, 12, value)
  }

  /** What the buys priced beyond the mark would lose at once if filled. */
  buyLoss(slot: number): number {
    return this.numbers[slot << 4 | 13]!
  }

  setBuyLoss(slot: number, value: number): void {
    this.set(slot, 13, value)
  }

  /** What the sells priced beyond the mark would lose at once if filled. */
  sellLoss(slot: number): number {
    return this.numbers[slot << 4 | 14]!
  }

  setSellLoss(slot: number, value: number): void {
    this.set(slot, 14, value)
  }

  /** PnL realised in the current episode, before fees. */
  realizedPnl(slot: number): number {
    return this.pastNumbers[slot << 3 | 0]!
  }

  setRealizedPnl(slot: number, value: number): void {
    this.setPast(slot, 0, value)
  }

  /** Fees paid in the current episode. */
  feesPaid(slot: number): number {
    return this.pastNumbers[slot << 3 | 1]!
  }

  setFeesPaid(slot: number, value: number): void {
    this.setPast(slot, 1, value)
  }

  /** The ordinal of the current episode. */
  born(slot: number): number {
    return this.pastNumbers[slot << 3 | 2]!
  }

  setBorn(slot: number, value: number): void {
    this.setPast(slot, 2, value)
  }

  /** When the current episode began, epoch milliseconds. */
  openedAt(slot: number): number {
    return this.pastNumbers[slot << 3 | 3]!
  }

  setOpenedAt(slot: number, value: number): void {
    this.setPast(slot, 3, value)
  }

  /** The last record that changed the position. */
  lastSequence(slot: number): number {
    return this.pastNumbers[slot << 3 | 4]!
  }

  setLastSequence(slot: number, value: number): void {
    this.setPast(slot, 4, value)
  }

  /** The number of the market's funding payment that the position settled last. */
  fundingEpoch(slot: number): number {
    return this.pastNumbers[slot << 3 | 5]!
  }

  setFundingEpoch(slot: number, value: number): void {
    this.setPast(slot, 5, value)
  }

  /** Funding paid in the current episode; negative where more was received. */
  fundingPaid(slot: number): number {
    return this.pastNumbers[slot << 3 | 6]!
  }

  setFundingPaid(slot: number, value: number): void {
    this.setPast(slot, 6, value)
  }

  /**
   * The mark, price atoms, at which the account's maintenance margin has to be checked again: at it or below for a long, at it or
   * above for a short; 0 for never.
   */
  trigger(slot: number): number {
    return this.pastNumbers[slot << 3 | 7]!
  }

  setTrigger(slot: number, value: number): void {
    this.setPast(slot, 7, value)
  }

  /** The position's index among the holders of its market and direction, or -1: see `Triggers`. */
  holderPlace(slot: number): number {
    return (this.words[slot << 5 | holderWord]! >> 1) - 1
  }

  /** The heap that a position with an index is in: twice the market, plus one for shorts. */
  holderHeap(slot: number): number {
    return this.market(slot) * 2 + (this.words[slot << 5 | holderWord]! & 1)
  }

  /** Sets the position's index among the holders; -1 for none. */
  setHolderPlace(slot: number, place: number, heap: number): void {
    this.setWord(slot, holderWord, (place + 1) << 1 | (heap & 1))
  }

  /** Number of slots that have rows. */
  private get slots(): number {
    return this.pastNumbers.length / pastRowNumbers
  }

  /** The index of a pair among the sizes of its market: a word that snapshots do not contain. */
  private heldAt(slot: number): number {
    return this.words[slot << 5 | heldAtWord]!
  }

  /** Adds a pair to the sizes of its market. */
  private hold(slot: number): void {
    const market = this.market(slot)
    const { rows } = this.growth
    while (this.held.length <= market) this.held.push({ sizes: new Float64Array(rows), slots: new Int32Array(rows), count: 0 })
    const held = this.held[market]!
    if (held.count === held.sizes.length) {
      held.sizes = growFloats(held.sizes, lengthByAccount(held.count, held.count + 1))
      held.slots = growInts(held.slots, held.sizes.length)
    }
    held.slots[held.count] = slot
    held.sizes[held.count] = Math.abs(this.quantity(slot))
    this.setWord(slot, heldAtWord, held.count++)
  }

  /** Number of pairs of a market, in slot order, and the slot of one of them. */
  heldCount(market: number): number {
    return this.held[market]?.count ?? 0
  }

  heldSlot(market: number, at: number): number {
    return this.held[market]!.slots[at]!
  }

  /** The unsigned size of one of them. */
  heldSize(market: number, at: number): number {
    return this.held[market]!.sizes[at]!
  }

  /** The smallest and the largest open size in a market, size atoms; `Infinity` and 0 where there is none. */
  range(market: number): { readonly least: number; readonly most: number } {
    const { count, sizes } = this.held[market] ?? { count: 0, sizes: new Float64Array(0) }
    let least = Number.POSITIVE_INFINITY
    let most = 0
    for (let at = 0; at < count; at++) {
      const size = sizes[at]!
      if (size === 0) continue
      if (size < least) least = size
      if (size > most) most = size
    }
    return { least, most }
  }

  private set(slot: number, at: number, value: number): void {
    this.numbers[slot << 4 | at] = value
    if (slot < this.copied) this.longer!.numbers[slot << 4 | at] = value
  }

  private setWord(slot: number, at: number, value: number): void {
    this.words[slot << 5 | at] = value
    if (slot < this.copied) this.longer!.words[slot << 5 | at] = value
  }

  private setPast(slot: number, at: number, value: number): void {
    this.pastNumbers[slot << 3 | at] = value
    if (slot < this.copied) this.longerPast!.numbers[slot << 3 | at] = value
  }

  /** Makes room for one more slot: a small table is copied at once, a large one step by step. */
  private makeRoom(): void {
    const { count, slots } = this
    if (slots < this.growth.stepwiseFrom) {
      if (count === slots) this.grow(grownLength(slots, slots + 1))
      return
    }
    if (!isSoonFull(count, slots)) return
    if (this.longer === undefined) {
      this.longer = new Successor(slots * 2, rowNumbers)
      this.longerPast = new Successor(slots * 2, pastRowNumbers)
      this.longerTable = new Int32Array(placesFor(slots * 2))
    }
    const to = copiedNext(this.copied, count)
    this.longer.copy(this.words, this.copied, to)
    this.longerPast!.copy(wordsOf(this.pastNumbers), this.copied, to)
    for (let slot = this.copied; slot < to; slot++) index(this.longerTable, slot, placeOf(this.account(slot), this.market(slot)))
    this.copied = to
    if (count === slots) this.takeOver()
  }

  private takeOver(): void {
    assert(this.copied === this.count && this.longer !== undefined && this.longerPast !== undefined, "what takes over has all slots")
    this.numbers = this.longer.numbers
    this.words = this.longer.words
    this.pastNumbers = this.longerPast.numbers
    this.table = this.longerTable
    this.longer = undefined
    this.longerPast = undefined
    this.longerTable = new Int32Array(0)
    this.copied = 0
  }

  private grow(slots: number): void {
    this.numbers = growRows(this.numbers, slots * rowNumbers)
    this.words = wordsOf(this.numbers)
    this.pastNumbers = growRows(this.pastNumbers, slots * pastRowNumbers)
    this.table = new Int32Array(Math.max(this.table.length, placesFor(slots)))
    for (let slot = 0; slot < this.count; slot++) index(this.table, slot, placeOf(this.account(slot), this.market(slot)))
  }

  /** Copies rows without the fields that restoring rebuilds. */
  private copyRows(from: number, to: number, into: Float64Array): void {
    into.set(this.numbers.subarray(from * rowNumbers, to * rowNumbers))
    for (let row = 0; row < into.length; row += rowNumbers) {
      into.fill(0, row + contributions.from, row + contributions.to)
      into[row + contributions.from] = -1
      into[row + placesNumber] = 0
    }
  }

  encode(into: SectionWriter): void {
    into.rows("positions.rows", this.count, rowNumbers * 8, (from, to, rows) => this.copyRows(from, to, rows))
    into.rows("positions.pastRows", this.count, pastRowNumbers * 8, (from, to, rows) => {
      rows.set(this.pastNumbers.subarray(from * pastRowNumbers, to * pastRowNumbers))
    })
  }

  /** Counts the markets of each account, which snapshots do not contain. */
  countMarkets(accounts: Accounts): void {
    for (let slot = 0; slot < this.count; slot++) accounts.setMarkets(this.account(slot), accounts.markets(this.account(slot)) + 1)
  }

  static decode(from: SectionReader, growth = usualGrowth): Positions {
    const positions = new Positions(growth)
    const [rows, pastRows] = [from.bytes("positions.rows"), from.bytes("positions.pastRows")]
    const count = rows.length / (rowNumbers * 8)
    assert(Number.isInteger(count) && pastRows.length === count * pastRowNumbers * 8, "a snapshot's positions are whole rows, two each")
    // Allocates spare room, so that no successor has to begin at once.
    if (isSoonFull(count, positions.slots)) positions.grow(count * 2)
    bytesOf(positions.numbers).set(rows)
    bytesOf(positions.pastNumbers).set(pastRows)
    positions.count = count
    for (let slot = 0; slot < count; slot++) {
      index(positions.table, slot, placeOf(positions.account(slot), positions.market(slot)))
      positions.hold(slot)
    }
    return positions
  }
}

/** The power of two with at least two table slots for each position slot. */
const placesFor = (slots: number): number => {
  let places = 2
  while (places < slots * 2) places *= 2
  return places
}

/** Inserts a slot into a hash table. */
const index = (table: Int32Array, slot: number, own: number): void => {
  const mask = table.length - 1
  let place = own & mask
  while (table[place] !== 0) place = (place + 1) & mask
  table[place] = slot + 1
}

/** The hash of a pair, which spreads neighbouring accounts and markets apart. */
const placeOf = (account: number, market: number): number => {
  const mixed = Math.imul(account, 0x9e3779b1) ^ Math.imul(market + 1, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

/**
 * The result of a fill of `sizeAtoms` at `priceAtoms` for a position (risk.md 3). The released entry notional is `entryNotional *
 * closed / size`, rounded against the account: up for a long, down for a short. The rest stays in the position, so that sums over
 * accounts are exact. `factor` is the market's K.
 */
export const fill = (
  into: Filled,
  quantity: number,
  entryNotional: number,
  buying: boolean,
  sizeAtoms: number,
  priceAtoms: number,
  factor: number
): void => {
  const signed = buying ? sizeAtoms : -sizeAtoms
  if (quantity === 0 || quantity > 0 === buying) {
    into.quantity = quantity + signed
    into.entryNotional = entryNotional + priceAtoms * sizeAtoms * factor
    into.realizedPnl = 0
    into.opens = quantity === 0
    return
  }
  const held = Math.abs(quantity)
  const closed = Math.min(held, sizeAtoms)
  const exitNotional = priceAtoms * closed * factor
  const released = closed === held
    ? entryNotional
    : quantity > 0
    ? mulDivCeil(entryNotional, closed, held)
    : mulDivFloor(entryNotional, closed, held)
  into.realizedPnl = quantity > 0 ? exitNotional - released : released - exitNotional
  into.quantity = quantity + signed
  into.opens = sizeAtoms > held
  into.entryNotional = into.opens ? priceAtoms * (sizeAtoms - held) * factor : entryNotional - released
}
