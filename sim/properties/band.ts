/**
 * Safety (I3, decisions 10). After every record each best price lies inside the edge of its market's price band: no bid above the top, no
 * offer below the bottom. Where more orders had to go than one record cancels, nothing trades there until they are gone, and only then are
 * placements refused for that reason. No trade prints outside the band; and an immediate order, a market order above all, trades as long
 * as the band and its limit have something for it, and leaves a remainder only for a reason in the rules.
 *
 * Checked with the records and their events in the feed, from which marks, bands and books are followed here; and with the engine's books.
 * Whether a record has met its maximum of orders, and whether an account's margin is enough, comes from the model.
 */
import { ordinal } from "../../src/domain/Ids.js"
import { cancelBoth, cancelIncoming, CancelReason, ioc, sell } from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { refusedCode } from "../../src/operations/Outcome.js"
import type { Decided, DecodedEvent } from "../../src/sequencer/Feed.js"
import { type Announced, parametersFrom } from "./Announced.js"
import { difference } from "./Difference.js"
import * as FedBook from "./FedBook.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { takesNothing } from "./marksBehind.js"
import { type Taken, Undurable } from "./Undurable.js"

/** Least number of orders beyond their edge that a record cancels if it leaves any, with a venue's own bounds. */
const usualClearedAtOnce = 64

/** The code of a delisting in effect, in events. */
const inEffect = 2

interface Band {
  mark: bigint
  bps: bigint
  /** A delisted market has no band: nothing trades there, and its settlement cancels resting orders. */
  isDelisted?: boolean
}

/** The model's findings about a record's orders that ended with a remainder. */
interface Known {
  /** Orders that ended because the record had met its maximum. */
  readonly metEnough: ReadonlySet<number>
  /** Orders whose accounts lacked the margin for the next fill. */
  readonly unbacked: ReadonlySet<number>
  /** Resting orders that are leaving: nobody meets them any more. */
  readonly leaving: ReadonlySet<number>
}

/** The resting orders that are leaving after the record of a placement. */
const leavingOf = (model: NaiveVenue, { command }: Record): ReadonlySet<number> =>
  new Set(
    command.kind !== "PlaceOrders" || !model.isBehind
      ? []
      : model.markets.flatMap(({ resting }) =>
        resting.flatMap((order) => model.leavesFor(order) === CancelReason.none ? [] : [order.number])
      )
  )

interface State {
  readonly book: FedBook.FedBook
  clearedAtOnce: number
  readonly undurable: Undurable
  /** By record, until the feed has delivered it and another one is the last: while a run is quiet the last is looked at again. */
  readonly known: Map<number, Known>
  /** The last record that the feed has delivered. */
  fedSequence: number
  /** The last record that became durable. */
  last: Record | undefined
  /** The account whose order was last cancelled by self-trade prevention in the current record. */
  selfTraded: number | undefined
  /** By market. */
  readonly bands: Array<Band>
  /** Announced parameters of markets. */
  readonly announced: Announced
  /**
   * Resting orders that ended in the current record, and whether they lay beyond their edge then. Orders that leave end there, too, with
   * their own reason.
   */
  readonly ended: Map<FedBook.Resting, boolean>
  /** Markets in which orders lay beyond their edge after the last record. */
  readonly unclear: Set<number>
}

type Edges = readonly [lowest: bigint, highest: bigint]

/** The lowest and the highest price of a band; undefined while the market has no mark. */
const edgesOf = ({ bps, isDelisted = false, mark }: Band): Edges | undefined =>
  mark === 0n || isDelisted ? undefined : [(mark * (10_000n - bps) + 9_999n) / 10_000n, (mark * (10_000n + bps)) / 10_000n]

const isBeyond = ({ price, side }: FedBook.Resting, [lowest, highest]: Edges): boolean =>
  side === sell ? BigInt(price) < lowest : BigInt(price) > highest

/** The first resting order that lies beyond its edge. */
const beyondEdge = (state: State, market: number): FedBook.Resting | undefined => {
  const edges = edgesOf(state.bands[market]!)
  if (edges === undefined) return undefined
  return [...state.book.resting.values()].find((order) => order.market === market && isBeyond(order, edges))
}

