/**
 * Price-time matching and all effects of a fill: both positions, both collaterals, fees, and the trimming of reduce-only orders
 * that exceed the smaller position.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import { Cause } from "./BalanceLog.js"
import * as Order from "../domain/Order.js"
import { mulDivCeil } from "../domain/Units.js"
import * as Bracketing from "./accounts/Bracketing.js"
import type { Book } from "./Book.js"
import * as Breadth from "./Breadth.js"
import { Event } from "./EventLog.js"
import * as Margin from "./Margin.js"
import * as Funding from "./markets/Funding.js"
import { meetsReductions } from "./markets/Freshness.js"
import type { MarketState } from "./Markets.js"
import * as OpenLists from "./OpenLists.js"
import * as Leaving from "./orders/Leaving.js"
import { readMakers } from "./orders/ReadAhead.js"
import * as Positions from "./Positions.js"
import type { State } from "./State.js"

const { CancelReason } = Order

/**
 * Most resting orders that the incoming orders of one record meet, over all entries of a batch: less than a millisecond's work,
 * even where each has to be read from memory on a slow machine. A client that wants more sends another order, and others have their
 * turn in between. Reduce-only orders that a fill trims away count as well, since each account may have hundreds of them, and so do
 * the markets of the accounts met, see `Breadth`.
 */
export const metAtOnce = 384
/** Makers that a taker meets before the ones behind them are read ahead: most takers meet no more. */
const metUnread = 3

/** Why matching stopped with quantity left. */
export type Stop = "NotCrossing" | "Filled" | "SelfTrade" | "MarginUnbacked" | "MetEnough"

const makerFilled: Positions.Filled = { quantity: 0, entryNotional: 0, realizedPnl: 0, opens: false }
const takerFilled: Positions.Filled = { quantity: 0, entryNotional: 0, realizedPnl: 0, opens: false }
const makerRequired = new Margin.Requirement()
const takerRequired = new Margin.Requirement()

/** Whether the record may meet another resting order. */
export const mayMeet = ({ capacity, met }: State): boolean => met < (capacity.metAtOnce ?? metAtOnce)

/** Whether a taker with a limit price (0: none) trades at a resting price. */
export const crosses = (side: Order.Side, limitAtoms: number, restingAtoms: number): boolean =>
  limitAtoms === 0 || (side === Order.buy ? restingAtoms <= limitAtoms : restingAtoms >= limitAtoms)

/** The worst price at which an order of a side may trade: its limit (0: none) or the band's edge, whichever is stricter. */
export const reach = ({ bandHigh, bandLow }: MarketState, side: Order.Side, limitAtoms: number): number =>
  side === Order.sell ? Math.max(limitAtoms, bandLow) : limitAtoms === 0 ? bandHigh : Math.min(limitAtoms, bandHigh)

/**
 * Whether an order only reduces a position: it is opposite to it and no larger. An order that rests or may rest and is not
 * reduce-only counts together with all orders of its side that could follow it. An order that never rests has no successors; those
 * that rest before it are checked in their own turn.
 */
const onlyReduces = (state: State, slot: number, order: number): boolean => {
  const { orders, positions } = state
  const quantity = positions.quantity(slot)
  const side = orders.side(order)
  if (side === Order.buy ? quantity >= 0 : quantity <= 0) return false
  const stands = orders.reduceOnly(order) || orders.timeInForce(order) === Order.ioc
  const size = stands ? orders.remaining(order) : side === Order.buy ? positions.openBuys(slot) : positions.openSells(slot)
  return size <= Math.abs(quantity)
}

/**
 * Whether one side of a fill satisfies the accept rule after it, including the fee. Sets `filled` to the resulting position and
 * `required` to its requirement.
 */
