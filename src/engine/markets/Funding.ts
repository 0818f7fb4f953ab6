/**
 * Funding: what longs pay shorts at the end of each interval, or shorts longs, so that the book stays near the index.
 *
 *   premium = (max(0, impactBid - index) - max(0, index - impactAsk)) / index, every five seconds
 *   rate per 8 hours = average premium + clamp(0.01 % - average premium, -+0.05 %), within 8 x fundingCap
 *   payment = quantity x index x K x rate x interval / 8 hours; what is paid rounds up, what is received down
 *
 * Everyone who holds a position at the interval's record pays or receives for the whole interval. The rate is fixed there;
 * the payments follow in bounded steps, and an account that acts meanwhile has its own settled first, so that it makes no
 * difference when a position is come to. What rounding leaves goes to the insurance fund.
 */
import { assert } from "../../domain/Assert.js"
import { none } from "../../domain/None.js"
import { Cause } from "../BalanceLog.js"
import { Event } from "../EventLog.js"
import * as InsuranceFund from "../accounts/InsuranceFund.js"
import { Movement } from "../LiquidationLog.js"
import type { MarketState } from "../Markets.js"
import type { State } from "../State.js"

const one = 1_000_000_000
const eightHoursMs = 28_800_000
/** Between two samples of a book. */
export const sampleMs = 5_000
/** The rate per 8 hours where the book is at its index, and how far the premium may be away from it before it counts. */
const interestE9 = 100_000
const clampE9 = 500_000
/** Caps are said per hour, rates per 8. */
const hours = 8

/** Positions whose funding is looked after in one record beside what it is for. */
export const settledAtOnce = 256

const clamp = (value: number, most: number): number => Math.max(-most, Math.min(most, value))

/** Adds a sample of the premium to the running interval. A thin side is given as the index. */
export const sample = (market: MarketState, bid: number, ask: number): void => {
  const { indexPrice } = market
  const premium = Math.max(0, bid - indexPrice) - Math.max(0, indexPrice - ask)
  market.premiumSumE9 += Number((BigInt(premium) * BigInt(one)) / BigInt(indexPrice))
  market.premiumSamples++
}

/** The average premium of the running interval, in 10^-9 of the index, toward zero. */
const averagePremiumE9 = ({ premiumSamples, premiumSumE9 }: MarketState): number =>
  premiumSamples === 0 ? 0 : Math.trunc(premiumSumE9 / premiumSamples) + 0

/** The running interval's rate so far, per 8 hours in 10^-9. */
export const runningRate8hE9 = (market: MarketState): number => {
  const average = averagePremiumE9(market)
  return clamp(average + clamp(interestE9 - average, clampE9), hours * market.parameters.fundingCapE9)
}

/** A rate per 8 hours as one per interval, toward zero. */
export const perInterval = (rate8hE9: number, intervalMs: number): number => Math.trunc((rate8hE9 * intervalMs) / eightHoursMs) + 0

/** The running interval's rate so far, per interval in 10^-9. */
export const runningRateE9 = (market: MarketState): number => perInterval(runningRate8hE9(market), market.parameters.fundingIntervalMs)

/**
 * Ends the running interval of a market once its time is over, and begins the one that a record lies in. Nothing is paid for
 * one that was missed, that the market did not live to the end of, or of which fewer than half of the samples were taken.
 */
export const endInterval = (state: State, market: MarketState): void => {
  const { fundingIntervalMs } = market.parameters
  const interval = Math.floor(state.atEpochMs / fundingIntervalMs)
  const ended = market.fundingInterval
  if (interval === ended) return
  if (ended !== 0) {
    const endedAtEpochMs = (ended + 1) * fundingIntervalMs
    const isWhole = interval === ended + 1 && market.liveSince <= endedAtEpochMs
      && market.premiumSamples * 2 * sampleMs >= fundingIntervalMs
    pay(state, market, endedAtEpochMs, isWhole ? runningRate8hE9(market) : 0)
  }
  market.beginInterval(interval)
}

