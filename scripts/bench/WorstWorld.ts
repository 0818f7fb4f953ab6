/**
 * A venue as full as its bounds allow, for finding the most expensive command: 1 M resting orders under 1 M keys, 100,000 accounts, 200
 * markets. Records are timed as `admit` and `apply`, as in a turn of the writer.
 *
 * - The *crowd*: accounts with 200 offers of one atom each in the deep market, so that a sweep meets a new maker each time.
 * - The *hoarder*: one account with as many open orders as it may have in every market, all of them bids beyond the mark.
 * - *Holders*: every account holds a position in one market, and two of them hold one in every market.
 * - The *syndicate*: as many accounts as a sweep meets orders, each with an order in every market.
 */
import { none } from "../../src/domain/None.js"
import { assert } from "../../src/domain/Assert.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { type Command, Operation, type Outcome, withFields } from "../../src/operations/Operations.js"
import type { PlaceEntry, PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { byClient, forAsLongAsGranted, mid, opening, type Shape } from "./EngineCommands.js"

export const shape: Shape = { markets: 200, accounts: 100_000, resting: 0, liveLimit: 0, count: 0, seed: 1, msPerBlock: 1 }
export const accountOrders = 200
export const batch = 32

/** The market in which sweeps find the crowd's offers. */
export const deep = 0
/** The market in which every account has a position. */
export const held = 1
export const hoarder = shape.accounts - 1
/** An account without any money. */
export const penniless = shape.accounts
/** An account that can place any order: it has no orders, and a position like any other. */
export const rich = shape.accounts - 2

/** The hoarder's highest bid, and nobody else bids at or below it: it is above the mark once that has fallen to `low`. */
const hoarded = mid - 1
/** A mark below all of the hoarder's bids, whose band still contains them. */
export const low = mid - 4_000

/** The syndicate's first account, and how many they are. */
const syndicate = { from: 95_000, accounts: 1_024 } as const

export type Terms = Partial<Omit<PlaceEntry, "market" | "side">> & Pick<PlaceEntry, "market" | "side">

export const entry = (terms: Terms): PlaceEntry => ({
  clientOrderId: "",
  type: Order.limit,
  timeInForce: Order.gtc,
  priceAtoms: mid,
  quantityAtoms: 1,
  postOnly: false,
  reduceOnly: false,
  selfTradePrevention: Order.cancelResting,
  expiresAtEpochMs: 0,
  fault: Refusal.none,
  raw: "",
  autoClose: noAutoClose,
  ...terms
})

/** A market order that takes as much as it may. */
export const sweep = (side: Order.Side, quantityAtoms = 1_000_000): PlaceEntry =>
  entry({ market: deep, side, type: Order.market, timeInForce: Order.ioc, priceAtoms: 0, quantityAtoms })

export class World {
  readonly engine: Engine
  private serial = 0
  private now = 1_700_000_000_000

  constructor(private readonly resting: number) {
    this.engine = Engine.make({ orders: 4_000_000, idempotencyKeys: 6_000_000 })
    for (const command of opening(shape)) this.do(command)
    this.do(withFields("OpenDemoAccounts", this.byOperator(Operation.openDemoAccounts), {
      collateralAtoms: 0,
      lifetimeSeconds: forAsLongAsGranted,
      keys: [{ keyId: "none", displayPrefix: "none", secretSha256: "f".repeat(64), scopes: 3, expiresAtEpochMs: 2 ** 52 }]
    }))
    this.hold()
    this.spread()
    this.crowd()
    assert(this.engine.state.openOrders >= resting, "as many orders rest as are to")
  }

  get atEpochMs(): number {
    return this.now
  }

  /** Lets time pass before the next record. */
  later(ms: number): void {
    this.now += ms
  }

  /** A client's command with a new key. */
  byClient(operation: Operation, account: number) {
    return byClient(operation, account, ++this.serial)
  }

  byOperator(operation: Operation) {
    return { ...internal(Principal.operator), operation, idempotencyKey: `operator-${++this.serial}` }
  }

  place(account: number, entries: ReadonlyArray<PlaceEntry>): PlaceOrders {
    return { kind: "PlaceOrders", ...this.byClient(Operation.placeV1, account), entries, connection: none }
  }

  /** Decides a command, which must result in a record. */
  do(command: Command): Outcome {
    const { engine } = this
    const refusal = engine.admit(command, this.now)
    assert(refusal === undefined, `a command of the bench needs a record: ${command.kind}, ${refusal?.refusal}`)
    const outcome = engine.apply(command, engine.sequence + 1, this.now)
    engine.state.events.clear()
    return outcome
  }

  /** The time that a command takes in microseconds, including its record where it needs one. */
  time(command: Command): number {
    const { engine } = this
    const from = performance.now()
    if (engine.admit(command, this.now) === undefined) engine.apply(command, engine.sequence + 1, this.now)
    const microseconds = (performance.now() - from) * 1000
    engine.state.events.clear()
    return microseconds
  }

  passTime(): Command {
    return { kind: "PassTime", ...internal(Principal.timer) }
  }

  setIndex(market: number, priceAtoms: number): Command {
    return withFields("SetIndexPrice", internal(Principal.feed), { market, priceAtoms, sourceEpochMs: 0 })
  }

  markTick(): Command {
    return { kind: "MarkTick", ...internal(Principal.timer) }
  }

  /** Computes all marks again, a second after the last time. Returns the slowest of these records, in microseconds. */
  tick(): number {
    this.later(1_000)
    let slowest = 0
    while (this.engine.nextTickEpochMs(this.now) <= this.now) slowest = Math.max(slowest, this.time(this.markTick()))
    return slowest
  }

  /** Moves the mark of one market to its index, and leaves all others as they are. */
  moveMark(market: number, priceAtoms: number): void {
    this.do(this.setIndex(market, priceAtoms))
    this.tick()
  }

  /** Lets the venue complete the work that its own records continue. */
  settle(): void {
    while (this.engine.nextDueEpochMs <= this.now) this.do(this.passTime())
  }

  /** Fills each of the hoarder's markets up to its limit. */
  hoard(markets = shape.markets): void {
    const { positions } = this.engine.state
    for (let market = 0; market < markets; market++) {
      const slot = positions.find(hoarder, market)
      const open = slot < 0 ? 0 : positions.openCount(slot)
      for (let at = open; at < accountOrders; at += batch) {
        const entries = Array.from({ length: Math.min(batch, accountOrders - at) }, () =>
          entry({ market, side: Order.buy, priceAtoms: hoarded }))
        this.do(this.place(hoarder, entries))
      }
    }
  }

  /** Places the syndicate's offers ahead of the crowd's. */
  syndicateOffers(): void {
    for (let at = 0; at < syndicate.accounts; at++) {
      this.do(this.place(syndicate.from + at, [entry({ market: deep, side: Order.sell })]))
    }
  }

  /** Ends the funding interval of every market, each with all its samples. Returns the slowest such record, in microseconds. */
  endIntervals(): number {
    const { markets } = this.engine.state
    for (const market of markets) {
      market.beginInterval(Math.floor(this.now / market.parameters.fundingIntervalMs))
      market.premiumSamples = market.parameters.fundingIntervalMs / 5_000
    }
    this.now += markets[deep]!.parameters.fundingIntervalMs - this.now % markets[deep]!.parameters.fundingIntervalMs
    const slowest = this.tick()
    this.settle()
    return slowest
  }

  /** Places an order for each of the syndicate in every market, and gives two other accounts a position in each. */
  private spread(): void {
    for (let market = 0; market < shape.markets; market++) {
      this.do(this.place(syndicate.from - 2, [entry({ market, side: Order.sell })]))
      this.do(this.place(syndicate.from - 1, [entry({ market, side: Order.buy })]))
      for (let at = 0; at < syndicate.accounts; at++) {
        this.do(this.place(syndicate.from + at, [entry({ market, side: Order.buy, priceAtoms: hoarded })]))
      }
    }
  }

  /** Gives every account a position in one market, alternately long and short. */
  private hold(): void {
    for (let account = 0; account + 1 < shape.accounts; account += 2) {
      this.do(this.place(account, [entry({ market: held, side: Order.sell, quantityAtoms: 2 })]))
      this.do(this.place(account + 1, [entry({ market: held, side: Order.buy, quantityAtoms: 2 })]))
    }
  }

  /**
   * Places the crowd's orders, half of them offers in the deep market, the others spread over all markets, and among them the hoarder's:
   * neither an account's orders nor those at one price are adjacent in memory.
   */
  private crowd(): void {
    const hoarderEvery = Math.floor(this.resting / (shape.markets * accountOrders))
    for (let at = 0; this.engine.state.openOrders < this.resting; at++) {
      const account = at % 90_000
      const market = at % 2 === 0 ? deep : at % shape.markets
      this.do(this.place(account, [entry({ market, side: Order.sell, priceAtoms: mid + 1 + at % 500 })]))
      if (at % hoarderEvery === 0) {
        const to = Math.floor(at / hoarderEvery) % shape.markets
        this.do(this.place(hoarder, [entry({ market: to, side: Order.buy, priceAtoms: hoarded })]))
      }
    }
    this.hoard()
  }
}
