/**
 * The stream of commands that P2 and P6 run, over many markets and accounts: in every market the prices of P1 (buys at mid - U[0,50], sells
 * at mid + U[0,50], the mid moving by one with a probability of 2 %), sizes U[1,100]; 55 % new limit orders, 40 % cancels of a random live
 * order, 5 % alternating market and IOC orders. Each command is of a random account in one of the four markets it trades, with its API key,
 * an Idempotency-Key in the form of a UUID and a clientOrderId. The same shape and seed give the same stream, and every command in it needs
 * a record.
 */
import { none } from "../../src/domain/None.js"
import { assert } from "../../src/domain/Assert.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { maxDemoAccounts } from "../../src/operations/accounts/OpenDemoAccounts.js"
import { type KeyGrant, scopeRead, scopeTrade } from "../../src/operations/identity/KeyGrant.js"
import { type Header, internal, Principal } from "../../src/operations/Header.js"
import { type Command, Operation, withFields } from "../../src/operations/Operations.js"
import { refusedCode } from "../../src/operations/Outcome.js"
import type { CancelOrders } from "../../src/operations/orders/CancelOrders.js"
import type { PlaceEntry, PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { versions } from "../../src/sequencer/Versions.js"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { Event, type EventLog } from "../../src/engine/EventLog.js"
import { retentionMs } from "../../src/domain/Retention.js"
import type { Capacity } from "../../src/engine/State.js"
import { uniform } from "./BookOperations.js"

export interface Shape {
  readonly markets: number
  readonly accounts: number
  /** Orders that rest before the stream begins. */
  readonly resting: number
  /** The most orders that rest at any time. */
  readonly liveLimit: number
  /** How many commands the stream may have, without the setup. */
  readonly count: number
  readonly seed: number
  /** The time from one block of 64 commands to the next. It determines how many keys and ended orders are remembered. */
  readonly msPerBlock: number
}

/** A million resting orders, and no commands after them. */
export const millionResting: Shape = {
  markets: 100,
  accounts: 10_000,
  resting: 1_000_000,
  liveLimit: 1_000_000,
  count: 0,
  seed: 17,
  msPerBlock: 1
}

/** Markets that each account trades. */
const marketsPerAccount = 4

/** Commands that share a block and its time. */
export const commandsPerBlock = 64

const firstEpochMs = 1_700_000_000_000
const collateralAtoms = 10 ** 13
/** The index price of every market, in price atoms. */
export const mid = 100_000
const farFuture = 2 ** 52
/** Expiry of the benchmark's API keys: they never expire, however far its clock goes. */
export const forAsLongAsGranted = 0

/** The time of a sequence. */
export const atEpochMs = ({ msPerBlock }: Shape, sequence: number): number =>
  firstEpochMs + Math.floor(sequence / commandsPerBlock) * msPerBlock

/** Risk parameters with an index that never becomes stale, so that no tick falls between the measured commands. */
const patient: Market.RiskParameters = {
  indexStaleMs: 366 * 86_400_000,
  indexStepMaxBps: 1_000_000,
  markBandBps: 100,
  impactNotionalAtoms: 10_000_000_000,
  fundingIntervalMs: 3_600_000,
  fundingCapE9: 40_000_000,
  liquidationFeeBps: 10
}

/** The parameters with which a market is opened. */
export const parameters = (index: number): Market.Parameters => ({
  ...patient,
  marketId: `M${index}-USDC-PERP`,
  baseAsset: `M${index}`,
  quoteAsset: "USDC",
  settlementAsset: "USDC",
  underlyingSymbol: `M${index}/USD`,
  marketType: "crypto",
  logoUrl: "",
  priceScale: 2,
  quantityScale: 3,
  minPriceAtoms: 1,
  maxPriceAtoms: 10_000_000,
  minQuantityAtoms: 1,
  maxQuantityAtoms: 1_000_000,
  maxPositionQuantityAtoms: 50_000_000,
  initialMarginBps: 200,
  maintenanceMarginTiers: [
    { notionalThresholdAtoms: 0, maintenanceMarginBps: 50 },
    { notionalThresholdAtoms: 10 ** 12, maintenanceMarginBps: 100 },
    { notionalThresholdAtoms: 5 * 10 ** 12, maintenanceMarginBps: 250 }
  ],
  maxLeverageX: 50,
  makerFeeBps: 2,
  takerFeeBps: 5,
  priceBandBps: 1000
})

const byOperator = (operation: Operation, idempotencyKey: string): Header => ({
  ...internal(Principal.operator),
  operation,
  idempotencyKey
})

/** A client's header, with a unique fingerprint for every serial, as the edge computes one from each request's body. */
export const byClient = (operation: Operation, account: number, serial: number): Header => ({
  principal: Principal.key,
  account,
  credential: account,
  operation,
  idempotencyKey: keyOf(serial),
  fingerprint: { a: Math.imul(serial, 0x9e3779b1), b: Math.imul(serial, 0x85ebca6b), c: Math.imul(serial, 0xc2b2ae35), d: serial }
})

/** The commands that open the venue, markets and accounts. */
export const opening = ({ accounts, markets }: Shape): Array<Command> => {
  const commands: Array<Command> = [withFields("OpenVenue", internal(Principal.venue), { environment: "development", ...versions })]
  for (let market = 0; market < markets; market++) {
    commands.push(
      withFields("PutMarket", byOperator(Operation.putMarket, `put-${market}`), { parameters: parameters(market), effectiveAtEpochMs: 0 }),
      withFields("SetMarketStatus", byOperator(Operation.setMarketStatus, `backfill-${market}`), { market, status: "backfilling" }),
      withFields("SetMarketStatus", byOperator(Operation.setMarketStatus, `open-${market}`), { market, status: "open" }),
      withFields("SetIndexPrice", internal(Principal.feed), { market, priceAtoms: mid, sourceEpochMs: 0 })
    )
  }
  for (let from = 0; from < accounts; from += maxDemoAccounts) {
    const keys: Array<KeyGrant> = []
    for (let account = from; account < Math.min(accounts, from + maxDemoAccounts); account++) {
      keys.push({
        keyId: `key${account}`,
        displayPrefix: `key${account}`,
        secretSha256: account.toString(16).padStart(64, "0"),
        scopes: scopeRead | scopeTrade,
        expiresAtEpochMs: farFuture
      })
    }
    const values = { collateralAtoms, keys, lifetimeSeconds: forAsLongAsGranted }
    commands.push(withFields("OpenDemoAccounts", byOperator(Operation.openDemoAccounts, `accounts-${from}`), values))
  }
  return commands
}

/** A text in the form of a UUID, unique for every serial. It is a flat string, as if it had been read from a socket. */
const keyOf = (serial: number): string =>
  Buffer.from(`${(Math.imul(serial, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0")}-0000-4000-8000-${String(serial).padStart(12, "0")}`)
    .toString("latin1")

const clientOrderIdOf = (serial: number): string => Buffer.from(`o${serial}`).toString("latin1")

const place = (
  account: number,
  serial: number,
  entry: Pick<PlaceEntry, "market" | "side" | "type" | "timeInForce" | "priceAtoms" | "quantityAtoms">
): PlaceOrders => ({
  kind: "PlaceOrders",
  ...byClient(Operation.placeV1, account, serial),
  connection: none,
  entries: [{
    market: entry.market,
    clientOrderId: clientOrderIdOf(serial),
    side: entry.side,
    type: entry.type,
    timeInForce: entry.timeInForce,
    priceAtoms: entry.priceAtoms,
    quantityAtoms: entry.quantityAtoms,
    postOnly: false,
    reduceOnly: false,
    selfTradePrevention: Order.cancelResting,
    expiresAtEpochMs: 0,
    fault: Refusal.none,
    raw: "",
    autoClose: noAutoClose
  }]
})

const cancel = (account: number, serial: number, market: number, orderNumber: number): CancelOrders => ({
  kind: "CancelOrders",
  ...byClient(Operation.cancelV1, account, serial),
  entries: [{ market, orderNumber, raw: "" }]
})

/** One of an account's markets; all markets have the same number of accounts. */
const marketOf = ({ markets }: Shape, account: number, draw: (below: number) => number): number => {
  const spread = Math.min(marketsPerAccount, markets)
  return (account + draw(spread) * Math.floor(markets / spread)) % markets
}

/** Places the orders that rest before the stream begins, each on its side of the mid. */
export function* resting(shape: Shape): Generator<PlaceOrders> {
  const draw = uniform(shape.seed + 1)
  for (let serial = 0; serial < shape.resting; serial++) {
    const account = draw(shape.accounts)
    const side = draw(2) === 0 ? Order.buy : Order.sell
    const away = 1 + draw(50)
    yield place(account, serial, {
      market: marketOf(shape, account, draw),
      side,
      type: Order.limit,
      timeInForce: Order.gtc,
      priceAtoms: side === Order.buy ? mid - away : mid + away,
      quantityAtoms: 1 + draw(100)
    })
  }
}

/** Slots of live orders that can be drawn at random, with additions and removals in constant time. */
class Live {
  private readonly slots: Int32Array
  private readonly places: Int32Array
  size = 0

  constructor(capacity: number) {
    this.slots = new Int32Array(capacity)
    this.places = new Int32Array(capacity).fill(-1)
  }

  at(place: number): number {
    return this.slots[place]!
  }

  add(slot: number): void {
    this.places[slot] = this.size
    this.slots[this.size++] = slot
  }

  drop(slot: number): void {
    const place = this.places[slot]!
    if (place < 0) return
    const last = this.slots[--this.size]!
    this.slots[place] = last
    this.places[last] = place
    this.places[slot] = -1
  }
}

/** The number of commands in a day. */
export const commandsPerDay = ({ msPerBlock }: Shape): number => Math.ceil(retentionMs / msPerBlock + 1) * commandsPerBlock

/**
 * Tables large enough for everything that the stream's engine remembers at once: ended orders for a day, and keys for a day, or for two
 * where their order was still open at the end of the first.
 */
export const capacityFor = (shape: Shape): Capacity => {
  const day = commandsPerDay(shape)
  const keys = Math.min(shape.count, 2 * day) + shape.resting + shape.accounts + 4 * shape.markets + 16
  const orders = Math.min(shape.count, day + 2 * shape.liveLimit) + shape.resting
  // An eighth of each table is reserved for commands that only reduce risk.
  return { orders: Math.ceil(orders * 8 / 7), idempotencyKeys: Math.ceil(keys * 8 / 7) }
}

/** Visits every event as its code and the index of its first field. */
const eachEvent = (events: EventLog, visit: (code: number, at: number) => void): void => {
  const { words } = events
  for (let at = 0; at < events.length; at += 2 + words[at + 1]!) visit(words[at]!, at + 2)
}

/** Generates a stream by running it on an engine of its own: only the engine knows which orders are still there to be cancelled. */
export class Stream {
  /** Opens the venue, markets and accounts, and places the initial orders, in whole blocks. */
  readonly setup: ReadonlyArray<Command>
  /** How often each thing happened in the commands drawn so far. */
  fills = 0
  refused = 0
  private readonly engine: Engine
  private readonly draw: (below: number) => number
  private readonly live: Live
  private readonly mids: Int32Array
  private serial: number
  private drawn = 0

  constructor(readonly shape: Shape) {
    this.draw = uniform(shape.seed)
    const capacity = capacityFor(shape)
    this.engine = Engine.make(capacity)
    this.live = new Live(capacity.orders)
    this.mids = new Int32Array(shape.markets).fill(mid)
    const setup = [...opening(shape), ...resting(shape)]
    // The stream begins with a block.
    while (setup.length % commandsPerBlock !== 0) setup.push({ kind: "PassTime", ...internal(Principal.timer) })
    for (const command of setup) this.run(command)
    assert(this.refused === 0 && this.live.size > shape.resting * 0.99, "what is to rest rests")
    this.setup = setup
    this.serial = shape.resting
    this.fills = 0
  }

  /** Orders resting now. */
  get restingNow(): number {
    return this.live.size
  }

  /** The stream's next commands. */
  take(count: number): ReadonlyArray<Command> {
    assert(this.drawn + count <= this.shape.count, "a stream is not drawn further than its shape says")
    const commands: Array<Command> = []
    for (let at = 0; at < count; at++) {
      const command = this.next()
      this.run(command)
      commands.push(command)
      this.drawn++
    }
    return commands
  }

  private next(): Command {
    const { draw, live, mids, shape } = this
    const account = draw(shape.accounts)
    const market = marketOf(shape, account, draw)
    if (draw(100) < 2) mids[market]! += draw(2) === 0 ? 1 : -1
    const share = draw(100)
    const side = draw(2) === 0 ? Order.buy : Order.sell
    const quantityAtoms = 1 + draw(100)
    if (share >= 95) {
      const ioc = this.drawn % 2 === 0
      return place(account, this.serial++, {
        market,
        side,
        type: ioc ? Order.limit : Order.market,
        timeInForce: Order.ioc,
        priceAtoms: !ioc ? 0 : side === Order.buy ? mids[market]! + 5 : mids[market]! - 5,
        quantityAtoms
      })
    }
    if ((share < 55 && live.size < shape.liveLimit) || live.size === 0) {
      const away = draw(51)
      const priceAtoms = side === Order.buy ? mids[market]! - away : mids[market]! + away
      return place(account, this.serial++, { market, side, type: Order.limit, timeInForce: Order.gtc, priceAtoms, quantityAtoms })
    }
    const { orders } = this.engine.state
    const order = live.at(draw(live.size))
    return cancel(orders.account(order), this.serial++, orders.market(order), orders.number(order))
  }

  private run(command: Command): void {
    const { engine, live } = this
    const { events, orders } = engine.state
    const sequence = engine.sequence + 1
    const now = atEpochMs(this.shape, sequence)
    assert(engine.admit(command, now) === undefined, "every command of a stream needs a record")
    engine.apply(command, sequence, now)
    eachEvent(events, (code, at) => {
      if (code === Event.Traded) this.fills++
      else if (code === Event.OrderRested) live.add(orders.find(events.words[at]!))
      else if (code === Event.OrderEnded) live.drop(orders.find(events.words[at]!))
      else if (code === Event.EntryDecided && (events.words[at]! & 0xff) === refusedCode) this.refused++
    })
    events.clear()
  }
}

/** An engine that runs a stream. */
export class Runner {
  readonly engine: Engine

  /** Starts at the state in which the stream begins. */
  constructor(private readonly stream: Stream) {
    this.engine = Engine.make(capacityFor(stream.shape))
    this.run(stream.setup)
  }

  /**
   * Seconds for the stream's next commands: `admit` and `apply` of each, with the events dropped after every 64, as at the end of a block.
   */
  run(commands: ReadonlyArray<Command>): number {
    const { engine, stream } = this
    const { events } = engine.state
    let sequence = engine.sequence
    const startedAt = performance.now()
    for (const command of commands) {
      const now = atEpochMs(stream.shape, sequence + 1)
      assert(engine.admit(command, now) === undefined, "every command of a stream needs a record")
      engine.apply(command, ++sequence, now)
      if (sequence % commandsPerBlock === 0) events.clear()
    }
    return (performance.now() - startedAt) / 1000
  }
}

/** A summary of the stream so far, for the log. */
export const describe = ({ fills, refused, restingNow, shape }: Stream, commands: number): string =>
  `${commands.toLocaleString("en-US")} commands, ${shape.markets} markets, ${shape.accounts.toLocaleString("en-US")} accounts; `
  + `${fills.toLocaleString("en-US")} fills, ${refused.toLocaleString("en-US")} refused, `
  + `${restingNow.toLocaleString("en-US")} orders rest at the end`