const keepsAcceptRule = (
  state: State,
  market: MarketState,
  slot: number,
  order: number,
  filled: Positions.Filled,
  required: Margin.Requirement,
  sizeAtoms: number,
  priceAtoms: number,
  feeAtoms: number
): boolean => {
  const { accounts, orders, positions } = state
  const side = orders.side(order)
  const buying = side === Order.buy
  Positions.fill(
    filled,
    positions.quantity(slot),
    positions.entryNotional(slot),
    buying,
    sizeAtoms,
    priceAtoms,
    market.factor
  )
  let openBuys = positions.openBuys(slot)
  let openSells = positions.openSells(slot)
  let buyLoss = positions.buyLoss(slot)
  let sellLoss = positions.sellLoss(slot)
  if (!orders.reduceOnly(order)) {
    const loss = Margin.lossAtOnce(market, side, orders.priceAtoms(order), sizeAtoms)
    if (buying) {
      openBuys -= sizeAtoms
      buyLoss -= loss
    } else {
      openSells -= sizeAtoms
      sellLoss -= loss
    }
  }
  Margin.require(
    required,
    market,
    positions.leverage(slot),
    filled.quantity,
    filled.entryNotional,
    openBuys,
    openSells,
    buyLoss,
    sellLoss
  )
  const collateral = accounts.collateral(positions.account(slot)) + filled.realizedPnl - feeAtoms
  return Margin.accepts(state, slot, required, collateral, onlyReduces(state, slot, order))
}

/** Applies one side of a fill to position, collateral and open sizes. The caller updates the order's own columns. */
const applyFill = (
  state: State,
  market: MarketState,
  slot: number,
  order: number,
  filled: Positions.Filled,
  required: Margin.Requirement,
  sizeAtoms: number,
  feeAtoms: number
): void => {
  const { orders } = state
  const side = orders.side(order)
  if (!orders.reduceOnly(order)) {
    Margin.addOpen(state, slot, side, -sizeAtoms, -Margin.lossAtOnce(market, side, orders.priceAtoms(order), sizeAtoms))
  }
  const before = state.positions.quantity(slot)
  applyToPosition(state, market, slot, filled, required, sizeAtoms, feeAtoms)
  if (state.brackets.size > 0) Bracketing.armOpened(state, orders.number(order), before, filled.quantity)
}

/**
 * Applies a fill of `sizeAtoms` to a position and its account's collateral; `required` is the resulting requirement, where it is
 * known. The account's maintenance margin is checked at the end of the record.
 */
const applyToPosition = (
  state: State,
  market: MarketState,
  slot: number,
  filled: Positions.Filled,
  required: Margin.Requirement | undefined,
  sizeAtoms: number,
  feeAtoms: number
): void => {
  const { accounts, events, positions } = state
  const account = positions.account(slot)
  const before = positions.quantity(slot)
  Funding.settle(state, slot)
  state.liquidating.changes++
  market.addOpenInterest(positions, Math.max(0, filled.quantity) - Math.max(0, before))
  if (filled.opens) {
    positions.setBorn(slot, ++state.episodes)
    positions.setOpenedAt(slot, state.atEpochMs)
    positions.setRealizedPnl(slot, 0)
    positions.setFundingPaid(slot, 0)
    // The fee of a flip is split between both episodes: the new one bears the share of the quantity that opens it.
    positions.setFeesPaid(slot, mulDivCeil(feeAtoms, Math.abs(filled.quantity), sizeAtoms))
  } else {
    positions.setRealizedPnl(slot, positions.realizedPnl(slot) + filled.realizedPnl)
    positions.setFeesPaid(slot, positions.feesPaid(slot) + feeAtoms)
  }
  positions.setQuantity(slot, filled.quantity)
  positions.setEntryNotional(slot, filled.entryNotional)
  positions.setLastSequence(slot, state.sequence)
  accounts.setLastSequence(account, state.sequence)
  const collateral = accounts.collateral(account) + filled.realizedPnl - feeAtoms
  accounts.setCollateral(account, collateral)
  state.fees.add(feeAtoms)
  if (filled.realizedPnl !== 0) state.noteBalance(account, Cause.realizedPnl, market.index, filled.realizedPnl, collateral + feeAtoms)
  if (feeAtoms !== 0) state.noteBalance(account, Cause.fee, market.index, -feeAtoms, collateral)
  if (required === undefined) Margin.changed(state, slot)
  else Margin.became(state, slot, required)
  // A preview does not check maintenance margins.
  if (state.isTrial) return
  if (Math.sign(before) !== Math.sign(filled.quantity)) state.triggers.drop(positions, slot)
  state.noteChanged(account)
  events.event6(
    Event.PositionChanged,
    account,
    market.index,
    filled.quantity,
    filled.entryNotional,
    positions.realizedPnl(slot),
    positions.feesPaid(slot)
  )
  events.event2(Event.CollateralChanged, account, collateral)
}

