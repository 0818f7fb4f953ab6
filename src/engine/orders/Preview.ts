/**
 * What a placement would come to, without placing it. The rules that decide are run as they stand, on a small state of their
 * own: of one market, with the accounts that could take part and of their orders those that could be met or trimmed. Of the
 * state itself nothing is written, and what is copied is no more than the order itself could touch.
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
import { deciders } from "./Deciding.js"
import * as Leaving from "./Leaving.js"
import { place, refusedBefore } from "./Place.js"

/** The only market of a copy. */
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

/** What an entry of an account would come to if it were decided now, as the state stands and at a time. */
export const preview = (state: State, account: number, entry: PlaceEntry, atEpochMs: number): PreviewView => {
  const slot = state.positions.find(account, entry.market)
  Margin.refreshAccount(state, account)
  const before = marginOf(state, account, slot, state.accounts.collateral(account) - Funding.pendingOfAccount(state, account))
  const refusal = refusedUnseen(state, account, entry, atEpochMs)
  if (refusal !== undefined) return { outcome: refusal, feesAtoms: 0, before, after: undefined }
  // Mostly what is met first is enough; where it was not, or could not be told apart from enough, more is copied.
  let reach: Reach = { sizes: 1, records: 1 }
  for (;;) {
    const copy = new Copy(state, entry, account, atEpochMs, reach)
    const outcome = copy.place(entry)
    if (copy.wasEnough) return { outcome, ...copy.after(outcome), before }
    reach = copy.further
  }
}

/**
 * How far an order is looked after: to so many times its own size, and to so many times what a record meets. It meets no more than
 * a record does; what is trimmed meanwhile is met by nobody, so that in the end even more may be needed.
 */
interface Reach {
  readonly sizes: number
  readonly records: number
}

/** What refuses an entry without a look at what it would meet: the venue's state, and what names and identities there are. */
const refusedUnseen = (state: State, account: number, entry: PlaceEntry, atEpochMs: number): Refused | undefined => {
  if (state.halted) return refused(Refusal.engineHalted, none)
  const roomless = deciders.PlaceOrders.admit(state, commandOf(account, entry), atEpochMs)
  if (roomless !== Refusal.none) return refused(roomless, none)
  const clientHash = entry.clientOrderId === "" ? 0 : state.orders.hashClient(account, entry.clientOrderId)
  return refusedBefore(state, account, entry, ordinal(state.sequence + 1, 0), clientHash, atEpochMs)
}

