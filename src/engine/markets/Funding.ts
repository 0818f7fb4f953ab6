/**
 * Funding: what longs pay to shorts at the end of each interval, or shorts to longs, so that the book stays near the index.
 *
 *  premium = (max(0, impactBid - index) - max(0, index - impactAsk)) / index, every five seconds
 *  rate per 8 hours = average premium + clamp(0.01 % - average premium, -+0.05 %), within 8 x fundingCap
 *  payment = quantity x index x K x rate x interval / 8 hours; what is paid rounds up, what is received down
 *
 * Everyone who holds a position at the interval's record pays or receives for the whole interval. The rate is fixed there, and the
 * payment joins a queue: positions are settled in bounded steps, one payment after the other, and an account that acts meanwhile is
 * settled first, so that the time of settlement makes no difference. The rounding remainder of a payment goes to the insurance fund
 * with its last position.
 */
import { assert } from "../../domain/Assert.js"
import * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import * as Session from "../../domain/Session.js"
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
/** Milliseconds between two premium samples. */
export const sampleMs = 5_000
/** The interest rate per 8 hours, and how far the premium may deviate from it before it counts, both in 10^-9. */
const interestE9 = 100_000
const clampE9 = 500_000
/** Caps are stated per hour, rates per 8 hours. */
const hours = 8

/** Positions whose funding one record settles besides its own work, and as many again in a record with a mark tick. */
export const settledAtOnce = 256

/**
 * Most payments of one market in the queue. An interval that ends while the queue is full is not paid: this takes hours without any
 * settlement, and the end of an interval must not wait for it.
 */
export const mostInLine = 8

const clamp = (value: number, most: number): number => Math.max(-most, Math.min(most, value))

/** Adds a premium sample to the current interval. A thin side is passed as the index price. */
export const sample = (market: MarketState, bid: number, ask: number): void => {
  const { indexPrice } = market
  const premium = Math.max(0, bid - indexPrice) - Math.max(0, indexPrice - ask)
  market.premiumSumE9 += Number((BigInt(premium) * BigInt(one)) / BigInt(indexPrice))
  market.premiumSamples++
}

/** The average premium of the current interval, in 10^-9 of the index, rounded toward zero. */
const averagePremiumE9 = ({ premiumSamples, premiumSumE9 }: MarketState): number =>
  premiumSamples === 0 ? 0 : Math.trunc(premiumSumE9 / premiumSamples) + 0

/** When the last published interval ended, epoch milliseconds; 0 before the first. */
const endedLastEpochMs = ({ fundings }: MarketState): number => fundings.length === 0 ? 0 : fundings.column("atEpochMs")(0)

/**
 * Whether an interval began before the last published one had ended, as the first one after a change of length does: its payment
 * would charge part of its time twice.
 */
const isCut = (market: MarketState, interval: number): boolean => endedLastEpochMs(market) > interval * market.parameters.fundingIntervalMs

/** The current interval's rate so far, per 8 hours in 10^-9; 0 where nothing will be paid for it. */
export const runningRate8hE9 = (market: MarketState): number => {
  if (market.fundingInterval !== 0 && isCut(market, market.fundingInterval)) return 0
  const average = averagePremiumE9(market)
  return clamp(average + clamp(interestE9 - average, clampE9), hours * market.parameters.fundingCapE9)
}

/** Converts a rate per 8 hours to a rate per interval, rounded toward zero. */
export const perInterval = (rate8hE9: number, intervalMs: number): number => Math.trunc((rate8hE9 * intervalMs) / eightHoursMs) + 0

/** The current interval's rate so far, per interval in 10^-9. */
export const runningRateE9 = (market: MarketState): number => perInterval(runningRate8hE9(market), market.parameters.fundingIntervalMs)

/** The number of the interval that contains a time, counted from the epoch. */
const intervalAt = (atEpochMs: number, { parameters: { fundingIntervalMs } }: MarketState): number =>
  Math.floor(atEpochMs / fundingIntervalMs)

/** When the current interval ends, epoch milliseconds. */
const endsAtEpochMs = ({ fundingInterval, parameters: { fundingIntervalMs } }: MarketState): number =>
  (fundingInterval + 1) * fundingIntervalMs

/**
 * The first end of an interval after a time at which its market is open as far as its session tells, since nothing is paid at others:
 * epoch milliseconds, 0 where none is known and in a delisted market, where funding has ended.
 */
export const nextEndEpochMs = (market: MarketState, atEpochMs: number): number => {
  if (market.isDelisted) return 0
  const endAfter = (epochMs: number): number => (intervalAt(epochMs, market) + 1) * market.parameters.fundingIntervalMs
  const span = spansFrom(market, atEpochMs).find(([from, to]) => endAfter(from) < to)
  return span === undefined ? 0 : endAfter(span[0])
}

