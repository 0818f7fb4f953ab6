/**
 * Safety (I14). At the end of a funding interval every holder of a position in the market pays or receives, once and to the atom, for the
 * size held at that record, whatever becomes of it before the payment is settled; together longs and shorts pay no less than they receive;
 * and nobody pays for time within an interval that was published before. Followed over the events of the feed, with the formula of the
 * rules in integers.
 */
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import type { Record } from "../../src/journal/Record.js"
import { type Announced, parametersFrom } from "./Announced.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface MarketOfFunding {
  /** Money atoms per price atom and size atom. */
  factor: bigint
  intervalMs: bigint
  /** The end of the latest published interval. */
  untilEpochMs: number
  /** Positions that are not flat, by account; long positive. */
  readonly held: Map<number, bigint>
  /** Unsettled payments, by account: one for each interval's end, oldest first. */
  readonly owed: Map<number, Array<bigint>>
}

interface State {
  readonly markets: Map<number, MarketOfFunding>
  readonly announced: Announced
}

/** Most unsettled payments of a market. */
const mostInLine = 8

const per8Hours = 1_000_000_000n * 28_800_000n

const of = (state: State, market: number): MarketOfFunding => {
  const known = state.markets.get(market)
  if (known !== undefined) return known
  const made: MarketOfFunding = { factor: 0n, intervalMs: 0n, untilEpochMs: 0, held: new Map(), owed: new Map() }
  state.markets.set(market, made)
  return made
}

/** What a size pays (negative: receives): paid up, received down. */
const paymentOf = (quantity: bigint, index: bigint, { factor, intervalMs }: MarketOfFunding, rate: bigint): bigint => {
  const over = quantity * index * factor * rate * intervalMs
  return over > 0n ? (over + per8Hours - 1n) / per8Hours : over / per8Hours
}

const begin = (state: State, event: Extract<DecodedEvent, { event: "FundingSet" }>): Verdict => {
  const market = of(state, event.market)
  const { untilEpochMs } = market
  const sinceEpochMs = event.atEpochMs - Number(market.intervalMs)
  market.untilEpochMs = event.atEpochMs
  if (event.atEpochMs <= untilEpochMs) return broken(`an interval of market ${event.market} ended twice by ${untilEpochMs}`)
  if (event.rate8hE9 === 0) return holds
  if (sinceEpochMs < untilEpochMs)
    return broken(`market ${event.market} pays from ${sinceEpochMs} on, which was over until ${untilEpochMs}`)
  let sum = 0n
  for (const [account, quantity] of market.held) {
    const atoms = paymentOf(quantity, BigInt(event.indexPriceAtoms), market, BigInt(event.rate8hE9))
    const owed = [...market.owed.get(account) ?? [], atoms]
    if (owed.length > mostInLine) return broken(`account ${account} owes ${owed.length} intervals of market ${event.market}`)
    market.owed.set(account, owed)
    sum += atoms
  }
  return sum < 0n ? broken(`more funding is received than paid in market ${event.market}: ${sum}`) : holds
}

const follow = (state: State, { command }: Record, event: DecodedEvent): Verdict => {
  switch (event.event) {
    case "MarketPut":
    case "MarketAnnounced":
    case "MarketTookEffect": {
      const parameters = parametersFrom(state.announced, command, event)
      if (parameters !== undefined) {
        const { fundingIntervalMs, priceScale, quantityScale } = parameters
        const market = of(state, event.market)
        market.factor = 10n ** BigInt(6 - priceScale - quantityScale)
        market.intervalMs = BigInt(fundingIntervalMs)
      }
      return holds
    }
    case "PositionChanged": {
      const { held, owed } = of(state, event.market)
      const left = owed.get(event.account)
      if (left !== undefined && left.some((atoms) => atoms !== 0n)) {
        return broken(`account ${event.account} traded in market ${event.market} before it settled ${left.join(", ")}`)
      }
      owed.delete(event.account)
      if (event.quantityAtoms === 0) held.delete(event.account)
      else held.set(event.account, BigInt(event.quantityAtoms))
      return holds
    }
    case "FundingSet":
      return begin(state, event)
    case "FundingPaid": {
      const { owed } = of(state, event.market)
      const [expected, ...later] = owed.get(event.account) ?? []
      if (later.length > 0) owed.set(event.account, later)
      else owed.delete(event.account)
      return expected === BigInt(event.paidAtoms)
        ? holds
        : broken(`account ${event.account} paid ${event.paidAtoms} in market ${event.market}, and owed ${expected}`)
    }
    default:
      return holds
  }
}

export const funding: Property<State> = {
  name: "funding-is-paid-once-to-the-atom",
  invariant: "I14",
  kind: "safety",
  initial: () => ({ markets: new Map(), announced: new Map() }),
  observe: (state, seen) => {
    if (seen._tag !== "Fed") return holds
    for (const event of seen.decided.events) {
      const verdict = follow(state, seen.decided.record, event)
      if (verdict !== holds) return verdict
    }
    return holds
  }
}
