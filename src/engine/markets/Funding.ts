/**
 * Funding: what longs pay shorts at the end of each interval, or shorts longs, so that the book stays near the index.
 *
 *   premium = (max(0, impactBid - index) - max(0, index - impactAsk)) / index, every five seconds
 *   rate per 8 hours = average premium + clamp(0.01 % - average premium, -+0.05 %), within 8 x fundingCap
 *   payment = quantity x index x K x rate x interval / 8 hours; what is paid rounds up, what is received down
 *
 * Everyone who holds a position at the interval's record pays or receives for the whole interval. The rate is fixed there, and
 * the payment joins a line: its positions are settled in bounded steps, one payment after the other, and an account that acts
 * meanwhile has its own settled first, so that it makes no difference when a position is come to. What rounding leaves of a
 * payment goes to the insurance fund with the last of its positions.
 */
import { assert } from "../../domain/Assert.js"
import type * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import { Cause } from "../BalanceLog.js"
import * as Breadth from "../Breadth.js"
import { Event } from "../EventLog.js"
import * as InsuranceFund from "../accounts/InsuranceFund.js"
import { Movement } from "../LiquidationLog.js"
import type { MarketState, Payment } from "../Markets.js"
import type { Positions } from "../Positions.js"
import type { State } from "../State.js"
import { Total } from "../Total.js"
import { isTicking } from "./Freshness.js"

const one = 1_000_000_000
const eightHoursMs = 28_800_000
/** Between two samples of a book. */
export const sampleMs = 5_000
/** The rate per 8 hours where the book is at its index, and how far the premium may be away from it before it counts. */
const interestE9 = 100_000
const clampE9 = 500_000
/** Caps are said per hour, rates per 8. */
const hours = 8

/** Positions whose funding is looked after in one record beside what it is for, and as many again in one that ticks. */
export const settledAtOnce = 256

/**
 * Payments of one market that may be in line. An interval that ends while so many are is not paid: that takes a venue that let
 * hours pass without settling what it has, and their end must not wait for it.
 */
export const mostInLine = 8

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

/** When the interval ended that was published last; 0 before the first. */
const endedLastEpochMs = ({ fundings }: MarketState): number => fundings.length === 0 ? 0 : fundings.column("atEpochMs")(0)

/**
 * Whether an interval began before the one that was published last had ended, as the first one of another length does: whoever paid
 * for it would pay for some of its time again.
 */
const isCut = (market: MarketState, interval: number): boolean => endedLastEpochMs(market) > interval * market.parameters.fundingIntervalMs

/** The running interval's rate so far, per 8 hours in 10^-9; 0 where nothing will be paid for it. */
export const runningRate8hE9 = (market: MarketState): number => {
  if (market.fundingInterval !== 0 && isCut(market, market.fundingInterval)) return 0
  const average = averagePremiumE9(market)
  return clamp(average + clamp(interestE9 - average, clampE9), hours * market.parameters.fundingCapE9)
}

/** A rate per 8 hours as one per interval, toward zero. */
export const perInterval = (rate8hE9: number, intervalMs: number): number => Math.trunc((rate8hE9 * intervalMs) / eightHoursMs) + 0

/** The running interval's rate so far, per interval in 10^-9. */
export const runningRateE9 = (market: MarketState): number => perInterval(runningRate8hE9(market), market.parameters.fundingIntervalMs)

/** The interval that a record lies in, counted from the epoch. */
const intervalOf = ({ atEpochMs }: State, { parameters: { fundingIntervalMs } }: MarketState): number =>
  Math.floor(atEpochMs / fundingIntervalMs)

/**
 * The same as it is shown. Until a tick begins an interval behind one that ended within it, it is told as the one that will be cut; in a
 * market whose delisting has taken effect none is paid any more.
 */
export const predictedRate8hE9 = (market: MarketState): number => {
  const { fundingInterval, isDelisted, parameters: { fundingIntervalMs } } = market
  const willBeCut = fundingInterval === 0 && isCut(market, Math.floor(endedLastEpochMs(market) / fundingIntervalMs))
  return isDelisted || willBeCut ? 0 : runningRate8hE9(market)
}

/**
 * Ends the running interval of a market once its time is over. Nothing is paid for one that was missed, that the market did not
 * live to the end of and on, or of which fewer than half of the samples were taken. The next tick begins another one.
 */
export const endInterval = (state: State, market: MarketState): void => {
  const { fundingInterval: ended, parameters: { fundingIntervalMs } } = market
  const interval = intervalOf(state, market)
  if (ended === 0 || interval === ended) return
  const endedAtEpochMs = (ended + 1) * fundingIntervalMs
  const isWhole = interval === ended + 1 && market.liveSince <= endedAtEpochMs && !state.halted && isTicking(market, state.atEpochMs)
    && market.premiumSamples * 2 * sampleMs >= fundingIntervalMs
  // What is in line comes first, as far as the record goes.
  settleSome(state)
  const isPaid = isWhole && market.payments.length < mostInLine
  if (isWhole && !isPaid) state.capacity.reached?.("an interval was not paid as too many were in line")
  pay(state, market, endedAtEpochMs, isPaid ? runningRate8hE9(market) : 0)
  market.beginInterval(0)
}

