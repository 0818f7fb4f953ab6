/**
 * Liquidation of an account below its maintenance margin, in the order of the rules: its orders are cancelled, a part of its
 * largest position is sold into the book, and where that does not suffice, the insurance fund takes over positions and the rest is
 * deleveraged. Each examination of an account is one bounded step of a record, so that nobody has to wait for a cascade.
 */
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import * as Breadth from "../Breadth.js"
import { nextSecond } from "../Deadlines.js"
import { Cause } from "../BalanceLog.js"
import { Event } from "../EventLog.js"
import { latestOf, type LiquidationStep, Movement, Step } from "../LiquidationLog.js"
import * as Margin from "../Margin.js"
import * as Changing from "../markets/Changing.js"
import { isLive } from "../markets/Freshness.js"
import { bandHighOf, bandLowOf, type MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import { cancelAll, openOf } from "../orders/Cancel.js"
import type { State } from "../State.js"
import { Total } from "../Total.js"
import * as Bankruptcy from "./Bankruptcy.js"
import { atOnce, deleverage } from "./Deleveraging.js"
import * as InsuranceFund from "./InsuranceFund.js"
import { nextNumber, trade } from "./OwnOrders.js"
import { directionOf } from "./Triggers.js"
import * as Watch from "./Watch.js"

/** A position of at most this notional is liquidated whole, money atoms: 100,000 USDC. */
const wholeUpTo = 100_000_000_000
/** An account whose first part was sent this long ago has whole positions liquidated, milliseconds. */
const wholeAfterMs = 30_000
/** A part is one in this many of a position: a fifth. */
const parts = 5
/** For this long after an account's first part every part is published: in that time a position may be sold by its fifths, milliseconds. */
const toldForMs = 5_000
/**
 * How much an examination counts among those of a record. One that can do nothing counts 1, since it is as little work as examining an
 * account whose trigger was crossed.
 */
const lookWeight = 16

/**
 * Examines the accounts that are due. Nothing is done under a halt, while a band is being cleared, or while funding is being
 * settled.
 */
export const run = (state: State): void => {
  const { clearing, halted, liquidating, liquidations } = state
  if (halted || liquidations.size === 0 || clearing.length > 0 || state.settling > 0) return
  const bounds = state.capacity.liquidatedAtOnce ?? atOnce
  const again: Array<readonly [account: number, atEpochMs: number]> = []
  // A look comes only where its part may meet an order, so that a part that goes on is always nearer to its end.
  while (liquidating.looks < bounds.looks * lookWeight && state.met < bounds.met && Matching.mayMeet(state)) {
    const account = liquidations.shiftDue(state.atEpochMs)
    if (account === none) break
    liquidating.looks += lookWeight
    // Keeps the account in the list while it is examined, so that it still counts as under liquidation.
    liquidations.set(account, Number.MAX_SAFE_INTEGER)
    const next = account === InsuranceFund.find(state) ? lookAtFund(state, account) : look(state, account)
    if (next === 0) end(state, account)
    else again.push([account, next])
  }
  for (const [account, atEpochMs] of again) liquidations.set(account, atEpochMs)
}

/** When the next examination is due, epoch milliseconds; `Infinity` where none is. */
export const nextEpochMs = ({ halted, liquidations }: State): number => halted ? Number.POSITIVE_INFINITY : liquidations.earliest

/** Whether an account is under liquidation. The insurance fund is in the list as well, while it unwinds its positions. */
export const isUnderLiquidation = (state: State, account: number): boolean =>
  state.liquidations.has(account) && account !== InsuranceFund.find(state)

/** Whether an account's equity covers its maintenance margin; its sums must be up to date. */
const isHealthy = (state: State, account: number): boolean =>
  state.accounts.sumMaintenanceMargin(account) === 0 || Margin.equityOf(state, account) >= state.accounts.sumMaintenanceMargin(account)

/** Whether an account is below its maintenance margin only because of losses in markets that are not live. */
const isSpared = (state: State, account: number): boolean => {
  const { accounts, markets, positions } = state
  const lost = new Total()
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (!isLive(markets[positions.market(slot)]!, state.atEpochMs)) lost.add(Math.min(0, positions.unrealizedPnl(slot)))
  }
  const equity = Margin.equityOf(state, account)
  const without = Number.isSafeInteger(equity) && Number.isSafeInteger(lost.nearest)
    ? equity - lost.nearest
    : BigInt(accounts.collateral(account)) + BigInt(accounts.exactUnrealizedPnl(account)) - lost.atoms
  return without >= accounts.sumMaintenanceMargin(account)
}

