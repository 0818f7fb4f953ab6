/**
 * The reference model's liquidation, written from the rules alone: which accounts are under liquidation, when each is examined, and
 * what an examination does, step by step. It keeps the times of examinations; positions, orders and matching belong to the venue
 * (`Ground`). Every sum is computed anew, all in BigInt.
 */
import { insuranceFundBorn } from "../../src/domain/Ids.js"
import { ceilDiv, maintenance, marginOf, type NaiveMargin, profitOf, trade, valueOf } from "./NaiveMoney.js"
import type { NaiveMovement, NaivePublished, NaiveRanked, NaiveRanking, NaiveStep } from "./NaivePublished.js"
import * as Risk from "./NaiveRisk.js"
import {
  isDelisted,
  type NaiveAccount,
  type NaiveChange,
  type NaiveLiquidation,
  type NaiveMarket,
  type NaivePosition
} from "./NaiveState.js"

/**
 * Limits of one record: its examinations, the resting orders met after which there is no further one, and the positions deleveraged and
 * unwound.
 */
export interface Bounds {
  readonly looks: number
  readonly met: number
  readonly deleveraged: number
  readonly unwound: number
  /** Positions of delisted markets that are examined. */
  readonly settled: number
  /** Positions that a ranking has room for. */
  readonly places: number
  /** Positions that are ranked; for each of them a fixed number of a market's positions may be passed over. */
  readonly ranked: number
}
const passedForEach = 32
/** So many examinations that can do nothing count as one of the others. */
const idleInOne = 16

/** The limits of a venue. */
export const venueBounds: Bounds = { looks: 16, met: 256, deleveraged: 64, unwound: 8, settled: 64, places: 1_024, ranked: 256 }

/** Positions that a ranking has room for, by the bounds of a run. */
export const rankingPlacesOf = ({ liquidatedAtOnce }: { readonly liquidatedAtOnce?: { readonly places?: number } }): number =>
  liquidatedAtOnce?.places ?? venueBounds.places

/**
 * A part is a fifth of the position, or all of it up to this value at the mark in money atoms, and all of it when this long after the
 * first part.
 */
const fifth = 5
export const wholeNotional = 100_000_000_000n
const patienceMs = 30_000
/** For this long after an account's first part, each part is published. */
const eachToldForMs = 5_000

const secondMs = 1_000
const secondOf = (atEpochMs: number): number => Math.floor(atEpochMs / secondMs)
const nextSecond = (atEpochMs: number): number => (secondOf(atEpochMs) + 1) * secondMs

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const min = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const greater = (one: bigint | undefined, other: bigint): bigint => (one === undefined ? other : max(one, other))
/** floor(a / b), for b > 0. */
const floorDiv = (a: bigint, b: bigint): bigint => -ceilOf(-a, b)
/** ceil(a / b), for b > 0, whatever the sign of a. */
const ceilOf = (a: bigint, b: bigint): bigint => (a > 0n ? ceilDiv(a, b) : a / b)

/** The result of an order of the venue's own. */
export interface NaiveSent {
  readonly filled: number
  readonly notional: bigint
  /** Whether it ended because its record had met as many orders as it may. */
  readonly hasMetEnough: boolean
}

