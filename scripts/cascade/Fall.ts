/**
 * The pattern of 10 October 2025 on an engine: leveraged longs in every market, prices that fall by a fifth and more within a minute,
 * makers who withdraw, books that are thin where everybody sells, and a small insurance fund. The results are computed from the state
 * alone, not from the engine's own sums.
 */
import { none } from "../../src/domain/None.js"
import { assert } from "../../src/domain/Assert.js"
import * as Ids from "../../src/domain/Ids.js"
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Engine } from "../../src/engine/Engine.js"
import { decode } from "../../src/engine/EventLog.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { type Command, Operation, type Outcome, withFields } from "../../src/operations/Operations.js"
import { versions } from "../../src/sequencer/Versions.js"
import { uniform } from "../bench/BookOperations.js"
import { byClient, parameters as benchParameters } from "../bench/EngineCommands.js"
import { entry, type Terms } from "../bench/WorstWorld.js"

export interface Options {
  readonly accounts: number
  readonly seed: number
  /** How far each market's index falls in the minute, in bps; the length is the number of markets. */
  readonly fallBps: ReadonlyArray<number>
  /** The insurance fund's initial balance, USDC. */
  readonly fundUsdc: number
}

/** The results. Money in money atoms. */
export interface Report {
  readonly records: number
  readonly liquidated: number
  readonly parts: number
  readonly filledParts: number
  readonly takeovers: number
  readonly deleveragings: number
  readonly deleveraged: number
  readonly exhausted: number
  readonly cancels: number
  readonly longestWaitRecords: number
  readonly feesToFund: bigint
  readonly fundLowest: bigint
  readonly fundAtTheEnd: bigint
  readonly lowestEquity: bigint
  readonly leftUnder: number
  /** Credits less collaterals, fees and entry notional: 0 where no atom is missing. */
  readonly missingAtoms: bigint
  /** Longs less shorts over all markets: 0. */
  readonly unbalancedSize: number
  readonly brokenInvariant: string | undefined
}

const usdc = 1_000_000
const secondMs = 1_000
const fallSeconds = 60
const restSeconds = 120
const makers = 20
/** The initial price, in price atoms. */
const begins = 100_000

const margins: Pick<Market.Parameters, "initialMarginBps" | "maintenanceMarginTiers"> = {
  initialMarginBps: 500,
  maintenanceMarginTiers: [
    { notionalThresholdAtoms: 0, maintenanceMarginBps: 200 },
    { notionalThresholdAtoms: 250_000 * usdc, maintenanceMarginBps: 400 },
    { notionalThresholdAtoms: 1_000_000 * usdc, maintenanceMarginBps: 800 }
  ]
}

/** A benchmark market with other bounds and margins, and the usual index rules. */
const parameters = (index: number): Market.Parameters => ({
  ...benchParameters(index),
  ...margins,
  ...Market.riskDefaults(margins),
  liquidationFeeBps: 50,
  maxPriceAtoms: 1_000_000,
  maxQuantityAtoms: 10_000_000,
  maxPositionQuantityAtoms: 500_000_000,
  maxLeverageX: 20
})

/** Drives an engine through the minute and its aftermath. */
class Fall {
  readonly engine: Engine
  private atEpochMs = 1_760_130_000_000
  private serial = 0
  private readonly draw: (below: number) => number
  private readonly prices: Array<number>
  private readonly counts = { parts: 0, filledParts: 0, takeovers: 0, deleveragings: 0, deleveraged: 0, exhausted: 0, cancels: 0 }
  private readonly liquidated = new Set<number>()
  private fees = 0n
  private longestWait = 0
  private fundLowest = 0n
  private lowestEquity = 0n
  private resting: Array<readonly [account: number, market: number, orderNumber: number]> = []

  constructor(private readonly options: Options) {
    const { accounts, fallBps, seed } = options
    this.draw = uniform(seed)
    this.prices = fallBps.map(() => begins)
    this.engine = Engine.make({ orders: 2_000_000, idempotencyKeys: 2_000_000 })
    this.do(withFields("OpenVenue", internal(Principal.venue), { environment: "development", ...versions }))
    fallBps.forEach((_, market) => this.openMarket(market))
    for (let account = 0; account < makers; account++) this.openAccount(50_000_000 * usdc)
    for (let account = 0; account < accounts; account++) this.openAccount((1_000 + this.draw(50_000)) * usdc)
    this.sample()
    this.takePositions()
    const { state } = this.engine
    const fund = state.accounts.open(Ids.insuranceFundBorn, state.sequence)
    state.accounts.setCollateral(fund, options.fundUsdc * usdc)
    state.credited.add(options.fundUsdc * usdc)
    this.fundLowest = BigInt(options.fundUsdc * usdc)
    this.lowestEquity = this.fundLowest
  }