const tradeVerdict = (state: State, event: Extract<DecodedEvent, { event: "Traded" }>): Verdict => {
  const edges = edgesOf(state.bands[event.market]!)
  // Orders left by the previous record have to be gone by now, before anything is liquidated.
  const isUnclear = state.unclear.has(event.market) && beyondEdge(state, event.market) !== undefined
  if (isUnclear) return broken(`market ${event.market} trades while orders lie beyond the edge of its band`)
  if (edges === undefined) return broken(`market ${event.market} trades and has no mark`)
  const price = BigInt(event.priceAtoms)
  return price < edges[0] || price > edges[1]
    ? broken(`a trade prints at ${price} in market ${event.market}, outside ${edges[0]} to ${edges[1]}`)
    : holds
}

type Ended = Extract<DecodedEvent, { readonly event: "OrderEnded" }>

/** Whether an incoming order may trade at a price: inside the band, and no worse than its limit, where 0 is none. */
const isInReach = ([lowest, highest]: Edges, side: number, limit: number, at: number): boolean => {
  const price = BigInt(at)
  if (price < lowest || price > highest) return false
  return limit === 0 || (side === sell ? at >= limit : at <= limit)
}

interface Taker {
  readonly market: number
  readonly side: number
  /** Its limit; 0 for none. */
  readonly price: number
}

/** The best price on the other side at which an incoming order could trade, with the accounts that rest there. */
const bestInReach = ({ resting }: FedBook.FedBook, { market, price, side }: Taker, edges: Edges) => {
  let best: { readonly at: number; readonly accounts: Set<number> } | undefined
  for (const order of resting.values()) {
    if (order.market !== market || order.side === side || !isInReach(edges, side, price, order.price)) continue
    if (order.price === best?.at) best.accounts.add(order.account)
    else if (best === undefined || (side === sell ? order.price > best.at : order.price < best.at)) {
      best = { at: order.price, accounts: new Set([order.account]) }
    }
  }
  return best
}

/**
 * Checks, at the very moment, that an order with a remainder ended for a reason in the rules. An immediate order's remainder ends only
 * where nothing is left inside the band and its limit, or where its record has met its maximum; by self-trade prevention only where its
 * own account's order is next, or was just cancelled; and for margin only where the model agrees.
 */
const endedVerdict = (state: State, { command, sequence }: Decided["record"], event: Ended): Verdict => {
  const { book, known, selfTraded } = state
  const { cancelReason, orderNumber } = event
  const incoming = book.placed.get(orderNumber)
  const order = incoming ?? book.resting.get(orderNumber)
  const edges = order === undefined ? undefined : edgesOf(state.bands[order.market]!)
  if (order === undefined || edges === undefined) return holds
  const what = `order ${orderNumber} ended in record ${sequence}`
  if (cancelReason === CancelReason.iocRemainder) {
    if (known.get(sequence)?.metEnough.has(orderNumber) === true) return holds
    if (incoming?.timeInForce !== ioc) return broken(`${what} like an immediate one, and its record had not met as many as it may`)
    const left = bestInReach(book, order, edges)
    return left === undefined ? holds : broken(`${what} with something left, and an order rests at ${left.at}`)
  }
  if (incoming === undefined || command.kind !== "PlaceOrders") return holds
  if (cancelReason === CancelReason.selfTrade) {
    const { selfTradePrevention } = command.entries[orderNumber - ordinal(sequence, 0)]!
    const isRight = selfTradePrevention === cancelIncoming
      ? bestInReach(book, order, edges)?.accounts.has(order.account) === true
      : selfTradePrevention === cancelBoth && selfTraded === order.account
    return isRight ? holds : broken(`${what} by self-trade prevention, and no order of its own account was the next`)
  }
  if (cancelReason === CancelReason.marginUnbacked) {
    return known.get(sequence)?.unbacked.has(orderNumber) === true ? holds : broken(`${what} for margin, which its account has`)
  }
  const isDone = cancelReason === CancelReason.none || incoming.timeInForce !== ioc
  return isDone ? holds : broken(`${what} with something left, for the reason ${cancelReason}`)
}

const isRefusedForLiquidity = (codes: number): boolean => (codes & 0xff) === refusedCode && ((codes >>> 8) & 0xff) === Refusal.noLiquidity

