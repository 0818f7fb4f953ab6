/**
 * Auto-deleveraging: a position that neither the market nor the insurance fund takes is closed against the opposite ones of its
 * market, those with the most profit at the highest leverage first. Everybody can reckon the ranking again: it is of
 * published figures, and compared by exact products.
 */
import { none } from "../../domain/None.js"
import { Event } from "../EventLog.js"
import { Movement, Step } from "../LiquidationLog.js"
import * as Margin from "../Margin.js"
import type { MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import type { State } from "../State.js"
import * as InsuranceFund from "./InsuranceFund.js"
import { entriesKept } from "./Rankings.js"
import { long, short } from "./Triggers.js"

/** Positions that one record closes so, at most. */
export const deleveragedAtOnce = 256

/** A position of the ranking, as it stood when the ranking was made; money in money atoms. */
export interface Ranked {
  readonly slot: number
  readonly account: number
  readonly unrealizedPnl: number
  readonly entryNotional: number
  readonly notional: number
  readonly equity: number
}

const atLeastOne = (atoms: number): number => Math.max(1, atoms)

/** What is divided by what, to be ranked by: both of them products of two. */
const over = ({ equity, notional, unrealizedPnl }: Ranked): readonly [number, number] => [
  unrealizedPnl,
  unrealizedPnl > 0 ? notional : atLeastOne(equity)
]
const under = ({ entryNotional, equity, notional, unrealizedPnl }: Ranked): readonly [number, number] => [
  atLeastOne(entryNotional),
  unrealizedPnl > 0 ? atLeastOne(equity) : notional
]

/** What a position is ranked by, nearly: `compare` is exact. */
export const scoreOf = (ranked: Ranked): number => {
  const [a, b] = over(ranked)
  const [c, d] = under(ranked)
  return (a * b) / (c * d)
}

/** Scores nearer to each other than this, relative to them, are compared by exact products. */
const doubtful = 2 ** -40

const exactly = (one: Ranked, other: Ranked): number => {
  const product = (factors: readonly [number, number]): bigint => BigInt(factors[0]) * BigInt(factors[1])
  const left = product(over(one)) * product(under(other))
  const right = product(over(other)) * product(under(one))
  return left > right ? -1 : left < right ? 1 : one.account - other.account
}

/** Negative where one comes before the other: those in profit first, by their scores, of equal ones the lower account. */
export const compare = (one: Ranked, other: Ranked): number => {
  const inProfit = Number(other.unrealizedPnl > 0) - Number(one.unrealizedPnl > 0)
  if (inProfit !== 0) return inProfit
  const [score, otherScore] = [scoreOf(one), scoreOf(other)]
  const isClear = Math.abs(score - otherScore) > Math.max(Math.abs(score), Math.abs(otherScore)) * doubtful
  return isClear ? otherScore - score : exactly(one, other)
}

/** The opposite positions of one, first the one that is closed first. */
const rank = (state: State, market: MarketState, quantity: number): ReadonlyArray<Ranked> => {
  const { accounts, positions, triggers } = state
  const { count, slots } = triggers.holders(market.index, quantity > 0 ? short : long)
  const ranked: Array<Ranked> = []
  for (let at = 0; at < count; at++) {
    const slot = slots[at]!
    const account = positions.account(slot)
    Margin.refreshAccount(state, account)
    ranked.push({
      slot,
      account,
      unrealizedPnl: positions.unrealizedPnl(slot),
      entryNotional: positions.entryNotional(slot),
      notional: Math.abs(positions.quantity(slot)) * market.mark * market.factor,
      equity: accounts.collateral(account) + accounts.sumUnrealizedPnl(account)
    })
  }
  return ranked.sort(compare)
}

/** How much of a position its account can close at a price without its equity falling below zero. */
const closable = (state: State, market: MarketState, { account, slot }: Ranked, priceAtoms: number): number => {
  const { accounts, positions } = state
  const quantity = positions.quantity(slot)
  const lossOfOne = (quantity > 0 ? market.mark - priceAtoms : priceAtoms - market.mark) * market.factor
  if (lossOfOne <= 0) return Math.abs(quantity)
  Margin.refreshAccount(state, account)
  const equity = accounts.collateral(account) + accounts.sumUnrealizedPnl(account)
  return equity <= 0 ? 0 : Math.min(Math.abs(quantity), Math.floor(equity / lossOfOne))
}

/** How a deleveraging ended: all of the position is closed, the record had its share of them, or nobody was left. */
export type Deleveraged = "closed" | "unfinished" | "nobody"

/** Closes a position at a price against the opposite ones, in the order of a ranking made for it. */
export const deleverage = (state: State, slot: number, priceAtoms: number): Deleveraged => {
  const { accounts, positions } = state
  const account = positions.account(slot)
  const market = state.markets[positions.market(slot)]!
  const quantity = positions.quantity(slot)
  const equityAtoms = accounts.collateral(account) + accounts.sumUnrealizedPnl(account)
  const maintenanceMarginAtoms = accounts.sumMaintenanceMargin(account)
  const { mark } = market
  state.events.event7(
    Event.DeleveragingBegun,
    account,
    market.index,
    Math.abs(quantity),
    priceAtoms,
    mark,
    equityAtoms,
    maintenanceMarginAtoms
  )
  const step = (counterparty: number, place: number, sizeAtoms: number): void =>
    state.liquidationLog.add({
      sequence: state.sequence,
      atEpochMs: state.atEpochMs,
      market: market.index,
      step: counterparty === none ? Step.exhausted : Step.deleveraging,
      account,
      counterparty,
      rank: place,
      direction: quantity > 0 ? long : short,
      sizeAtoms,
      filledAtoms: counterparty === none ? 0 : sizeAtoms,
      priceAtoms,
      markAtoms: mark,
      feeAtoms: 0,
      equityAtoms,
      maintenanceMarginAtoms
    })
  const ranking = rank(state, market, quantity)
  const closed = new Float64Array(ranking.length)
  const came = closeAgainst(state, slot, priceAtoms, ranking, closed, step)
  state.rankings.add({
    sequence: state.sequence,
    atEpochMs: state.atEpochMs,
    market: market.index,
    account,
    direction: quantity > 0 ? long : short,
    sizeAtoms: Math.abs(quantity),
    priceAtoms,
    markAtoms: mark,
    ranked: ranking.length,
    entries: ranking.slice(0, entriesKept).map((ranked, at) => ({
      account: ranked.account,
      unrealizedPnlAtoms: ranked.unrealizedPnl,
      entryNotionalAtoms: ranked.entryNotional,
      notionalAtoms: ranked.notional,
      equityAtoms: ranked.equity,
      closedAtoms: closed[at]!
    }))
  })
  return came
}

/** Closes as much of a position as those of a ranking can bear, in its order; `closed` gets what each did. */
const closeAgainst = (
  state: State,
  slot: number,
  priceAtoms: number,
  ranking: ReadonlyArray<Ranked>,
  closed: Float64Array,
  step: (counterparty: number, place: number, sizeAtoms: number) => void
): Deleveraged => {
  const { liquidating, positions } = state
  const account = positions.account(slot)
  const market = state.markets[positions.market(slot)]!
  for (let at = 0; at < ranking.length; at++) {
    const ranked = ranking[at]!
    const sizeAtoms = Math.min(Math.abs(positions.quantity(slot)), closable(state, market, ranked, priceAtoms))
    if (sizeAtoms === 0) continue
    if (liquidating.deleveraged >= deleveragedAtOnce) {
      state.capacity.reached?.("a deleveraging went on in the next record")
      return "unfinished"
    }
    liquidating.deleveraged++
    state.capacity.reached?.("a position was deleveraged")
    state.events.event6(Event.Deleveraged, account, ranked.account, market.index, sizeAtoms, priceAtoms, at + 1)
    const close = (): void => Matching.transfer(state, market, slot, ranked.slot, sizeAtoms, priceAtoms)
    if (ranked.account === InsuranceFund.find(state)) InsuranceFund.moved(state, Movement.deleveraging, market.index, close)
    else close()
    closed[at] = sizeAtoms
    step(ranked.account, at + 1, sizeAtoms)
    if (positions.quantity(slot) === 0) return "closed"
  }
  state.capacity.reached?.("a deleveraging found nobody")
  step(none, 0, Math.abs(positions.quantity(slot)))
  return "nobody"
}