/** What liquidation needs of the venue. */
export interface Ground {
  readonly accounts: ReadonlyArray<NaiveAccount>
  readonly markets: ReadonlyArray<NaiveMarket>
  /** The time of the current record. */
  readonly now: () => number
  readonly sequence: () => number
  /** Cancels all of an account's open orders, as many in this record as a cancel of all orders would. */
  readonly cancelAll: (account: NaiveAccount) => void
  /**
   * Matches an immediate order of the venue's own that is to change a position by `change`: up to its limit and as far as the price band
   * permits, and for the fund, which unwinds, also the accept rule. Returns its fills.
   */
  readonly send: (account: NaiveAccount, market: NaiveMarket, change: number, limit: number) => NaiveSent
  /** Changes a position at a price, without a trade and without a fee. */
  readonly change: (account: NaiveAccount, market: NaiveMarket, change: number, price: bigint) => void
  /** How often positions have changed so far, for any reason. */
  readonly changes: () => number
  /** Pays money from one account to another. */
  readonly pay: (from: NaiveAccount, to: NaiveAccount, amount: bigint, market: NaiveMarket, cause: NaiveChange["cause"]) => void
  /** The insurance fund, which is opened if necessary. */
  readonly openFund: () => NaiveAccount
  readonly halt: (market: NaiveMarket) => void
  readonly touch: (account: NaiveAccount) => void
  /** Resting orders that the venue's own orders have met in this record, and how many a record meets at most. */
  readonly met: () => number
  readonly mostMet: number
  /** An account's money as entered in its ledger. */
  readonly entered: (account: NaiveAccount) => bigint
  /** How much more than once an account counts, when the record first comes to it. */
  readonly beyondOne: (account: NaiveAccount) => number
  /** How much an account counts when it is ranked. */
  readonly weight: (account: NaiveAccount) => number
  /** The published lists. */
  readonly published: NaivePublished
}

/** The price at which closing a position costs its share of the equity and no more; in whole atoms, rounded against the account. */
export const bankruptcyPrice = (
  market: Pick<NaiveMarket, "factor" | "mark">,
  quantity: number,
  equity: bigint,
  own: bigint,
  all: bigint
): bigint => {
  const share = floorDiv(equity * own, all)
  const [mark, perAtom] = [BigInt(market.mark), BigInt(Math.abs(quantity)) * market.factor]
  return quantity > 0 ? ceilOf(mark * perAtom - share, perAtom) : floorDiv(mark * perAtom + share, perAtom)
}

/** The figures by which a counterparty is ranked. */
export type Ranked = Omit<NaiveRanked, "closed">

/** The score of a counterparty as a fraction. */
const scoreOf = ({ entry, equity, notional, profit }: Ranked): readonly [over: bigint, under: bigint] => {
  const [cost, backing] = [max(1n, entry), max(1n, equity)]
  return profit > 0n ? [profit * notional, cost * backing] : [profit * backing, cost * notional]
}

/** Those in profit first, then by the larger score, then the lower account. */
const byRank = (one: Ranked, other: Ranked): number => {
  if (one.profit > 0n !== other.profit > 0n) return one.profit > 0n ? -1 : 1
  const [a, b] = [scoreOf(one), scoreOf(other)]
  const difference = b[0] * a[1] - a[0] * b[1]
  return difference > 0n ? 1 : difference < 0n ? -1 : one.account.index - other.account.index
}

/** The loss of a counterparty's equity with each atom of a long, or of a short, that a price closes. */
const lossOf = (market: NaiveMarket, isLong: boolean, price: bigint): bigint =>
  (isLong ? BigInt(market.mark) - price : price - BigInt(market.mark)) * market.factor

/** How much of a counterparty's position a price may close so that its equity stays at or above zero. */
const closable = (quantity: number, equity: bigint, market: NaiveMarket, price: bigint): number => {
  const size = Math.abs(quantity)
  const worse = lossOf(market, quantity > 0, price)
  if (equity < 0n) return 0
  return worse <= 0n ? size : Number(min(BigInt(size), equity / worse))
}

/** A ranking in progress, of the positions that have entered the market so far. */
interface Making {
  readonly market: NaiveMarket
  readonly sequence: number
  readonly atEpochMs: number
  readonly isLong: boolean
  readonly mark: number
  /** Whether the previous ranking took several records and closed nothing. */
  readonly isSecond: boolean
  /** Accounts with less equity are left out; undefined where none is. */
  readonly least: bigint | undefined
  /** The highest equity of those left out. */
  leftOut: bigint | undefined
  /** The second in which it was last continued. */
  second: number
  /** How many of the market's positions it has passed. */
  passed: number
  readonly all: Array<NaiveRanked>
}

/** A ranking that has not been continued for longer than this is begun anew. */
const rankingPatienceSeconds = 60

/** A position that may be sold, with its bankruptcy price. */
interface Sellable {
  readonly market: NaiveMarket
  readonly position: NaivePosition
  readonly price: bigint
}