/** The position in a live market with the largest maintenance margin, on a tie that of the market with the lowest index; or -1. */
const largest = (state: State, account: number): number => {
  const { accounts, markets, positions } = state
  let found: number = none
  for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
    if (positions.quantity(slot) === 0 || !isLive(markets[positions.market(slot)]!, state.atEpochMs)) continue
    const more = found === none ? 1 : positions.maintenanceMargin(slot) - positions.maintenanceMargin(found)
    if (more > 0 || more === 0 && positions.market(slot) < positions.market(found)) found = slot
  }
  return found
}

/** The bankruptcy price of a position of an account whose sums are up to date. */
export const bankruptcyPrice = (state: State, account: number, slot: number): number => {
  const { accounts, markets, positions } = state
  return Bankruptcy.price(
    markets[positions.market(slot)]!,
    positions.quantity(slot),
    Margin.equityOf(state, account),
    positions.maintenanceMargin(slot),
    accounts.sumMaintenanceMargin(account)
  )
}

/** Ends the liquidation of an account that is healthy or has no position left. */
const end = (state: State, account: number): void => {
  state.liquidations.remove(account)
  state.parts.delete(account)
  Margin.refreshAccount(state, account)
  if (account === InsuranceFund.find(state)) return
  state.capacity.reached?.("a liquidation ended")
  const maintenanceMargin = state.accounts.sumMaintenanceMargin(account)
  const equity = Margin.equityOf(state, account)
  Watch.setTriggers(state, account, equity - maintenanceMargin)
  state.events.event3(Event.LiquidationEnded, account, equity, maintenanceMargin)
}

/** Examines an account. Returns when to examine it next, epoch milliseconds; 0 where its liquidation has ended. */
const look = (state: State, account: number): number => {
  Margin.refreshAccount(state, account)
  if (isHealthy(state, account)) return 0
  const next = nextSecond(state.atEpochMs)
  if (isSpared(state, account)) {
    state.capacity.reached?.("a liquidation waited for a stale market")
    countAsIdle(state, account)
    return next
  }
  const hasOrders = openOf(state, account) > 0
  const position = largest(state, account)
  if (!hasOrders && position === none) {
    countAsIdle(state, account)
    return next
  }
  if (hasOrders) cancelAll(state, account, anyMarket, Order.CancelReason.liquidation)
  const isCut = position !== none && sendPart(state, account, position)
  for (;;) {
    Margin.refreshAccount(state, account)
    if (isHealthy(state, account)) return 0
    // The market may want what is left: nothing is handed on before it was asked for all of the part.
    if (isCut) return state.atEpochMs
    const slot = largest(state, account)
    if (slot === none || !mayCloseWhole(state, account)) return next
    if (!closeWhole(state, account, slot, bankruptcyPrice(state, account, slot))) {
      Margin.refreshAccount(state, account)
      return isHealthy(state, account) ? 0 : state.atEpochMs
    }
  }
}

/**
 * Counts an examination as one that can do nothing. An account whose markets are all not live still has one every second: a few records
 * do all of these, so that accounts in live markets do not wait for them.
 */
const countAsIdle = (state: State, account: number): void => {
  state.liquidating.looks -= lookWeight - Math.min(lookWeight, 1 + Breadth.beyondOneLook(state, account))
}

/** Whether the equity is below two thirds of the maintenance margin. */
const isFarUnder = (state: State, account: number): boolean => {
  const equity = Margin.equityOf(state, account)
  return BigInt(equity) * 3n < BigInt(state.accounts.sumMaintenanceMargin(account)) * 2n
}

