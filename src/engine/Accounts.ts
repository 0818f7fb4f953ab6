/**
 * Accounts by dense index. Money in money atoms. An account is a row of 128 bytes: its money and margins in the first cache line,
 * its chains in the second. Each row has two views, of 8-byte numbers and of 4-byte words.
 *
 * The fields of the second line that every placement and every forgetting changes are kept in 8 bytes beside the rows, so that they
 * stay in a cache for ten thousand accounts; in a snapshot they are in the rows. The number of accounts is not limited: a large
 * table grows step by step, see `Successor`.
 */
import { assert } from "../domain/Assert.js"
import * as Ids from "../domain/Ids.js"
import { none } from "../domain/None.js"
import {
  bytesOf,
  copiedNext,
  type Growth,
  growInts,
  grownLength,
  growRows,
  isSoonFull,
  newRows,
  Successor,
  usualGrowth,
  wordsOf
} from "./Columns.js"
import type { SectionReader, SectionWriter } from "./Sections.js"
import { type Contribution, Sums } from "./Sums.js"

/** The public facts of an account other than its money. */
export interface AccountView {
  readonly account: number
  readonly accountId: string
  /** Empty until one is set. */
  readonly displayHandle: string
  /** The last record that changed the account. */
  readonly lastSequence: number
}

/** Numbers of 8 bytes in a row: the accessors shift indexes by 4, and by 5 for words. */
const rowNumbers = 16
/** Words kept beside a row, and their indexes in a snapshot's row. */
const rememberedWords = 2
const kept = { evicted: 18, newestOrder: 19 } as const
/** The range of a row's sums over the account's positions. */
const sums = { from: 2, to: 8 }
/** The word of a row with the number of the account's markets. */
const marketsWord = 21
/** The number of a row with the record that last noted the account as changed. */
const changedNumber = 11

/**
 * What sums over an account's positions come to together, profits and losses apart: as long as this is a safe integer, so is each of
 * them, and they were exact at every step of adding them up.
 */
const magnitudeOf = (
  initialMargin: number,
  maintenanceMargin: number,
  unrealizedPnl: number,
  unrealizedLoss: number,
  orderLoss: number
): number => initialMargin + maintenanceMargin + orderLoss + (unrealizedPnl - unrealizedLoss) - unrealizedLoss

export class Accounts {
  count = 0
  /** The insurance fund's account, or -1 before it is opened. */
  private fund = none
  private numbers: Float64Array
  private words: Int32Array
  /** By account: whether anything was forgotten, and the newest remembered order. */
  private remembered: Int32Array

  // The buffers that replace the present ones when these are full, filled step by step.
  private longer: Successor | undefined = undefined
  private longerRemembered = new Int32Array(0)
  private copied = 0
  private readonly stepwiseFrom: number

  /**
   * The exact sums of accounts whose `magnitude` is no safe integer; their rows have the nearest numbers. Not in snapshots, as the
   * sums in the rows are not.
   */
  private readonly large = new Map<number, Sums>()

  /** The public handles of the accounts; empty until one is set. */
  private displayHandles: Array<string> = []

  constructor({ rows, stepwiseFrom }: Growth = usualGrowth) {
    this.stepwiseFrom = stepwiseFrom
    this.numbers = newRows(rows * rowNumbers)
    this.words = wordsOf(this.numbers)
    this.remembered = new Int32Array(rows * rememberedWords)
  }

  collateral(account: number): number {
    return this.numbers[account << 4 | 0]!
  }

  setCollateral(account: number, value: number): void {
    this.set(account, 0, value)
  }

  /** The last record that changed the account. */
  lastSequence(account: number): number {
    return this.numbers[account << 4 | 1]!
  }

  setLastSequence(account: number, value: number): void {
    this.set(account, 1, value)
  }

  /** The state's `riskEpoch` for which the sums below were computed; -1 for none. */
  riskEpoch(account: number): number {
    return this.numbers[account << 4 | 2]!
  }

  setRiskEpoch(account: number, value: number): void {
    this.set(account, 2, value)
  }

  sumInitialMargin(account: number): number {
    return this.numbers[account << 4 | 3]!
  }

  sumMaintenanceMargin(account: number): number {
    return this.numbers[account << 4 | 4]!
  }

  sumUnrealizedPnl(account: number): number {
    return this.numbers[account << 4 | 5]!
  }

  sumUnrealizedLoss(account: number): number {
    return this.numbers[account << 4 | 6]!
  }

  sumOrderLoss(account: number): number {
    return this.numbers[account << 4 | 7]!
  }

