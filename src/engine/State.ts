/** Everything the engine knows. Changed only by applying commands, in order. */
import type { Reached } from "../domain/Marks.js"
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { minutesOf, retentionMs } from "../domain/Retention.js"
import { StepwiseMap } from "../domain/Stepwise.js"
import { Accounts } from "./Accounts.js"
import { ApiKeys } from "./accounts/ApiKeys.js"
import { type Bracket, Brackets } from "./accounts/Brackets.js"
import { Rankings } from "./accounts/Rankings.js"
import { Standing } from "./accounts/Standing.js"
import { Triggers } from "./accounts/Triggers.js"
import { Book } from "./Book.js"
import { Deadlines } from "./Deadlines.js"
import { EventLog } from "./EventLog.js"
import { Fills } from "./Fills.js"
import { BalanceLog, type Cause } from "./BalanceLog.js"
import * as FundingPayments from "./FundingPayments.js"
import type { FundsBounds } from "./funds/Bounds.js"
import { Funds } from "./funds/Funds.js"
import type { IdentityBounds } from "./identity/Bounds.js"
import { Identity } from "./identity/Identity.js"
import { Idempotency } from "./Idempotency.js"
import * as LiquidationLog from "./LiquidationLog.js"
import type { MarketState, Payment } from "./Markets.js"
import type { OpenList } from "./OpenList.js"
import { Connections } from "./orders/Connections.js"
import { type HashKey, Orders } from "./Orders.js"
import { Positions } from "./Positions.js"
import { Total } from "./Total.js"
import { type Growth, growFloats, grownLength, growInts, initialLength, Line, usualGrowth } from "./Columns.js"

/** An account whose orders below a number leave, and why: see `Leaving`. */
export interface Leaver {
  readonly reason: Order.CancelReason
  readonly before: number
}

/** The parts of a liquidation that an account has had: when the first was sent, and the second since the epoch of the last. */
export interface Parts {
  readonly firstAtEpochMs: number
  readonly lastSecond: number
}

/** Orders that there is room for from the start where not all of the capacity is. */
const initialOrders = 256

/** Counts of one record: looks at accounts, orders of the venue's own, positions that were ranked, and closed by deleveraging. */
class Liquidating {
  /** By their weight, see `Liquidation`. */
  looks = 0
  /** Those that triggers sent among them. */
  orders = 0
  /** Of rankings: positions that were ranked, and those and all others that were passed over for them. */
  ranked = 0
  passed = 0
  deleveraged = 0
  /** Of settlements: orders that were cancelled, and positions that were looked at for deficits and pairs. */
  swept = 0
  settled = 0
  /** Places of a market that were gone through to find these. */
  walked = 0
  /** How often a position has changed, whosesoever and by whatever: what a ranking is of stands while none has. */
  changes = 0

  /** Begins a record: every one does, so nothing is allocated or walked for it. */
  begin(): void {
    this.looks = 0
    this.orders = 0
    this.ranked = 0
    this.passed = 0
    this.deleveraged = 0
    this.swept = 0
    this.settled = 0
    this.walked = 0
    this.changes = 0
  }
}

/** What one record does for liquidations at most. */
export interface LiquidatedAtOnce {
  /** Accounts that it looks at; more of those of whom nothing can be done. */
  readonly looks: number
  /** Resting orders that the venue's own orders may have met before another account is looked at. */
  readonly met: number
  /** Positions that it closes by deleveraging. */
  readonly deleveraged: number
  /** Markets in which the insurance fund unwinds. */
  readonly unwound: number
  /** Positions of delisted markets that it looks at. */
  readonly settled: number
  /** Positions that a ranking has room for, `entriesKept` of `accounts/Rankings.ts` unless given. */
  readonly places?: number
  /** Positions that it ranks, `rankedAtOnce` of `accounts/Deleveraging.ts` unless given. */
  readonly ranked?: number
}