  /** The minute of the fall, and two minutes in which prices recover a little. */
  run(): Report {
    for (let second = 1; second <= fallSeconds + restSeconds; second++) {
      const { fallBps } = this.options
      fallBps.forEach((bps, market) => {
        const lowest = Math.round(begins * (1 - bps / 10_000))
        const fallen = begins - Math.round(((begins - lowest) * Math.min(second, fallSeconds)) / fallSeconds)
        const back = second <= fallSeconds ? 0 : Math.round(((begins - lowest) * (second - fallSeconds)) / (4 * restSeconds))
        this.prices[market] = fallen + back + this.draw(41) - 20
      })
      this.second(second <= fallSeconds)
    }
    return this.report()
  }

  private do(command: Command): Outcome {
    const { engine } = this
    const refusal = engine.admit(command, this.atEpochMs)
    assert(refusal === undefined, `a command of the fall needs a record: ${command.kind}, ${refusal?.refusal}`)
    const outcome = engine.apply(command, engine.sequence + 1, this.atEpochMs)
    this.count()
    return outcome
  }

  /** Counts the record's work for liquidations. */
  private count(): void {
    const { events } = this.engine.state
    for (const event of decode(events.words, 0, events.length)) {
      if (event.event === "LiquidationBegun") this.liquidated.add(event.account)
      else if (event.event === "LiquidationOrdered") this.counts.parts++
      else if (event.event === "LiquidationFeePaid") {
        this.counts.filledParts++
        this.fees += BigInt(event.feeAtoms)
      } else if (event.event === "TakenOver") this.counts.takeovers++
      else if (event.event === "DeleveragingBegun") this.counts.deleveragings++
      else if (event.event === "Deleveraged") this.counts.deleveraged++
      else if (event.event === "MarketStatusSet" && this.engine.state.markets[event.market]!.status === "halted") this.counts.exhausted++
    }
    events.clear()
  }

  private byOperator(operation: Operation) {
    return { ...internal(Principal.operator), operation, idempotencyKey: `operator-${++this.serial}` }
  }

  private openMarket(market: number): void {
    this.do(withFields("PutMarket", this.byOperator(Operation.putMarket), { parameters: parameters(market), effectiveAtEpochMs: 0 }))
    for (const status of ["backfilling", "open"] as const) {
      this.do(withFields("SetMarketStatus", this.byOperator(Operation.setMarketStatus), { market, status }))
    }
  }

  private openAccount(collateralAtoms: number): void {
    const serial = ++this.serial
    const keys = [{
      keyId: `key${serial}`,
      displayPrefix: `key${serial}`,
      secretSha256: serial.toString(16).padStart(64, "0"),
      scopes: 3,
      expiresAtEpochMs: 2 ** 52
    }]
    this.do(withFields("OpenDemoAccounts", this.byOperator(Operation.openDemoAccounts), { collateralAtoms, keys, lifetimeSeconds: 0 }))
  }

  private client(operation: Operation, account: number) {
    return byClient(operation, account, ++this.serial)
  }

  private place(account: number, terms: Terms, timeInForce: Order.TimeInForce) {
    const outcome = this.do(withFields("PlaceOrders", this.client(Operation.placeV1, account), {
      entries: [entry({ ...terms, timeInForce })],
      connection: none
    }))
    const [came] = outcome.entries
    if (came?._tag === "OrderDecided" && timeInForce === Order.gtc) this.resting.push([account, terms.market, came.orderNumber])
  }

  /** Every account takes a position against a maker, seven out of ten long, with a leverage of three to nineteen. */
  private takePositions(): void {
    const { accounts, fallBps } = this.options
    const { state } = this.engine
    for (let at = 0; at < accounts; at++) {
      const account = makers + at
      const market = this.draw(fallBps.length)
      const leverage = 3 + this.draw(16)
      const notional = state.accounts.collateral(account) * leverage
      const quantityAtoms = Math.max(1, Math.floor(notional / (begins * state.markets[market]!.factor)))
      const side = this.draw(10) < 7 ? Order.buy : Order.sell
      const maker = this.draw(makers)
      this.place(maker, { market, side: side === Order.buy ? Order.sell : Order.buy, priceAtoms: begins, quantityAtoms }, Order.gtc)
      this.place(account, { market, side, priceAtoms: begins, quantityAtoms }, Order.ioc)
    }
    for (const [account, market, orderNumber] of this.resting.splice(0)) this.cancel(account, market, orderNumber)
  }

