/** Drives an engine by hand or at random, for tests and benches: markets, accounts, and streams of commands. */
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { type AutoClose, noAutoClose, noTrigger, type Trigger } from "../../src/operations/accounts/AutoClose.js"
import { type Command, Operation, type Outcome } from "../../src/operations/Operations.js"
import type { PlaceEntry, PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { type Answer, answerOf, type AnyGiven, complete, completeAny, grant, type OrderAnswer, orderAnswerOf } from "./commands.js"

/** An index that never becomes stale and may take any step, and a mark that is the index: for tests that are not about those. */
export const patient: Market.RiskParameters = {
  indexStaleMs: 366 * 86_400_000,
  indexStepMaxBps: 10 ** 9,
  markBandBps: 0,
  impactNotionalAtoms: 1_000_000_000,
  fundingIntervalMs: 3_600_000,
  fundingCapE9: 0,
  liquidationFeeBps: 0
}

/** A small market in which all limits are within reach: scales 1 and 3, prices around 100.0. */
export const parameters = (base: string, change: Partial<Market.Parameters> = {}): Market.Parameters => ({
  marketId: `${base}-USDC-PERP`,
  baseAsset: base,
  quoteAsset: "USDC",
  settlementAsset: "USDC",
  underlyingSymbol: `${base}/USD`,
  marketType: "crypto",
  logoUrl: "",
  priceScale: 1,
  quantityScale: 3,
  minPriceAtoms: 1,
  maxPriceAtoms: 100_000,
  minQuantityAtoms: 1,
  maxQuantityAtoms: 100_000,
  maxPositionQuantityAtoms: 500_000,
  initialMarginBps: 1000,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 500 }],
  maxLeverageX: 10,
  makerFeeBps: 2,
  takerFeeBps: 5,
  priceBandBps: 1000,
  ...patient,
  ...change
})

export class Driver {
  readonly engine: Engine
  atEpochMs = 1_700_000_000_000
  private keys = 0

  constructor(engine: Engine = Engine.make({ orders: 10_000, idempotencyKeys: 10_000 })) {
    this.engine = engine
  }

  /** A driver over a small engine, for full tables. */
  static small(orders: number, idempotencyKeys: number): Driver {
    return new Driver(Engine.make({ orders, idempotencyKeys }))
  }

  /** Admits and applies a command as the sequencer would. */
  run(command: Command): Outcome {
    const { engine } = this
    const admitted = engine.admit(command, this.atEpochMs)
    return admitted ?? engine.apply(command, engine.sequence + 1, this.atEpochMs)
  }

  /** Runs a command in short form. */
  send(given: AnyGiven): Outcome {
    return this.run(completeAny(given))
  }

  /** The answer of a command's first entry. */
  ask(given: AnyGiven): Answer {
    return answerOf(this.send(given).entries[0])
  }

  nextKey(): string {
    return `key-${++this.keys}`
  }

  market(market: Market.Parameters, indexPriceAtoms: number): number {
    this.send({ kind: "PutMarket", idempotencyKey: this.nextKey(), parameters: market })
    const index = this.engine.findMarket(market.marketId)
    this.send({ kind: "SetMarketStatus", idempotencyKey: this.nextKey(), market: index, status: "backfilling" })
    this.send({ kind: "SetMarketStatus", idempotencyKey: this.nextKey(), market: index, status: "open" })
    this.price(index, indexPriceAtoms)
    return index
  }

  /** Sets an index price, which is the mark from the next tick on. */
  price(market: number, priceAtoms: number): void {
    this.send({ kind: "SetIndexPrice", idempotencyKey: "", market, priceAtoms, sourceEpochMs: this.atEpochMs })
  }

  /** Sets an index price, and makes the mark follow. */
  index(market: number, priceAtoms: number): void {
    this.price(market, priceAtoms)
    this.mark()
  }

  /** Makes the marks of the next second. */
  mark(): void {
    if (this.engine.nextTickEpochMs(this.atEpochMs) > this.atEpochMs) this.atEpochMs += 1000 - (this.atEpochMs % 1000)
    this.send({ kind: "MarkTick" })
  }

  /** Adds the record for which the engine waits, at its time. */
  pass(): void {
    const { engine } = this
    const due = Math.min(engine.nextDueEpochMs, engine.nextTickEpochMs(this.atEpochMs))
    if (due !== Number.POSITIVE_INFINITY) this.atEpochMs = Math.max(this.atEpochMs, due)
    this.send({ kind: engine.nextTickEpochMs(this.atEpochMs) <= this.atEpochMs ? "MarkTick" : "PassTime" })
  }