/**
 * Whether positions of an account may be closed outside the market now. Earlier steps of the same examination may have helped
 * enough.
 */
const mayCloseWhole = (state: State, account: number): boolean => isFarUnder(state, account) && !isSpared(state, account)

/** The position from which what is left of a part is sent; or -1 where it is gone, or its market is not live any more. */
const restOf = (state: State, account: number, market: number): number => {
  const { markets, positions } = state
  const slot = positions.find(account, market)
  return slot !== none && positions.quantity(slot) !== 0 && isLive(markets[market]!, state.atEpochMs) ? slot : none
}

/** The size of a new part of a position. */
const partOf = (state: State, market: MarketState, held: number, firstAtEpochMs: number): number => {
  const isWhole = held * market.mark * market.factor <= wholeUpTo || state.atEpochMs >= firstAtEpochMs + wholeAfterMs
  return isWhole ? held : Math.ceil(held / parts)
}

/**
 * Sends the account's part for the current second, from its largest position, or what an earlier record has left of it, into the book.
 * Returns whether the record could meet no more orders, so that the next one has to go on.
 */
const sendPart = (state: State, account: number, largestSlot: number): boolean => {
  const { accounts, markets, positions } = state
  const second = Math.floor(state.atEpochMs / 1_000)
  const sent = state.parts.get(account)
  const isSent = sent !== undefined && sent.lastSecond >= second
  if (isSent && sent.rest === undefined) return false
  const rest = isSent ? sent.rest : undefined
  // Whatever becomes of it now, it is not sent once more.
  if (rest !== undefined) state.parts.set(account, { firstAtEpochMs: sent!.firstAtEpochMs, lastSecond: second })
  const slot = rest === undefined ? largestSlot : restOf(state, account, rest.market)
  if (slot === none) return false
  const market = markets[positions.market(slot)]!
  const limitAtoms = bankruptcyPrice(state, account, slot)
  if (limitAtoms < 1) return false
  const firstAtEpochMs = sent?.firstAtEpochMs ?? state.atEpochMs
  const quantity = positions.quantity(slot)
  const held = Math.abs(quantity)
  const sizeAtoms = rest === undefined ? partOf(state, market, held, firstAtEpochMs) : Math.min(rest.sizeAtoms, held)
  const equityAtoms = Margin.equityOf(state, account)
  const maintenanceMarginAtoms = accounts.sumMaintenanceMargin(account)
  const number = nextNumber(state)
  state.events.event8(
    Event.LiquidationOrdered,
    account,
    market.index,
    number,
    sizeAtoms,
    limitAtoms,
    market.mark,
    equityAtoms,
    maintenanceMarginAtoms
  )
  const { filledAtoms, filledNotional, isCut } = trade(state, market, slot, number, sizeAtoms, limitAtoms, "liquidation")
  const left = isCut ? { rest: { market: market.index, sizeAtoms: sizeAtoms - filledAtoms } } : undefined
  state.parts.set(account, { firstAtEpochMs, lastSecond: second, ...left })
  if (isCut) state.capacity.reached?.("a part of a liquidation was left to the next record")
  state.capacity.reached?.(filledAtoms > 0 ? "a part of a position was liquidated" : "a liquidation found no taker")
  const isTold = filledAtoms === 0 && state.atEpochMs >= firstAtEpochMs + toldForMs
    && isToldOf(state, account, market, quantity, firstAtEpochMs)
  if (isTold) return isCut
  const feeAtoms = filledAtoms > 0 ? chargeFee(state, account, market, filledNotional) : 0
  publish(state, account, market, quantity, {
    step: Step.order,
    sizeAtoms,
    filledAtoms,
    priceAtoms: limitAtoms,
    feeAtoms,
    equityAtoms,
    maintenanceMarginAtoms
  })
  return isCut
}

/**
 * Whether the latest published step of a position under liquidation is a part without a fill. As long as nobody trades there is such a
 * part every second: if each were published, they would displace the steps of other accounts.
 */
