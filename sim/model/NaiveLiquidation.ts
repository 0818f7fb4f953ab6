/**
 * The reference model's liquidation, written from the rules alone: who is under liquidation, when each is looked at, and what
 * a look does, step by step. It keeps the moments; positions, orders and matching are the venue's (`Ground`). Every sum is made
 * anew, all in BigInt.
 */
import { insuranceFundBorn } from "../../src/domain/Ids.js"
import { ceilDiv, maintenance, marginOf, type NaiveMargin, profitOf, trade, valueOf } from "./NaiveMoney.js"
import type { NaiveMovement, NaivePublished, NaiveRanked, NaiveRanking, NaiveStep } from "./NaivePublished.js"
import * as Risk from "./NaiveRisk.js"
import { isDelisted, type NaiveAccount, type NaiveLiquidation, type NaiveMarket, type NaivePosition } from "./NaiveState.js"

/** What bounds the looks of one record: how many, after how many met orders no further one, and what is deleveraged and unwound. */
export interface Bounds {
  readonly looks: number
  readonly met: number
  readonly deleveraged: number
  readonly unwound: number
  /** Positions of delisted markets that are looked at. */
  readonly settled: number
  /** Positions that a ranking has room for. */
  readonly places: number
  /** Positions that are ranked; for each of them so many that came to the market are passed over. */
  readonly ranked: number
}
const passedForEach = 32
/** So many looks by which nothing can be done count as one of the others. */
const idleInOne = 16

/** A venue's own. */
export const venueBounds: Bounds = { looks: 16, met: 256, deleveraged: 64, unwound: 8, settled: 64, places: 1_024, ranked: 256 }

/** Positions that a ranking has room for, by the bounds of a run. */
export const rankingPlacesOf = ({ liquidatedAtOnce }: { readonly liquidatedAtOnce?: { readonly places?: number } }): number =>
  liquidatedAtOnce?.places ?? venueBounds.places

/** A part is a fifth; of a position up to so much at mark, in money atoms, all; and all from so long after the first part on. */
const fifth = 5
export const wholeNotional = 100_000_000_000n
const patienceMs = 30_000
/** Each part is told for so long from an account's first one on. */
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

/** What an order of the venue's own came to. */
export interface NaiveSent {
  readonly filled: number
  readonly notional: bigint
}

/** What liquidation asks of the venue that it happens in. */
export interface Ground {
  readonly accounts: ReadonlyArray<NaiveAccount>
  readonly markets: ReadonlyArray<NaiveMarket>
  /** The time of the record at hand. */
  readonly now: () => number
  readonly sequence: () => number
  /** Cancels all that the account has open, as many in this record as one record does of a cancel of all orders. */
  readonly cancelAll: (account: NaiveAccount) => void
  /**
   * Matches an immediate order of the venue's own, which is to change a position so: up to its limit, or where there is none as
   * far as the band goes and as the accept rule lets it. What it filled.
   */
  readonly send: (account: NaiveAccount, market: NaiveMarket, change: number, limit: number | undefined) => NaiveSent
  /** A position changes at a price, without a trade and without a fee. */
  readonly change: (account: NaiveAccount, market: NaiveMarket, change: number, price: bigint) => void
  /** How often positions have changed so far, by whatever. */
  readonly changes: () => number
  /** Money goes from one account to another. */
  readonly pay: (from: NaiveAccount, to: NaiveAccount, amount: bigint, market: NaiveMarket) => void
  /** The insurance fund, opened where it has yet to be. */
  readonly openFund: () => NaiveAccount
  readonly halt: (market: NaiveMarket) => void
  readonly touch: (account: NaiveAccount) => void
  /** Resting orders that the venue's own orders have met in this record. */
  readonly met: () => number
  /** An account's money as its ledger has it. */
  readonly entered: (account: NaiveAccount) => bigint
  /** How often an account counts beyond once, where the record first comes to it. */
  readonly beyondOne: (account: NaiveAccount) => number
  /** How often it counts where it is ranked. */
  readonly weight: (account: NaiveAccount) => number
  /** What everybody is told of it. */
  readonly published: NaivePublished
}

/** The price at which closing a position takes its share of the equity and no more; in whole atoms, against who is closed. */
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

/** What a counterparty is ranked by. */
export type Ranked = Omit<NaiveRanked, "closed">

/** The score of a counterparty as a fraction. */
const scoreOf = ({ entry, equity, notional, profit }: Ranked): readonly [over: bigint, under: bigint] => {
  const [cost, backing] = [max(1n, entry), max(1n, equity)]
  return profit > 0n ? [profit * notional, cost * backing] : [profit * backing, cost * notional]
}

