/** Everything the engine knows. Changed only by applying commands, in order. */
import type { Reached } from "../domain/Branches.js"
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

/** An account whose orders below a number are being cancelled, and why: see `Leaving`. */
export interface Leaver {
  readonly reason: Order.CancelReason
  readonly before: number
}

/** Partial liquidations of an account: when the first was sent, epoch milliseconds, and the epoch second of the last. */
export interface Parts {
  readonly firstAtEpochMs: number
  readonly lastSecond: number
  /** What is left of the last one, where its record could meet no more orders. It is sent as long as that second lasts. */
  readonly rest?: { readonly market: number; readonly sizeAtoms: number }
}

/** Orders that are allocated at the start, where the whole capacity is not. */
const initialOrders = 256

/**
 * Counters of one record's liquidation work: accounts examined, orders sent by the venue, positions ranked, positions closed by
 * deleveraging.
 */
class Liquidating {
  /** Accounts examined, by their weight, see `Liquidation`. */
  looks = 0
  /** Including orders that triggers sent. */
  orders = 0
  /** Deleveraging rankings: positions ranked, and positions visited to rank them. */
  ranked = 0
  passed = 0
  deleveraged = 0
  /** Settlements of delisted markets: orders cancelled, and positions examined for deficits and pairs. */
  swept = 0
  settled = 0
  /** Places of a market that were visited to find these. */
  walked = 0
  /** How often any position has changed for any reason: a ranking stays valid as long as none has. */
  changes = 0

