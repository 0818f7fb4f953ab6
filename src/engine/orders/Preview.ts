/**
 * What a placement would result in, without placing it. The real rules run on a small state of their own: one market, the accounts
 * that could take part, and those of their orders that could be met or trimmed. The venue's state is not written, and only what the
 * order could touch is copied.
 */
import { assert } from "../../domain/Assert.js"
import { ordinal } from "../../domain/Ids.js"
import * as Units from "../../domain/Units.js"
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { noFingerprint } from "../../operations/Fingerprint.js"
import { Principal } from "../../operations/Header.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import type { PlaceEntry, PlaceOrders } from "../../operations/orders/PlaceOrders.js"
import { liquidationPrice } from "../accounts/LiquidationPrice.js"
import { Book } from "../Book.js"
import * as Breadth from "../Breadth.js"
import { usualGrowth } from "../Columns.js"
import * as FundingLog from "../FundingLog.js"
import * as MarkLog from "../MarkLog.js"
import * as Margin from "../Margin.js"
import * as Funding from "../markets/Funding.js"
import * as Sessions from "../markets/Sessions.js"
import { MarketState } from "../Markets.js"
import * as Matching from "../Matching.js"
import { Minutes } from "../Minutes.js"
import type { MarginView, PreviewView } from "../Reads.js"
import { State } from "../State.js"
import { refusesPlacement } from "./Deciding.js"
import * as Leaving from "./Leaving.js"
import { place, refusedBefore } from "./Place.js"

/** The index of the only market of a copy. */
const here = 0

const commandOf = (account: number, entry: PlaceEntry): PlaceOrders => ({
  kind: "PlaceOrders",
  principal: Principal.session,
  account,
  credential: none,
  operation: 0,
  idempotencyKey: "",
  fingerprint: noFingerprint,
  entries: [entry],
  connection: none
})

/** The outcome of an account's entry if it were decided now, on the current state and at a given time. */
export const preview = (state: State, account: number, entry: PlaceEntry, atEpochMs: number): PreviewView => {
  const slot = state.positions.find(account, entry.market)
  Margin.refreshAccount(state, account)
  const before = marginOf(state, account, slot, state.accounts.collateral(account) - Funding.pendingOfAccount(state, account))
  const refusal = refusedUnseen(state, account, entry, atEpochMs)
  if (refusal !== undefined) return { outcome: refusal, feesAtoms: 0, before, after: undefined }
  // The first copy is usually large enough. Where it was used up, or may have been, a larger one is made.
  let reach: Reach = { sizes: 1, records: 1 }
  for (;;) {
    const copy = new Copy(state, entry, account, atEpochMs, reach)
    const outcome = copy.place(entry)
    if (copy.wasEnough) return { outcome, ...copy.after(outcome), before }
    reach = copy.further
  }
}

/**
 * How many resting orders are copied: up to this multiple of the entry's size, and of the number that one record may meet. Orders
 * that are trimmed during matching are not met, so that more may be needed in the end.
 */
interface Reach {
  readonly sizes: number
  readonly records: number
}

/** What refuses an entry without regard to the book: the state of the venue, or its names and identities. */
const refusedUnseen = (state: State, account: number, entry: PlaceEntry, atEpochMs: number): Refused | undefined => {
  if (state.halted) return refused(Refusal.engineHalted, none)
  const roomless = refusesPlacement(state, commandOf(account, entry), atEpochMs)
  if (roomless !== Refusal.none) return refused(roomless, none)
  const clientHash = entry.clientOrderId === "" ? 0 : state.orders.hashClient(account, entry.clientOrderId)
  return refusedBefore(state, account, entry, ordinal(state.sequence + 1, 0), clientHash, atEpochMs)
}

/** The margin of an account and of its position in a slot, if any. The sums must be up to date. */
const marginOf = (state: State, account: number, slot: number, collateralAtoms: number): MarginView => {
  const { accounts, positions } = state
  const marginEquity = collateralAtoms + accounts.sumUnrealizedLoss(account)
  const initialMargin = accounts.sumInitialMargin(account)
  const orderLoss = accounts.sumOrderLoss(account)
  const quantityAtoms = slot === none ? 0 : positions.quantity(slot)
  return {
    equityAtoms: Units.exactSum(collateralAtoms, accounts.exactUnrealizedPnl(account)),
    marginEquityAtoms: marginEquity,
    initialMarginAtoms: initialMargin,
    maintenanceMarginAtoms: accounts.sumMaintenanceMargin(account),
    orderLossAtoms: orderLoss,
    availableAtoms: Math.max(0, marginEquity - orderLoss - initialMargin),
    quantityAtoms,
    liquidationPriceAtoms: quantityAtoms === 0 ? 0 : liquidationPrice(state, slot, collateralAtoms)
  }
}

/** One market of a state, with what an order of an account could meet there. */
class Copy {
  private readonly state: State
  private readonly market: MarketState
  /** Accounts of the copy by those of the original, and their positions. */
  private readonly accounts = new Map<number, number>()
  private readonly pairs = new Map<number, number>()
  /** The copy of the last order that could be met and was copied; -1 where no such order was left out. */
  private readonly lastMet: number
  private readonly taker: number