  /** The birth ordinal, from which the id is made. */
  born(account: number): number {
    return this.numbers[account << 4 | 8]!
  }

  setBorn(account: number, value: number): void {
    this.set(account, 8, value)
  }

  /** 1 once a key or an order of the account has been forgotten: "never seen" can no longer be said. */
  evicted(account: number): number {
    return this.remembered[account << 1]!
  }

  setEvicted(account: number, value: number): void {
    this.setRemembered(account, 0, value)
  }

  /** The account's newest remembered order, linked by `Orders.ownOlder`; or -1. */
  newestOrder(account: number): number {
    return this.remembered[account << 1 | 1]!
  }

  setNewestOrder(account: number, value: number): void {
    this.setRemembered(account, 1, value)
  }

  /** First of the account's positions, linked by `Positions.nextOfAccount`; or -1. */
  firstPosition(account: number): number {
    return this.words[account << 5 | 20]!
  }

  setFirstPosition(account: number, value: number): void {
    this.words[account << 5 | 20] = value
    if (account < this.copied) this.longer!.words[account << 5 | 20] = value
  }

  /**
   * The number of markets that the account ever entered, which is the length of its chain of positions. Not in snapshots: it is
   * recounted.
   */
  markets(account: number): number {
    return this.words[account << 5 | marketsWord]!
  }

  setMarkets(account: number, value: number): void {
    this.words[account << 5 | marketsWord] = value
    if (account < this.copied) this.longer!.words[account << 5 | marketsWord] = value
  }

  /** The last record that noted the account as changed, see `State.noteChanged`; 0 for none. Not in snapshots. */
  changedIn(account: number): number {
    return this.numbers[account << 4 | changedNumber]!
  }

  setChangedIn(account: number, value: number): void {
    this.set(account, changedNumber, value)
  }

  /** Reads both lines of a row and the fields kept beside it ahead of their use. The result means nothing. */
  readAhead(account: number): number {
    return this.words[account << 5]! ^ this.words[account << 5 | 16]! ^ this.remembered[account << 1]!
  }

  /** What an account's sums come to together, see `magnitudeOf`. */
  magnitude(account: number): number {
    return magnitudeOf(
      this.sumInitialMargin(account),
      this.sumMaintenanceMargin(account),
      this.sumUnrealizedPnl(account),
      this.sumUnrealizedLoss(account),
      this.sumOrderLoss(account)
    )
  }

  /** Sets the sums over an account's positions, if they are exact. Returns whether they are; otherwise `setLargeSums` is needed. */
  setSums(
    account: number,
    initialMargin: number,
    maintenanceMargin: number,
    unrealizedPnl: number,
    unrealizedLoss: number,
    orderLoss: number
  ): boolean {
    if (magnitudeOf(initialMargin, maintenanceMargin, unrealizedPnl, unrealizedLoss, orderLoss) > Number.MAX_SAFE_INTEGER) return false
    if (this.large.size > 0) this.large.delete(account)
    this.set(account, 3, initialMargin)
    this.set(account, 4, maintenanceMargin)
    this.set(account, 5, unrealizedPnl)
    this.set(account, 6, unrealizedLoss)
    this.set(account, 7, orderLoss)
    return true
  }

  /** Sets the sums of an account to those that were added up exactly. The object is kept. */
  setLargeSums(account: number, sums: Sums): void {
    this.set(account, 3, sums.initialMargin.nearest)
    this.set(account, 4, sums.maintenanceMargin.nearest)
    this.set(account, 5, sums.unrealizedPnl.nearest)
    this.set(account, 6, sums.unrealizedLoss.nearest)
    this.set(account, 7, sums.orderLoss.nearest)
    if (this.magnitude(account) > Number.MAX_SAFE_INTEGER) this.large.set(account, sums)
    else this.large.delete(account)
  }

  /**
   * Adds the differences of a position's contributions to the sums over an account's positions, if these stay exact. Returns whether
   * they do; otherwise nothing is added, and `replaceInSums` is needed.
   */
  addToSums(account: number, initialMargin: number, maintenanceMargin: number, unrealizedPnl: number, unrealizedLoss: number): boolean {
    // The loss never changes by more than the PnL.
    const change = Math.abs(initialMargin) + Math.abs(maintenanceMargin) + Math.abs(unrealizedPnl)
    if (this.magnitude(account) + change > Number.MAX_SAFE_INTEGER) return false
    this.set(account, 3, this.sumInitialMargin(account) + initialMargin)
    this.set(account, 4, this.sumMaintenanceMargin(account) + maintenanceMargin)
    this.set(account, 5, this.sumUnrealizedPnl(account) + unrealizedPnl)
    this.set(account, 6, this.sumUnrealizedLoss(account) + unrealizedLoss)
    return true
  }

