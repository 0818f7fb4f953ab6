/**
 * Accounts, by dense index. Money in money atoms. An account is a row of 128 bytes: its money and margins
 * in the first cache line, its chains in the second. A row has two views, of 8-byte numbers and of 4-byte words.
 *
 * What every placement and everything forgotten changes of the second line is kept in 8 bytes of its own beside the rows,
 * so that those of ten thousand accounts stay in a cache; a snapshot has it in the rows. There is no bound of accounts: where
 * there are many, the rows become longer by and by, see `Successor`.
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

/** What is shown of an account beside its money. */
export interface AccountView {
  readonly account: number
  readonly accountId: string
  /** Empty until one is set. */
  readonly displayHandle: string
  /** The last record that changed the account. */
  readonly lastSequence: number
}

/** Numbers of 8 bytes in a row: the accessors shift indices by 4, for words by 5. */
const rowNumbers = 16
/** Words in what is kept beside a row, and where a snapshot's row has them. */
const rememberedWords = 2
const kept = { evicted: 18, newestOrder: 19 } as const
/** Where a row's sums over the account's positions begin and end. */
const sums = { from: 2, to: 8 }
/** The word of a row that counts the account's markets. */
const marketsWord = 21
/** The number of a row that says which record changed the account. */
const changedNumber = 11

export class Accounts {
  count = 0
  /** The insurance fund's account, or -1 before it is opened. */
  private fund = none
  private numbers: Float64Array
  private words: Int32Array
  /** By account: whether anything was forgotten, and the newest remembered order. */
  private remembered: Int32Array

  // What takes over when there are no rows left, and the accounts that it has already.
  private longer: Successor | undefined = undefined
  private longerRemembered = new Int32Array(0)
  private copied = 0
  private readonly stepwiseFrom: number

  /** What others may see each account by; empty until one is set. */
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

  /** The state's `riskEpoch` as of which the sums over the account's positions below are; -1 for none. */
  riskEpoch(account: number): number {
    return this.numbers[account << 4 | 2]!
  }

  setRiskEpoch(account: number, value: number): void {
    this.set(account, 2, value)
  }

  sumInitialMargin(account: number): number {
    return this.numbers[account << 4 | 3]!
  }

  setSumInitialMargin(account: number, value: number): void {
    this.set(account, 3, value)
  }

  sumMaintenanceMargin(account: number): number {
    return this.numbers[account << 4 | 4]!
  }

  setSumMaintenanceMargin(account: number, value: number): void {
    this.set(account, 4, value)
  }

  sumUnrealizedPnl(account: number): number {
    return this.numbers[account << 4 | 5]!
  }

  setSumUnrealizedPnl(account: number, value: number): void {
    this.set(account, 5, value)
  }

  sumUnrealizedLoss(account: number): number {
    return this.numbers[account << 4 | 6]!
  }

  setSumUnrealizedLoss(account: number, value: number): void {
    this.set(account, 6, value)
  }

  sumOrderLoss(account: number): number {
    return this.numbers[account << 4 | 7]!
  }

  setSumOrderLoss(account: number, value: number): void {
    this.set(account, 7, value)
  }

  /** Birth ordinals: what ids are made of. */
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

  /** How many markets the account came to: positions in its chain. It is in no snapshot, but counted anew. */
  markets(account: number): number {
    return this.words[account << 5 | marketsWord]!
  }

  setMarkets(account: number, value: number): void {
    this.words[account << 5 | marketsWord] = value
    if (account < this.copied) this.longer!.words[account << 5 | marketsWord] = value
  }

  /** The last record that noted the account as changed, see `State.noteChanged`; 0 for none. It is in no snapshot. */
  changedIn(account: number): number {
    return this.numbers[account << 4 | changedNumber]!
  }

  setChangedIn(account: number, value: number): void {
    this.set(account, changedNumber, value)
  }

  /** Reads both lines of a row and what is kept beside it, ahead of use. The answer means nothing. */
  readAhead(account: number): number {
    return this.words[account << 5]! ^ this.words[account << 5 | 16]! ^ this.remembered[account << 1]!
  }

  /** Adds to the sums over an account's positions. */
  addToSums(account: number, initialMargin: number, maintenanceMargin: number, unrealizedPnl: number, unrealizedLoss: number): void {
    this.setSumInitialMargin(account, this.sumInitialMargin(account) + initialMargin)
    this.setSumMaintenanceMargin(account, this.sumMaintenanceMargin(account) + maintenanceMargin)
    this.setSumUnrealizedPnl(account, this.sumUnrealizedPnl(account) + unrealizedPnl)
    this.setSumUnrealizedLoss(account, this.sumUnrealizedLoss(account) + unrealizedLoss)
  }

  addOrderLoss(account: number, orderLoss: number): void {
    this.setSumOrderLoss(account, this.sumOrderLoss(account) + orderLoss)
  }

  /** Opens an account and gives its index. */
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

  /** What accounts are in the order of: their births, and the insurance fund's, which is none, next to the account before it. */
  private orderOf(account: number): number {
    return account !== this.fund ? this.born(account) : account === 0 ? none : this.born(account - 1)
  }

  /** Index by id, or -1: found by its birth, in whose order accounts are. */
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

  /** Accounts for which there are rows. */
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

  /** Makes room for one more account: with few of them at once, else by and by. */
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

  /** What is shown of an account beside its money. */
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

  /** Feeds what an account is, whatever its slot: a line, and one more for each thing it has that others have not. */
  canonical(account: number, feed: (line: string) => void): void {
    feed(`account ${account} ${this.born(account)} ${this.collateral(account)} ${this.lastSequence(account)} ${this.evicted(account)}`)
    const handle = this.displayHandles[account]!
    if (handle !== "") feed(`handle ${account} ${handle}`)
  }

  /** Copies rows with what is kept beside them, and without what restoring makes anew. */
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
    // With room to spare, so that what is longer need not be made at once.
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