  account(collateralAtoms: number): number {
    const idempotencyKey = this.nextKey()
    const keys = [grant(`key_${idempotencyKey}`)]
    return this.ask({ kind: "OpenDemoAccounts", idempotencyKey, collateralAtoms, keys }).account!
  }

  placement(account: number, ...entries: ReadonlyArray<Partial<PlaceEntry>>): PlaceOrders {
    return complete({
      kind: "PlaceOrders",
      operation: Operation.placeBatchV1,
      account,
      idempotencyKey: this.nextKey(),
      entries: entries.map((entry) => ({ ...plain, ...entry }))
    })
  }

  place(account: number, entry: Partial<PlaceEntry>): OrderAnswer {
    return orderAnswerOf(this.run(this.placement(account, entry)).entries[0])
  }

  /** Sets how long decisions are remembered from now on. */
  retain(retentionMs: number): Outcome {
    return this.send({ kind: "SetLimits", idempotencyKey: this.nextKey(), retentionMs })
  }

  /** Sets or disarms an account's dead-man switch: a command that reduces risk and is always remembered. */
  deadMan(account: number, timeoutMs = 0): Outcome {
    return this.send({ kind: "SetCancelAllAfter", account, idempotencyKey: this.nextKey(), timeoutMs })
  }

  cancel(account: number, orderNumber: number, market = -2): OrderAnswer {
    return orderAnswerOf(this.send({
      kind: "CancelOrders",
      operation: Operation.cancelV1,
      account,
      idempotencyKey: this.nextKey(),
      entries: [{ market, orderNumber, raw: "" }]
    }).entries[0])
  }

  /** Amends an order: a price of 0 or a quantity of -1 leaves it unchanged. */
  amend(account: number, orderNumber: number, priceAtoms: number, quantityAtoms: number): OrderAnswer {
    return orderAnswerOf(this.send({
      kind: "AmendOrder",
      operation: Operation.amendV1,
      account,
      idempotencyKey: this.nextKey(),
      market: -2,
      orderNumber,
      priceAtoms,
      quantityAtoms,
      fault: 0,
      raw: ""
    }).entries[0])
  }

  cancelAll(account: number, market = -2): Answer {
    return this.ask({
      kind: "CancelAllOrders",
      operation: Operation.cancelAllV1,
      account,
      idempotencyKey: this.nextKey(),
      market,
      raw: ""
    })
  }

  /** Arms the dead-man switch, or disarms it with 0. */
  cancelAllAfter(account: number, timeoutMs: number): Answer {
    return this.ask({
      kind: "SetCancelAllAfter",
      operation: Operation.cancelAllAfterV1,
      account,
      idempotencyKey: this.nextKey(),
      timeoutMs
    })
  }

  leverage(account: number, market: number, leverageX: number): Answer {
    return this.ask({
      kind: "SetLeverage",
      operation: Operation.setLeverageV1,
      account,
      idempotencyKey: this.nextKey(),
      market,
      leverageX
    })
  }

  /** Sets take-profit and stop-loss of an account's position in a market; without triggers they are cancelled. */
  autoClose(account: number, market: number, autoClose: Partial<AutoClose>): Answer {
    return this.ask({
      kind: "SetAutoClose",
      operation: Operation.setAutoCloseV1,
      account,
      idempotencyKey: this.nextKey(),
      market,
      ...noAutoClose,
      ...autoClose,
      fault: 0,
      raw: ""
    })
  }

  fence(account: number, fencedKey: string, fencedClientOrderId = ""): Answer {
    return this.ask({
      kind: "FenceOutcome",
      operation: Operation.fenceV1,
      account,
      idempotencyKey: this.nextKey(),
      fencedKey,
      fencedClientOrderId
    })
  }
}

/** A limit buy of 1.000 at 100.0 in the first market. */
export const plain: PlaceEntry = {
  market: 0,
  clientOrderId: "",
  side: Order.buy,
  type: Order.limit,
  timeInForce: Order.gtc,
  priceAtoms: 1000,
  quantityAtoms: 1000,
  postOnly: false,
  reduceOnly: false,
  selfTradePrevention: Order.cancelResting,
  expiresAtEpochMs: 0,
  fault: 0,
  raw: "",
  autoClose: noAutoClose
}

/** A generator of 32-bit numbers (mulberry32), so that streams are the same on every machine. */
export const generator = (seed: number): () => number => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

/**
 * A driver that runs commands drawn by seed: every order option, cancels, amendments, index moves, statuses, halts, retentions, switches,
 * fences, and days that pass.
 */
export class RandomDriver extends Driver {
  private readonly next: () => number
  private readonly accounts: Array<number> = []
  private readonly numbers: Array<readonly [account: number, orderNumber: number]> = []
  private around = 1000