  /** The next larger reach, for the case that this copy is not enough. */
  readonly further: Reach

  constructor(private readonly original: State, entry: PlaceEntry, account: number, atEpochMs: number, reach: Reach) {
    const met = this.inReach(entry, account, atEpochMs, reach)
    this.further = met.cut === "record" ? { ...reach, records: reach.records * 2 } : { ...reach, sizes: reach.sizes * 2 }
    const parties = this.partiesOf(account, entry.market, met.slots)
    const trimmed: Array<number> = []
    for (const slot of parties.values()) this.addTrimmable(slot, trimmed)
    const orders = met.slots.length + trimmed.length + 1
    const { brackets, marketsInOne, metAtOnce } = original.capacity
    this.state = new State({
      orders,
      idempotencyKeys: 1,
      growth: { ...usualGrowth, rows: parties.size },
      ...(brackets === undefined ? undefined : { brackets }),
      ...(metAtOnce === undefined ? undefined : { metAtOnce }),
      ...(marketsInOne === undefined ? undefined : { marketsInOne })
    })
    // The outcome of a copy is not published.
    this.state.beginTrial()
    this.state.sequence = original.sequence + 1
    this.state.atEpochMs = atEpochMs
    this.market = MarketState.restore(here, original.markets[entry.market]!.dump(), new Minutes(), FundingLog.make(), MarkLog.make())
    this.state.markets.push(this.market)
    // The record that would decide the entry moves the session first.
    Sessions.schedule(this.state, this.market)
    this.state.books.push(new Book(this.state.orders))
    Sessions.pass(this.state)
    for (const [party, slot] of parties) this.copyAccount(party, slot)
    this.taker = this.accounts.get(account)!
    const copies = new Map<number, number>()
    // Orders that can be met are copied first, in book order; those that can only be trimmed come behind them.
    for (const order of met.slots) copies.set(order, this.copyOrder(order))
    for (const order of trimmed) if (!copies.has(order)) copies.set(order, this.copyOrder(order))
    // The chain is searched for reduce-only orders, so these keep their order; the others are in it only so that they can be
    // removed.
    for (const order of trimmed) this.chain(copies.get(order)!)
    for (const order of met.slots) if (!original.orders.reduceOnly(order)) this.chain(copies.get(order)!)
    this.lastMet = met.cut === "nowhere" ? none : copies.get(met.slots.at(-1)!)!
  }

  /**
   * The orders that an entry could meet within the reach, and which limit cut the list where there may be more. The best opposite
   * order that is not leaving is always included, unless more leaving orders than a record meets are in front of it: it decides
   * whether a market order finds liquidity, and whether a post-only order rests.
   */
  private inReach(
    entry: PlaceEntry,
    account: number,
    atEpochMs: number,
    { records, sizes }: Reach
  ): { readonly slots: ReadonlyArray<number>; readonly cut: "nowhere" | "size" | "record" } {
    const { books, capacity, markets, orders } = this.original
    const mostMet = (capacity.metAtOnce ?? Matching.metAtOnce) * records
    const book = books[entry.market]!
    const limitAtoms = Matching.reach(markets[entry.market]!, entry.side, entry.priceAtoms)
    const isBehind = Leaving.isBehind(this.original, atEpochMs)
    const slots: Array<number> = []
    let sizeAtoms = 0
    let hasStanding = false
    let order = book.best(entry.side === Order.buy ? Order.sell : Order.buy)
    for (; order !== none; order = book.nextSlot(order)) {
      const crosses = Matching.crosses(entry.side, limitAtoms, orders.priceAtoms(order))
      if (!crosses && hasStanding) return { slots, cut: "nowhere" }
      slots.push(order)
      const leaves = isBehind && Leaving.reasonOf(this.original, order, atEpochMs) !== Order.CancelReason.none
      hasStanding ||= !leaves
      if (!crosses && hasStanding) return { slots, cut: "nowhere" }
      if (slots.length > mostMet) return { slots, cut: "record" }
      if (sizeAtoms > entry.quantityAtoms * sizes) return { slots, cut: "size" }
      if (!leaves && orders.account(order) !== account) sizeAtoms += orders.remaining(order)
    }
    return { slots, cut: "nowhere" }
  }

  /**
   * The accounts that could take part with their position slots, -1 for none: first the account of the entry, then the owners of
   * orders that could be met.
   */
  private partiesOf(account: number, market: number, met: ReadonlyArray<number>): ReadonlyMap<number, number> {
    const { orders, positions } = this.original
    const parties = new Map([[account, positions.find(account, market)]])
    for (const order of met)
      if (!parties.has(orders.account(order))) parties.set(orders.account(order), Matching.positionOf(this.original, order))
    return parties
  }

