/**
 * Safety (I13). A delisted market is halted for good: nothing is placed, traded, put or priced in it from then on. Its final price is the
 * average of its index at the ticks of the last half hour, recomputed here from every one of them; a delisting whose time was missed by a
 * minute waits for another half hour. Each position is closed at it against another, or transferred like a deficit, and in the end nothing
 * is left. Followed over the events of the feed.
 */
import { insuranceFundBorn } from "../../src/domain/Ids.js"
import { hasSessions, type Parameters, type Status, statuses } from "../../src/domain/Market.js"
import { states } from "../../src/domain/Session.js"
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import type { Record } from "../../src/journal/Record.js"
import { isListed } from "../reading/MarketRules.js"
import { type Announced, parametersFrom } from "./Announced.js"
import * as FedBook from "./FedBook.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Followed {
  parameters: Parameters
  status: Status
  /** Whether it trades in sessions and is closed now. */
  isClosed: boolean
  index: bigint
  sourceEpochMs: number
  /** The second of its last tick. */
  second: number
  readonly ticks: Array<{ readonly minute: number; readonly index: bigint }>
  /** When its delisting takes effect; undefined where none is announced. */
  announcedAt: number | undefined
  state: "none" | "settling" | "settled"
  finalPrice: bigint
  /** Positions that are not flat, by account. */
  readonly held: Map<number, number>
}

interface State {
  readonly book: FedBook.FedBook
  readonly markets: Map<number, Followed>
  readonly announced: Announced
  fund: number | undefined
  /** Whole minutes before the running one over which a final price is averaged. */
  finalMinutes: number
  /** Positions of delisted markets that are about to change, by an event. */
  moving: Array<readonly [market: number, account: number]>
}

const minuteMs = 60_000
/** Minutes over which a final price is averaged by default. */
const usualMinutes = 30

/** The states of a delisting in its events. */
const [withdrawn, announced, inEffect, settled] = [0, 1, 2, 3]

/** For how long a delisting is put off that was missed: the time over which its final price is averaged. */
const averagedMs = ({ finalMinutes }: State): number => (finalMinutes < 1 ? 1 : finalMinutes) * minuteMs

const isDelisted = ({ state }: Followed): boolean => state !== "none"

const finalPriceOf = ({ index, parameters, ticks }: Followed, lookedBack: number, atEpochMs: number): bigint => {
  const now = Math.floor(atEpochMs / minuteMs)
  const latest = ticks.at(-1)?.minute ?? now
  const end = latest + lookedBack < now ? latest : now
  const prices = ticks.filter(({ minute }) => minute + lookedBack >= end)
  if (prices.length === 0) return index
  const count = BigInt(prices.length)
  const average = (prices.reduce((sum, each) => sum + each.index, 0n) * 2n + count) / (2n * count)
  const [low, high] = [BigInt(parameters.minPriceAtoms), BigInt(parameters.maxPriceAtoms)]
  return average < low ? low : average > high ? high : average
}

const put = (state: State, record: Record, event: DecodedEvent & { readonly market: number }): void => {
  const parameters = parametersFrom(state.announced, record.command, event)
  if (parameters === undefined) return
  const known = state.markets.get(event.market)
  if (known === undefined) {
    state.markets.set(event.market, {
      parameters,
      status: "draft",
      isClosed: hasSessions(parameters),
      index: 0n,
      sourceEpochMs: 0,
      second: 0,
      ticks: [],
      announcedAt: undefined,
      state: "none",
      finalPrice: 0n,
      held: new Map()
    })
    return
  }
  const isNone = known.parameters.priceScale !== parameters.priceScale
    || known.index < BigInt(parameters.minPriceAtoms) || known.index > BigInt(parameters.maxPriceAtoms)
  if (isNone) known.index = 0n
  if (isNone || known.parameters.underlyingSymbol !== parameters.underlyingSymbol) {
    known.sourceEpochMs = 0
    known.ticks.length = 0
  }
  if (known.parameters.marketType !== parameters.marketType) known.isClosed = hasSessions(parameters)
  known.parameters = parameters
}

// ---- the states of a delisting

const became = (state: State, { atEpochMs, command }: Record, event: Extract<DecodedEvent, { event: "MarketDelisting" }>): Verdict => {
  const market = state.markets.get(event.market)!
  const what = `the delisting of market ${event.market}`
  switch (event.became) {
    case withdrawn:
      if (isDelisted(market) || market.announcedAt === undefined) return broken(`${what} is withdrawn, and is not announced`)
      market.announcedAt = undefined
      return holds
    case announced: {
      const { announcedAt } = market
      market.announcedAt = event.effectiveAtEpochMs
      if (isDelisted(market)) return broken(`${what} is announced after it took effect`)
      const { effectiveAtEpochMs, market: index } = event
      if (command.kind === "DelistMarket" && command.market === index && command.effectiveAtEpochMs === effectiveAtEpochMs) return holds
      // By nobody's command: it was missed, and is put off by the time over which its final price is averaged.
      const isMissed = announcedAt !== undefined && atEpochMs - announcedAt >= minuteMs
      return isMissed && effectiveAtEpochMs === atEpochMs + averagedMs(state)
        ? holds
        : broken(`${what} for ${announcedAt} is put off at ${atEpochMs} to ${effectiveAtEpochMs}`)
    }
    case inEffect: {
      const isAsked = command.kind === "DelistMarket" && command.market === event.market && command.effectiveAtEpochMs === 0
      const isDue = market.announcedAt !== undefined && market.announcedAt <= atEpochMs
        && atEpochMs - market.announcedAt < minuteMs
      if (isDelisted(market) || !isAsked && !isDue) return broken(`${what} takes effect at ${atEpochMs}, and nobody said so`)
      market.finalPrice = finalPriceOf(market, state.finalMinutes, atEpochMs)
      market.state = "settling"
      return BigInt(event.finalPriceAtoms) === market.finalPrice
        ? holds
        : broken(`${what} is at ${event.finalPriceAtoms}, and its index was ${market.finalPrice} on average`)
    }
    case settled: {
      const rests = [...state.book.resting.values()].some((order) => order.market === event.market)
      if (market.state !== "settling" || market.held.size > 0 || rests) {
        return broken(`${what} ends as ${market.state} with ${market.held.size} positions${rests ? " and orders" : ""}`)
      }
      market.state = "settled"
      return holds
    }
    default:
      return broken(`${what} becomes ${event.became}`)
  }
}