/** Marks an order as ended and its remainder as cancelled. It must have left its book, with its open sizes released. */
const end = (state: State, order: number, status: Order.Status, reason: Order.CancelReason): void => {
  const { events, orders } = state
  orders.setCanceled(order, orders.canceled(order) + orders.remaining(order))
  orders.setRemaining(order, 0)
  orders.setStatus(order, status)
  orders.setCancelReason(order, reason)
  orders.setUpdatedAt(order, state.atEpochMs)
  orders.setLastSequence(order, state.sequence)
  orders.lengthenRetention(order, state.retentionMinutes)
  state.expiries.remove(order)
  state.pushEnded(order)
  if (state.brackets.size > 0) Bracketing.endOrder(state, orders.number(order))
  if (state.connections.size > 0) state.connections.leave(orders.number(order))
  events.event5(Event.OrderEnded, orders.number(order), status, reason, orders.filled(order), orders.canceled(order))
}

/** Ends an order that has no remainder: `closed` where all was filled, `canceled` where some of it was trimmed. */
const endFilled = (state: State, order: number): void => {
  if (state.orders.canceled(order) === 0) end(state, order, Order.closed, CancelReason.none)
  else end(state, order, Order.canceled, CancelReason.reduceOnlyExceeded)
}

/** The position slot of a resting order: from its row, or looked up once after a restore. */
export const positionOf = (state: State, order: number): number => {
  const { orders, positions } = state
  const told = orders.position(order)
  if (told !== none) return told
  const slot = positions.find(orders.account(order), orders.market(order))
  assert(slot !== none, "a resting order has a position slot")
  orders.setPosition(order, slot)
  return slot
}

const link = (state: State, slot: number, order: number): void => {
  const { orders, positions } = state
  orders.setPosition(order, slot)
  const last = positions.lastOrder(slot)
  orders.setAccountPrev(order, last)
  orders.setAccountNext(order, none)
  if (last === none) positions.setFirstOrder(slot, order)
  else orders.setAccountNext(last, order)
  positions.setLastOrder(slot, order)
  positions.setOpenCount(slot, positions.openCount(slot) + 1)
  state.openOrders++
  OpenLists.linked(state, slot, order)
}

const unlink = (state: State, slot: number, order: number): void => {
  const { orders, positions } = state
  const next = orders.accountNext(order)
  const prev = orders.accountPrev(order)
  if (prev === none) positions.setFirstOrder(slot, next)
  else orders.setAccountNext(prev, next)
  if (next === none) positions.setLastOrder(slot, prev)
  else orders.setAccountPrev(next, prev)
  orders.setAccountNext(order, none)
  orders.setAccountPrev(order, none)
  positions.setOpenCount(slot, positions.openCount(slot) - 1)
  state.openOrders--
  OpenLists.unlinked(state, slot, order)
}

/** Adds to a position's resting reduce-only size of one side (negative: subtracts). */
const addReducing = ({ positions }: State, slot: number, side: Order.Side, sizeAtoms: number): void => {
  if (side === Order.buy) positions.setReduceBuys(slot, positions.reduceBuys(slot) + sizeAtoms)
  else positions.setReduceSells(slot, positions.reduceSells(slot) + sizeAtoms)
}