/** Ends the running interval of a market that ticks once its time is over, and begins the one that the tick lies in. */
export const goOn = (state: State, market: MarketState): void => {
  endInterval(state, market)
  if (market.fundingInterval === 0) market.beginInterval(intervalOf(state, market))
}

/**
 * Ends what other parameters would reckon otherwise: an interval whose time is over, and the one that runs as well where intervals are
 * to have another length, or the market is to have no index until its next price: for that nothing is paid. None is published twice
 * with one time, which is how it is known.
 */
export const endBefore = (state: State, market: MarketState, next: Market.Parameters): void => {
  endInterval(state, market)
  const hasOtherLength = next.fundingIntervalMs !== market.parameters.fundingIntervalMs
  if (market.fundingInterval === 0 || !hasOtherLength && market.hasIndexIn(next)) return
  if (hasOtherLength) state.capacity.reached?.("an interval was cut off by another length")
  if (endedLastEpochMs(market) < state.atEpochMs) pay(state, market, state.atEpochMs, 0)
}

/** Publishes an interval's rate, and lets every position in the market owe it. */
const pay = (state: State, market: MarketState, endedAtEpochMs: number, rate8hE9: number): void => {
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
  line(state, {
    market: market.index,
    epoch: market.fundingEpoch,
    endedAtEpochMs,
    rate8hE9,
    indexAtoms: indexPrice,
    intervalMs,
    left: state.positions.heldCount(market.index),
    pool: new Total()
  })
}

/** Puts a payment at the end of the line. */
const line = (state: State, payment: Payment): void => {
  state.payments.push(payment)
  state.markets[payment.market]!.payments.push(payment)
  state.settling = state.payments[0]!.left
  state.settled.clear()
}

/** What a position pays for an interval (negative: receives), money atoms, rounded against it. */
export const owed = (
  { factor }: Pick<MarketState, "factor">,
  { indexAtoms, intervalMs, rate8hE9 }: Pick<Payment, "indexAtoms" | "intervalMs" | "rate8hE9">,
  quantity: number
): number => {
  const product = BigInt(quantity) * BigInt(indexAtoms) * BigInt(factor) * BigInt(rate8hE9) * BigInt(intervalMs)
  const divisor = BigInt(one) * BigInt(eightHoursMs)
  return product > 0n ? Number((product + divisor - 1n) / divisor) : Number(product / divisor) + 0
}

/** What a position has yet to pay (negative: to receive). */
export const pendingOf = ({ markets, positions }: State, slot: number): number => {
  const quantity = positions.quantity(slot)
  if (quantity === 0) return 0
  const market = markets[positions.market(slot)]!
  const settled = positions.fundingEpoch(slot)
  if (settled === market.fundingEpoch) return 0
  let pending = 0
  for (const payment of market.payments) if (payment.epoch > settled) pending += owed(market, payment, quantity)
  return pending
}

/** What an account has yet to pay in all (negative: to receive). */
export const pendingOfAccount = (state: State, account: number): number => {
  const { accounts, positions } = state
  if (state.settling === 0 || state.settled.has(account)) return 0
  let pending = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) pending += pendingOf(state, slot)
  return pending
}

/** Settles what a position owes, the oldest payment first. */
export const settle = (state: State, slot: number): void => {
  const { markets, positions } = state
  const market = markets[positions.market(slot)]!
  const settled = positions.fundingEpoch(slot)
  if (settled === market.fundingEpoch) return
  if (positions.quantity(slot) !== 0) {
    assert(market.payments.length > 0 && settled >= market.payments[0]!.epoch - 1, "what a position owes is in line")
    for (const payment of market.payments) if (payment.epoch > settled) settlePayment(state, market, slot, payment)
  }
  positions.setFundingEpoch(slot, market.fundingEpoch)
}

/** Settles a payment that a position owes. */
const settlePayment = (state: State, market: MarketState, slot: number, payment: Payment): void => {
  const { accounts, events, positions } = state
  const account = positions.account(slot)
  const quantity = positions.quantity(slot)
  const paid = owed(market, payment, quantity)
  const collateral = accounts.collateral(account) - paid
  accounts.setCollateral(account, collateral)
  state.noteBalance(account, Cause.funding, market.index, -paid, collateral)
  accounts.setLastSequence(account, state.sequence)
  positions.setFundingPaid(slot, positions.fundingPaid(slot) + paid)
  positions.setLastSequence(slot, state.sequence)
  payment.pool.add(paid)
  state.fundingPool.add(paid)
  if (paid > 0) state.noteChanged(account)
  tell(state, payment, account, quantity, paid)
  InsuranceFund.settled(state, account, market.index, paid)
  events.event3(Event.FundingPaid, account, market.index, paid)
  events.event2(Event.CollateralChanged, account, collateral)
}