  /** Resets the counters for a new record. Every record does so, hence it must not allocate or iterate. */
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

/** Limits on one record's work for liquidations. */
export interface LiquidatedAtOnce {
  /** Accounts examined; more where nothing can be done for them. */
  readonly looks: number
  /** Resting orders met by the venue's own orders before another account is examined. */
  readonly met: number
  /** Positions closed by deleveraging. */
  readonly deleveraged: number
  /** Markets in which the insurance fund unwinds its position. */
  readonly unwound: number
  /** Positions of delisted markets examined. */
  readonly settled: number
  /** Positions that a ranking holds, `entriesKept` of `accounts/Rankings.ts` unless given. */
  readonly places?: number
  /** Positions ranked, `rankedAtOnce` of `accounts/Deleveraging.ts` unless given. */
  readonly ranked?: number
}

/** Limits on one record's work for triggers. */
export interface TriggeredAtOnce {
  /** Triggers worked off, and brackets armed again. */
  readonly worked: number
  /** Orders sent by the venue, including those of liquidations, before another trigger is worked off. */
  readonly orders: number
  /** Resting orders met by these before another trigger is worked off. */
  readonly met: number
}

/**
 * Limits on what the engine keeps and on the work of one record. Those marked as fixed decide outcomes, so they must stay the same
 * for the whole life of a journal.
 */
export interface Capacity {
  /** Orders kept: open ones, and those that ended within their retention. */
  readonly orders: number
  /** Idempotency keys. */
  readonly idempotencyKeys: number
  /** Markets, `maxMarkets` of `markets/Deciding.ts` unless given. It decides only what is refused without a record. */
  readonly markets?: number
  /** Latest fills that can be read; `fillsKept` unless given. Part of the state, hence fixed. */
  readonly fills?: number
  /** Latest balance changes and funding payments that can be read; the defaults of their lists unless given. Fixed. */
  readonly balanceChanges?: number
  /** Marks of a market that can be read, `marksKept` of `MarkLog.ts` unless given. Fixed. */
  readonly marksKept?: number
  /** Funding intervals of a market that can be read, `fundingsKept` of `FundingLog.ts` unless given. Fixed. */
  readonly fundingsKept?: number
  readonly fundingPayments?: number
  /**
   * Rows kept of liquidations and of the insurance fund, the defaults of their lists unless given. Part of the state, hence fixed.
   */
  readonly rows?: number
  /**
   * Key of the hash for tables whose keys clients choose: random in a venue, so that nobody can craft collisions; [0, 0] unless
   * given. It affects no outcome and is not part of the state.
   */
  readonly hashKey?: HashKey
  /**
   * An account's placements may take at most one in this many of the free entries of a table, see `Share`; with 0 or nothing, no
   * account has a limit of its own. It decides only what is refused without a record.
   */
  readonly accountParts?: number
  /** Most orders that one record ends because they are leaving or have fallen due, `endedAtOnce` unless given. Fixed. */
  readonly endedAtOnce?: number
  /** Most orders beyond the price bands that one record cancels, `clearedAtOnce` of `orders/Band.ts` unless given. Fixed. */
  readonly clearedAtOnce?: number
  /** Most resting orders that one record's incoming orders meet, `metAtOnce` unless given. Fixed. */
  readonly metAtOnce?: number
  /**
   * Number of markets for which an account counts once against the limits of a record, `marketsInOne` of `Breadth.ts` unless given.
   * Fixed.
   */
  readonly marketsInOne?: number
  /** Most keys, and most ended orders, that one record forgets, `forgottenAtOnce` of `Idempotency.ts` unless given. Fixed. */
  readonly forgottenAtOnce?: number
  /** One record's work for liquidations, `atOnce` of `accounts/Deleveraging.ts` unless given. Fixed. */
  readonly liquidatedAtOnce?: LiquidatedAtOnce
  /** Positions whose funding one record settles, `settledAtOnce` of `markets/Funding.ts` unless given. Fixed. */
  readonly settledAtOnce?: number
  /** Most payments of one market that wait to be settled, `mostInLine` of `markets/Funding.ts` unless given. Fixed. */
  readonly mostInLine?: number
  /** Most brackets of a position, 20 unless given. Fixed. */
  readonly brackets?: number
  /** One record's work for triggers, `atOnce` of `accounts/AutoClose.ts` unless given. Fixed. */
  readonly triggeredAtOnce?: TriggeredAtOnce
  /** Accounts that one record examines for an announcement, `countedAtOnce` of `markets/Announced.ts` unless given. Fixed. */
  readonly countedAtOnce?: number
  /** Accounts with crossed triggers that one record examines, `examinedAtOnce` of `accounts/Watch.ts` unless given. Fixed. */
  readonly examinedAtOnce?: number
  /** The shortest notice of tighter margins, milliseconds, `noticeMs` of `markets/Announced.ts` unless given. Fixed. */
  readonly noticeMs?: number
  /** Whole minutes before the current one that a final price averages, 30 unless given. Fixed. */
  readonly finalMinutes?: number
  /** Limits on who may act, see `identity/Bounds.ts`; defaults for what is left out. Fixed. */
  readonly identity?: Partial<IdentityBounds>
  /** Limits on transfers, see `funds/Bounds.ts`; defaults for what is left out. Fixed. */
  readonly funds?: Partial<FundsBounds>
  /**
   * How tables are allocated and grow, `usualGrowth` of `Columns.ts` unless given. It affects no outcome and is not part of the
   * state.
   */
  readonly growth?: Growth
  /** Called on rare branches, where a test or a simulation counts them. It affects no outcome and is not part of the state. */
  readonly reached?: Reached | undefined
}

/**
 * All scalar values of the state. Snapshots, the canonical form and comparisons enumerate what is declared here, so that a new
 * value is saved, digested and compared without further code.
 */
export class Values {
  /** The sequence and time of the last record applied. */
  sequence = 0
  atEpochMs = 0
  environment = ""
  /** The versions of the rules and of the codec that the last records were written under. */
  rules = 0
  codec = 0
  program = ""
  halted = false
  /** The sequence of the last record that changed the public description of a market. */
  registrySequence = 0
  /** Position episodes opened so far. */
  episodes = 0
  openOrders = 0
  /** Whether a fence was ever set: while none was, the lookups are skipped. */
  hasFences = false
  /**
   * How many holders, of all that ever held a position in the market, may still owe the funding payment being settled; 0 while none
   * is.
   */
  settling = 0
  /**
   * How many accounts, counted from the first, are still to be checked against their maintenance margin, whatever their triggers
   * say.
   */
  examining = 0
  /** The market from which on the insurance fund has yet to unwind its positions in the current second. */
  unwindFrom = 0
  /** The retention of what is decided now, minutes; and since when it applies, 0 for from the beginning. */
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
  /** Armed dead-man switches, by account. */
  readonly switches = new Deadlines((account) => account)
  /** When trading sessions reach their cutoff or their close, by market. Rebuilt from the markets. */
  readonly sessions = new Deadlines((market) => market)
  /** Open orders with an expiry, by slot. */
  readonly expiries = new Deadlines((order) => this.orders.number(order))
  /** Accounts whose orders are being cancelled over several records, in the order in which that began. */
  readonly leaving = new Map<number, Leaver>()
  /** Stream connections whose orders are cancelled when they end. */
  readonly connections = new Connections()
  readonly events = new EventLog()
  /** Venue fees collected, money atoms. */
  readonly fees = new Total()
  /** Money credited so far, money atoms. */
  readonly credited = new Total()
  /** Funding payments in line for settlement; the first is being settled. See `markets/Funding.ts`. */
  readonly payments: Array<Payment> = []
  /** Funding of all payments in line that was paid but not received yet, money atoms; negative where more was received first. */
  readonly fundingPool = new Total()