/**
 * Reduces what a position has open for an order: growing size with its immediate loss, or reduce-only size. Loss figures for an
 * older mark stay as they are, since they are recomputed when the account is next refreshed.
 */
export const withdrawOpen = (state: State, market: MarketState, slot: number, order: number, sizeAtoms: number): void => {
  const { orders } = state
  const side = orders.side(order)
  if (orders.reduceOnly(order)) {
    addReducing(state, slot, side, -sizeAtoms)
    return
  }
  if (state.positions.riskEpoch(slot) !== market.riskEpoch) {
    Margin.addOpen(state, slot, side, -sizeAtoms, 0)
    return
  }
  Margin.addOpen(state, slot, side, -sizeAtoms, -Margin.lossAtOnce(market, side, orders.priceAtoms(order), sizeAtoms))
  Margin.changed(state, slot)
}

/** The reverse of `withdrawOpen`. */
export const offerOpen = (state: State, market: MarketState, slot: number, order: number, sizeAtoms: number): void =>
  withdrawOpen(state, market, slot, order, -sizeAtoms)

/**
 * Takes a resting order out of its book and its account's chain and releases its open sizes. It is neither open nor ended
 * afterwards.
 */
export const liftResting = (state: State, market: MarketState, slot: number, order: number): void => {
  state.books[market.index]!.remove(order)
  withdrawOpen(state, market, slot, order, state.orders.remaining(order))
  unlink(state, slot, order)
  market.bookSequence = state.sequence
}

/** Cancels a resting order. */
export const cancelResting = (state: State, order: number, reason: Order.CancelReason): void => {
  const { accounts, orders } = state
  const account = orders.account(order)
  const market = state.markets[orders.market(order)]!
  const slot = positionOf(state, order)
  liftResting(state, market, slot, order)
  end(state, order, Order.canceled, reason)
  accounts.setLastSequence(account, state.sequence)
}

/**
 * Trims resting reduce-only orders and brackets to the position: cumulatively per side to at most |q|, newest first, and to nothing
 * on the side that would grow it. Called after every fill of the account, so that none of them can ever grow the position.
 */
const enforceReduceOnly = (state: State, market: MarketState, slot: number): void => {
  const { positions } = state
  const quantity = positions.quantity(slot)
  if (positions.reduceBuys(slot) > Math.max(0, -quantity)) trim(state, market, slot, Order.buy, Math.max(0, -quantity))
  if (positions.reduceSells(slot) > Math.max(0, quantity)) trim(state, market, slot, Order.sell, Math.max(0, quantity))
  if (state.brackets.size > 0) Bracketing.trim(state, slot)
}

const trim = (state: State, market: MarketState, slot: number, side: Order.Side, allowedAtoms: number): void => {
  const { events, orders, positions } = state
  const reducing = (): number => side === Order.buy ? positions.reduceBuys(slot) : positions.reduceSells(slot)
  for (let order = positions.lastOrder(slot); order !== none && reducing() > allowedAtoms;) {
    const older = orders.accountPrev(order)
    if (orders.reduceOnly(order) && orders.side(order) === side) {
      const byAtoms = reducing() - allowedAtoms
      if (byAtoms >= orders.remaining(order)) {
        state.capacity.reached?.("a reduce-only order was trimmed away")
        cancelResting(state, order, Leaving.reasonOr(state, order, CancelReason.reduceOnlyExceeded))
        state.met++
      } else {
        state.capacity.reached?.("a reduce-only order was trimmed in part")
        state.books[market.index]!.reduce(order, byAtoms)
        orders.setCanceled(order, orders.canceled(order) + byAtoms)
        orders.setUpdatedAt(order, state.atEpochMs)
        orders.setLastSequence(order, state.sequence)
        addReducing(state, slot, side, -byAtoms)
        market.bookSequence = state.sequence
        events.event3(Event.OrderTrimmed, orders.number(order), byAtoms, orders.remaining(order))
      }
    }
    order = older
  }
  assert(reducing() <= allowedAtoms, "trimmed reduce-only orders fit the position")
}