/** What one record does for triggers at most. */
export interface TriggeredAtOnce {
  /** Triggers that it works off, and brackets that it arms again. */
  readonly worked: number
  /** Orders of the venue's own that it sends in all, those of liquidations among them, before another trigger is worked off. */
  readonly orders: number
  /** Resting orders that these may have met before another trigger is worked off. */
  readonly met: number
}

/** The bounds of what the engine remembers. */
export interface Capacity {
  /** Orders, open or ended less than their retention ago. */
  readonly orders: number
  /** Idempotency keys. */
  readonly idempotencyKeys: number
  /** Fills that can be read, the latest; `fillsKept` unless given. It is part of the state: one for a journal's whole life. */
  readonly fills?: number
  /** Changes of balances, and payments of funding, that can be read, the latest: as many as each list keeps unless given, likewise. */
  readonly balanceChanges?: number
  /** Marks of a market that can be read, `marksKept` of `MarkLog.ts` unless given: likewise. */
  readonly marksKept?: number
  /** Payments of funding of a market that can be read, `fundingsKept` of `FundingLog.ts` unless given: likewise. */
  readonly fundingsKept?: number
  readonly fundingPayments?: number
  /** Rows that are kept of liquidations and of the insurance fund, as many as each list keeps unless given: likewise part of the state. */
  readonly rows?: number
  /**
   * Scatters the tables that clients choose the keys of: random in a venue, so that nobody can craft what collides;
   * [0, 0] unless given. It decides nothing and is no state.
   */
  readonly hashKey?: HashKey
  /**
   * An account's placements take at most one in so many of the free entries of a table, see `Share`; without it, or with 0,
   * no account has a bound of its own. It decides only what is refused without a record.
   */
  readonly accountParts?: number
  /** Most orders that one record ends of what leaves or is due, `endedAtOnce` unless given: one for a journal's whole life. */
  readonly endedAtOnce?: number
  /** Most orders that one record cancels beyond the price bands, `clearedAtOnce` of `orders/Band.ts` unless given: likewise. */
  readonly clearedAtOnce?: number
  /** Most resting orders that one record's incoming orders meet, `metAtOnce` unless given: likewise. */
  readonly metAtOnce?: number
  /** Markets in which an account counts once where a record does so much, `marketsInOne` of `Breadth.ts` unless given: likewise. */
  readonly marketsInOne?: number
  /** Keys, and ended orders, that one record forgets at most, `forgottenAtOnce` of `Idempotency.ts` unless given: likewise. */
  readonly forgottenAtOnce?: number
  /** What one record does for liquidations, `atOnce` of `accounts/Deleveraging.ts` unless given: likewise. */
  readonly liquidatedAtOnce?: LiquidatedAtOnce
  /** Positions whose funding one record settles, `settledAtOnce` of `markets/Funding.ts` unless given: likewise. */
  readonly settledAtOnce?: number
  /** Most brackets of a position, 20 unless given: likewise. */
  readonly brackets?: number
  /** What one record does for triggers, `atOnce` of `accounts/AutoClose.ts` unless given: likewise. */
  readonly triggeredAtOnce?: TriggeredAtOnce
  /** Accounts that one record looks at for an announcement, `countedAtOnce` of `markets/Announced.ts` unless given: likewise. */
  readonly countedAtOnce?: number
  /** Accounts whose triggers were crossed that one record looks at, `examinedAtOnce` of `accounts/Watch.ts` unless given: likewise. */
  readonly examinedAtOnce?: number
  /** The shortest notice of tighter margins, milliseconds, `noticeMs` of `markets/Announced.ts` unless given: likewise. */
  readonly noticeMs?: number
  /** Whole minutes before the running one that a final price is made of, 30 unless given: likewise. */
  readonly finalMinutes?: number
  /** What is kept of who may act, see `identity/Bounds.ts`; what is left out is a venue's own: one for a journal's whole life. */
  readonly identity?: Partial<IdentityBounds>
  /** What is kept of transfers, see `funds/Bounds.ts`; likewise. */
  readonly funds?: Partial<FundsBounds>
  /** How tables begin and grow, `usualGrowth` of `Columns.ts` unless given. It decides nothing and is no state. */
  readonly growth?: Growth
  /** Told of rare branches, where somebody counts them. It decides nothing and is no state. */
  readonly reached?: Reached | undefined
}