/** The result of a deleveraging: how much it closed, and whether the record had no room for more of it. */
export interface Closed {
  readonly size: number
  readonly isLeft: boolean
}

export class NaiveLiquidations {
  /** When the insurance fund is examined next; 0 while it holds no position. */
  fundMomentEpochMs = 0
  /** Positions deleveraged in the current record. */
  #deleveraged = 0
  /** Positions ranked in the current record, and all that were passed over for them. */
  #ranked = 0
  #passed = 0
  /** Rankings that take more than one record, at most one of each direction in a market. */
  readonly #making = new Map<string, Making>()
  /** The market from which on the fund has yet to unwind in the current second. */
  #unwindFrom = 0

  constructor(readonly ground: Ground, readonly bounds: Bounds) {}

  get fund(): NaiveAccount | undefined {
    return this.ground.accounts.find(({ born }) => born === insuranceFundBorn)
  }

  /** When each account is to be examined, in the order of the examinations. */
  get moments(): ReadonlyArray<{ readonly account: NaiveAccount; readonly atEpochMs: number }> {
    const { fund, fundMomentEpochMs } = this
    return this.ground.accounts
      .flatMap((account) => {
        if (account === fund) return fundMomentEpochMs === 0 ? [] : [{ account, atEpochMs: fundMomentEpochMs }]
        return account.liquidation === undefined ? [] : [{ account, atEpochMs: account.liquidation.momentEpochMs }]
      })
      .sort((one, other) => one.atEpochMs - other.atEpochMs || one.account.index - other.account.index)
  }

  /**
   * Puts under liquidation the accounts that have come below their maintenance margin in the record that ends now. `found`: the
   * accounts that the record reached, where it may leave some to the next. Returns those that it leaves.
   */
  begin(found?: ReadonlySet<number>): ReadonlyArray<number> {
    const { accounts, now } = this.ground
    const left: Array<number> = []
    const { fund } = this
    // Positions that the fund took over and had settled in the same record need no examination.
    if (fund !== undefined && fund.positions.size > 0 && this.fundMomentEpochMs === 0) this.fundMomentEpochMs = nextSecond(now())
    for (const account of accounts) {
      if (account === this.fund || account.liquidation !== undefined || account.positions.size === 0) continue
      if (this.#isHealthy(account)) continue
      if (found?.has(account.index) === false) {
        left.push(account.index)
        continue
      }
      account.liquidation = { momentEpochMs: now(), firstPartEpochMs: 0, partSecond: 0, rest: undefined }
      this.ground.touch(account)
    }
    return left
  }

  /** Begins a record. */
  beginRecord(): void {
    this.#deleveraged = 0
    this.#ranked = 0
    this.#passed = 0
  }

  /** Does the examinations that are due. Returns the accounts, in order. */
  look(): ReadonlyArray<number> {
    const looked: Array<number> = []
    let left = this.bounds.looks * idleInOne
    for (const { account, atEpochMs } of this.moments) {
      if (atEpochMs > this.ground.now() || left <= 0 || this.ground.met() >= Math.min(this.bounds.met, this.ground.mostMet)) break
      looked.push(account.index)
      left -= account === this.fund ? this.#lookAtFund(account) : this.#lookAt(account, account.liquidation!)
      this.ground.touch(account)
    }
    return looked
  }

  /** Examines an account. Returns how much that counts. */
  #lookAt(account: NaiveAccount, liquidation: NaiveLiquidation): number {
    if (this.#isHealthy(account)) {
      account.liquidation = undefined
      return idleInOne
    }
    liquidation.momentEpochMs = nextSecond(this.ground.now())
    const isIdle = this.#hasBenefitOfDoubt(account) || (account.open.length === 0 && this.#largest(account) === undefined)
    if (isIdle) return Math.min(idleInOne, 1 + this.ground.beyondOne(account))
    // An account with nothing left to cancel keeps its place among those whose cancels continue in the next record.
    if (account.open.length > 0) this.ground.cancelAll(account)
    this.#sendPart(account, liquidation)
    const isLeft = liquidation.rest !== undefined || this.#handOver(account)
    if (this.#isHealthy(account)) account.liquidation = undefined
    else if (isLeft) liquidation.momentEpochMs = this.ground.now()
    return idleInOne
  }

  /** An account's equity at the marks. */
  equityOf(account: NaiveAccount): bigint {
    return this.#margin(account).equity
  }

  /** The price at which an account's position in a market has lost its share of the equity. */
  priceOf(account: NaiveAccount, market: NaiveMarket): bigint {
    const position = account.positions.get(market.index)!
    const { equity, maintenanceMargin } = this.#margin(account)
    return bankruptcyPrice(market, position.quantity, equity, this.#maintenanceOf(market, position), maintenanceMargin)
  }

  /** By the money entered in its ledger: funding that has not been entered yet neither causes a liquidation nor prevents one. */
  #margin(account: NaiveAccount): NaiveMargin {
    const { positions } = account
    return marginOf(this.ground.markets, { collateral: this.ground.entered(account), positions, open: [] }, undefined)
  }

  /** Whether an account has its maintenance margin, or nothing that needs one. */
  #isHealthy(account: NaiveAccount): boolean {
    const { equity, maintenanceMargin } = this.#margin(account)
    return account.positions.size === 0 || equity >= maintenanceMargin
  }