/** Whether a fill would grow the maker's position, which is not allowed in a reduce-only market. */
const growsMaker = (quantity: number, makerSide: Order.Side, sizeAtoms: number): boolean =>
  makerSide === Order.buy ? quantity + sizeAtoms > 0 : quantity - sizeAtoms < 0

/** Transfers `sizeAtoms` of a position to another one of its market at a price, without orders and fees. */
export const transfer = (state: State, market: MarketState, from: number, to: number, sizeAtoms: number, priceAtoms: number): void => {
  const { positions } = state
  const isSold = positions.quantity(from) > 0
  pass(state, market, from, !isSold, sizeAtoms, priceAtoms)
  pass(state, market, to, isSold, sizeAtoms, priceAtoms)
  enforceReduceOnly(state, market, from)
  enforceReduceOnly(state, market, to)
}

const pass = (state: State, market: MarketState, slot: number, buying: boolean, sizeAtoms: number, priceAtoms: number): void => {
  const { positions } = state
  Positions.fill(takerFilled, positions.quantity(slot), positions.entryNotional(slot), buying, sizeAtoms, priceAtoms, market.factor)
  applyToPosition(state, market, slot, takerFilled, undefined, sizeAtoms, 0)
}

/**
 * Kinds of takers: a client's order, and one that closes a position for a client, both with a fee; the venue's own, without a fee;
 * a liquidation also without the accept rule.
 */
export type Taker = "client" | "closing" | "liquidation" | "unwinding"

/** Records a fill for the public trades and the accounts' histories. */
const noteFill = (
  state: State,
  market: MarketState,
  maker: number,
  taker: number,
  sizeAtoms: number,
  notional: number,
  makerFee: number,
  takerFee: number
): void => {
  const { orders } = state
  const priceAtoms = orders.priceAtoms(maker)
  market.traded(priceAtoms, sizeAtoms, notional, state.atEpochMs)
  state.fills.add(
    state.sequence,
    state.atEpochMs,
    market.index,
    priceAtoms,
    sizeAtoms,
    orders.number(maker),
    orders.number(taker),
    orders.account(maker),
    orders.account(taker),
    orders.side(taker),
    makerFee,
    takerFee
  )
}

/** A crossing taker with everything that its encounters with makers need. */
class Taking {
  constructor(
    readonly market: MarketState,
    readonly book: Book,
    readonly slot: number,
    readonly order: number,
    readonly account: number,
    readonly side: Order.Side,
    /** The makers' side. */
    readonly opposite: Order.Side,
    readonly kind: Taker,
    readonly takerFeeBps: number,
    /** Whether some of the resting orders may be leaving. */
    readonly isBehind: boolean,
    /** Whether the market only allows positions to be reduced. */
    readonly onlyReducing: boolean
  ) {}
}

/**
 * Matches a taker against resting makers, best price first, oldest first within a price, at the maker's price. It trades as far as
 * its limit and the price band allow, and meets a bounded number of makers.
 *
 * Most orders cross nothing. The work for those that do is in separate functions: the compiler inlines what most runs call and
 * leaves the rest as calls, which box every large number passed to them.
 */