/** Publishes an interval's rate, and lets every position in the market owe it. */
const pay = (state: State, market: MarketState, endedAtEpochMs: number, rate8hE9: number): void => {
  // What is owed of an interval before is settled first: only one is kept in mind.
  while (state.settling > 0) settleSome(state)
  const { fundingIntervalMs: intervalMs } = market.parameters
  const { indexPrice, premiumSamples } = market
  market.fundings.add({
    atEpochMs: endedAtEpochMs,
    sequence: state.sequence,
    rate8hE9,
    rateE9: perInterval(rate8hE9, intervalMs),
    premiumE9: averagePremiumE9(market),
    indexPriceAtoms: indexPrice,
    samples: premiumSamples,
    intervalMs
  })
  state.events.event5(Event.FundingSet, market.index, endedAtEpochMs, rate8hE9, indexPrice, premiumSamples)
  if (rate8hE9 === 0 || market.openInterest === 0) {
    state.capacity.reached?.("an interval ended without a payment")
    return
  }
  state.capacity.reached?.("funding was paid")
  market.paidRate8hE9 = rate8hE9
  market.paidIndex = indexPrice
  market.paidIntervalMs = intervalMs
  market.fundingEpoch++
  state.settling = state.positions.count
}

/** What a position pays for the last interval (negative: receives), money atoms, rounded against it. */
export const owed = ({ factor, paidIndex, paidIntervalMs, paidRate8hE9 }: MarketState, quantity: number): number => {
  const product = BigInt(quantity) * BigInt(paidIndex) * BigInt(factor) * BigInt(paidRate8hE9) * BigInt(paidIntervalMs)
  const divisor = BigInt(one) * BigInt(eightHoursMs)
  return product > 0n ? Number((product + divisor - 1n) / divisor) : Number(product / divisor) + 0
}

/** What a position has yet to pay (negative: to receive). */
export const pendingOf = ({ markets, positions }: State, slot: number): number => {
  const quantity = positions.quantity(slot)
  if (quantity === 0) return 0
  const market = markets[positions.market(slot)]!
  return positions.fundingEpoch(slot) === market.fundingEpoch ? 0 : owed(market, quantity)
}

/** What an account has yet to pay in all (negative: to receive). */
export const pendingOfAccount = (state: State, account: number): number => {
  const { accounts, positions } = state
  if (state.settling === 0) return 0
  let pending = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) pending += pendingOf(state, slot)
  return pending
}

/** Settles what a position owes. */
export const settle = (state: State, slot: number): void => {
  const { accounts, events, markets, positions } = state
  const market = markets[positions.market(slot)]!
  if (positions.fundingEpoch(slot) === market.fundingEpoch) return
  const quantity = positions.quantity(slot)
  if (quantity !== 0) {
    assert(positions.fundingEpoch(slot) === market.fundingEpoch - 1, "a position settles every payment before the next")
    const account = positions.account(slot)
    const paid = owed(market, quantity)
    const collateral = accounts.collateral(account) - paid
    accounts.setCollateral(account, collateral)
    state.noteBalance(account, Cause.funding, market.index, -paid, collateral)
    accounts.setLastSequence(account, state.sequence)
    positions.setFundingPaid(slot, positions.fundingPaid(slot) + paid)
    positions.setLastSequence(slot, state.sequence)
    state.fundingPool.add(paid)
    if (paid > 0) state.changedAccounts.add(account)
    tell(state, market, account, quantity, paid)
    InsuranceFund.settled(state, account, market.index, paid)
    events.event3(Event.FundingPaid, account, market.index, paid)
    events.event2(Event.CollateralChanged, account, collateral)
  }
  positions.setFundingEpoch(slot, market.fundingEpoch)
}

/** Keeps a payment for its account to read. What is settled is always of the latest interval that was published. */
const tell = (
  { atEpochMs, fundingPayments, sequence }: State,
  market: MarketState,
  account: number,
  quantity: number,
  paid: number
): void =>
  fundingPayments.add({
    sequence,
    atEpochMs,
    account,
    market: market.index,
    endedAtEpochMs: market.fundings.at(0)!.atEpochMs,
    quantityAtoms: quantity,
    indexPriceAtoms: market.paidIndex,
    rate8hE9: market.paidRate8hE9,
    intervalMs: market.paidIntervalMs,
    paidAtoms: paid
  })

/** Settles what an account owes, before anything else is decided of it. */
export const settleAccount = (state: State, account: number): void => {
  if (state.settling === 0) return
  const { accounts, positions } = state
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) settle(state, slot)
}

/** Goes on with what is owed, a bounded number of positions; the last of it leaves what rounding came to in the insurance fund. */
export const settleSome = (state: State): void => {
  if (state.settling === 0) return
  const { positions } = state
  for (let left = settledAtOnce; left > 0 && state.settling > 0; left--) {
    state.settling--
    if (state.settling < positions.count) settle(state, state.settling)
  }
  const rest = Number(state.fundingPool.atoms)
  if (state.settling > 0 || rest === 0) return
  assert(rest > 0, "no more funding is received than paid")
  InsuranceFund.take(state, rest, Movement.fundingRest, none)
  state.fundingPool.add(-rest)
}