  /** Puts what a position contributes to its account's sums in place of what it did before, exactly. */
  replaceInSums(account: number, before: Contribution, after: Contribution): void {
    const sums = this.exactSums(account)
    sums.replace(before, after)
    this.setLargeSums(account, sums)
  }

  addOrderLoss(account: number, orderLoss: number): void {
    if (orderLoss === 0) return
    if (this.magnitude(account) + Math.abs(orderLoss) <= Number.MAX_SAFE_INTEGER) {
      this.set(account, 7, this.sumOrderLoss(account) + orderLoss)
      return
    }
    const sums = this.exactSums(account)
    sums.orderLoss.add(orderLoss)
    this.setLargeSums(account, sums)
  }

  /** Takes the sums over from an account of another table. */
  copySums(account: number, from: Accounts, other: number): void {
    const large = from.large.get(other)
    if (large !== undefined) this.setLargeSums(account, large.copy())
    else for (let at = 3; at <= 7; at++) this.set(account, at, from.numbers[other << 4 | at]!)
  }

  /** The exact sums that an account would have with other contributions of a position; a copy. */
  sumsWith(account: number, before: Contribution, after: Contribution): Sums {
    const sums = this.exactSums(account).copy()
    sums.replace(before, after)
    return sums
  }

  /** The sum of an account's unrealised PnL, exact: a bigint where a number cannot hold it. */
  exactUnrealizedPnl(account: number): number | bigint {
    const pnl = this.sumUnrealizedPnl(account)
    return Number.isSafeInteger(pnl) ? pnl : this.exactSums(account).unrealizedPnl.atoms
  }

  /**
   * An account's unrealised PnL with `after` in place of what a position contributes, `before`, and with other money added: the
   * nearest number, rounded once.
   */
  unrealizedPnlWith(account: number, before: number, after: number, other: number): number {
    const pnl = this.sumUnrealizedPnl(account)
    if (Math.abs(pnl) + Math.abs(before) + Math.abs(after) + Math.abs(other) <= Number.MAX_SAFE_INTEGER) {
      return other + (pnl - before + after)
    }
    return Number(BigInt(this.exactUnrealizedPnl(account)) - BigInt(before) + BigInt(after) + BigInt(other))
  }

  /** An account's initial margin with `after` in place of what a position contributes, `before`: the nearest number. */
  initialMarginWith(account: number, before: number, after: number): number {
    const margin = this.sumInitialMargin(account)
    if (margin + before + after <= Number.MAX_SAFE_INTEGER) return margin - before + after
    return Number(this.exactSums(account).initialMargin.atoms - BigInt(before) + BigInt(after))
  }

  private exactSums(account: number): Sums {
    const known = this.large.get(account)
    if (known !== undefined) return known
    const sums = new Sums()
    sums.initialMargin.add(this.sumInitialMargin(account))
    sums.maintenanceMargin.add(this.sumMaintenanceMargin(account))
    sums.unrealizedPnl.add(this.sumUnrealizedPnl(account))
    sums.unrealizedLoss.add(this.sumUnrealizedLoss(account))
    sums.orderLoss.add(this.sumOrderLoss(account))
    return sums
  }

  /** Opens an account and returns its index. */
  open(born: number, sequence: number): number {
    const account = this.count
    if (born === Ids.insuranceFundBorn) this.fund = account
    else assert(account === 0 || this.orderOf(account - 1) < born, "accounts are opened in the order of their births")
    this.makeRoom()
    this.count++
    this.setBorn(account, born)
    this.setLastSequence(account, sequence)
    this.setRiskEpoch(account, -1)
    this.setNewestOrder(account, none)
    this.setFirstPosition(account, none)
    this.displayHandles.push("")
    return account
  }

  setDisplayHandle(account: number, handle: string): void {
    this.displayHandles[account] = handle
  }

  /** The sort key of accounts: their birth ordinals. The insurance fund has none and takes that of the account before it. */
  private orderOf(account: number): number {
    return account !== this.fund ? this.born(account) : account === 0 ? none : this.born(account - 1)
  }