  /** Accounts under liquidation, by when they are examined next; including the insurance fund while it holds any position. */
  readonly liquidations = new Deadlines((account) => account)
  /** Partial liquidations so far of accounts under liquidation. */
  readonly parts = new Map<number, Parts>()
  readonly liquidationLog: LiquidationLog.LiquidationLog
  readonly fundLog: LiquidationLog.FundLog
  rankings = new Rankings()
  /** Take-profit and stop-loss brackets of positions. */
  brackets = new Brackets()
  /** The latest funding payments of all accounts. */
  readonly fundingPayments: FundingPayments.FundingPayments
  /** The latest balance changes of all accounts. */
  balances: BalanceLog
  /** Facts about accounts other than their money: flags, favorites, affiliates. */
  readonly standing = new Standing()
  /** Who may act. */
  readonly identity: Identity
  /** Money on the ledger: deposits and withdrawals. */
  readonly funds: Funds

  // The fields below are not part of the state: they are rebuilt as records are applied.

  /** Accounts with positions, by the mark prices at which their margin has to be examined. */
  triggers = new Triggers()
  /** The number of open orders from which on a position has an `OpenList`. */
  readonly listedFrom: number
  /** The open lists, by position slot. */
  readonly openLists = new StepwiseMap<number, OpenList>()
  /** Accounts whose money or positions the current record has changed, each once, in the order of its first change. */
  readonly changedAccounts = new Line()
  /** Markets whose mark has crossed triggers that are still to be examined, by index. */
  readonly crossing: Array<number> = []
  /** Markets with announced parameters, by when they take effect, then by index. */
  readonly announcements: Array<number> = []
  /** Markets that are to be delisted or are being settled, by index. */
  readonly delistings: Array<number> = []
  /** The current record's work for liquidations and settlements so far. */
  readonly liquidating = new Liquidating()

  /** The bracket whose closing order is being matched. */
  closing: Bracket | undefined = undefined
  /** Markets in which the current record has traded while brackets existed, by index. */
  readonly traded = new Set<number>()

  /** Markets in which orders may lie beyond the price band, by index: a candidate list, which `Band.note` extends. */
  readonly clearing: Array<number> = []

  /**
   * A time at which no market was found to be back and without its new mark, epoch milliseconds; `Infinity` where none waits for one
   * at any time, and 0 where the markets have to be examined.
   */
  unawaitedAtEpochMs = Number.POSITIVE_INFINITY

  /** The last record that sampled the book of any market; 0 where none was applied here. */
  sampledSequence = 0

  /** Incremented with every change of any mark: an account whose margin sums have an older epoch is refreshed before use. */
  riskEpoch = 0
  /**
   * What margin the last refused order required, and what was available, money atoms, for the refusal's machine-readable fields;
   * NaN where a total was not exact.
   */
  requiredAtoms = 0
  availableAtoms = 0

  /** Accounts that were found to owe nothing of any payment in line. */
  readonly settled = new Set<number>()
  /** Positions whose funding the current record may still settle. */
  settleLeft = 0

  /** Resting orders that the current record's incoming orders have met or trimmed away. */
  met = 0
  /** Accounts that the current record has already charged for the many markets that they trade in, see `Breadth`. */
  readonly weighed = new Set<number>()

  /** Whether this state belongs to a preview, and the fees that takers have paid in it, money atoms. */
  isTrial = false
  trialFeesAtoms = 0