  private cancel(account: number, market: number, orderNumber: number): void {
    this.do(withFields("CancelOrders", this.client(Operation.cancelV1, account), { entries: [{ market, orderNumber, raw: "" }] }))
    this.counts.cancels++
  }

  private sample(): void {
    this.prices.forEach((priceAtoms, market) =>
      this.do(withFields("SetIndexPrice", internal(Principal.feed), { market, priceAtoms, sourceEpochMs: this.atEpochMs }))
    )
  }

  /** One second: prices, marks, thin quotes, and the venue's own work, with an occasional cancel in between. */
  private second(isFalling: boolean): void {
    this.atEpochMs = (Math.floor(this.atEpochMs / secondMs) + 1) * secondMs
    this.sample()
    this.do({ kind: "MarkTick", ...internal(Principal.timer) })
    let waited = 0
    while (this.engine.nextDueEpochMs <= this.atEpochMs) {
      this.do({ kind: "PassTime", ...internal(Principal.timer) })
      waited++
      if (waited % 8 === 0) {
        const order = this.resting.shift()
        if (order !== undefined) this.cancel(...order)
      }
    }
    this.longestWait = Math.max(this.longestWait, waited)
    this.look()
    this.quote(isFalling)
  }

  /** Makers withdraw their quotes and place thinner ones further away, thinner still while prices fall. */
  private quote(isFalling: boolean): void {
    for (const order of this.resting.splice(0)) this.cancel(...order)
    this.prices.forEach((price, market) => {
      if (this.engine.state.markets[market]!.status !== "open") return
      for (let maker = 0; maker < makers; maker++) {
        const away = isFalling ? 20 + this.draw(300) : 5 + this.draw(50)
        const quantityAtoms = 1 + this.draw(isFalling ? 20_000 : 200_000)
        this.place(maker, { market, side: Order.buy, priceAtoms: price - away, quantityAtoms }, Order.gtc)
        this.place(maker, { market, side: Order.sell, priceAtoms: price + away, quantityAtoms }, Order.gtc)
      }
    })
  }

  /** Checks every account once all examinations of the second are done. */
  private look(): void {
    const { engine } = this
    const { accounts } = engine.state
    const fund = accounts.find(Ids.insuranceFundId)
    for (let account = 0; account < accounts.count; account++) {
      const equity = BigInt(engine.balance(account).equityAtoms)
      if (equity < this.lowestEquity) this.lowestEquity = equity
      if (account === fund && equity < this.fundLowest) this.fundLowest = equity
    }
  }

  private report(): Report {
    const { engine } = this
    const { accounts, credited, fees, fundingPool, positions } = engine.state
    let held = fees.atoms + fundingPool.atoms
    let size = 0
    let leftUnder = 0
    for (let account = 0; account < accounts.count; account++) {
      held += BigInt(accounts.collateral(account))
      const { equityAtoms, maintenanceMarginAtoms } = engine.balance(account)
      if (equityAtoms < maintenanceMarginAtoms) leftUnder++
    }
    for (let slot = 0; slot < positions.count; slot++) {
      const entry = BigInt(positions.entryNotional(slot))
      held += positions.quantity(slot) > 0 ? -entry : entry
      size += positions.quantity(slot)
    }
    return {
      records: engine.sequence,
      liquidated: this.liquidated.size,
      ...this.counts,
      longestWaitRecords: this.longestWait,
      feesToFund: this.fees,
      fundLowest: this.fundLowest,
      fundAtTheEnd: BigInt(engine.balance(accounts.find(Ids.insuranceFundId)).equityAtoms),
      lowestEquity: this.lowestEquity,
      leftUnder,
      missingAtoms: credited.atoms - held,
      unbalancedSize: size,
      brokenInvariant: Invariants.firstBroken(engine.state)
    }
  }
}

/** Runs the fall and returns the results. */
export const fall = (options: Options): Report => new Fall(options).run()