  /** Adds the resting reduce-only orders of a position, oldest first, since a fill may trim them. */
  private addTrimmable(slot: number, found: Array<number>): void {
    const { orders, positions } = this.original
    if (slot === none || positions.reduceBuys(slot) + positions.reduceSells(slot) === 0) return
    for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) {
      if (orders.reduceOnly(order)) found.push(order)
    }
  }

  /** Copies an account as if its funding were settled, with its position in a slot, and the margin sums of its other markets. */
  private copyAccount(account: number, slot: number): void {
    const { original, state } = this
    const { accounts, positions } = state
    Margin.refreshAccount(original, account)
    const from = original.accounts
    const copy = accounts.open(ordinal(1 + this.accounts.size, 0), 0)
    this.accounts.set(account, copy)
    accounts.setCollateral(copy, from.collateral(account) - Funding.pendingOfAccount(original, account))
    accounts.copySums(copy, from, account)
    accounts.setRiskEpoch(copy, state.riskEpoch)
    const leaver = original.leaving.get(account)
    if (leaver !== undefined) state.leaving.set(copy, leaver)
    const switchAtEpochMs = original.switches.at(account)
    if (switchAtEpochMs !== 0) state.switches.set(copy, switchAtEpochMs)
    if (slot === none) return
    const held = original.positions
    const pair = state.touchPosition(copy, here)
    // The account counts as often as in the original, although the copy has only one of its markets and no funding to settle.
    accounts.setMarkets(copy, Breadth.marketsOf(original, Breadth.weightOfTrade(original, account)))
    this.pairs.set(account, pair)
    positions.setQuantity(pair, held.quantity(slot))
    positions.setEntryNotional(pair, held.entryNotional(slot))
    positions.setOpenBuys(pair, held.openBuys(slot))
    positions.setOpenSells(pair, held.openSells(slot))
    positions.setReduceBuys(pair, held.reduceBuys(slot))
    positions.setReduceSells(pair, held.reduceSells(slot))
    positions.setOpenCount(pair, held.openCount(slot))
    positions.setLeverage(pair, held.leverage(slot))
    positions.setInitialMargin(pair, held.initialMargin(slot))
    positions.setMaintenanceMargin(pair, held.maintenanceMargin(slot))
    positions.setUnrealizedPnl(pair, held.unrealizedPnl(slot))
    positions.setBuyLoss(pair, held.buyLoss(slot))
    positions.setSellLoss(pair, held.sellLoss(slot))
    for (const bracket of original.brackets.of(slot)) state.brackets.add(bracket.copyFor(copy, here, pair))
  }

  /** Copies a resting order into the book, behind those copied before. */
  private copyOrder(order: number): number {
    const { original, state } = this
    const { books, expiries, orders } = state
    const from = original.orders
    const account = this.accounts.get(from.account(order))!
    const copy = orders.allocate()
    assert(copy !== none, "a copy has room for what is copied")
    orders.write(
      copy,
      from.number(order),
      account,
      here,
      from.flags(order),
      from.priceAtoms(order),
      from.quantity(order),
      from.createdAt(order),
      from.lastSequence(order)
    )
    orders.setRemaining(copy, from.remaining(order))
    orders.setFilled(copy, from.filled(order))
    orders.setFilledNotional(copy, from.filledNotional(order))
    orders.setCanceled(copy, from.canceled(order))
    orders.setPosition(copy, this.pairs.get(from.account(order))!)
    const expiresAtEpochMs = original.expiries.at(order)
    if (expiresAtEpochMs !== 0) expiries.set(copy, expiresAtEpochMs)
    if (original.connections.hasLost(from.number(order))) {
      state.connections.restore({ connection: from.number(order), account, isEnded: true, orders: [from.number(order)] })
    }
    books[here]!.insert(copy)
    return copy
  }

  /** Appends an order to the chain of its position. */
  private chain(order: number): void {
    const { orders, positions } = this.state
    const slot = orders.position(order)
    const last = positions.lastOrder(slot)
    orders.setAccountPrev(order, last)
    if (last === none) positions.setFirstOrder(slot, order)
    else orders.setAccountNext(last, order)
    positions.setLastOrder(slot, order)
  }

  /** Places the entry in the copy, without its clientOrderId. */
  place(entry: PlaceEntry): OrderDecided | Refused {
    return place(this.state, commandOf(this.taker, { ...entry, market: here, clientOrderId: "" }), 0)
  }

  /** Whether the entry cannot have gone past the copied orders: the last of them still rests. */
  get wasEnough(): boolean {
    return this.lastMet === none || this.state.orders.status(this.lastMet) === Order.open
  }

  /** The account after the outcome, and the fees it paid. */
  after(outcome: OrderDecided | Refused): Pick<PreviewView, "feesAtoms" | "after"> {
    const { state, taker } = this
    if (outcome._tag === "Refused") return { feesAtoms: 0, after: undefined }
    return {
      feesAtoms: state.trialFeesAtoms,
      after: marginOf(state, taker, state.positions.find(taker, here), state.accounts.collateral(taker))
    }
  }
}