/**
 * Every single value of the state. Snapshots, the canonical form and comparisons take whatever is declared here, so that
 * a value which is added is kept, digested and compared at once.
 */
export class Values {
  /** The last record applied, and its time. */
  sequence = 0
  atEpochMs = 0
  environment = ""
  /** The versions that the last records were written under. */
  rules = 0
  codec = 0
  program = ""
  halted = false
  /** The last record that changed any market's snapshot. */
  registrySequence = 0
  /** Episodes opened so far. */
  episodes = 0
  openOrders = 0
  /** Whether a fence was ever set: without one, nobody looks for any. */
  hasFences = false
  /** Of those who came to its market, how many may still owe the payment of funding that is settled; 0 while none is. */
  settling = 0
  /** Accounts, from the first on, that are still to be held to their maintenance margin, whatever their triggers say. */
  examining = 0
  /** The market from which on the insurance fund has yet to unwind what it holds in the running second. */
  unwindFrom = 0
  /** How long what is decided now is remembered, minutes; and since when it is so, 0 from the beginning on. */
  retentionMinutes = minutesOf(retentionMs)
  retentionSinceEpochMs = 0
}

/** The names of the single values. */
export const valueNames = Object.keys(new Values()) as ReadonlyArray<keyof Values>

export class State extends Values {
  accounts: Accounts
  apiKeys = new ApiKeys()
  positions: Positions
  orders: Orders
  readonly markets: Array<MarketState> = []
  readonly books: Array<Book> = []
  readonly marketById = new Map<string, number>()
  readonly marketBySymbol = new Map<string, number>()
  idempotency: Idempotency
  /** The latest fills. */
  fills: Fills
  /** Dead-man switches that are armed, by account. */
  readonly switches = new Deadlines((account) => account)
  /** When sessions end by themselves, by market. Made of what the markets hold. */
  readonly sessions = new Deadlines((market) => market)
  /** Open orders that expire, by slot. */
  readonly expiries = new Deadlines((order) => this.orders.number(order))
  /** Accounts with orders that leave, in the order in which they began to. */
  readonly leaving = new Map<number, Leaver>()
  /** Connections of the stream whose orders end with them. */
  readonly connections = new Connections()
  readonly events = new EventLog()
  /** Venue fees collected, money atoms. */
  readonly fees = new Total()
  /** Credited so far, money atoms. */
  readonly credited = new Total()
  /** Payments of funding that are being settled, the first of them now: see `markets/Funding.ts`. */
  readonly payments: Array<Payment> = []
  /** Funding paid and not yet received of all of them, money atoms: below zero where more was received first. */
  readonly fundingPool = new Total()

  /** Accounts under liquidation, by when they are looked at next; the insurance fund among them while it holds anything. */
  readonly liquidations = new Deadlines((account) => account)
  /** The parts that accounts under liquidation have had. */
  readonly parts = new Map<number, Parts>()
  readonly liquidationLog: LiquidationLog.LiquidationLog
  readonly fundLog: LiquidationLog.FundLog
  rankings = new Rankings()
  /** What closes positions by itself. */
  brackets = new Brackets()
  /** The latest payments of funding, of all accounts. */
  readonly fundingPayments: FundingPayments.FundingPayments
  /** The latest changes of all balances. */
  balances: BalanceLog
  /** What is said of accounts beside their money. */
  readonly standing = new Standing()
  /** Who may act. */
  readonly identity: Identity
  /** Money on the ledger: what comes in and goes out. */
  readonly funds: Funds

  // What follows is no state: it is made anew as records are applied.