/** Those in profit first, then the larger score, then the lower account. */
const byRank = (one: Ranked, other: Ranked): number => {
  if (one.profit > 0n !== other.profit > 0n) return one.profit > 0n ? -1 : 1
  const [a, b] = [scoreOf(one), scoreOf(other)]
  const difference = b[0] * a[1] - a[0] * b[1]
  return difference > 0n ? 1 : difference < 0n ? -1 : one.account.index - other.account.index
}

/** What a counterparty's equity loses with each atom of a long, or of a short, that a price closes. */
const lossOf = (market: NaiveMarket, isLong: boolean, price: bigint): bigint =>
  (isLong ? BigInt(market.mark) - price : price - BigInt(market.mark)) * market.factor

/** How much of a counterparty's position a price may close: what keeps its equity at or above zero. */
const closable = (quantity: number, equity: bigint, market: NaiveMarket, price: bigint): number => {
  const size = Math.abs(quantity)
  const worse = lossOf(market, quantity > 0, price)
  if (equity < 0n) return 0
  return worse <= 0n ? size : Number(min(BigInt(size), equity / worse))
}

/** A ranking that is being made, of those that came to the market so far. */
interface Making {
  readonly market: NaiveMarket
  readonly sequence: number
  readonly atEpochMs: number
  readonly isLong: boolean
  readonly mark: number
  /** Whether the one before took several records and closed nothing. */
  readonly isSecond: boolean
  /** Whoever has less equity is left out; undefined where nobody is. */
  readonly least: bigint | undefined
  /** The most equity of those who were. */
  leftOut: bigint | undefined
  /** In which it was gone on with last. */
  second: number
  /** How many of those that came to the market it has passed. */
  passed: number
  readonly all: Array<NaiveRanked>
}

/** One that nobody has gone on with for longer is begun anew. */
const rankingPatienceSeconds = 60

/** What a deleveraging came to: how much it closed, and whether the record had no room for more of it. */
export interface Closed {
  readonly size: number
  readonly isLeft: boolean
}

export class NaiveLiquidations {
  /** When the insurance fund is looked at next; 0 while it holds nothing. */
  fundMomentEpochMs = 0
  /** Positions that were deleveraged in the record at hand. */
  #deleveraged = 0
  /** The same of those that were ranked, and of all that were passed over for them. */
  #ranked = 0
  #passed = 0
  /** Rankings that take more than a record, one of each direction in a market. */
  readonly #making = new Map<string, Making>()
  /** The market from which on the fund has yet to unwind in the running second. */
  #unwindFrom = 0

  constructor(readonly ground: Ground, readonly bounds: Bounds) {}

  get fund(): NaiveAccount | undefined {
    return this.ground.accounts.find(({ born }) => born === insuranceFundBorn)
  }

  /** When each account is to be looked at, in the order of the looks. */
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
   * Those who have fallen under their maintenance margin in the record that ends now. `found`: whom it has come to, where it may leave
   * some to the next; then those whom it leaves.
   */
  begin(found?: ReadonlySet<number>): ReadonlyArray<number> {
    const { accounts, now } = this.ground
    const left: Array<number> = []
    const { fund } = this
    // What it took over and had settled in the same record leaves it nothing to look at.
    if (fund !== undefined && fund.positions.size > 0 && this.fundMomentEpochMs === 0) this.fundMomentEpochMs = nextSecond(now())
    for (const account of accounts) {
      if (account === this.fund || account.liquidation !== undefined || account.positions.size === 0) continue
      if (this.#isHealthy(account)) continue
      if (found?.has(account.index) === false) {
        left.push(account.index)
        continue
      }
      account.liquidation = { momentEpochMs: now(), firstPartEpochMs: 0, partSecond: 0 }
      this.ground.touch(account)
    }
    return left
  }

  /** A record begins. */
  beginRecord(): void {
    this.#deleveraged = 0
    this.#ranked = 0
    this.#passed = 0
  }

  /** Takes the looks that are due: the accounts, in their order. */
  look(): ReadonlyArray<number> {
    const looked: Array<number> = []
    let left = this.bounds.looks * idleInOne
    for (const { account, atEpochMs } of this.moments) {
      if (atEpochMs > this.ground.now() || left <= 0 || this.ground.met() >= this.bounds.met) break
      looked.push(account.index)
      left -= account === this.fund ? this.#lookAtFund(account) : this.#lookAt(account, account.liquidation!)
      this.ground.touch(account)
    }
    return looked
  }

  /** How much it counts. */
  #lookAt(account: NaiveAccount, liquidation: NaiveLiquidation): number {
    if (this.#isHealthy(account)) {
      account.liquidation = undefined
      return idleInOne
    }
    liquidation.momentEpochMs = nextSecond(this.ground.now())
    const isIdle = this.#hasBenefitOfDoubt(account) || (account.open.length === 0 && this.#largest(account) === undefined)
    if (isIdle) return Math.min(idleInOne, 1 + this.ground.beyondOne(account))
    // Where nothing is left to cancel, whoever's orders were still to leave with the next record stays in line for it.
    if (account.open.length > 0) this.ground.cancelAll(account)
    this.#sendPart(account, liquidation)
    const isLeft = this.#handOver(account)
    if (this.#isHealthy(account)) account.liquidation = undefined
    else if (isLeft) liquidation.momentEpochMs = this.ground.now()
    return idleInOne
  }

  /** What an account has at the marks. */
  equityOf(account: NaiveAccount): bigint {
    return this.#margin(account).equity
  }

  /** The price at which a position of an account in a market has lost its share. */
  priceOf(account: NaiveAccount, market: NaiveMarket): bigint {
    const position = account.positions.get(market.index)!
    const { equity, maintenanceMargin } = this.#margin(account)
    return bankruptcyPrice(market, position.quantity, equity, this.#maintenanceOf(market, position), maintenanceMargin)
  }

  /** By what is entered in its ledger: funding that is still to be entered brings nobody under, and saves nobody. */
  #margin(account: NaiveAccount): NaiveMargin {
    const { positions } = account
    return marginOf(this.ground.markets, { collateral: this.ground.entered(account), positions, open: [] }, undefined)
  }

  /** Whether an account has its maintenance margin, or nothing that would need one. */
  #isHealthy(account: NaiveAccount): boolean {
    const { equity, maintenanceMargin } = this.#margin(account)
    return account.positions.size === 0 || equity >= maintenanceMargin
  }