// ---- events of a delisted market

/** Events that never concern a delisted market. */
const never: ReadonlySet<string> = new Set([
  "OrderAccepted",
  "Traded",
  "MarketPut",
  "MarketTookEffect",
  "IndexPriceSet",
  "IndexPriceHeld",
  "FundingSet",
  "LiquidationOrdered",
  "FundUnwound",
  "TriggerFired",
  "LeverageSet"
])

const afterwards = (state: State, market: Followed, event: DecodedEvent & { readonly market: number }): Verdict => {
  const what = `market ${event.market} is delisted`
  if (never.has(event.event)) return broken(`${what}, and has ${event.event}: ${JSON.stringify(event)}`)
  switch (event.event) {
    case "MarkSet":
      return BigInt(event.priceAtoms) === market.finalPrice ? holds : broken(`${what}, and its mark is ${event.priceAtoms}`)
    case "MarketStatusSet":
      return statuses[event.status] === "halted" ? holds : broken(`${what}, and is ${statuses[event.status]}`)
    case "MarketAnnounced":
      return event.effectiveAtEpochMs === 0 ? holds : broken(`${what}, and parameters are announced for it`)
    case "TakenOver":
      state.moving.push([event.market, event.account], [event.market, state.fund!])
      return holds
    case "Settled":
    case "Deleveraged":
      state.moving.push([event.market, event.account], [event.market, event.counterparty])
      return holds
    case "PositionChanged": {
      const at = state.moving.findIndex(([index, account]) => index === event.market && account === event.account)
      if (at < 0) return broken(`${what}, and the position of account ${event.account} changes by itself`)
      state.moving.splice(at, 1)
      const before = market.held.get(event.account) ?? 0
      const isLess = Math.abs(event.quantityAtoms) < Math.abs(before) && event.quantityAtoms * before >= 0
      return isLess || event.account === state.fund
        ? holds
        : broken(`${what}, and account ${event.account} goes from ${before} to ${event.quantityAtoms}`)
    }
    default:
      return holds
  }
}

const follow = (state: State, record: Record, event: DecodedEvent): Verdict => {
  if (event.event === "AccountOpened" && event.born === insuranceFundBorn) state.fund = event.account
  const market = "market" in event ? state.markets.get(event.market) : undefined
  const verdict = market !== undefined && "market" in event && isDelisted(market) ? afterwards(state, market, event) : holds
  if (verdict !== holds) return verdict
  switch (event.event) {
    case "MarketPut":
    case "MarketAnnounced":
    case "MarketTookEffect":
      put(state, record, event)
      break
    case "MarketStatusSet":
      market!.status = statuses[event.status]!
      break
    case "MarketSessionSet":
      market!.isClosed = states[event.state] === "closed"
      break
    case "MarkSet":
      // A market in which nobody is loses its index with its mark where it changes to another underlying.
      if (event.priceAtoms === 0) market!.index = 0n
      break
    case "IndexPriceSet":
      market!.index = BigInt(event.priceAtoms)
      market!.sourceEpochMs = event.sourceEpochMs
      break
    case "PositionChanged":
      if (event.quantityAtoms === 0) market!.held.delete(event.account)
      else market!.held.set(event.account, event.quantityAtoms)
      break
    case "MarketDelisting":
      return became(state, record, event)
    default:
  }
  return FedBook.replay(state.book, event)
}

/** Counts the index of every live market for a tick, once per second. */
const tick = ({ markets }: State, atEpochMs: number): void => {
  const second = Math.floor(atEpochMs / 1_000)
  for (const market of markets.values()) {
    const { index, isClosed, parameters, sourceEpochMs, status } = market
    const isFresh = index !== 0n && atEpochMs < sourceEpochMs + parameters.indexStaleMs
    if (!isFresh || isClosed || status === "halted" || !isListed(status) || market.second >= second) continue
    market.second = second
    market.ticks.push({ minute: Math.floor(atEpochMs / minuteMs), index })
  }
}

export const delisting: Property<State> = {
  name: "delisted-markets-are-settled-at-their-final-price",
  invariant: "I13",
  kind: "safety",
  initial: () => ({
    book: FedBook.make(),
    markets: new Map(),
    announced: new Map(),
    fund: undefined,
    finalMinutes: usualMinutes,
    moving: []
  }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.finalMinutes = seen.bounds.finalMinutes ?? usualMinutes
    if (seen._tag !== "Fed") return holds
    const { events, record } = seen.decided
    for (const event of events) {
      const verdict = follow(state, record, event)
      if (verdict !== holds) return verdict
    }
    if (record.command.kind === "MarkTick") tick(state, record.atEpochMs)
    return state.moving.length === 0 ? holds : broken(`record ${record.sequence} leaves positions as they were: ${state.moving.join("; ")}`)
  }
}
