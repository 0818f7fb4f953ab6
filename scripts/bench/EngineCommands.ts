/**
 * The stream of commands that P2 and P6 run, over many markets and accounts: in every market the prices of P1
 * (buys at mid - U[0,50], sells at mid + U[0,50], the mid moving by one with 2 %), sizes U[1,100]; 55 % new
 * limit orders, 40 % cancels of a random live order, 5 % market and IOC orders by turns; each command of a
 * random account in one of the four markets it trades, under its API key, an Idempotency-Key like a UUID and a
 * clientOrderId.
 * The same shape and seed give the same stream, and every command in it needs a record.
 */
import { assert } from "../../src/domain/Assert.js"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { Event, type EventLog } from "../../src/engine/EventLog.js"
import type { Capacity } from "../../src/engine/State.js"
import { type KeyGrant, maxDemoAccounts, scopeRead, scopeTrade } from "../../src/operations/accounts/OpenDemoAccounts.js"
import { noFingerprint } from "../../src/operations/Fingerprint.js"
import { type Header, internal, Principal } from "../../src/operations/Header.js"
import { type Command, Operation, withFields } from "../../src/operations/Operations.js"
import { refusedCode } from "../../src/operations/Outcome.js"
import type { CancelOrders } from "../../src/operations/orders/CancelOrders.js"
import type { PlaceEntry, PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { versions } from "../../src/sequencer/Versions.js"
import { uniform } from "./BookOperations.js"

export interface Shape {
  readonly markets: number
  readonly accounts: number
  /** Orders that rest before the stream begins. */
  readonly resting: number
  /** Never more orders than this rest. */
  readonly liveLimit: number
  /** Commands of the stream, without the setup. */
  readonly count: number
  readonly seed: number
}

export interface Stream {
  readonly shape: Shape
  /** Opens venue, markets and accounts, and places what rests before: whole blocks. */
  readonly setup: ReadonlyArray<Command>
  readonly commands: ReadonlyArray<Command>
  /** How often each thing happened in the stream. */
  readonly fills: number
  readonly refused: number
  /** Orders resting at its end. */
  readonly restingAtEnd: number
}

/** Markets that one account trades. */
const marketsPerAccount = 4

/** Commands that share a block, and a time. */
export const commandsPerBlock = 64

const firstEpochMs = 1_700_000_000_000
const collateralAtoms = 10 ** 13
const mid = 100_000
const farFuture = 2 ** 52

/** The time of a sequence: a millisecond a block. */
export const atEpochMs = (sequence: number): number => firstEpochMs + Math.floor(sequence / commandsPerBlock)

const parameters = (index: number): Market.Parameters => ({
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

/** The header of an operator's command. */
const operator = (operation: Operation, idempotencyKey: string): Header => ({
  ...internal(Principal.operator),
  operation,
  idempotencyKey
})

/** The header of a client's command, under its only key. */
const client = (operation: Operation, account: number, serial: number): Header => ({
  principal: Principal.key,
  account,
  apiKey: account,
  operation,
  idempotencyKey: keyOf(serial),
  fingerprint: noFingerprint
})

/** Opens venue, markets and accounts. */
export const opening = ({ accounts, markets }: Shape): Array<Command> => {
  const commands: Array<Command> = [
    withFields("OpenVenue", internal(Principal.venue), { environment: "development", ...versions })
  ]
  for (let market = 0; market < markets; market++) {
    commands.push(
      withFields("PutMarket", operator(Operation.putMarket, `put-${market}`), { parameters: parameters(market) }),
      withFields("SetMarketStatus", operator(Operation.setMarketStatus, `backfill-${market}`), { market, status: "backfilling" }),
      withFields("SetMarketStatus", operator(Operation.setMarketStatus, `open-${market}`), { market, status: "open" }),
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
    commands.push(withFields("OpenDemoAccounts", operator(Operation.openDemoAccounts, `accounts-${from}`), { collateralAtoms, keys }))
  }
  return commands
}

const passTime = withFields("PassTime", internal(Principal.timer), {})

/** A text with the length and the look of a UUID, its own for every serial. Flat: as if it came off the wire. */
const keyOf = (serial: number): string =>
  Buffer.from(`${(Math.imul(serial, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0")}-0000-4000-8000-${String(serial).padStart(12, "0")}`)
    .toString("latin1")

const clientOrderIdOf = (serial: number): string => Buffer.from(`o${serial}`).toString("latin1")

const place = (
  account: number,
  serial: number,
  entry: Pick<PlaceEntry, "market" | "side" | "type" | "timeInForce" | "priceAtoms" | "quantityAtoms">
): PlaceOrders => withFields("PlaceOrders", client(Operation.placeV1, account, serial), {
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
    raw: ""
  }]
})

const cancel = (account: number, serial: number, market: number, orderNumber: number): CancelOrders =>
  withFields("CancelOrders", client(Operation.cancelV1, account, serial), { entries: [{ market, orderNumber, raw: "" }] })

/** One of an account's markets: all markets have equally many accounts. */
const marketOf = ({ markets }: Shape, account: number, draw: (below: number) => number): number => {
  const spread = Math.min(marketsPerAccount, markets)
  return (account + draw(spread) * Math.floor(markets / spread)) % markets
}

/** Places what rests before the stream begins, each on its side of the mid. */
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

/** Slots of live orders, drawn from at random, joined and left at once. */
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

/** Room for everything a stream leaves behind: nothing is forgotten within it. */
export const capacityFor = (shape: Shape): Capacity => {
  const placed = shape.count + shape.resting
  return { orders: placed, idempotencyKeys: Math.ceil((placed + shape.accounts + 4 * shape.markets + 16) * 8 / 7) }
}

/** Makes a stream by running it: only the engine knows which orders are still there to cancel. */
export const generate = (shape: Shape): Stream => {
  const draw = uniform(shape.seed)
  const capacity = capacityFor(shape)
  const engine = Engine.make(capacity)
  const { events, orders } = engine.state
  const live = new Live(capacity.orders)
  const mids = new Int32Array(shape.markets).fill(mid)
  let serial = 0
  let fills = 0
  let refused = 0

  const run = (command: Command): void => {
    assert(engine.admit(command, atEpochMs(engine.sequence + 1)) === undefined, "every command of a stream needs a record")
    engine.apply(command, engine.sequence + 1, atEpochMs(engine.sequence + 1))
    eachEvent(events, (code, at) => {
      if (code === Event.Traded) fills++
      else if (code === Event.OrderRested) live.add(orders.find(events.words[at]!))
      else if (code === Event.OrderEnded) live.drop(orders.find(events.words[at]!))
      else if (code === Event.EntryDecided && (events.words[at]! & 0xff) === refusedCode) refused++
    })
    events.clear()
  }

  const setup = opening(shape)
  setup.forEach(run)
  for (const command of resting(shape)) {
    run(command)
    setup.push(command)
  }
  serial = shape.resting
  assert(refused === 0, "what is to rest rests")
  // The stream begins with a block.
  while (engine.sequence % commandsPerBlock !== 0) {
    run(passTime)
    setup.push(passTime)
  }

  fills = 0
  const commands: Array<Command> = []
  for (let at = 0; at < shape.count; at++) {
    const account = draw(shape.accounts)
    const market = marketOf(shape, account, draw)
    if (draw(100) < 2) mids[market]! += draw(2) === 0 ? 1 : -1
    const share = draw(100)
    const side = draw(2) === 0 ? Order.buy : Order.sell
    const quantityAtoms = 1 + draw(100)
    let command: Command
    if (share >= 95) {
      const ioc = at % 2 === 0
      command = place(account, serial++, {
        market,
        side,
        type: ioc ? Order.limit : Order.market,
        timeInForce: Order.ioc,
        priceAtoms: !ioc ? 0 : side === Order.buy ? mids[market]! + 5 : mids[market]! - 5,
        quantityAtoms
      })
    } else if ((share < 55 && live.size < shape.liveLimit) || live.size === 0) {
      const away = draw(51)
      const priceAtoms = side === Order.buy ? mids[market]! - away : mids[market]! + away
      command = place(account, serial++, { market, side, type: Order.limit, timeInForce: Order.gtc, priceAtoms, quantityAtoms })
    } else {
      const order = live.at(draw(live.size))
      command = cancel(orders.account(order), serial++, orders.market(order), orders.number(order))
    }
    run(command)
    commands.push(command)
  }
  return { shape, setup, commands, fills, refused, restingAtEnd: live.size }
}

/** Visits every event as its code and the index of its first field. */
const eachEvent = (events: EventLog, visit: (code: number, at: number) => void): void => {
  const { words } = events
  for (let at = 0; at < events.length; at += 2 + words[at + 1]!) visit(words[at]!, at + 2)
}

/** An engine that stands where the stream begins. */
export const begin = (stream: Stream): Engine => {
  const engine = Engine.make(capacityFor(stream.shape))
  for (const command of stream.setup) engine.apply(command, engine.sequence + 1, atEpochMs(engine.sequence + 1))
  engine.state.events.clear()
  return engine
}

/** What a stream is, for the log. */
export const describe = ({ commands, fills, refused, restingAtEnd, shape }: Stream): string =>
  `${commands.length.toLocaleString("en-US")} commands, ${shape.markets} markets, ${shape.accounts.toLocaleString("en-US")} accounts; `
  + `${fills.toLocaleString("en-US")} fills, ${refused.toLocaleString("en-US")} refused, `
  + `${restingAtEnd.toLocaleString("en-US")} orders rest at the end`