  constructor(seed: number, engine?: Engine) {
    super(engine)
    this.next = generator(seed)
    const moves = { markBandBps: 100, impactNotionalAtoms: 50_000_000, fundingIntervalMs: 10_000, fundingCapE9: 40_000_000 }
    this.market(parameters("AAA", moves), this.around)
    this.market(parameters("BBB", { ...moves, makerFeeBps: 0, quantityScale: 2, priceScale: 1 }), this.around)
    for (let index = 0; index < 6; index++) this.accounts.push(this.account(index === 5 ? 20_000_000 : 300_000_000))
  }

  private below(count: number): number {
    return this.next() % count
  }

  private chance(percent: number): boolean {
    return this.below(100) < percent
  }

  private entry(): Partial<PlaceEntry> {
    const market = this.chance(15) ? Order.market : Order.limit
    const immediate = market === Order.market || this.chance(15)
    const reduceOnly = this.chance(25)
    return {
      market: this.below(2),
      clientOrderId: this.chance(30) ? `c${this.below(50)}` : "",
      side: this.below(2) as Order.Side,
      type: market,
      timeInForce: immediate ? Order.ioc : Order.gtc,
      priceAtoms: market === Order.market && this.chance(70) ? 0 : this.around - 120 + this.below(240),
      quantityAtoms: 1 + this.below(this.chance(5) ? 200_000 : 3_000),
      postOnly: !immediate && this.chance(15),
      reduceOnly,
      autoClose: !reduceOnly && this.chance(10) ? this.closing() : noAutoClose,
      selfTradePrevention: this.below(3) as Order.SelfTradePrevention,
      expiresAtEpochMs: this.chance(8) ? this.atEpochMs + this.below(20_000) : 0
    }
  }

  /** A take-profit and stop-loss of a long or a short, at any price. */
  private closing(): AutoClose {
    const trigger = (way: number): Trigger => ({
      priceAtoms: this.around + way * (1 + this.below(40)),
      by: this.below(3) as Trigger["by"],
      limitAtoms: this.chance(20) ? this.around + this.below(61) - 30 : 0
    })
    const way = this.chance(50) ? 1 : -1
    return { takeProfit: trigger(way), stopLoss: this.chance(70) ? trigger(-way) : noTrigger }
  }

  /** Amends one of the newest orders: its price, its quantity, or both. */
  private amendOne(): Outcome {
    const [account, orderNumber] = this.numbers[this.numbers.length - 1 - this.below(Math.min(40, this.numbers.length))]!
    return this.send({
      kind: "AmendOrder",
      operation: Operation.amendV1,
      account,
      idempotencyKey: this.nextKey(),
      market: -2,
      orderNumber,
      priceAtoms: this.chance(50) ? 0 : this.around - 120 + this.below(240),
      quantityAtoms: this.chance(30) ? -1 : 1 + this.below(3_000),
      fault: 0,
      raw: ""
    })
  }

  /** Commands that act on all of an account's orders, now or later, and fences. */
  private withTime(account: number): Outcome {
    const common = { account, idempotencyKey: this.nextKey() }
    switch (this.below(6)) {
      case 5: {
        const closing = this.chance(20) ? noAutoClose : this.closing()
        return this.send({
          kind: "SetAutoClose",
          ...common,
          market: this.below(3) - (this.chance(20) ? 2 : 0),
          ...closing,
          fault: 0,
          raw: ""
        })
      }
      case 4: {
        const leverageX = this.chance(10) ? 1 : 5 + this.below(7)
        return this.send({ kind: "SetLeverage", operation: Operation.setLeverageV1, ...common, market: this.below(2), leverageX })
      }
      case 0:
        return this.send({ kind: "CancelAllOrders", operation: Operation.cancelAllV1, ...common, market: this.below(3) - 2, raw: "" })
      case 1: {
        const timeoutMs = this.chance(30) ? 0 : 1000 + this.below(9000)
        return this.send({ kind: "SetCancelAllAfter", operation: Operation.cancelAllAfterV1, ...common, timeoutMs })
      }
      case 2: {
        const fencedKey = this.chance(50) ? `key-${this.below(2000)}` : ""
        const fencedClientOrderId = fencedKey === "" ? `c${this.below(60)}` : ""
        return this.send({ kind: "FenceOutcome", operation: Operation.fenceV1, ...common, fencedKey, fencedClientOrderId })
      }
      default:
        return this.send({ kind: "PassTime" })
    }
  }

  /** An account and one of its orders, as a step would place it. */
  draw(): readonly [account: number, entry: PlaceEntry] {
    const account = this.accounts[this.below(this.accounts.length)]!
    return [account, this.placement(account, this.entry()).entries[0]!]
  }