export const matchTaker = (
  state: State,
  market: MarketState,
  book: Book,
  takerSlot: number,
  taker: number,
  kind: Taker = "client"
): Stop => {
  const { orders } = state
  assert(orders.remaining(taker) > 0, "a taker has something left to fill")
  const side = orders.side(taker)
  const opposite: Order.Side = side === Order.buy ? Order.sell : Order.buy
  const limitAtoms = reach(market, side, orders.priceAtoms(taker))
  const best = book.bestPrice(opposite)
  if (best === none || !crosses(side, limitAtoms, best)) return "NotCrossing"
  const takerFeeBps = kind === "client" || kind === "closing" ? market.parameters.takerFeeBps : 0
  const isBehind = Leaving.isBehind(state)
  const onlyReducing = meetsReductions(market, state.atEpochMs)
  const account = orders.account(taker)
  return take(
    state,
    new Taking(market, book, takerSlot, taker, account, side, opposite, kind, takerFeeBps, isBehind, onlyReducing),
    limitAtoms
  )
}

/** Matches a taker against one maker after the other. */
const take = (state: State, taking: Taking, limitAtoms: number): Stop => {
  const { orders } = state
  const { book, opposite, order: taker, side } = taking
  const mostMet = state.capacity.metAtOnce ?? metAtOnce
  let readAhead = metUnread
  for (let maker = book.best(opposite); maker !== none; maker = book.best(opposite)) {
    if (!crosses(side, limitAtoms, orders.priceAtoms(maker))) return "NotCrossing"
    if (state.met >= mostMet) return "MetEnough"
    state.met++
    if (readAhead > 0) readAhead--
    else if (orders.remaining(taker) > orders.remaining(maker)) readAhead = readMakers(state, maker, orders.remaining(taker)) - 1
    const stop = meet(state, taking, maker)
    if (stop !== undefined) return stop
  }
  return "NotCrossing"
}

/**
 * Matches a taker against one maker. Returns why the taker stops, or undefined where it continues. In this order: a leaving order
 * is cancelled, self-trade prevention, the market's reduce-only status, the maker's accept rule (a failing maker is cancelled and
 * matching continues) and the taker's (matching stops).
 */
const meet = (state: State, taking: Taking, maker: number): Stop | undefined => {
  const { orders, positions } = state
  const { account: takerAccount, kind, market, opposite, order: taker, slot: takerSlot, takerFeeBps } = taking
  const reason = taking.isBehind ? Leaving.reasonOf(state, maker) : CancelReason.none
  if (reason !== CancelReason.none) {
    cancelResting(state, maker, reason)
    return undefined
  }
  const makerAccount = orders.account(maker)
  if (makerAccount === takerAccount) {
    const mode = orders.selfTradePrevention(taker)
    if (mode !== Order.cancelIncoming) cancelResting(state, maker, CancelReason.selfTrade)
    return mode !== Order.cancelResting ? "SelfTrade" : undefined
  }
  const priceAtoms = orders.priceAtoms(maker)
  const sizeAtoms = Math.min(orders.remaining(taker), orders.remaining(maker))
  const makerSlot = positionOf(state, maker)
  if (taking.onlyReducing && growsMaker(positions.quantity(makerSlot), opposite, sizeAtoms)) {
    state.capacity.reached?.("a maker was cancelled as its market is reduce-only")
    cancelResting(state, maker, CancelReason.marketReduceOnly)
    return undefined
  }
  state.met += Breadth.beyondOneTrade(state, makerAccount)
  const notional = priceAtoms * sizeAtoms * market.factor
  const makerFee = Margin.bpsCeil(notional, market.parameters.makerFeeBps)
  const takerFee = Margin.bpsCeil(notional, takerFeeBps)
  Funding.settleAccount(state, makerAccount)
  Margin.refreshAccount(state, makerAccount)
  if (!keepsAcceptRule(state, market, makerSlot, maker, makerFilled, makerRequired, sizeAtoms, priceAtoms, makerFee)) {
    state.capacity.reached?.("a maker was cancelled for margin")
    cancelResting(state, maker, CancelReason.marginUnbacked)
    return undefined
  }
  const isKept = keepsAcceptRule(state, market, takerSlot, taker, takerFilled, takerRequired, sizeAtoms, priceAtoms, takerFee)
  if (!isKept && kind !== "liquidation") return "MarginUnbacked"
  trade(state, taking, maker, makerSlot, sizeAtoms, makerFee, takerFee)
  return orders.remaining(taker) === 0 ? "Filled" : undefined
}