const isToldOf = (
  { liquidationLog }: State,
  account: number,
  { index: market }: MarketState,
  quantity: number,
  sinceEpochMs: number
): boolean => {
  const told = latestOf(liquidationLog, { account, direction: directionOf(quantity), market, sinceEpochMs })
  return told?.step === Step.order && told.filledAtoms === 0
}

/** The fields in which steps without a counterparty differ. */
type Own = Pick<
  LiquidationStep,
  "step" | "sizeAtoms" | "filledAtoms" | "priceAtoms" | "feeAtoms" | "equityAtoms" | "maintenanceMarginAtoms"
>

/** Publishes a step without a counterparty, for a position that had `quantity` before it. */
const publish = ({ atEpochMs, liquidationLog, sequence }: State, account: number, market: MarketState, quantity: number, own: Own): void =>
  // Written out field by field: a cascade publishes thousands of steps, and an object spread costs more than the step.
  liquidationLog.add({
    sequence,
    atEpochMs,
    market: market.index,
    step: own.step,
    account,
    counterparty: none,
    rank: 0,
    rankingSequence: 0,
    direction: directionOf(quantity),
    sizeAtoms: own.sizeAtoms,
    filledAtoms: own.filledAtoms,
    priceAtoms: own.priceAtoms,
    markAtoms: market.mark,
    feeAtoms: own.feeAtoms,
    equityAtoms: own.equityAtoms,
    maintenanceMarginAtoms: own.maintenanceMarginAtoms
  })

/**
 * Moves the liquidation fee for a part's fills to the insurance fund: at most the equity that is left. Returns the fee, money
 * atoms.
 */
const chargeFee = (state: State, account: number, market: MarketState, notional: number): number => {
  const { accounts } = state
  Margin.refreshAccount(state, account)
  const fee = Math.min(Margin.bpsCeil(notional, market.parameters.liquidationFeeBps), Math.max(0, Margin.equityOf(state, account)))
  if (fee === 0) return 0
  const collateral = accounts.collateral(account) - fee
  accounts.setCollateral(account, collateral)
  state.noteBalance(account, Cause.liquidationFee, market.index, -fee, collateral)
  accounts.setLastSequence(account, state.sequence)
  state.events.event3(Event.LiquidationFeePaid, account, market.index, fee)
  state.events.event2(Event.CollateralChanged, account, collateral)
  InsuranceFund.take(state, fee, Movement.liquidationFee, market.index)
  return fee
}

/**
 * Closes a position at a price: the insurance fund takes what it can, and the rest is deleveraged. A market without any
 * counterparty left is halted. Returns whether the position is done with; otherwise the next record continues.
 */
const closeWhole = (state: State, account: number, slot: number, priceAtoms: number): boolean => {
  takeOver(state, account, slot, priceAtoms)
  Margin.refreshAccount(state, account)
  const isDone = state.positions.quantity(slot) === 0 || !mayCloseWhole(state, account)
  return isDone || deleverageOrHalt(state, slot, priceAtoms)
}

/** Deleverages a position of an account whose sums are up to date, and halts the market where there is no counterparty. */
const deleverageOrHalt = (state: State, slot: number, priceAtoms: number): boolean => {
  const came = deleverage(state, slot, priceAtoms)
  if (came === "nobody") {
    Changing.setStatus(state, state.markets[state.positions.market(slot)]!, "halted")
  }
  return came !== "unfinished"
}