/** Whether the current interval has at least half of its samples, or would have with some more. */
const hasEnough = ({ parameters: { fundingIntervalMs }, premiumSamples }: MarketState, more = 0): boolean =>
  (premiumSamples + more) * 2 * sampleMs >= fundingIntervalMs

/** Whether the current interval, which is over, would be paid if a record of this time ended it, as far as the queue has room. */
const isWholeAt = ({ halted }: State, market: MarketState, atEpochMs: number): boolean => {
  const isNext = intervalAt(atEpochMs, market) === market.fundingInterval + 1
  return isNext && market.liveSince <= endsAtEpochMs(market) && !halted && isTicking(market, atEpochMs) && hasEnough(market)
}

/** When a market is open from a time on, as far as its session tells. */
const spansFrom = ({ parameters, session }: MarketState, atEpochMs: number): ReturnType<typeof Session.spansFrom> =>
  !Market.hasSessions(parameters)
    ? [[atEpochMs, Number.POSITIVE_INFINITY]]
    : session === null
    ? []
    : Session.spansFrom(session, atEpochMs)

/** How many more samples the current interval gets if it gets all that may follow from a time on, in the time that its market is open. */
const samplesToCome = (market: MarketState, spans: ReturnType<typeof spansFrom>): number => {
  let nextSlot = market.sampledSlot + 1
  let samples = 0
  for (const [from, to] of spans) {
    const firstSlot = Math.max(nextSlot, Math.floor(from / sampleMs))
    nextSlot = Math.max(firstSlot, Math.floor((Math.min(to, endsAtEpochMs(market)) - 1) / sampleMs) + 1)
    samples += nextSlot - firstSlot
  }
  return samples
}

/** Whether the current interval may be paid, as far as is known at a time: it is open at its end, and gets enough samples until then. */
const mayBePaid = (state: State, market: MarketState, atEpochMs: number): boolean => {
  const endsAt = endsAtEpochMs(market)
  const spans = spansFrom(market, atEpochMs)
  if (atEpochMs >= endsAt) return isWholeAt(state, market, atEpochMs) && spans[0]?.[0] === atEpochMs
  return spans.some(([from, to]) => from < endsAt && endsAt < to) && hasEnough(market, samplesToCome(market, spans))
}

/**
 * The predicted rate as it is published at a time, that of the last record or a later one, per 8 hours in 10^-9; 0 where nobody will
 * pay it. No interval runs before a market's first tick, nor from a change that ended one until the next tick; in a delisted market
 * funding has ended. An interval that can no longer get half of its samples will not be paid, and neither will one that ends while its
 * market's session is closed, or ended while the market stood still.
 */
export const predictedRate8hE9 = (state: State, market: MarketState, atEpochMs: number): number =>
  runs(market) && mayBePaid(state, market, atEpochMs) ? runningRate8hE9(market) : 0

/** Whether an interval runs, or is over without having been published yet. */
const runs = ({ fundingInterval, isDelisted }: MarketState): boolean => fundingInterval !== 0 && !isDelisted

/** Whether the last interval is over at a time and nobody will pay it, although it has not been published yet. */
export const isLastUnpaid = (state: State, market: MarketState, atEpochMs: number): boolean =>
  runs(market) && atEpochMs >= endsAtEpochMs(market) && !mayBePaid(state, market, atEpochMs)

/**
 * Ends the current interval of a market once its time is over. Nothing is paid for an interval that was skipped, at whose end and
 * since then the market was not live throughout, or with fewer than half of its samples. The next tick begins another one.
 */
export const endInterval = (state: State, market: MarketState): void => {
  const { fundingInterval: ended } = market
  if (ended === 0 || intervalAt(state.atEpochMs, market) === ended) return
  const endedAtEpochMs = endsAtEpochMs(market)
  const isWhole = isWholeAt(state, market, state.atEpochMs)
  // Settles the payments in the queue first, as far as the record's budget goes.
  settleSome(state)
  const isPaid = isWhole && market.payments.length < (state.capacity.mostInLine ?? mostInLine)
  if (isWhole && !isPaid) state.capacity.reached?.("an interval was not paid as too many were in line")
  pay(state, market, endedAtEpochMs, isPaid ? runningRate8hE9(market) : 0)
  market.beginInterval(0)
}

/** Ends the current interval of a ticking market once its time is over, and begins the one that contains the tick. */
export const goOn = (state: State, market: MarketState): void => {
  endInterval(state, market)
  if (market.fundingInterval === 0) market.beginInterval(intervalAt(state.atEpochMs, market))
}

