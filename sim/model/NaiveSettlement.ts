/**
 * The reference model's settlement of delisted markets, written from the rules alone: orders, deficits, then longs against shorts at the
 * final price. How a position is liquidated and an order cancelled is given by `Ground`.
 */
import type { NaiveAccount, NaiveDelisting, NaiveMarket } from "./NaiveState.js"
import type { Bounds, NaiveLiquidations } from "./NaiveLiquidation.js"

/** A position left standing because it had no counterparty is tried again after so long. */
const patienceMs = 60_000

/** What settlement needs from the rest of the model. */
export interface Ground {
  readonly accounts: ReadonlyArray<NaiveAccount>
  readonly markets: ReadonlyArray<NaiveMarket>
  readonly now: () => number
  /** Cancels a market's next order: bids first, best price first, oldest first. Returns whether there was one. */
  readonly cancelNext: (market: NaiveMarket) => boolean
  /** Changes a position at a price, without a trade and without a fee. */
  readonly change: (account: NaiveAccount, market: NaiveMarket, change: number, price: bigint) => void
  readonly show: (market: NaiveMarket) => void
  /** How often an account counts beyond once, on its first visit by the record. */
  readonly beyondOne: (account: NaiveAccount) => number
}

/** The result of examining an account: no deficit, deficit covered, out of room in this record, no counterparty. */
type Found = "healthy" | "gone" | "unfinished" | "nobody"

export class NaiveSettlements {
  #canceled = 0
  #looked = 0

  constructor(
    readonly ground: Ground,
    readonly liquidations: NaiveLiquidations,
    readonly bounds: Bounds,
    readonly endedAtOnce: number
  ) {}

  /** Begins a record. */
  beginRecord(): void {
    this.#canceled = 0
    this.#looked = 0
  }

  /** When a settlement continues; `Infinity` where there is none. */
  get nextEpochMs(): number {
    const settling = this.ground.markets.flatMap(({ delisting }) => delisting?.state === "settling" ? [delisting.againAtEpochMs] : [])
    return Math.min(Number.POSITIVE_INFINITY, ...settling)
  }

  /** Continues the settlements, market by market, up to the bounds of a record. */
  run(): void {
    for (const market of this.ground.markets) {
      const { delisting } = market
      if (delisting?.state !== "settling" || delisting.againAtEpochMs > this.ground.now()) continue
      if (!this.#settle(market, delisting)) return
    }
  }

  #settle(market: NaiveMarket, delisting: NaiveDelisting): boolean {
    if (delisting.phase === "orders") {
      for (; market.resting.length > 0; this.#canceled++) {
        if (this.#canceled >= this.endedAtOnce) return false
        this.ground.cancelNext(market)
      }
      delisting.phase = "deficits"
    }
    if (delisting.phase === "deficits") {
      if (!this.#cover(market, delisting)) return false
      delisting.phase = "closing"
      delisting.done.clear()
    }
    if (!this.#close(market, delisting)) return false
    delisting.done.clear()
    if (this.#holders(market).length > 0) {
      delisting.phase = "deficits"
      delisting.againAtEpochMs = this.ground.now() + patienceMs
      return true
    }
    delisting.state = "settled"
    delisting.settledAtEpochMs = this.ground.now()
    this.ground.show(market)
    return true
  }

  /** Examines each holder of a position once. Returns whether the record had room for all of them. */
  #cover(market: NaiveMarket, { done }: NaiveDelisting): boolean {
    for (;;) {
      const next = this.#holders(market).find(({ index }) => !done.has(index))
      if (next === undefined) return true
      if (this.#looked >= this.bounds.settled) return false
      this.#looked += 1 + this.ground.beyondOne(next)
      if (this.#look(next, market) === "unfinished") return false
      done.add(next.index)
    }
  }

  /** Holders of a position in a market, in the order in which they entered it, the insurance fund last. */
  #holders(market: NaiveMarket): ReadonlyArray<NaiveAccount> {
    const { fund } = this.liquidations
    const others = [...market.came].map((index) => this.ground.accounts[index]!).filter((account) => account !== fund)
    return [...others, ...(fund === undefined ? [] : [fund])].filter((account) => account.positions.has(market.index))
  }

  /** Closes an account's position where its equity is below zero: with the fund, then by auto-deleveraging. */
  #look(account: NaiveAccount, market: NaiveMarket): Found {
    if (this.liquidations.equityOf(account) >= 0n) return "healthy"
    const price = this.liquidations.priceOf(account, market)
    const { quantity } = account.positions.get(market.index)!
    const taken = account === this.liquidations.fund ? 0 : this.liquidations.takeOver(account, market, quantity, price)
    const rest = Math.abs(quantity) - taken
    if (rest === 0 || this.liquidations.equityOf(account) >= 0n) return "gone"
    const deleverage = () => this.liquidations.deleverage(account, market, rest, price)
    const isFund = account === this.liquidations.fund
    const { isLeft, size } = isFund ? this.liquidations.moved("deleveraging", market, deleverage) : deleverage()
    return isLeft ? "unfinished" : size === rest ? "gone" : "nobody"
  }

  /** Pairs the first long with the first short, repeatedly. Returns whether the record had room for all of them. */
  #close(market: NaiveMarket, { done, finalPrice }: NaiveDelisting): boolean {
    for (;;) {
      const left = this.#holders(market).filter(({ index }) => !done.has(index))
      const held = (account: NaiveAccount): number => account.positions.get(market.index)!.quantity
      const long = left.find((account) => held(account) > 0)
      const short = left.find((account) => held(account) < 0)
      if (long === undefined || short === undefined) return true
      if (this.#looked >= this.bounds.settled) return false
      this.#looked += 1 + this.ground.beyondOne(long) + this.ground.beyondOne(short)
      const found = this.#foundOf(market, [long, short], done)
      if (found === "unfinished") return false
      if (found !== "healthy") continue
      const size = Math.min(held(long), -held(short))
      this.#pair(long, short, market, size, BigInt(finalPrice))
    }
  }

  /** Transfers a size from a long to a short position at the final price, and publishes it. */
  #pair(long: NaiveAccount, short: NaiveAccount, market: NaiveMarket, size: number, price: bigint): void {
    const { fund, ground: { now, published, sequence } } = this.liquidations
    published.steps.push({
      sequence: sequence(),
      atEpochMs: now(),
      market: market.index,
      step: "settlement",
      account: long.index,
      counterparty: short.index,
      rank: 0,
      rankingSequence: 0,
      isLong: true,
      size,
      filled: size,
      price,
      mark: market.mark,
      fee: 0n,
      equity: 0n,
      maintenanceMargin: 0n
    })
    const change = (): void => {
      this.ground.change(long, market, -size, price)
      this.ground.change(short, market, size, price)
    }
    if (long === fund || short === fund) this.liquidations.moved("settlement", market, change)
    else change()
  }

  /** Examines two accounts, and returns the first result that is not healthy; an account without a counterparty is passed over. */
  #foundOf(market: NaiveMarket, accounts: ReadonlyArray<NaiveAccount>, passed: Set<number>): Found {
    for (const account of accounts) {
      const found = this.#look(account, market)
      if (found === "nobody") passed.add(account.index)
      if (found !== "healthy") return found
    }
    return "healthy"
  }
}