  /** Result of the last read-ahead, stored so that the compiler cannot remove the reads as dead code. */
  seen = 0

  // Ended orders in the queue for forgetting: a ring of slots, and of the times at which each was queued.
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

  /** Starts to count the resting orders met by a record's due work, and again by its command. */
  beginMeeting(): void {
    this.met = 0
    if (this.weighed.size > 0) this.weighed.clear()
  }

  /** The position slot of an account in a market. It is created if need be, with the current risk and funding epochs. */
  touchPosition(account: number, market: number): number {
    const before = this.positions.count
    const slot = this.positions.touch(this.accounts, account, market)
    if (this.positions.count !== before) {
      this.positions.setRiskEpoch(slot, this.markets[market]!.riskEpoch)
      this.positions.setFundingEpoch(slot, this.markets[market]!.fundingEpoch)
    }
    return slot
  }

  /** When an order ended, epoch milliseconds: `Infinity` while it is open, 0 where it is unknown. */
  readonly endOf = (orderNumber: number): number => {
    const order = this.orders.find(orderNumber)
    if (order === none) return 0
    return this.orders.status(order) === Order.open ? Number.POSITIVE_INFINITY : this.orders.updatedAt(order)
  }

  /** Starts loading the memory that `endOf` will read, so that cache misses overlap. */
  readonly readAhead = (orderNumber: number): number => this.orders.readAhead(orderNumber)

  /** Notes on an account that part of its history has been forgotten. */
  readonly evict = (account: number): void => {
    if (account >= 0) this.accounts.setEvicted(account, 1)
  }

  /** Whether a client has fenced this clientOrderId. */
  isClientFenced(account: number, clientOrderId: string): boolean {
    return this.hasFences
      && this.idempotency.outcomeOf(account, FenceScope.clientOrderId, clientOrderId, this.atEpochMs, noOrders) !== undefined
  }

  /** Sets the retention, in minutes, of everything decided from now on. */
  setRetention(minutes: number): void {
    this.retentionMinutes = minutes
    this.retentionSinceEpochMs = this.atEpochMs
    this.idempotency.retentionMinutes = minutes
  }

  /** Publishes a change of an account's balance and the resulting balance, money atoms; nothing where the change is 0. */
  noteBalance(account: number, cause: Cause, market: number, amountAtoms: number, balanceAtoms: number): void {
    if (amountAtoms === 0 || this.isTrial) return
    this.balances.add(this.sequence, this.atEpochMs, account, cause, market, amountAtoms, balanceAtoms)
    this.events.told.change(this.sequence, account, cause, market, amountAtoms, balanceAtoms)
  }

  /** Makes this the state of a preview: nothing is published or queued for later records. */
  beginTrial(): void {
    this.isTrial = true
    this.events.isMute = true
  }

  /**
   * Notes that the current record has changed an account's money or positions. The account's row remembers the record, so that it
   * is listed once.
   */
  noteChanged(account: number): void {
    const { accounts, sequence } = this
    if (accounts.changedIn(account) === sequence) return
    accounts.setChangedIn(account, sequence)
    this.changedAccounts.push(account)
  }

  /** Appends an ended order to the queue for forgetting. */
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

  /** The slot of the ended order with `older` others before it in the queue, or -1. */
  endedAt(older: number): number {
    return older < this.endedCount ? this.ended[(this.endedHead + older) % this.ended.length]! : none
  }

  /** The number of ended orders in the queue. */
  get endedLength(): number {
    return this.endedCount
  }

  /** When the order with `older` others before it was queued. It must exist. */
  endedSince(older: number): number {
    return this.endedAtEpochMs[(this.endedHead + older) % this.ended.length]!
  }

  shiftEnded(): void {
    this.endedHead = (this.endedHead + 1) % this.ended.length
    this.endedCount--
  }

  /** Slots of the ended orders in queue order. */
  endedSlots(): Float64Array<ArrayBuffer> {
    const line = new Float64Array(this.endedCount)
    for (let index = 0; index < this.endedCount; index++) line[index] = this.endedAt(index)
    return line
  }

  /** When each of them was queued. */
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

/** Scopes under which the key table stores fences: no operation has these codes. */
export const FenceScope = { idempotencyKey: 100, clientOrderId: 101 } as const

/** A fence refers to no order. */
const noOrders = (): number => 0