/**
 * Ends what new parameters would compute differently: an interval whose time is over, and also the current one where the length of
 * intervals changes or the market has no index of its underlying until its next price. Nothing is paid for a cut interval. No two
 * intervals are published with the same end, since the end identifies them.
 */
export const endBefore = (state: State, market: MarketState, next: Market.Parameters): void => {
  endInterval(state, market)
  const { fundingIntervalMs, underlyingSymbol } = market.parameters
  const hasOtherLength = next.fundingIntervalMs !== fundingIntervalMs
  const keepsIndex = next.underlyingSymbol === underlyingSymbol && market.hasIndexIn(next)
  if (market.fundingInterval === 0 || !hasOtherLength && keepsIndex) return
  if (hasOtherLength) state.capacity.reached?.("an interval was cut off by another length")
  if (endedLastEpochMs(market) < state.atEpochMs) pay(state, market, state.atEpochMs, 0)
}

/** Publishes an interval's rate, and makes every position in the market owe the payment. */
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

/** Appends a payment to the queue. */
const line = (state: State, payment: Payment): void => {
  state.payments.push(payment)
  state.markets[payment.market]!.payments.push(payment)
  state.settling = state.payments[0]!.left
  state.settled.clear()
}

/** What a position pays for an interval (negative: receives), money atoms, rounded against the position. */
export const owed = (
  { factor }: Pick<MarketState, "factor">,
  { indexAtoms, intervalMs, rate8hE9 }: Pick<Payment, "indexAtoms" | "intervalMs" | "rate8hE9">,
  quantity: number
): number => {
  const product = BigInt(quantity) * BigInt(indexAtoms) * BigInt(factor) * BigInt(rate8hE9) * BigInt(intervalMs)
  const divisor = BigInt(one) * BigInt(eightHoursMs)
  return product > 0n ? Number((product + divisor - 1n) / divisor) : Number(product / divisor) + 0
}

/** What a position still has to pay (negative: to receive), money atoms. */
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

/** What an account still has to pay in all (negative: to receive), money atoms. */
export const pendingOfAccount = (state: State, account: number): number => {
  const { accounts, positions } = state
  if (state.settling === 0 || state.settled.has(account)) return 0
  let pending = 0
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) pending += pendingOf(state, slot)
  return pending
}

/** Settles everything that a position owes, the oldest payment first. */
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

/** Settles one payment that a position owes. */
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

/** Records a payment for its account to read. */
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

/** Settles everything that an account owes, before anything else is decided about it. */
export const settleAccount = (state: State, account: number): void => {
  if (state.settling === 0 || state.settled.has(account)) return
  const { accounts, positions } = state
  state.settled.add(account)
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) settle(state, slot)
}

/** Resets the number of positions that the current record, or its tick, may settle. */
export const begin = (state: State): void => {
  state.settleLeft = state.capacity.settledAtOnce ?? settledAtOnce
}

/** Settles queued payments as far as the record's budget goes. */
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

/** Removes the first payment from the queue once it is fully settled; its rounding remainder goes to the insurance fund. */
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

/** A queued payment as a snapshot holds it. */
export type PaymentDump = Omit<Payment, "pool"> & { readonly poolLow: number; readonly poolHigh: number }

/** The queue; undefined while it is empty, so that snapshots of such a venue stay the same. */
export const dump = ({ payments }: State): ReadonlyArray<PaymentDump> | undefined =>
  payments.length === 0
    ? undefined
    : payments.map(({ pool, ...payment }) => ({ ...payment, poolLow: pool.low, poolHigh: pool.high }))

/** Restores a queue. */
export const restore = (state: State, dumped: ReadonlyArray<PaymentDump>): void => {
  for (const { poolHigh, poolLow, ...payment } of dumped) {
    const pool = new Total()
    pool.low = poolLow
    pool.high = poolHigh
    line(state, { ...payment, pool })
  }
}

/**
 * Rebuilds the queue of a state saved by an earlier version in the middle of a payment. That version knew one payment at a time,
 * the last of a market, and went through the positions of all markets: every holder in the market is examined again, and nobody
 * pays twice.
 */
export const resume = (state: State): void => {
  const { fundingPool, markets, positions } = state
  // Where nobody owes anything any more, the rounding remainder still has to go to the insurance fund.
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

/** Whether a position in a market still owes its last payment. */
const owesAnybody = (positions: Positions, { fundingEpoch, index }: MarketState): boolean => {
  for (let place = 0; place < positions.heldCount(index); place++) {
    const slot = positions.heldSlot(index, place)
    if (positions.quantity(slot) !== 0 && positions.fundingEpoch(slot) !== fundingEpoch) return true
  }
  return false
}