  /** Who holds what, by the marks at which they are looked at. */
  triggers = new Triggers()
  /** From how many open orders on a position has a list of them. */
  readonly listedFrom: number
  /** Those lists, by slot. */
  readonly openLists = new StepwiseMap<number, OpenList>()
  /** Accounts whose money or positions the record at hand has changed, each once, in the order in which it first did. */
  readonly changedAccounts = new Line()
  /** Markets whose mark has crossed triggers, by index. */
  readonly crossing: Array<number> = []
  /** Markets of which parameters are announced, by when they take effect, then by index. */
  readonly announcements: Array<number> = []
  /** Markets that are to be delisted or are being settled, by index. */
  readonly delistings: Array<number> = []
  /** What the record at hand has done for liquidations and settlements so far. */
  readonly liquidating = new Liquidating()

  /** The bracket whose order is being matched. */
  closing: Bracket | undefined = undefined
  /** Markets in which the record at hand has traded while there were brackets, by index. */
  readonly traded = new Set<number>()

  /** Markets in which orders may lie beyond the price band, by index. What `Band.note` finds in the books. */
  readonly clearing: Array<number> = []

  /** Counts changes of any mark: an account whose sums are of an older one is refreshed first. */
  riskEpoch = 0
  /** Why the accept rule last failed, money atoms, for the refusal's machine fields; NaN where a total was not exact. */
  requiredAtoms = 0
  availableAtoms = 0

  /** Accounts that were found to owe nothing of any payment in line. */
  readonly settled = new Set<number>()
  /** Positions whose funding the record at hand may still settle. */
  settleLeft = 0

  /** Resting orders that the incoming orders of the record at hand have met, or trimmed away. */
  met = 0
  /** Accounts of many markets that the record at hand has counted for several already. */
  readonly weighed = new Set<number>()

  /** Whether what is decided is only tried out, and what takers have paid in it, money atoms. */
  isTrial = false
  trialFeesAtoms = 0

  /** What was read ahead, kept so that the compiler cannot leave the reading out. */
  seen = 0

  // Ended orders in the order in which they came to the end of the line: a ring of slots, and of when they did.
  private ended: Int32Array
  private endedAtEpochMs: Float64Array
  private endedHead = 0
  private endedCount = 0

  constructor(readonly capacity: Capacity) {
    super()
    this.accounts = new Accounts(capacity.growth)
    this.positions = new Positions(capacity.growth)
    this.listedFrom = (capacity.growth ?? usualGrowth).listedFrom
    this.ended = new Int32Array(initialLength(capacity.orders, 256))
    this.endedAtEpochMs = new Float64Array(this.ended.length)
    this.orders = new Orders(capacity.orders, capacity.hashKey, initialLength(capacity.orders, initialOrders))
    this.idempotency = new Idempotency(capacity.idempotencyKeys, capacity.hashKey, capacity.accountParts, capacity.forgottenAtOnce)
    this.fills = new Fills(capacity.fills)
    this.balances = new BalanceLog(capacity.balanceChanges)
    this.fundingPayments = FundingPayments.make(capacity.fundingPayments)
    this.liquidationLog = LiquidationLog.make(capacity.rows)
    this.fundLog = LiquidationLog.makeFundLog(capacity.rows)
    this.identity = new Identity(capacity.identity)
    this.funds = new Funds(capacity.funds)
  }

  /** Begins to count what a record meets, or its command. */
  beginMeeting(): void {
    this.met = 0
    if (this.weighed.size > 0) this.weighed.clear()
  }

  /** The position slot of a pair, made if need be, its account's margins up to date. */
  touchPosition(account: number, market: number): number {
    const before = this.positions.count
    const slot = this.positions.touch(this.accounts, account, market)
    if (this.positions.count !== before) {
      this.positions.setRiskEpoch(slot, this.markets[market]!.riskEpoch)
      this.positions.setFundingEpoch(slot, this.markets[market]!.fundingEpoch)
    }
    return slot
  }

  /** When an order ended: `Infinity` while it is open, 0 when it is not remembered. */
  readonly endOf = (orderNumber: number): number => {
    const order = this.orders.find(orderNumber)
    if (order === none) return 0
    return this.orders.status(order) === Order.open ? Number.POSITIVE_INFINITY : this.orders.updatedAt(order)
  }

  /** Reads what `endOf` asks for, ahead of it. */
  readonly readAhead = (orderNumber: number): number => this.orders.readAhead(orderNumber)