/** Keeps a payment for its account to read. */
const tell = (
  { atEpochMs, events, fundingPayments, isTrial, sequence }: State,
  { endedAtEpochMs, indexAtoms, intervalMs, market, rate8hE9 }: Payment,
  account: number,
  quantity: number,
  paid: number
): void => {
  const payment = {
    sequence,
    atEpochMs,
    account,
    market,
    endedAtEpochMs,
    quantityAtoms: quantity,
    indexPriceAtoms: indexAtoms,
    rate8hE9,
    intervalMs,
    paidAtoms: paid
  }
  fundingPayments.add(payment)
  if (!isTrial) events.told.payment(payment)
}

/** Settles what an account owes, before anything else is decided of it. */
export const settleAccount = (state: State, account: number): void => {
  if (state.settling === 0 || state.settled.has(account)) return
  const { accounts, positions } = state
  state.settled.add(account)
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) settle(state, slot)
}

/** Has the record at hand, or its tick, settle as many positions as one does. */
export const begin = (state: State): void => {
  state.settleLeft = state.capacity.settledAtOnce ?? settledAtOnce
}

/** Goes on with what is in line, as far as the record goes. */
export const settleSome = (state: State): void => {
  const { payments, positions } = state
  for (let payment = payments[0]; payment !== undefined; payment = payments[0]) {
    while (payment.left > 0 && state.settleLeft > 0) {
      payment.left--
      state.settleLeft--
      if (payment.left >= positions.heldCount(payment.market)) continue
      const slot = positions.heldSlot(payment.market, payment.left)
      state.settleLeft -= Breadth.beyondOneLook(state, positions.account(slot))
      settle(state, slot)
    }
    state.settling = payment.left
    if (payment.left > 0) {
      state.capacity.reached?.("funding was left to be settled with the next record")
      return
    }
    leave(state, payment)
  }
}

/** Takes the first payment out of the line: all of it is settled, and what rounding left is the insurance fund's. */
const leave = (state: State, payment: Payment): void => {
  const { markets, payments } = state
  payments.shift()
  const first = markets[payment.market]!.payments.shift()
  assert(first === payment, "the payments of a market are in line in their order")
  state.settling = payments[0]?.left ?? 0
  if (payments.length === 0) state.settled.clear()
  const rest = Number(payment.pool.atoms)
  if (rest === 0) return
  assert(rest > 0, "no more funding is received than paid")
  InsuranceFund.take(state, rest, Movement.fundingRest, none)
  state.fundingPool.add(-rest)
}

// ---- what a snapshot has of the line

/** A payment in line as a snapshot has it. */
export type PaymentDump = Omit<Payment, "pool"> & { readonly poolLow: number; readonly poolHigh: number }

/** The line; undefined while there is none, so that a venue without has what it always had. */
export const dump = ({ payments }: State): ReadonlyArray<PaymentDump> | undefined =>
  payments.length === 0
    ? undefined
    : payments.map(({ pool, ...payment }) => ({ ...payment, poolLow: pool.low, poolHigh: pool.high }))

/** Brings back a line. */
export const restore = (state: State, dumped: ReadonlyArray<PaymentDump>): void => {
  for (const { poolHigh, poolLow, ...payment } of dumped) {
    const pool = new Total()
    pool.low = poolLow
    pool.high = poolHigh
    line(state, { ...payment, pool })
  }
}

/**
 * The line of a state that was left in the middle of a payment by a program that knew one at a time, the last of a market, and
 * went through the positions of all: everyone in the market is looked at again, and nobody pays twice.
 */
export const resume = (state: State): void => {
  const { fundingPool, markets, positions } = state
  // Where nobody owes any more, what rounding left is still to go to the insurance fund.
  const market = markets.find((each) => owesAnybody(positions, each)) ?? markets.find(({ fundingEpoch }) => fundingEpoch > 0)
  state.settling = 0
  if (market === undefined) return
  const pool = new Total()
  pool.low = fundingPool.low
  pool.high = fundingPool.high
  line(state, {
    market: market.index,
    epoch: market.fundingEpoch,
    endedAtEpochMs: market.fundings.at(0)!.atEpochMs,
    rate8hE9: market.paidRate8hE9,
    indexAtoms: market.paidIndex,
    intervalMs: market.paidIntervalMs,
    left: positions.heldCount(market.index),
    pool
  })
}

/** Whether a position in a market has yet to settle its last payment. */
const owesAnybody = (positions: Positions, { fundingEpoch, index }: MarketState): boolean => {
  for (let place = 0; place < positions.heldCount(index); place++) {
    const slot = positions.heldSlot(index, place)
    if (positions.quantity(slot) !== 0 && positions.fundingEpoch(slot) !== fundingEpoch) return true
  }
  return false
}