  /** Index by id, or -1. Accounts are sorted by birth ordinal, so that a binary search finds them. */
  find(accountId: string): number {
    if (accountId === Ids.insuranceFundId) return this.fund
    const born = Ids.parseAccountId(accountId)
    if (born === undefined) return none
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.orderOf(middle) < born) low = middle + 1
      else high = middle
    }
    return low < this.count && this.born(low) === born ? low : none
  }

  /** Number of accounts that have rows. */
  private get slots(): number {
    return this.numbers.length / rowNumbers
  }

  private set(account: number, at: number, value: number): void {
    this.numbers[account << 4 | at] = value
    if (account < this.copied) this.longer!.numbers[account << 4 | at] = value
  }

  private setRemembered(account: number, at: number, value: number): void {
    this.remembered[account << 1 | at] = value
    if (account < this.copied) this.longerRemembered[account << 1 | at] = value
  }

  /** Makes room for one more account: a small table is copied at once, a large one step by step. */
  private makeRoom(): void {
    const { count, slots } = this
    if (slots < this.stepwiseFrom) {
      if (count === slots) this.grow(grownLength(slots, slots + 1))
      return
    }
    if (!isSoonFull(count, slots)) return
    if (this.longer === undefined) {
      this.longer = new Successor(slots * 2, rowNumbers)
      this.longerRemembered = new Int32Array(slots * 2 * rememberedWords)
    }
    const to = copiedNext(this.copied, count)
    this.longer.copy(this.words, this.copied, to)
    for (let at = this.copied * rememberedWords; at < to * rememberedWords; at++) this.longerRemembered[at] = this.remembered[at]!
    this.copied = to
    if (count === slots) this.takeOver()
  }

  private takeOver(): void {
    assert(this.copied === this.count && this.longer !== undefined, "what takes over has all accounts")
    this.numbers = this.longer.numbers
    this.words = this.longer.words
    this.remembered = this.longerRemembered
    this.longer = undefined
    this.longerRemembered = new Int32Array(0)
    this.copied = 0
  }

  private grow(accounts: number): void {
    this.numbers = growRows(this.numbers, accounts * rowNumbers)
    this.words = wordsOf(this.numbers)
    this.remembered = growInts(this.remembered, accounts * rememberedWords)
  }

  /** The public facts of an account other than its money. */
  view(account: number): AccountView {
    const born = this.born(account)
    assert(account >= 0 && account < this.count, "an account index is one that was opened")
    return {
      account,
      accountId: Ids.accountId(born),
      displayHandle: this.displayHandles[account]!,
      lastSequence: this.lastSequence(account)
    }
  }

  /** Feeds the content of an account, independently of storage: one line, and another for each optional fact. */
  canonical(account: number, feed: (line: string) => void): void {
    feed(`account ${account} ${this.born(account)} ${this.collateral(account)} ${this.lastSequence(account)} ${this.evicted(account)}`)
    const handle = this.displayHandles[account]!
    if (handle !== "") feed(`handle ${account} ${handle}`)
  }

  /** Copies rows including the fields kept beside them, without those that restoring rebuilds. */
  private copyRows(from: number, to: number, into: Float64Array): void {
    into.set(this.numbers.subarray(from * rowNumbers, to * rowNumbers))
    const words = wordsOf(into)
    for (let account = from, row = 0; account < to; account++, row += rowNumbers) {
      into.fill(0, row + sums.from, row + sums.to)
      into[row + sums.from] = -1
      into[row + changedNumber] = 0
      words[row * 2 + kept.evicted] = this.evicted(account)
      words[row * 2 + kept.newestOrder] = this.newestOrder(account)
      words[row * 2 + marketsWord] = 0
    }
  }

  encode(into: SectionWriter): void {
    into.rows("accounts.rows", this.count, rowNumbers * 8, (from, to, rows) => this.copyRows(from, to, rows))
    into.texts("accounts.displayHandles", this.displayHandles)
  }

  static decode(from: SectionReader, growth = usualGrowth): Accounts {
    const accounts = new Accounts(growth)
    const rows = from.bytes("accounts.rows")
    const count = rows.length / (rowNumbers * 8)
    assert(Number.isInteger(count), "a snapshot's accounts are whole rows")
    // Allocates spare room, so that no successor has to begin at once.
    if (isSoonFull(count, accounts.slots)) accounts.grow(count * 2)
    bytesOf(accounts.numbers).set(rows)
    accounts.count = count
    accounts.displayHandles = from.textsOrEmpty("accounts.displayHandles", count)
    for (let account = 0; account < count; account++) {
      accounts.setEvicted(account, accounts.words[account << 5 | kept.evicted]!)
      accounts.setNewestOrder(account, accounts.words[account << 5 | kept.newestOrder]!)
      if (accounts.born(account) === Ids.insuranceFundBorn) accounts.fund = account
      else assert(account === 0 || accounts.orderOf(account - 1) < accounts.born(account), "accounts are in the order of their births")
    }
    return accounts
  }
}
