/**
 * A venue as full as its bounds allow, for one who looks for the dearest command: 1 M resting orders under 1 M keys, 100,000
 * accounts, 200 markets. Whoever asks has a record timed: `admit` and `apply`, as a turn of the writer does them.
 *
 * - The *crowd*: accounts with 200 offers of one atom each in the deep market, so that a sweep meets a new maker each time.
 * - The *hoarder*: one account with as many open orders as it may have in every market, all of them bid beyond the mark.
 * - *Holders*: every account holds a position in one market, and two of them one in each.
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
/** One that may place what it likes: it has no orders and a position like any other. */
export const rich = shape.accounts - 2

/** The hoarder bids up to this price, and nobody else below or at it: above the mark once that has fallen to `low`. */
const hoarded = mid - 1
/** A mark below all that the hoarder bids, whose band holds these bids still. */
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

/** A market order that takes all it may. */
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

  /** A client's command of its own key. */
  byClient(operation: Operation, account: number) {
    return byClient(operation, account, ++this.serial)
  }

  byOperator(operation: Operation) {
    return { ...internal(Principal.operator), operation, idempotencyKey: `operator-${++this.serial}` }
  }

  place(account: number, entries: ReadonlyArray<PlaceEntry>): PlaceOrders {
    return { kind: "PlaceOrders", ...this.byClient(Operation.placeV1, account), entries, connection: none }
  }

  /** Decides a command, which must come to a record. */
  do(command: Command): Outcome {
    const { engine } = this
    const refusal = engine.admit(command, this.now)
    assert(refusal === undefined, `a command of the bench needs a record: ${command.kind}, ${refusal?.refusal}`)
    const outcome = engine.apply(command, engine.sequence + 1, this.now)
    engine.state.events.clear()
    return outcome
  }

  /** Microseconds that a command takes, its record with it where it needs one. */
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

  /** Makes all marks anew, a second after they were made last; the slowest of the records that do so, microseconds. */
  tick(): number {
    this.later(1_000)
    let slowest = 0
    while (this.engine.nextTickEpochMs(this.now) <= this.now) slowest = Math.max(slowest, this.time(this.markTick()))
    return slowest
  }

  /** Moves the mark of one market to its index, and makes all others as they are. */
  moveMark(market: number, priceAtoms: number): void {
    this.do(this.setIndex(market, priceAtoms))
    this.tick()
  }

  /** Lets the venue finish what its own records go on with. */
  settle(): void {
    while (this.engine.nextDueEpochMs <= this.now) this.do(this.passTime())
  }

  /** Fills the hoarder's every market up to its limit. */
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

  /** Puts the syndicate's offers in front of the crowd's. */
  syndicateOffers(): void {
    for (let at = 0; at < syndicate.accounts; at++) {
      this.do(this.place(syndicate.from + at, [entry({ market: deep, side: Order.sell })]))
    }
  }

  /** Ends the funding interval of every market, each sampled in full; the slowest record that does so, microseconds. */
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

  /** Rests an order of each of the syndicate in every market, and gives two others a position in each. */
  private spread(): void {
    for (let market = 0; market < shape.markets; market++) {
      this.do(this.place(syndicate.from - 2, [entry({ market, side: Order.sell })]))
      this.do(this.place(syndicate.from - 1, [entry({ market, side: Order.buy })]))
      for (let at = 0; at < syndicate.accounts; at++) {
        this.do(this.place(syndicate.from + at, [entry({ market, side: Order.buy, priceAtoms: hoarded })]))
      }
    }
  }

  /** Gives every account a position in one market: by turns long and short. */
  private hold(): void {
    for (let account = 0; account + 1 < shape.accounts; account += 2) {
      this.do(this.place(account, [entry({ market: held, side: Order.sell, quantityAtoms: 2 })]))
      this.do(this.place(account + 1, [entry({ market: held, side: Order.buy, quantityAtoms: 2 })]))
    }
  }

  /**
   * Rests the crowd's orders, half of them offers in the deep market, the others strewn over all markets, and between them
   * the hoarder's: neither the orders of an account nor those of a price lie next to each other.
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