  #isLive(market: NaiveMarket): boolean {
    return Risk.isLive(market, this.ground.now())
  }

  /** Whether the account would keep its maintenance margin if markets that do not live had taken nothing from it. */
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

  /** Of an account's positions in live markets the one with the largest maintenance margin, of equal ones the lowest market. */
  #largest(account: NaiveAccount): { readonly market: NaiveMarket; readonly position: NaivePosition; readonly price: bigint } | undefined {
    let largest: { readonly market: NaiveMarket; readonly position: NaivePosition; readonly own: bigint } | undefined
    for (const market of this.ground.markets) {
      const position = account.positions.get(market.index)
      if (position === undefined || !this.#isLive(market)) continue
      const own = this.#maintenanceOf(market, position)
      if (largest === undefined || own > largest.own) largest = { market, position, own }
    }
    if (largest === undefined) return undefined
    const { market, own, position } = largest
    const { equity, maintenanceMargin } = this.#margin(account)
    return { market, position, price: bankruptcyPrice(market, position.quantity, equity, own, maintenanceMargin) }
  }

  // --- parts ---------------------------------------------------------------------------------------------

  #sendPart(account: NaiveAccount, liquidation: NaiveLiquidation): void {
    const atEpochMs = this.ground.now()
    if (liquidation.partSecond === secondOf(atEpochMs)) return
    const largest = this.#largest(account)
    if (largest === undefined || largest.price < 1n) return
    const { market, position, price } = largest
    const held = Math.abs(position.quantity)
    const isOver = liquidation.firstPartEpochMs !== 0 && atEpochMs >= liquidation.firstPartEpochMs + patienceMs
    const size = isOver || valueOf(market, position) <= wholeNotional ? held : Math.ceil(held / fifth)
    if (liquidation.firstPartEpochMs === 0) liquidation.firstPartEpochMs = atEpochMs
    liquidation.partSecond = secondOf(atEpochMs)
    const before = this.#before(account, market)
    const { filled, notional } = this.ground.send(account, market, position.quantity > 0 ? -size : size, Number(price))
    const fee = min(ceilDiv(notional * BigInt(market.parameters.liquidationFeeBps), 10_000n), max(0n, this.#margin(account).equity))
    if (fee > 0n) this.moved("liquidation_fee", market, () => this.ground.pay(account, this.ground.openFund(), fee, market))
    // One that found no taker is told once, until something else becomes of the position; in the first seconds each is.
    const isLate = atEpochMs >= liquidation.firstPartEpochMs + eachToldForMs
    const last = this.ground.published.lastOf(account.index, market.index, before.isLong, liquidation.firstPartEpochMs)
    if (filled === 0 && isLate && last?.step === "order" && last.filled === 0) return
    this.ground.published.steps.push({ ...before, step: "order", size, filled, price, fee })
  }

  /** What is told of a step in a market before it: of an account's position, and what the account had. */
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

  /** Does what may change the insurance fund, and notes what it came to. */
  moved<A>(cause: NaiveMovement["cause"], market: NaiveMarket | undefined, act: () => A): A {
    const { entered, now, published, sequence } = this.ground
    return published.moved({ sequence: sequence(), atEpochMs: now(), fund: () => this.fund, entered }, cause, market?.index, act)
  }

  /** Whether less than two thirds of its maintenance margin is left. */
  #isFarUnder(account: NaiveAccount): boolean {
    const { equity, maintenanceMargin } = this.#margin(account)
    return 3n * equity < 2n * maintenanceMargin
  }

  /** Whether an account's positions are handed on: it is far under, and would not be saved by what stands still. */
  #isToBeHandedOver(account: NaiveAccount): boolean {
    return this.#isFarUnder(account) && !this.#hasBenefitOfDoubt(account)
  }

  // --- takeover and deleveraging -------------------------------------------------------------------------

  /** Hands positions on while the account has less than two thirds of its maintenance margin. Whether some of it was left. */
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

  /** The insurance fund takes over as much as it can carry: how much. */
  takeOver(account: NaiveAccount, market: NaiveMarket, quantity: number, price: bigint): number {
    // A fund that never had anything carries nothing.
    if (this.fund === undefined || price < 1n || price > BigInt(market.parameters.maxPriceAtoms)) return 0
    const size = this.#carried(market, quantity, price)
    if (size === 0) return 0
    const way = quantity > 0 ? 1 : -1
    const fund = this.ground.openFund()
    this.ground.published.steps.push({ ...this.#before(account, market), step: "takeover", size, filled: size, price })
    this.moved("takeover", market, () => {
      this.ground.change(account, market, -way * size, price)
      this.ground.change(fund, market, way * size, price)
    })
    return size
  }

  /** How much of a position the fund can carry: all, or what halving comes to. */
  #carried(market: NaiveMarket, quantity: number, price: bigint): number {
    const fund = this.fund!
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
      return equity >= initialMargin && Math.abs(held) <= market.parameters.maxPositionQuantityAtoms
    }
    const all = Math.abs(quantity)
    if (does(all)) return all
    if (!does(0)) return 0
    let [enough, tooMuch] = [0, all]
    while (tooMuch - enough > 1) {
      const middle = Math.floor((enough + tooMuch) / 2)
      if (does(middle)) enough = middle
      else tooMuch = middle
    }
    return enough
  }

  /** Begins to rank what there is in a market against longs, or against shorts. */
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

  /** Goes on with a ranking in the order in which accounts came to the market, as far as the record does; undefined where more is left. */
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
   * The ranking by which a market's positions are closed now: one of the running second that leaves out nobody who could bear a loss of so
   * much, or one that is being made, or is begun.
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

  /** Whether one that is being made may be gone on with. */
  #isGoneOnWith({ mark, market, second }: Making): boolean {
    return isDelisted(market) ? mark === market.mark : market.risk.second <= second + rankingPatienceSeconds
  }

  /** Whether one is dropped when another is begun: of a market that stands still it is once nobody could go on with it in time. */
  #isForgotten(making: Making): boolean {
    const { market, second } = making
    const [at, now] = [this.ground.now(), secondOf(this.ground.now())]
    const standsStill = !isDelisted(market) && !Risk.isGoing(market, at)
    return !this.#isGoneOnWith(making) || (standsStill && now > second + rankingPatienceSeconds)
  }

  /** The second of a market's ticks; of one that is delisted, that of the record. */
  #secondOf(market: NaiveMarket): number {
    return isDelisted(market) ? secondOf(this.ground.now()) : market.risk.second
  }

  /**
   * Closes so much of a position against the others at a price. What a ranking of before leaves, and what lies behind its places, goes on
   * with one made anew, and where its places closed nothing, with one of those only who could bear the loss of an atom. One that took several
   * records and closed nothing is no proof that there is nobody, but two of them in a row are, where the others could bear nothing.
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
    // A settlement that comes back to a position tells of it once, as long as it is as large.
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

  /** While the fund itself is under its maintenance margin. Whether some of it was left. */
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

  /** Sends a fifth of each position, the lowest market first. Whether markets were left for the next record. */
  #unwind(fund: NaiveAccount): boolean {
    const held = this.ground.markets.filter((market) =>
      market.index >= this.#unwindFrom && fund.positions.has(market.index) && this.#isLive(market)
    )
    for (const market of held.slice(0, this.bounds.unwound)) {
      const { quantity } = fund.positions.get(market.index)!
      const size = Math.ceil(Math.abs(quantity) / fifth)
      this.moved("unwinding", market, () => this.ground.send(fund, market, quantity > 0 ? -size : size, undefined))
    }
    this.#unwindFrom = held[this.bounds.unwound]?.index ?? 0
    return this.#unwindFrom !== 0
  }
}