/** An account's margin with its position of a slot, or without one; its sums are up to date. */
const marginOf = (state: State, account: number, slot: number, collateralAtoms: number): MarginView => {
  const { accounts, positions } = state
  const marginEquity = collateralAtoms + accounts.sumUnrealizedLoss(account)
  const initialMargin = accounts.sumInitialMargin(account)
  const orderLoss = accounts.sumOrderLoss(account)
  const quantityAtoms = slot === none ? 0 : positions.quantity(slot)
  return {
    equityAtoms: Units.exactSum(collateralAtoms, accounts.sumUnrealizedPnl(account)),
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
  /** Accounts of the copy, by those of the state; and their positions. */
  private readonly accounts = new Map<number, number>()
  private readonly pairs = new Map<number, number>()
  /** The last order that was copied because it could be met, in the copy; -1 where every one that could be was. */
  private readonly lastMet: number
  private readonly taker: number

  /** As far as is looked next where this was not enough. */
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
    // Nobody is told what a copy comes to.
    this.state.beginTrial()
    this.state.sequence = original.sequence + 1
    this.state.atEpochMs = atEpochMs
    this.market = MarketState.restore(here, original.markets[entry.market]!.dump(), new Minutes(), FundingLog.make(), MarkLog.make())
    this.state.markets.push(this.market)
    // The record that would decide it moves the session first.
    Sessions.schedule(this.state, this.market)
    this.state.books.push(new Book(this.state.orders))
    Sessions.pass(this.state)
    for (const [party, slot] of parties) this.copyAccount(party, slot)
    this.taker = this.accounts.get(account)!
    const copies = new Map<number, number>()
    // Those that can be met come first, in their order; what is only there to be trimmed lies behind them.
    for (const order of met.slots) copies.set(order, this.copyOrder(order))
    for (const order of trimmed) if (!copies.has(order)) copies.set(order, this.copyOrder(order))
    // A chain is looked through for what is reduce-only, in its order; the others are in it to be taken out.
    for (const order of trimmed) this.chain(copies.get(order)!)
    for (const order of met.slots) if (!original.orders.reduceOnly(order)) this.chain(copies.get(order)!)
    this.lastMet = met.cut === "nowhere" ? none : copies.get(met.slots.at(-1)!)!
  }

  /**
   * The orders that an entry could meet, as far as is looked, and by what they are cut where there may be more. The best order of
   * the other side that does not leave is always among them, unless more leave in front of it than a record meets: it says whether a
   * market order finds anything, and whether a post-only order rests.
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

  /** Who could take part, with the slots of their positions: whoever asks first, -1 for none, then those whose orders could be met. */
  private partiesOf(account: number, market: number, met: ReadonlyArray<number>): ReadonlyMap<number, number> {
    const { orders, positions } = this.original
    const parties = new Map([[account, positions.find(account, market)]])
    for (const order of met)
      if (!parties.has(orders.account(order))) parties.set(orders.account(order), Matching.positionOf(this.original, order))
    return parties
  }

  /** Adds the resting reduce-only orders of a pair, oldest first: a fill may trim them. */
  private addTrimmable(slot: number, found: Array<number>): void {
    const { orders, positions } = this.original
    if (slot === none || positions.reduceBuys(slot) + positions.reduceSells(slot) === 0) return
    for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) {
      if (orders.reduceOnly(order)) found.push(order)
    }
  }

  /** Copies an account as if it had settled its funding, with its position of a slot, and what its other markets sum up to. */
  private copyAccount(account: number, slot: number): void {
    const { original, state } = this
    const { accounts, positions } = state
    Margin.refreshAccount(original, account)
    const from = original.accounts
    const copy = accounts.open(ordinal(1 + this.accounts.size, 0), 0)
    this.accounts.set(account, copy)
    accounts.setCollateral(copy, from.collateral(account) - Funding.pendingOfAccount(original, account))
    accounts.setSumInitialMargin(copy, from.sumInitialMargin(account))
    accounts.setSumMaintenanceMargin(copy, from.sumMaintenanceMargin(account))
    accounts.setSumUnrealizedPnl(copy, from.sumUnrealizedPnl(account))
    accounts.setSumUnrealizedLoss(copy, from.sumUnrealizedLoss(account))
    accounts.setSumOrderLoss(copy, from.sumOrderLoss(account))
    accounts.setRiskEpoch(copy, state.riskEpoch)
    const leaver = original.leaving.get(account)
    if (leaver !== undefined) state.leaving.set(copy, leaver)
    const switchAtEpochMs = original.switches.at(account)
    if (switchAtEpochMs !== 0) state.switches.set(copy, switchAtEpochMs)
    if (slot === none) return
    const held = original.positions
    const pair = state.touchPosition(copy, here)
    // It counts as often where it is met, although a copy has but one of its markets, and nothing to settle.
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

  /** Copies a resting order into the book, behind those that were copied before it. */
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

  /** Puts an order at the young end of its pair's chain. */
  private chain(order: number): void {
    const { orders, positions } = this.state
    const slot = orders.position(order)
    const last = positions.lastOrder(slot)
    orders.setAccountPrev(order, last)
    if (last === none) positions.setFirstOrder(slot, order)
    else orders.setAccountNext(last, order)
    positions.setLastOrder(slot, order)
  }

  /** Places the entry in the copy. Its name is nobody's there. */
  place(entry: PlaceEntry): OrderDecided | Refused {
    return place(this.state, commandOf(this.taker, { ...entry, market: here, clientOrderId: "" }), 0)
  }

  /** Whether nothing behind what was copied can have been met: the last of it still rests. */
  get wasEnough(): boolean {
    return this.lastMet === none || this.state.orders.status(this.lastMet) === Order.open
  }

  /** What the account has come to, and what it paid. */
  after(outcome: OrderDecided | Refused): Pick<PreviewView, "feesAtoms" | "after"> {
    const { state, taker } = this
    if (outcome._tag === "Refused") return { feesAtoms: 0, after: undefined }
    return {
      feesAtoms: state.trialFeesAtoms,
      after: marginOf(state, taker, state.positions.find(taker, here), state.accounts.collateral(taker))
    }
  }
}