  /** Notes that something of an account's past is forgotten. */
  readonly evict = (account: number): void => {
    if (account >= 0) this.accounts.setEvicted(account, 1)
  }

  /** Whether a client fenced one of its own clientOrderIds. */
  isClientFenced(account: number, clientOrderId: string): boolean {
    return this.hasFences
      && this.idempotency.outcomeOf(account, FenceScope.clientOrderId, clientOrderId, this.atEpochMs, noOrders) !== undefined
  }

  /** What is decided from now on is remembered so long. */
  setRetention(minutes: number): void {
    this.retentionMinutes = minutes
    this.retentionSinceEpochMs = this.atEpochMs
    this.idempotency.retentionMinutes = minutes
  }

  /** Publishes to an account what its balance changed by and came to, money atoms, if it did. */
  noteBalance(account: number, cause: Cause, market: number, amountAtoms: number, balanceAtoms: number): void {
    if (amountAtoms === 0 || this.isTrial) return
    this.balances.add(this.sequence, this.atEpochMs, account, cause, market, amountAtoms, balanceAtoms)
    this.events.told.change(this.sequence, account, cause, market, amountAtoms, balanceAtoms)
  }

  /** Makes this a state in which something is only tried out: nothing is published, or kept for records to come. */
  beginTrial(): void {
    this.isTrial = true
    this.events.isMute = true
  }

  /** Notes that the record at hand has changed an account's money or positions: the account's row says whether it is noted already. */
  noteChanged(account: number): void {
    const { accounts, sequence } = this
    if (accounts.changedIn(account) === sequence) return
    accounts.setChangedIn(account, sequence)
    this.changedAccounts.push(account)
  }

  /** Puts an ended order at the end of the line of those that are to be forgotten. */
  pushEnded(slot: number): void {
    if (this.isTrial) return
    if (this.endedCount === this.ended.length) this.growEnded()
    const place = (this.endedHead + this.endedCount) % this.ended.length
    this.ended[place] = slot
    this.endedAtEpochMs[place] = this.atEpochMs
    this.endedCount++
  }

  private growEnded(): void {
    const { length } = this.ended
    const [slots, times] = [this.endedSlots(), this.endedTimes()]
    this.ended = growInts(Int32Array.from(slots), grownLength(length, length + 1))
    this.endedAtEpochMs = growFloats(times, this.ended.length)
    this.endedHead = 0
  }

  /** The ended order with `older` before it in line, or -1. */
  endedAt(older: number): number {
    return older < this.endedCount ? this.ended[(this.endedHead + older) % this.ended.length]! : none
  }

  /** How many stand in line. */
  get endedLength(): number {
    return this.endedCount
  }

  /** When it came to the end of the line. There is one. */
  endedSince(older: number): number {
    return this.endedAtEpochMs[(this.endedHead + older) % this.ended.length]!
  }

  shiftEnded(): void {
    this.endedHead = (this.endedHead + 1) % this.ended.length
    this.endedCount--
  }

  /** Slots of ended orders, as they stand in line. */
  endedSlots(): Float64Array<ArrayBuffer> {
    const line = new Float64Array(this.endedCount)
    for (let index = 0; index < this.endedCount; index++) line[index] = this.endedAt(index)
    return line
  }

  /** When each of them came to the end of the line. */
  endedTimes(): Float64Array<ArrayBuffer> {
    const line = new Float64Array(this.endedCount)
    for (let index = 0; index < this.endedCount; index++) line[index] = this.endedSince(index)
    return line
  }

  setEnded(slots: Float64Array, times: Float64Array): void {
    const length = Math.max(this.ended.length, slots.length)
    this.ended = growInts(Int32Array.from(slots), length)
    this.endedAtEpochMs = growFloats(times, length)
    this.endedHead = 0
    this.endedCount = slots.length
  }
}

/** Scopes in the table of keys under which fences are kept: no operation has these codes. */
export const FenceScope = { idempotencyKey: 100, clientOrderId: 101 } as const

/** A fence speaks of no order. */
const noOrders = (): number => 0