  /** One command. */
  step(): Outcome {
    this.atEpochMs += this.chance(1) ? 40_000_000 : this.below(1000)
    if (this.engine.nextTickEpochMs(this.atEpochMs) <= this.atEpochMs && this.chance(30)) return this.send({ kind: "MarkTick" })
    const kind = this.below(100)
    const account = this.accounts[this.below(this.accounts.length)]!
    if (kind < 2) {
      this.around = Math.max(500, Math.min(2000, this.around + this.below(101) - 50))
      return this.send({
        kind: "SetIndexPrice",
        idempotencyKey: "",
        market: this.below(2),
        priceAtoms: this.around,
        sourceEpochMs: this.atEpochMs
      })
    }
    if (kind < 3) {
      const status = (["open", "open", "reduce_only", "paused", "cancel_only", "halted"] as const)[this.below(6)]!
      return this.send({ kind: "SetMarketStatus", idempotencyKey: this.nextKey(), market: this.below(2), status })
    }
    if (kind === 4 && account === this.accounts[0]) return this.retain([10, 60, 24 * 60][this.engine.sequence % 3]! * 60_000)
    if (kind < 5) {
      const kind = this.engine.halted || this.chance(90) ? "ResumeEngine" : "HaltEngine"
      return this.send({ kind, idempotencyKey: this.nextKey() })
    }
    if (kind < 30 && this.numbers.length > 0) {
      const [owner, orderNumber] = this.numbers[this.below(this.numbers.length)]!
      return this.send({
        kind: "CancelOrders",
        operation: Operation.cancelBatchV1,
        account: this.chance(95) ? owner : account,
        idempotencyKey: this.nextKey(),
        entries: [{ market: -2, orderNumber, raw: "" }]
      })
    }
    if (kind < 38 && this.numbers.length > 0) return this.amendOne()
    if (kind < 39) return this.withTime(account)
    const entries = Array.from({ length: this.chance(20) ? 1 + this.below(8) : 1 }, () => this.entry())
    const outcome = this.run(this.placement(account, ...entries))
    for (const entry of outcome.entries) if (entry._tag === "OrderDecided") this.numbers.push([account, entry.orderNumber])
    return outcome
  }
}

/**
 * A driver whose traders are ruined: accounts with little money at high leverage in three markets, whose marks jump. Commands are drawn by
 * seed.
 */
export class RuinousDriver extends Driver {
  private readonly next: () => number
  private readonly marks = [1000, 1000, 1000]
  private readonly accounts: Array<number> = []

  constructor(seed: number, engine?: Engine) {
    super(engine)
    this.next = generator(seed)
    const maintenanceMarginTiers = [
      { notionalThresholdAtoms: 0, maintenanceMarginBps: 200 },
      { notionalThresholdAtoms: 400_000_000, maintenanceMarginBps: 700 }
    ]
    for (const base of ["AAA", "BBB", "CCC"]) {
      this.market(parameters(base, { maintenanceMarginTiers, initialMarginBps: 500, maxLeverageX: 20, liquidationFeeBps: 50 }), 1000)
    }
    for (let at = 0; at < 8; at++) this.accounts.push(this.account((20 + this.below(300)) * 1_000_000))
  }

  below(bound: number): number {
    return this.next() % bound
  }

  /** One more command: an order near the mark, a jump of an index with its tick, or the record that the venue waits for. */
  step(): void {
    const what = this.below(10)
    const market = this.below(3)
    const mark = this.marks[market]!
    if (what < 6) {
      const account = this.accounts[this.below(8)]!
      // Turned away where the index moved while the market was halted.
      this.run(this.placement(account, {
        market,
        side: this.below(2) as Order.Side,
        priceAtoms: Math.max(1, mark + this.below(41) - 20),
        quantityAtoms: 1 + this.below(8_000),
        timeInForce: this.below(3) === 0 ? Order.ioc : Order.gtc,
        reduceOnly: this.below(8) === 0
      }))
    } else if (what < 8) {
      const jump = this.below(20) === 0 ? 150 : 25
      this.marks[market] = Math.min(3000, Math.max(300, mark + this.below(2 * jump + 1) - jump))
      this.index(market, this.marks[market])
    } else this.pass()
  }
}

/** A driver's state line by line, independent of how it is stored. */
export const canonical = ({ engine }: Driver): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(engine.state, (line) => lines.push(line))
  return lines
}

/** A driver over a restored copy of another's state, at the same time. */
export const restored = (driver: Driver): Driver => {
  const { state } = driver.engine
  const copy = new Driver(new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity)))
  copy.atEpochMs = driver.atEpochMs
  return copy
}

/** Adds a record at a time, as the venue would wake itself to do. */
export const passTo = (driver: Driver, atEpochMs: number): void => {
  driver.atEpochMs = atEpochMs
  driver.send({ kind: "PassTime" })
}