/** A market order refused for lack of liquidity had nothing to meet: no standing order that still rests was there before it. */
const refusedVerdict = (state: State, { events, record: { command, sequence } }: Decided): Verdict => {
  if (command.kind !== "PlaceOrders") return holds
  const entries = events.flatMap((event) => event.event === "EntryDecided" ? [event] : [])
  for (let index = 0; index < entries.length; index++) {
    const { market, priceAtoms, side } = command.entries[index]!
    const edges = edgesOf(state.bands[market] ?? { mark: 0n, bps: 0n })
    if (edges === undefined || !isRefusedForLiquidity(entries[index]!.codes)) continue
    for (const [number, order] of state.book.resting) {
      if (order.market !== market || order.side === side || number > ordinal(sequence, index)) continue
      if (state.known.get(sequence)?.leaving.has(number) === true) continue
      if (isInReach(edges, side, priceAtoms, order.price)) {
        return broken(`a market order met nothing in record ${sequence}, and an order rests at ${order.price}`)
      }
    }
  }
  return holds
}

/**
 * The immediate orders of the last record met all that they could, by the engine's state after it: no order in reach that still rests was
 * there before them.
 */
const shownTakers = ({ known, last }: State, { model, reads }: Extract<Observation, { _tag: "Inspected" }>): Verdict => {
  if (last === undefined || last.sequence !== model.sequence || last.command.kind !== "PlaceOrders") return holds
  const { command: { account, entries, idempotencyKey }, sequence } = last
  for (let index = 0; index < entries.length; index++) {
    const { market, priceAtoms, side, timeInForce } = entries[index]!
    const number = ordinal(sequence, index)
    if (timeInForce !== ioc || market < 0 || known.get(sequence)?.metEnough.has(number) === true) continue
    const edges = edgesOf({ mark: BigInt(reads.stats(market).markPriceAtoms), bps: BigInt(reads.market(market).parameters.priceBandBps) })
    const { asks, bids } = reads.book(market, 1)
    const [best] = side === sell ? bids : asks
    if (edges === undefined || best === undefined || !isInReach(edges, side, priceAtoms, best[0])) continue
    const remembered = reads.findOutcomes(account, idempotencyKey).find(({ outcome }) => outcome.sequence === sequence)
    const decided = remembered?.outcome.entries[index]
    const isLeft = reads.findOrder(account, number)?.cancelReason === CancelReason.iocRemainder
      || (decided?._tag === "Refused" && decided.refusal === Refusal.noLiquidity)
    const wasThere = isLeft
      && model.accounts.some((each) =>
        reads.openOrders(each.index, market).some((order) =>
          order.side !== side && order.orderNumber < number && isInReach(edges, side, priceAtoms, order.priceAtoms)
          && known.get(sequence)?.leaving.has(order.orderNumber) !== true
        )
      )
    if (wasThere) return broken(`order ${number} of record ${sequence} left something, and an order rests at ${best[0]}`)
  }
  return holds
}

/** The number of orders that a record cleared: the event of a band's new parameters may follow those of the orders that it ended. */
const clearedBy = ({ bands, ended }: State): number =>
  [...ended].filter(([order, wasBeyond]) => {
    const edges = edgesOf(bands[order.market]!)
    return wasBeyond || edges !== undefined && isBeyond(order, edges)
  }).length

const edgeVerdict = (state: State, { record: { sequence } }: Decided): Verdict => {
  const cleared = clearedBy(state)
  for (let market = 0; market < state.bands.length; market++) {
    const order = beyondEdge(state, market)
    if (order === undefined) state.unclear.delete(market)
    else if (cleared >= state.clearedAtOnce) state.unclear.add(market)
    else return broken(`after record ${sequence} an order rests at ${order.price} in market ${market}, beyond the edge of its band`)
  }
  return holds
}

/** Checks the engine's books in the same way, unless the market still has orders to clear. */
const shownVerdict = ({ model, reads }: Extract<Observation, { _tag: "Inspected" }>): Verdict => {
  for (let market = 0; market < reads.marketCount; market++) {
    const { delisting, parameters: { priceBandBps } } = reads.market(market)
    if (delisting !== undefined && delisting.state !== "announced") continue
    const edges = edgesOf({ mark: BigInt(reads.stats(market).markPriceAtoms), bps: BigInt(priceBandBps) })
    if (edges === undefined || model.isBeingCleared(market)) continue
    const { asks: [ask], bids: [bid] } = reads.book(market, 1)
    if (bid !== undefined && BigInt(bid[0]) > edges[1]) return broken(`market ${market} has a bid at ${bid[0]}, above ${edges[1]}`)
    if (ask !== undefined && BigInt(ask[0]) < edges[0]) return broken(`market ${market} has an offer at ${ask[0]}, below ${edges[0]}`)
  }
  return holds
}

