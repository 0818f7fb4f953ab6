/**
 * Safety (I3, decisions 10). After every record each best price lies inside the edge of its market's price band: no bid
 * above the top, no offer below the bottom. Where more orders had to go than one record cancels, nothing trades there until
 * they are gone. No trade prints outside the band; and a market order trades wherever the band and its own worst price have
 * something for it.
 *
 * Told from the records and their events alone, as the feed gives them, with marks, bands and books followed here; and from
 * the books that the engine shows.
 */
import { CancelReason, ioc, market as marketOrder, sell } from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Decided, DecodedEvent } from "../../src/sequencer/Feed.js"
import { type Announced, parametersFrom } from "./Announced.js"
import * as FedBook from "./FedBook.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** What a record that leaves orders beyond their edge has cancelled of them at least. */
const clearedAtOnce = 64

/** What an event says of a delisting that has taken effect. */
const inEffect = 2

interface Band {
  mark: bigint
  bps: bigint
  /** A delisted market has no band: nothing trades there, and its settlement takes what rests. */
  isDelisted?: boolean
}

interface State {
  readonly book: FedBook.FedBook
  /** By market. */
  readonly bands: Array<Band>
  /** Parameters that markets are to take. */
  readonly announced: Announced
  /** Markets in which orders lay beyond their edge after the last record. */
  readonly unclear: Set<number>
}

/** The lowest and the highest price of a band; undefined while the market has no mark. */
const edgesOf = ({ bps, isDelisted = false, mark }: Band): readonly [lowest: bigint, highest: bigint] | undefined =>
  mark === 0n || isDelisted ? undefined : [(mark * (10_000n - bps) + 9_999n) / 10_000n, (mark * (10_000n + bps)) / 10_000n]

/** The first resting order that lies beyond its edge. */
const beyondEdge = (state: State, market: number): FedBook.Resting | undefined => {
  const edges = edgesOf(state.bands[market]!)
  if (edges === undefined) return undefined
  return [...state.book.resting.values()].find((order) =>
    order.market === market && (order.side === sell ? BigInt(order.price) < edges[0] : BigInt(order.price) > edges[1])
  )
}

const tradeVerdict = (state: State, event: Extract<DecodedEvent, { event: "Traded" }>): Verdict => {
  const edges = edgesOf(state.bands[event.market]!)
  // What was left by the record before may be gone by now, before anything is liquidated.
  const isUnclear = state.unclear.has(event.market) && beyondEdge(state, event.market) !== undefined
  if (isUnclear) return broken(`market ${event.market} trades while orders lie beyond the edge of its band`)
  if (edges === undefined) return broken(`market ${event.market} trades and has no mark`)
  const price = BigInt(event.priceAtoms)
  return price < edges[0] || price > edges[1]
    ? broken(`a trade prints at ${price} in market ${event.market}, outside ${edges[0]} to ${edges[1]}`)
    : holds
}

/**
 * Reasons for which a market order keeps a rest although the band has something for it: what it met went without a trade,
 * and a record meets a bounded number of orders.
 */
const otherReasons: ReadonlySet<number> = new Set([
  CancelReason.selfTrade,
  CancelReason.marginUnbacked,
  CancelReason.marketReduceOnly
])

/** A market order that was alone in its record and met nothing leaves nothing behind that it could have met. */
const marketOrderVerdict = (state: State, { events, record: { command, sequence } }: Decided): Verdict => {
  if (command.kind !== "PlaceOrders" || command.entries.length !== 1) return holds
  const [entry] = command.entries
  if (entry === undefined || entry.type !== marketOrder || entry.timeInForce !== ioc) return holds
  const edges = edgesOf(state.bands[entry.market] ?? { mark: 0n, bps: 0n })
  if (edges === undefined || events.some(({ event }) => event === "Traded")) return holds
  const refused = events.find(({ event }) => event === "EntryDecided") as Extract<DecodedEvent, { event: "EntryDecided" }>
  const isAccepted = events.some(({ event }) => event === "OrderAccepted")
  if (!isAccepted && ((refused.codes >>> 8) & 0xff) !== Refusal.noLiquidity) return holds
  if (events.some((event) => event.event === "OrderEnded" && otherReasons.has(event.cancelReason))) return holds
  const worst = BigInt(entry.priceAtoms)
  const met = [...state.book.resting.values()].find((order) => {
    const price = BigInt(order.price)
    if (order.market !== entry.market || order.side === entry.side || price < edges[0] || price > edges[1]) return false
    return worst === 0n || (entry.side === sell ? price >= worst : price <= worst)
  })
  return met === undefined ? holds : broken(`a market order met nothing in record ${sequence}, and an order rests at ${met.price}`)
}

const edgeVerdict = (state: State, { events, record: { sequence } }: Decided): Verdict => {
  const cleared = events.filter((event) => event.event === "OrderEnded" && event.cancelReason === CancelReason.priceBandExceeded).length
  for (let market = 0; market < state.bands.length; market++) {
    const order = beyondEdge(state, market)
    if (order === undefined) state.unclear.delete(market)
    else if (cleared >= clearedAtOnce) state.unclear.add(market)
    else return broken(`after record ${sequence} an order rests at ${order.price} in market ${market}, beyond the edge of its band`)
  }
  return holds
}

/** The same of the books that the engine shows, unless the market still has more to cancel. */
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

const follow = (state: State, { command }: Decided["record"], event: DecodedEvent): Verdict => {
  const parameters = parametersFrom(state.announced, command, event)
  if (parameters !== undefined && "market" in event) {
    const bps = BigInt(parameters.priceBandBps)
    state.bands[event.market] = { mark: state.bands[event.market]?.mark ?? 0n, bps }
  }
  if (event.event === "MarketDelisting" && event.became === inEffect) state.bands[event.market]!.isDelisted = true
  if (event.event === "MarkSet") state.bands[event.market]!.mark = BigInt(event.priceAtoms)
  const verdict = event.event === "Traded" ? tradeVerdict(state, event) : holds
  return verdict ?? FedBook.replay(state.book, event)
}

export const band: Property<State> = {
  name: "best-prices-lie-inside-the-band",
  invariant: "I3",
  kind: "safety",
  initial: () => ({ book: FedBook.make(), bands: [], announced: new Map(), unclear: new Set() }),
  observe: (state, seen) => {
    if (seen._tag === "Inspected") return shownVerdict(seen)
    if (seen._tag !== "Fed") return holds
    for (const event of seen.decided.events) {
      const verdict = follow(state, seen.decided.record, event)
      if (verdict !== holds) return verdict
    }
    return marketOrderVerdict(state, seen.decided) ?? edgeVerdict(state, seen.decided)
  }
}
