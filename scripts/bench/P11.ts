/**
 * P11: liquidation with every account in position: 100,000 accounts in one market, alternately long and short, with liquidation prices
 * spread from 1.5 % to 41.5 % away.
 *
 * - `P11-mark`: the record that moves the mark while nobody is liquidated, its 99th percentile; 50 us are allowed.
 * - `P11-cascade`: the mark falls by 4 % in one tick, so that about 3,000 accounts are below their maintenance margin at once; bids take
 *   some of it, the insurance fund takes some, and the rest is deleveraged. The longest record of it; 5 ms are allowed.
 * - `P11-cancel`: a cancel that arrives at any moment of the cascade: it waits for the rest of the current record, and then for its own,
 *   which continues the cascade like any other. Its 99th percentile; 5 ms are allowed.
 */
import { none } from "../../src/domain/None.js"
import { assert } from "../../src/domain/Assert.js"
import * as Ids from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { Engine } from "../../src/engine/Engine.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { type Command, Operation, withFields } from "../../src/operations/Operations.js"
import { uniform } from "./BookOperations.js"
import { byClient, mid, opening } from "./EngineCommands.js"
import { type Options, result, type Section } from "./Section.js"
import { entry } from "./WorstWorld.js"

const accounts = 100_000
const makers = 8
const market = 0
const sizeAtoms = 1_000
const ticks = 3_000
const allowedUs = { mark: 50, record: 5_000, cancel: 5_000 }

class World {
  readonly engine = Engine.make({ orders: 1_000_000, idempotencyKeys: 1_000_000 })
  private serial = 0
  /** The beginning of an hour, so that no funding is paid while the mark walks. */
  atEpochMs = 1_699_999_200_000

  constructor() {
    for (
      const command of opening({ markets: 1, accounts: accounts + makers, resting: 0, liveLimit: 0, count: 0, seed: 1, msPerBlock: 1 })
    ) {
      this.do(command)
    }
    const { state } = this.engine
    const notional = sizeAtoms * mid * state.markets[market]!.factor
    for (let account = 0; account < accounts; account++) {
      state.accounts.setCollateral(account, Math.ceil(notional * (0.021 + (0.4 * account) / accounts)))
    }
    for (let account = 0; account < accounts; account += 2) {
      this.do(this.place(account + 1, Order.sell, mid, sizeAtoms))
      this.do(this.place(account, Order.buy, mid, sizeAtoms))
    }
    assert(state.markets[market]!.openInterest === (accounts / 2) * sizeAtoms, "everybody holds a position")
  }

  place(account: number, side: Order.Side, priceAtoms: number, quantityAtoms: number): Command {
    return {
      kind: "PlaceOrders",
      ...byClient(Operation.placeV1, account, ++this.serial),
      entries: [entry({ market, side, priceAtoms, quantityAtoms })],
      connection: none
    }
  }

  cancel(account: number, orderNumber: number): Command {
    return {
      kind: "CancelOrders",
      ...byClient(Operation.cancelV1, account, ++this.serial),
      entries: [{ market, orderNumber, raw: "" }]
    }
  }

  /** Decides a command, which must result in a record. Returns the time that it took, in microseconds. */
  do(command: Command): number {
    const { engine } = this
    const from = performance.now()
    const refusal = engine.admit(command, this.atEpochMs)
    assert(refusal === undefined, `a command of the bench needs a record: ${command.kind}, ${refusal?.refusal}`)
    engine.apply(command, engine.sequence + 1, this.atEpochMs)
    const microseconds = (performance.now() - from) * 1000
    engine.state.events.clear()
    return microseconds
  }

  /** Moves the index, and with the next second the mark. Returns the time of the record that moved the mark, in microseconds. */
  move(priceAtoms: number): number {
    this.atEpochMs += 1_000
    this.do(withFields("SetIndexPrice", internal(Principal.feed), { market, priceAtoms, sourceEpochMs: 0 }))
    return this.do({ kind: "MarkTick", ...internal(Principal.timer) })
  }
}

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  [...values].sort((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))]!