  #isLive(market: NaiveMarket): boolean {
    return Risk.isLive(market, this.ground.now())
  }

  /** Whether the account would have its maintenance margin without its losses in markets that are not live. */
  #hasBenefitOfDoubt(account: NaiveAccount): boolean {
    const { equity, maintenanceMargin } = this.#margin(account)
    let doubtful = 0n
    for (const [index, position] of account.positions) {
      const market = this.ground.markets[index]!
      if (!this.#isLive(market)) doubtful += min(0n, profitOf(market, position))
    }
    return equity - doubtful >= maintenanceMargin
  }

  #maintenanceOf(market: NaiveMarket, position: NaivePosition): bigint {
    return maintenance(market.parameters, valueOf(market, position))
  }

  /** Of an account's positions in live markets the one with the largest maintenance margin; of equal ones, that in the lowest market. */
  #largest(account: NaiveAccount): Sellable | undefined {
    let largest: { readonly market: NaiveMarket; readonly own: bigint } | undefined
    for (const market of this.ground.markets) {
      const position = account.positions.get(market.index)
      if (position === undefined || !this.#isLive(market)) continue
      const own = this.#maintenanceOf(market, position)
      if (largest === undefined || own > largest.own) largest = { market, own }
    }
    return largest === undefined ? undefined : this.#sellable(account, largest.market)
  }

  /** An account's position in a market, if it is live, with its bankruptcy price. */
  #sellable(account: NaiveAccount, market: NaiveMarket): Sellable | undefined {
    const position = account.positions.get(market.index)
    if (position === undefined || !this.#isLive(market)) return undefined
    return { market, position, price: this.priceOf(account, market) }
  }

  // --- parts ---------------------------------------------------------------------------------------------

  #sendPart(account: NaiveAccount, liquidation: NaiveLiquidation): void {
    const atEpochMs = this.ground.now()
    const rest = liquidation.partSecond === secondOf(atEpochMs) ? liquidation.rest : undefined
    liquidation.rest = undefined
    if (liquidation.partSecond === secondOf(atEpochMs) && rest === undefined) return
    const sold = rest === undefined ? this.#largest(account) : this.#sellable(account, rest.market)
    if (sold === undefined || sold.price < 1n) return
    const { market, position, price } = sold
    const held = Math.abs(position.quantity)
    const isOver = liquidation.firstPartEpochMs !== 0 && atEpochMs >= liquidation.firstPartEpochMs + patienceMs
    const anew = isOver || valueOf(market, position) <= wholeNotional ? held : Math.ceil(held / fifth)
    const size = Math.min(held, rest?.size ?? anew)
    if (liquidation.firstPartEpochMs === 0) liquidation.firstPartEpochMs = atEpochMs
    liquidation.partSecond = secondOf(atEpochMs)
    const before = this.#before(account, market)
    const { filled, hasMetEnough, notional } = this.ground.send(account, market, position.quantity > 0 ? -size : size, Number(price))
    if (hasMetEnough) liquidation.rest = { market, size: size - filled }
    const fee = min(ceilDiv(notional * BigInt(market.parameters.liquidationFeeBps), 10_000n), max(0n, this.#margin(account).equity))
    if (fee > 0n) {
      this.moved("liquidation_fee", market, () => this.ground.pay(account, this.ground.openFund(), fee, market, "liquidation_fee"))
    }
    // A part without a fill is published once until the position changes in another way; in the first seconds every part is.
    const isLate = atEpochMs >= liquidation.firstPartEpochMs + eachToldForMs
    const last = this.ground.published.lastOf(account.index, market.index, before.isLong, liquidation.firstPartEpochMs)
    if (filled === 0 && isLate && last?.step === "order" && last.filled === 0) return
    this.ground.published.steps.push({ ...before, step: "order", size, filled, price, fee })
  }

  /** What a step in a market publishes of the state before it: the account's position, and its equity and margin. */
  #before(account: NaiveAccount, market: NaiveMarket) {
    const { equity, maintenanceMargin } = this.#margin(account)
    return {
      sequence: this.ground.sequence(),
      atEpochMs: this.ground.now(),
      market: market.index,
      account: account.index,
      counterparty: undefined,
      rank: 0,
      rankingSequence: 0,
      isLong: account.positions.get(market.index)!.quantity > 0,
      mark: market.mark,
      fee: 0n,
      equity,
      maintenanceMargin
    } satisfies Partial<NaiveStep>
  }

  /** Does something that may change the insurance fund, and notes the movement. */
  moved<A>(cause: NaiveMovement["cause"], market: NaiveMarket | undefined, act: () => A): A {
    const { entered, now, published, sequence } = this.ground
    return published.moved({ sequence: sequence(), atEpochMs: now(), fund: () => this.fund, entered }, cause, market?.index, act)
  }

  /** Whether less than two thirds of the maintenance margin is left. */
  #isFarUnder(account: NaiveAccount): boolean {
    const { equity, maintenanceMargin } = this.#margin(account)
    return 3n * equity < 2n * maintenanceMargin
  }

  /**
   * Whether an account's positions are handed on: it is far below its margin, and losses in markets that are not live are not the
   * cause.
   */
  #isToBeHandedOver(account: NaiveAccount): boolean {
    return this.#isFarUnder(account) && !this.#hasBenefitOfDoubt(account)
  }

  // --- takeover and deleveraging -------------------------------------------------------------------------

  /**
   * Hands positions on while the account has less than two thirds of its maintenance margin. Returns whether some of that is left to
   * do.
   */
  #handOver(account: NaiveAccount): boolean {
    for (;;) {
      if (!this.#isToBeHandedOver(account)) return false
      const largest = this.#largest(account)
      if (largest === undefined) return false
      const { market, position: { quantity }, price } = largest
      const taken = this.takeOver(account, market, quantity, price)
      const rest = Math.abs(quantity) - taken
      if (rest === 0 || !this.#isToBeHandedOver(account)) continue
      const { isLeft, size } = this.deleverage(account, market, rest, price)
      if (isLeft) return true
      if (size < rest) this.ground.halt(market)
    }
  }

  /**
   * The insurance fund takes over as much as it can carry, at a price of the market: what the account is due beyond that, it gets in money.
   * Returns how much.
   */
  takeOver(account: NaiveAccount, market: NaiveMarket, quantity: number, price: bigint): number {
    // A fund that never had any money carries nothing.
    if (this.fund === undefined) return 0
    const size = this.#carried(market, quantity, price)
    if (size === 0) return 0
    const way = quantity > 0 ? 1 : -1
    const fund = this.ground.openFund()
    this.ground.published.steps.push({ ...this.#before(account, market), step: "takeover", size, filled: size, price })
    this.moved("takeover", market, () => {
      const nearest = max(1n, min(price, BigInt(market.parameters.maxPriceAtoms)))
      this.ground.change(account, market, -way * size, nearest)
      this.ground.change(fund, market, way * size, nearest)
      this.ground.pay(fund, account, BigInt(way * size) * (price - nearest) * market.factor, market, "takeover_difference")
    })
    return size
  }

  /** How much of a position the fund can carry at a price, paid as if it were one of the market: all of it, or what halving leads to. */
  #carried(market: NaiveMarket, quantity: number, price: bigint): number {
    const fund = this.fund!
    const had = fund.positions.get(market.index)?.quantity ?? 0
    const does = (size: number): boolean => {
      const positions = new Map(fund.positions)
      let { collateral } = fund
      if (size > 0) {
        const traded = trade(positions.get(market.index), quantity > 0 ? size : -size, BigInt(size) * price * market.factor)
        positions.set(market.index, traded.position)
        collateral += traded.realized
      }
      const { equity, initialMargin } = marginOf(this.ground.markets, { open: [], collateral, positions }, undefined)
      const held = positions.get(market.index)?.quantity ?? 0
      // A limit that was lowered later keeps no position from becoming smaller, and none may become one on the other side beyond it.
      const isSmaller = had > 0 ? held > 0 && held <= had : held < 0 && held >= had
      return equity >= initialMargin && (isSmaller || Math.abs(held) <= market.parameters.maxPositionQuantityAtoms)
    }
    const all = Math.abs(quantity)
    if (does(all)) return all
    // As much as closes what the fund holds, if it may have that, is the least it takes.
    const closes = had * quantity < 0 ? Math.min(all, Math.abs(had)) : 0
    if (!does(closes) && !does(0)) return 0
    let [enough, tooMuch] = does(closes) ? [closes, all] : [0, closes]
    while (tooMuch - enough > 1) {
      const middle = Math.floor((enough + tooMuch) / 2)
      if (does(middle)) enough = middle
      else tooMuch = middle
    }
    return enough
  }

  /** Begins to rank a market's positions against longs, or against shorts. */
  #begin(market: NaiveMarket, isLong: boolean, isSecond = false, least: bigint | undefined = undefined): Making {
    const { now, sequence } = this.ground
    for (const [name, each] of this.#making) if (this.#isForgotten(each)) this.#making.delete(name)
    const making: Making = {
      market,
      sequence: sequence(),
      atEpochMs: now(),
      isLong: !isLong,
      mark: market.mark,
      isSecond,
      least,
      leftOut: undefined,
      second: this.#secondOf(market),
      passed: 0,
      all: []
    }
    this.#making.set(`${market.index} ${isLong}`, making)
    return making
  }

  /** Continues a ranking in the order in which accounts entered the market, as far as the record permits; undefined where more is left. */
  #goOn(market: NaiveMarket, making: Making): NaiveRanking | undefined {
    const { accounts, changes, published, sequence, weight } = this.ground
    making.second = this.#secondOf(market)
    const came = [...market.came]
    for (; making.passed < came.length; making.passed++) {
      if (this.#ranked >= this.bounds.ranked || this.#passed >= this.bounds.ranked * passedForEach) return undefined
      this.#passed++
      const account = accounts[came[making.passed]!]!
      const position = account.positions.get(market.index)
      if (position === undefined || position.quantity > 0 !== making.isLong) continue
      this.#ranked += weight(account)
      const then = { ...market, mark: making.mark }
      const profit = profitOf(then, position)
      // A ranking holds equity as a number: beyond 2^53 atoms the nearest one.
      const equity = BigInt(Number(this.#margin(account).equity - profitOf(market, position) + profit))
      if (making.least !== undefined && equity < making.least) {
        making.leftOut = greater(making.leftOut, equity)
        continue
      }
      making.all.push({ account, profit, entry: position.entryNotional, notional: valueOf(then, position), equity, closed: [] })
    }
    this.#making.delete(`${market.index} ${!making.isLong}`)
    const { all, leftOut, market: __, passed: _, ...rest } = making
    all.sort(byRank)
    const ranked = all.slice(0, this.bounds.places)
    const restEquity = all.slice(this.bounds.places).reduce((most, { equity }) => greater(most, equity), leftOut)
    const counts = { count: all.length, changes: changes(), restEquity }
    const ranking: NaiveRanking = { ...rest, ...counts, madeAt: sequence(), market: market.index, ranked, droppedIn: undefined }
    if (isDelisted(market)) published.dropIdle(market.index, making.isLong, sequence())
    published.rankings.push(ranking)
    return ranking
  }

  /**
   * The ranking by which a market's positions are closed now: one of the current second that leaves out nobody who could bear the given
   * loss, or one in progress, which is begun if necessary.
   */
  #ranking(market: NaiveMarket, isLong: boolean, needed: bigint): NaiveRanking | Making {
    const making = this.#making.get(`${market.index} ${isLong}`)
    const second = this.#secondOf(market)
    const isOfNow = ({ mark }: { readonly mark: number }): boolean => !isDelisted(market) || mark === market.mark
    if (making !== undefined) return this.#isGoneOnWith(making) ? making : this.#begin(market, isLong)
    const latest = this.ground.published.rankings.findLast((each) => each.market === market.index && each.isLong !== isLong)
    const isOfAll = latest?.least === undefined || latest.least <= needed
    return latest?.second === second && isOfNow(latest) && isOfAll ? latest : this.#begin(market, isLong)
  }

  /** Whether a ranking in progress may be continued. */
  #isGoneOnWith({ mark, market, second }: Making): boolean {
    return isDelisted(market) ? mark === market.mark : market.risk.second <= second + rankingPatienceSeconds
  }

  /** Whether a ranking is dropped when another is begun: in a market that is not live, once it is too old to be continued. */
  #isForgotten(making: Making): boolean {
    const { market, second } = making
    const [at, now] = [this.ground.now(), secondOf(this.ground.now())]
    const standsStill = !isDelisted(market) && !Risk.isGoing(market, at)
    return !this.#isGoneOnWith(making) || (standsStill && now > second + rankingPatienceSeconds)
  }

  /** The second of a market's ticks; for a delisted one, that of the record. */
  #secondOf(market: NaiveMarket): number {
    return isDelisted(market) ? secondOf(this.ground.now()) : market.risk.second
  }

  /**
   * Closes the given size of a position against others at a price. Where an older ranking, or one without room for all, leaves some of
   * it, a new ranking is made; if the old one closed nothing, only of accounts that could bear the loss of an atom. One ranking that
   * took several records and closed nothing does not prove that there is no counterparty, but two in a row do if the accounts outside
   * could bear nothing.
   */
  deleverage(account: NaiveAccount, market: NaiveMarket, size: number, price: bigint): Closed {
    const isLong = account.positions.get(market.index)!.quantity > 0
    const needed = max(0n, lossOf(market, !isLong, price))
    let next = this.#ranking(market, isLong, needed)
    let rest = size
    let ranking: NaiveRanking
    for (;;) {
      const made = "all" in next ? this.#goOn(market, next) : next
      if (made === undefined) return { size: size - rest, isLeft: true }
      ranking = made
      const closed = this.#closeAgainst(ranking, account, market, rest, price)
      rest -= closed.size
      if (rest === 0 || closed.isLeft) return { size: size - rest, isLeft: closed.isLeft }
      const { least, restEquity } = ranking
      const isOfNow = ranking.madeAt === this.ground.sequence()
      const closedNothing = ranking.ranked.every((each) => each.closed.length === 0)
      const couldOthers = restEquity !== undefined && restEquity >= needed
      const isSound = isOfNow && !couldOthers && ranking.changes === this.ground.changes()
      const isOfOneRecord = ranking.sequence === this.ground.sequence()
      if (isSound && (isOfOneRecord || ranking.isSecond && closedNothing)) break
      next = this.#begin(market, isLong, isSound && closedNothing, isOfNow && closedNothing && couldOthers ? needed : least)
    }
    this.ground.published.nobodyFor.push({ sequence: this.ground.sequence(), account: account.index, market: market.index, size: rest })
    // A settlement that returns to a position publishes this once, as long as the size is unchanged.
    const last = isDelisted(market)
      ? this.ground.published.lastOf(account.index, market.index, isLong, market.delisting!.effectiveAtEpochMs)
      : undefined
    if (last?.step === "exhausted" && last.size === rest) return { size: size - rest, isLeft: false }
    const { sequence: rankingSequence } = ranking
    this.ground.published.steps.push({
      ...this.#before(account, market),
      step: "exhausted",
      rankingSequence,
      size: rest,
      filled: 0,
      price
    })
    return { size: size - rest, isLeft: false }
  }

  #closeAgainst(ranking: NaiveRanking, account: NaiveAccount, market: NaiveMarket, size: number, price: bigint): Closed {
    const { ranked, sequence } = ranking
    const isLong = account.positions.get(market.index)!.quantity > 0
    let left = size
    for (const [place, entry] of ranked.entries()) {
      if (left === 0) break
      const other = entry.account
      const held = other.positions.get(market.index)?.quantity ?? 0
      if (held === 0 || held > 0 === isLong) continue
      const closed = Math.min(left, closable(held, this.#margin(other).equity, market, price))
      if (closed === 0) continue
      if (this.#deleveraged >= this.bounds.deleveraged) return { size: size - left, isLeft: true }
      this.#deleveraged += 1 + this.ground.beyondOne(other)
      const before = this.#before(account, market)
      const told = { counterparty: other.index, rank: place + 1, rankingSequence: sequence, size: closed, filled: closed, price }
      this.ground.published.steps.push({ ...before, step: "deleveraging", ...told })
      const isSound = ranking.changes === this.ground.changes()
      entry.closed.push({ sequence: this.ground.sequence(), size: closed })
      const change = (): void => {
        this.ground.change(account, market, isLong ? -closed : closed, price)
        this.ground.change(other, market, isLong ? closed : -closed, price)
      }
      if (other === this.fund) this.moved("deleveraging", market, change)
      else change()
      if (isSound) ranking.changes = this.ground.changes()
      left -= closed
    }
    return { size: size - left, isLeft: false }
  }

  // --- the insurance fund --------------------------------------------------------------------------------

  #lookAtFund(fund: NaiveAccount): number {
    const isLeft = this.#deleverageFund(fund) || this.#unwind(fund)
    this.fundMomentEpochMs = fund.positions.size === 0 ? 0 : isLeft ? this.ground.now() : nextSecond(this.ground.now())
    return idleInOne
  }

  /** Deleverages while the fund itself is below its maintenance margin. Returns whether some of that is left to do. */
  #deleverageFund(fund: NaiveAccount): boolean {
    for (;;) {
      const { equity, maintenanceMargin } = this.#margin(fund)
      const largest = this.#largest(fund)
      if (equity >= maintenanceMargin || this.#hasBenefitOfDoubt(fund) || largest === undefined) return false
      const { market, position, price } = largest
      const held = Math.abs(position.quantity)
      const at = equity < 0n ? price : BigInt(market.mark)
      const { isLeft, size } = this.moved("deleveraging", market, () => this.deleverage(fund, market, held, at))
      if (isLeft) return true
      if (size < held) this.ground.halt(market)
    }
  }

  /** How far from the mark the fund sells or buys: by the market's liquidation fee, in whole atoms, rounded toward the mark. */
  #furthest({ mark, parameters: { liquidationFeeBps } }: NaiveMarket, isLong: boolean): number {
    const away = Number(BigInt(mark) * BigInt(liquidationFeeBps) / 10_000n)
    return isLong ? mark - away : mark + away
  }

  /** Sends a fifth of each position, lowest market first. Returns whether markets are left for the next record. */
  #unwind(fund: NaiveAccount): boolean {
    const held = this.ground.markets.filter((market) =>
      market.index >= this.#unwindFrom && fund.positions.has(market.index) && this.#isLive(market)
    )
    let sent = 0
    for (const market of held.slice(0, this.bounds.unwound)) {
      if (this.ground.met() >= this.ground.mostMet) break
      const { quantity } = fund.positions.get(market.index)!
      const size = Math.ceil(Math.abs(quantity) / fifth)
      const limit = this.#furthest(market, quantity > 0)
      this.moved("unwinding", market, () => this.ground.send(fund, market, quantity > 0 ? -size : size, limit))
      sent++
    }
    this.#unwindFrom = held[sent]?.index ?? 0
    return this.#unwindFrom !== 0
  }
}