/** Executes a fill after which both sides satisfy the accept rule; `makerFilled` and `takerFilled` are the resulting positions. */
const trade = (
  state: State,
  taking: Taking,
  maker: number,
  makerSlot: number,
  sizeAtoms: number,
  makerFee: number,
  takerFee: number
): void => {
  const { events, orders } = state
  const { book, market, opposite, order: taker, slot: takerSlot } = taking
  const priceAtoms = orders.priceAtoms(maker)
  const notional = priceAtoms * sizeAtoms * market.factor
  events.event10(
    Event.Traded,
    market.index,
    priceAtoms,
    sizeAtoms,
    orders.number(maker),
    orders.number(taker),
    orders.account(maker),
    taking.account,
    taking.side,
    makerFee,
    takerFee
  )
  const makerLeft = orders.remaining(maker) - sizeAtoms
  if (makerLeft === 0) {
    book.remove(maker)
    orders.setRemaining(maker, 0)
  } else {
    book.reduce(maker, sizeAtoms)
    OpenLists.lessened(state, makerSlot, maker)
  }
  orders.fill(maker, sizeAtoms, notional)
  orders.touch(maker, state.atEpochMs, state.sequence)
  if (orders.reduceOnly(maker)) addReducing(state, makerSlot, opposite, -sizeAtoms)
  orders.setRemaining(taker, orders.remaining(taker) - sizeAtoms)
  orders.fill(taker, sizeAtoms, notional)
  applyFill(state, market, makerSlot, maker, makerFilled, makerRequired, sizeAtoms, makerFee)
  applyFill(state, market, takerSlot, taker, takerFilled, takerRequired, sizeAtoms, takerFee)
  if (state.closing !== undefined) Bracketing.close(state, state.closing, sizeAtoms)
  if (makerLeft === 0) {
    unlink(state, makerSlot, maker)
    endFilled(state, maker)
  }
  if (state.isTrial) state.trialFeesAtoms += takerFee
  else noteFill(state, market, maker, taker, sizeAtoms, notional, makerFee, takerFee)
  market.bookSequence = state.sequence
  market.marketSequence = state.sequence
  state.registrySequence = state.sequence
  if (state.brackets.size > 0) state.traded.add(market.index)
  enforceReduceOnly(state, market, makerSlot)
  enforceReduceOnly(state, market, takerSlot)
}

/** Settles a taker after matching: it is filled, its remainder is cancelled, or it rests. */
export const settleTaker = (state: State, market: MarketState, book: Book, slot: number, order: number, stop: Stop): void => {
  const { events, orders } = state
  if (stop === "Filled") {
    endFilled(state, order)
    return
  }
  if (stop === "MarginUnbacked") state.capacity.reached?.("a taker stopped for margin")
  if (stop === "MetEnough") state.capacity.reached?.("a taker met as many orders as it may")
  const immediate = orders.timeInForce(order) === Order.ioc
  const reason = stop === "SelfTrade"
    ? CancelReason.selfTrade
    : stop === "MarginUnbacked"
    ? CancelReason.marginUnbacked
    : immediate || stop === "MetEnough"
    ? CancelReason.iocRemainder
    : CancelReason.none
  if (reason !== CancelReason.none) {
    if (!orders.reduceOnly(order)) withdrawOpen(state, market, slot, order, orders.remaining(order))
    end(state, order, Order.canceled, reason)
    return
  }
  book.insert(order)
  link(state, slot, order)
  if (orders.reduceOnly(order)) addReducing(state, slot, orders.side(order), orders.remaining(order))
  market.bookSequence = state.sequence
  events.event2(Event.OrderRested, orders.number(order), orders.remaining(order))
}