const follow = (state: State, record: Decided["record"], event: DecodedEvent): Verdict => {
  const { command } = record
  const parameters = parametersFrom(state.announced, command, event)
  if (parameters !== undefined && "market" in event) {
    const bps = BigInt(parameters.priceBandBps)
    state.bands[event.market] = { mark: state.bands[event.market]?.mark ?? 0n, bps }
  }
  if (event.event === "MarketDelisting" && event.became === inEffect) state.bands[event.market]!.isDelisted = true
  if (event.event === "MarkSet") state.bands[event.market]!.mark = BigInt(event.priceAtoms)
  const verdict = event.event === "Traded"
    ? tradeVerdict(state, event)
    : event.event === "OrderEnded"
    ? endedVerdict(state, record, event)
    : holds
  const ended = event.event === "OrderEnded" ? state.book.resting.get(event.orderNumber) : undefined
  if (ended !== undefined && event.event === "OrderEnded") {
    const edges = edgesOf(state.bands[ended.market]!)
    state.ended.set(ended, edges !== undefined && isBeyond(ended, edges))
    if (event.cancelReason === CancelReason.selfTrade) state.selfTraded = ended.account
  }
  return verdict ?? FedBook.replay(state.book, event)
}

/** A placement refused because a market is being cleared names such a market, or one that would be cleared in its record. */
const turnedAwayVerdict = ({ answered, atEpochMs, command, sequence }: Taken, model: NaiveVenue): Verdict => {
  if (answered?.refusal !== Refusal.marketClearing) return holds
  const markets = command.kind === "PlaceOrders"
    ? command.entries.map(({ market }) => market)
    : command.kind === "AmendOrder"
    ? [model.orders.get(command.orderNumber)?.market ?? -1]
    : []
  const cleared = markets.filter((market) => model.isBeingCleared(market) || model.comesToBeCleared(market, atEpochMs))
  if (cleared.length === 0) {
    return broken(`a ${command.kind} was turned away behind record ${sequence}, and nothing there lies beyond the edge of its band`)
  }
  // The request of a single order has named its market itself.
  const named = markets.length === 1 ? undefined : [...new Set(markets.filter((market) => takesNothing(model, market, atEpochMs)))]
  return difference(`a ${command.kind} that was turned away behind record ${sequence}, whose markets`, answered.markets, named)
}

export const band: Property<State> = {
  name: "best-prices-lie-inside-the-band",
  invariant: "I3",
  kind: "safety",
  initial: () => ({
    book: FedBook.make(),
    clearedAtOnce: usualClearedAtOnce,
    undurable: new Undurable(({ kind }) => kind === "PlaceOrders" || kind === "AmendOrder"),
    known: new Map(),
    fedSequence: 0,
    last: undefined,
    selfTraded: undefined,
    bands: [],
    announced: new Map(),
    ended: new Map(),
    unclear: new Set()
  }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.clearedAtOnce = seen.bounds.clearedAtOnce ?? usualClearedAtOnce
    const turnedAway = state.undurable.observe(seen, turnedAwayVerdict)
    if (turnedAway !== holds) return turnedAway
    if (seen._tag === "Committed") {
      const { decision: { metEnough, touchedOrders }, model, record } = seen
      const unbacked = new Set(
        [...touchedOrders].flatMap((order) => order.cancelReason === CancelReason.marginUnbacked ? [order.number] : [])
      )
      if (state.last !== undefined && state.last.sequence <= state.fedSequence) state.known.delete(state.last.sequence)
      state.last = record
      const leaving = leavingOf(model, record)
      if (metEnough.size + unbacked.size + leaving.size > 0) state.known.set(record.sequence, { metEnough, unbacked, leaving })
      return holds
    }
    if (seen._tag === "Inspected") return shownVerdict(seen) ?? shownTakers(state, seen)
    if (seen._tag !== "Fed") return holds
    const { decided, decided: { record } } = seen
    state.selfTraded = undefined
    state.ended.clear()
    for (const event of decided.events) {
      const verdict = follow(state, record, event)
      if (verdict !== holds) return verdict
    }
    const refused = refusedVerdict(state, decided)
    state.fedSequence = record.sequence
    if (record.sequence !== state.last?.sequence) state.known.delete(record.sequence)
    return refused ?? edgeVerdict(state, decided)
  }
}