/** Lets the insurance fund take over what it can of a position of an account whose sums are up to date. */
export const takeOver = (state: State, account: number, slot: number, priceAtoms: number): void => {
  const { accounts, markets, positions } = state
  const market = markets[positions.market(slot)]!
  const quantity = positions.quantity(slot)
  const sizeAtoms = InsuranceFund.mostTaken(state, market, quantity, priceAtoms)
  if (sizeAtoms === 0) return
  const isWhole = sizeAtoms === Math.abs(quantity)
  state.capacity.reached?.(isWhole ? "the insurance fund took a position over" : "the insurance fund took a part of a position over")
  const equityAtoms = Margin.equityOf(state, account)
  const maintenanceMarginAtoms = accounts.sumMaintenanceMargin(account)
  state.events.event7(
    Event.TakenOver,
    account,
    market.index,
    sizeAtoms,
    priceAtoms,
    market.mark,
    equityAtoms,
    maintenanceMarginAtoms
  )
  const fundSlot = state.touchPosition(InsuranceFund.find(state), market.index)
  InsuranceFund.moved(state, Movement.takeover, market.index, () => {
    Matching.transfer(state, market, slot, fundSlot, sizeAtoms, InsuranceFund.passingPrice(market, priceAtoms))
    InsuranceFund.payDifference(state, account, market, Math.sign(quantity) * sizeAtoms, priceAtoms)
  })
  publish(state, account, market, quantity, {
    step: Step.takeover,
    sizeAtoms,
    filledAtoms: sizeAtoms,
    priceAtoms,
    feeAtoms: 0,
    equityAtoms,
    maintenanceMarginAtoms
  })
}

/** Examines the insurance fund. Returns when to examine it next, epoch milliseconds; 0 once it has no position. */
const lookAtFund = (state: State, fund: number): number => {
  for (;;) {
    Margin.refreshAccount(state, fund)
    const slot = isHealthy(state, fund) || isSpared(state, fund) ? none : largest(state, fund)
    if (slot === none) break
    state.capacity.reached?.("the insurance fund was deleveraged")
    const price = Margin.equityOf(state, fund) < 0 ? bankruptcyPrice(state, fund, slot) : state.markets[state.positions.market(slot)]!.mark
    const isThrough = InsuranceFund.moved(
      state,
      Movement.deleveraging,
      state.positions.market(slot),
      () => deleverageOrHalt(state, slot, price)
    )
    if (!isThrough) return state.atEpochMs
  }
  const isThrough = unwind(state, fund)
  if (!isThrough) return state.atEpochMs
  return state.accounts.sumMaintenanceMargin(fund) === 0 ? 0 : nextSecond(state.atEpochMs)
}

/**
 * The worst price at which the fund unwinds: as far from the mark as the market's liquidation fee, within the price band. If it sold
 * further away, somebody could arrange to be taken over and buy the position back far below the mark.
 */
const unwindingLimit = ({ bandHigh, bandLow, mark, parameters: { liquidationFeeBps } }: MarketState, quantity: number): number =>
  quantity > 0
    ? Math.max(bandLow, bandLowOf(mark, liquidationFeeBps))
    : Math.min(bandHigh, bandHighOf(mark, liquidationFeeBps))

/**
 * Unwinds a fifth of the fund's position in each market, a bounded number of markets per record. It stops where the record may meet no
 * more orders, and goes on in the next one. Returns whether the current second is done.
 */
const unwind = (state: State, fund: number): boolean => {
  const { markets, positions } = state
  let left = (state.capacity.liquidatedAtOnce ?? atOnce).unwound
  for (; state.unwindFrom < markets.length; state.unwindFrom++) {
    const market = markets[state.unwindFrom]!
    const slot = positions.find(fund, market.index)
    if (slot === none || positions.quantity(slot) === 0 || !isLive(market, state.atEpochMs)) continue
    if (left-- === 0 || !Matching.mayMeet(state)) return false
    const quantity = positions.quantity(slot)
    const sizeAtoms = Math.ceil(Math.abs(quantity) / parts)
    const number = nextNumber(state)
    state.events.event3(Event.FundUnwound, market.index, number, sizeAtoms)
    Margin.refreshAccount(state, fund)
    const limitAtoms = unwindingLimit(market, quantity)
    InsuranceFund.moved(
      state,
      Movement.unwinding,
      market.index,
      () => trade(state, market, slot, number, sizeAtoms, limitAtoms, "unwinding")
    )
    state.capacity.reached?.("the insurance fund unwound")
  }
  state.unwindFrom = 0
  Margin.refreshAccount(state, fund)
  return true
}