const told = (values: ReadonlyArray<number>): string =>
  `p50 ${percentile(values, 0.5).toFixed(1)} us, p99 ${percentile(values, 0.99).toFixed(1)} us, longest ${
    Math.max(...values).toFixed(1)
  } us`

/** Lets the mark walk within one percent, where nobody is liquidated. */
const walk = (world: World, log: Options["log"]): number => {
  const draw = uniform(11)
  let at = mid
  const times: Array<number> = []
  for (let tick = 0; tick < ticks; tick++) {
    const to = at + draw(mid / 1_000) - mid / 2_000
    at = Math.min(mid * 1.01, Math.max(mid * 0.99, to))
    times.push(world.move(Math.round(at)))
  }
  assert(world.engine.state.liquidations.size === 0, "nobody is liquidated while the mark walks")
  // The first half is for warming up.
  const counted = times.slice(ticks / 2)
  log(`P11-mark: ${told(counted)}`)
  return percentile(counted, 0.99)
}

/** The fall of the mark and the records that it takes, with a cancel between every few of them. */
const fall = (world: World, log: Options["log"]): { readonly longest: number; readonly cancels: ReadonlyArray<number> } => {
  const { engine } = world
  const { state } = engine
  world.move(mid)
  // Bids for a quarter of what 3,000 accounts hold, a fund that can take a tenth, and orders to cancel.
  const bids = Math.floor((3_000 * sizeAtoms) / 4 / 100)
  for (let at = 0; at < 100; at++) world.do(world.place(accounts + at % makers, Order.buy, Math.floor(mid * 0.965) - at, bids))
  const fund = state.accounts.open(Ids.insuranceFundBorn, state.sequence)
  state.accounts.setCollateral(fund, Math.floor(3_000 * sizeAtoms * mid * state.markets[market]!.factor * 0.1 * 0.02))
  const resting: Array<number> = []
  for (let at = 0; at < 2_000; at++) {
    world.do(world.place(accounts + at % makers, Order.buy, Math.floor(mid * 0.92) - at % 100, 1))
    resting.push(Ids.ordinal(engine.sequence, 0))
  }
  const tick = world.move(Math.round(mid * 0.96))
  const under = state.liquidations.size
  const draw = uniform(12)
  const records = [tick]
  const cancels: Array<number> = []
  const from = performance.now()
  while (engine.nextDueEpochMs <= world.atEpochMs) {
    const took = world.do({ kind: "PassTime", ...internal(Principal.timer) })
    records.push(took)
    const order = resting.pop()
    if (order === undefined) continue
    const own = world.do(world.cancel(accounts + resting.length % makers, order))
    records.push(own)
    cancels.push((draw(1_000) / 1_000) * took + own)
  }
  const milliseconds = performance.now() - from
  const left = state.liquidations.size
  log(
    `P11-cascade: ${under} accounts under liquidation, ${left} left with the second, in ${records.length} records and ${
      milliseconds.toFixed(0)
    } ms`
  )
  log(`P11-cascade: ${told(records)}; ${state.liquidationLog.count} steps`)
  log(`P11-cancel: ${cancels.length} cancels, ${told(cancels)}`)
  return { longest: Math.max(...records.slice(1)), cancels }
}

const run = (options: Options) => {
  const marks: Array<number> = []
  const longest: Array<number> = []
  const cancels: Array<number> = []
  // In the first world the cascade is measured while its code is being compiled: it only warms up.
  fall(new World(), () => {})
  for (let at = 0; at < options.runs; at++) {
    const world = new World()
    marks.push(walk(world, options.log))
    const fell = fall(world, options.log)
    longest.push(fell.longest)
    cancels.push(percentile(fell.cancels, 0.99))
  }
  const middle = (values: ReadonlyArray<number>) => percentile(values, 0.5)
  return Promise.resolve([
    result("P11-mark", "us, p99", middle(marks), allowedUs.mark),
    result("P11-cascade", "us, longest record", middle(longest), allowedUs.record),
    result("P11-cancel", "us, p99", middle(cancels), allowedUs.cancel)
  ])
}

export const section: Section = { name: "P11", run }
