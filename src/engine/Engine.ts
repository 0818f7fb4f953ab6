/**
 * The venue's deterministic state machine. `(state, command, at) -> outcome + events`: no I/O, no clock, no
 * chance. The sequencer alone calls `apply`; everyone else only reads.
 *
 *   1. `admit`  without a record: authority, remembered keys, the global halt, room. May answer at once.
 *   2. `apply`  under a sequence and a time: forget what is due, decide, remember, and log what was decided.
 */
import { assert, unreachable } from "../domain/Assert.js"
import * as Command from "../domain/Command.js"
import * as Ids from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import * as Order from "../domain/Order.js"
import { doneEntry, type EntryOutcome, type Outcome, refuse, refusedEntry } from "../domain/Outcome.js"
import { Refusal } from "../domain/Refusal.js"
import { type ApiKey, none } from "./Accounts.js"
import { Book } from "./Book.js"
import { absent, Event } from "./EventLog.js"
import type { Fill } from "./Fills.js"
import { retentionMs, type Share } from "./Idempotency.js"
import * as Margin from "./Margin.js"
import * as Matching from "./Matching.js"
import { MarketState } from "./Markets.js"
import * as OrderEntry from "./OrderEntry.js"
import type {
  ApiKeyView,
  BalanceView,
  BookView,
  MarketView,
  Occupancy,
  OrderFilter,
  OrderPage,
  OrderView,
  PositionView,
  Reads,
  RememberedOutcome,
  StatsView
} from "./Reads.js"
import { type Capacity, FenceScope, State } from "./State.js"

/** The rules this engine applies to a new journal. A later version is switched on by a journaled command. */
export const rulesVersion = 1

/** Most markets and accounts a venue may have: everything that grows has a bound. */
export const maxMarkets = 1024
export const maxAccounts = 1_000_000

/** Ended orders outlive the keys that speak of them by this much, so that a remembered cancel can always be answered. */
const orderGraceMs = 60_000

/** A command that names no market. */
const anyMarket = -2

/** Whose share of the table of keys a command takes. */
const shareOf = (command: Command.Command): Share =>
  !Command.isClient(command) ? "operator" : Command.isReduction(command) ? "reduction" : "placement"

/** Most orders one page of a listing looks at. */
const ordersLookedAt = 10_000

/** Most orders that a listing by time looks at. */
const ordersLookedAtSince = 100_000

/** Operations whose keys a client may ask for. */
const clientOperations: ReadonlyArray<Command.Operation> = [
  Command.Operation.placeV1,
  Command.Operation.placeBatchV1,
  Command.Operation.placeV2,
  Command.Operation.placeBatchV2,
  Command.Operation.cancelV1,
  Command.Operation.cancelBatchV1,
  Command.Operation.cancelV2,
  Command.Operation.amendV1,
  Command.Operation.cancelAllV1,
  Command.Operation.cancelAllV2,
  Command.Operation.cancelAllAfterV1
]

/** Most money atoms one credit may bring. */
const maxCreditAtoms = 2 ** 52

export class Engine implements Reads {
  /** What reads show of keys, made once for each: every request asks for one. */
  private readonly keyViews = new WeakMap<ApiKey, ApiKeyView>()

  constructor(readonly state: State) {}

  static make(capacity: Capacity): Engine {
    return new Engine(new State(capacity))
  }

  // ---- without a record

  /**
   * What can be answered without a record: a refusal that writes nothing, or the remembered decision of the
   * same key and body. Undefined: the command needs a record. Changes nothing.
   */
  admit(command: Command.Command, atEpochMs: number): Outcome | undefined {
    const { state } = this
    const unauthorised = this.authority(command, atEpochMs)
    if (unauthorised !== Refusal.none) return refuse(unauthorised, state.sequence, atEpochMs)
    if (Command.isTrading(command) && this.isKeyFenced(command as Command.ClientCommand, atEpochMs)) {
      return refuse(Refusal.fenced, state.sequence, atEpochMs)
    }
    const found = state.idempotency.lookup(command, atEpochMs, this.endOf)
    if (found === "conflict") return refuse(Refusal.idempotencyConflict, state.sequence, atEpochMs)
    if (found !== undefined) return found
    if (command.kind === "OpenDemoAccounts" && command.keys.some((key) => state.accounts.findKey(key.keyId) !== none)) {
      // The key under which these were issued has been forgotten; the keys themselves never are.
      return refuse(Refusal.idempotencyConflict, state.sequence, atEpochMs)
    }
    if (state.halted && Command.isTrading(command)) return refuse(Refusal.engineHalted, state.sequence, atEpochMs)
    return this.hasRoom(command, atEpochMs) ? undefined : refuse(Refusal.tableFull, state.sequence, atEpochMs)
  }

  /** Authority is looked at again in the command's own turn, so that a revocation ahead of it wins. */
  private authority(command: Command.Command, atEpochMs: number): Refusal {
    if (!Command.isClient(command) || command.apiKey === none) return Refusal.none
    const key = this.state.accounts.apiKeys[command.apiKey]
    assert(key !== undefined, "a command names a key that was issued")
    if (key.revokedAtEpochMs !== 0) return Refusal.keyRevoked
    if (key.expiresAtEpochMs <= atEpochMs) return Refusal.keyExpired
    if ((key.scopes & Command.scopeTrade) === 0) return Refusal.keyScopeMissing
    return key.account === command.account ? Refusal.none : Refusal.keyAccountMismatch
  }

  /** When an order ended: `Infinity` while it is open, 0 when it is not remembered. */
  private readonly endOf = (orderNumber: number): number => {
    const { orders } = this.state
    const order = orders.find(orderNumber)
    if (order === none) return 0
    return orders.status(order) === Order.open ? Number.POSITIVE_INFINITY : orders.updatedAt(order)
  }

  private hasRoom(command: Command.Command, atEpochMs: number): boolean {
    const { state } = this
    // A price from the feed is not remembered, so a full table must not keep the mark from following it.
    if (command.kind === "PassTime" || (command.kind === "SetIndexPrice" && command.idempotencyKey === "")) return true
    const { idempotency } = state
    if (!idempotency.hasRoomForAll && !idempotency.hasRoom(shareOf(command), atEpochMs, this.endOf)) return false
    switch (command.kind) {
      case "PlaceOrders":
        return this.hasOrderRoom(command.entries.length, atEpochMs)
      case "FenceOutcome":
        // The fence and the request for it are remembered both.
        return state.idempotency.hasRoomForTwo
      case "PutMarket":
        return state.marketById.has(command.parameters.marketId) || state.markets.length < maxMarkets
      case "OpenDemoAccounts":
        return state.accounts.count + command.keys.length <= maxAccounts
      default:
        return true
    }
  }

  /** Whether every entry of a placement finds a slot: a free one, or that of an order which is forgotten first. */
  private hasOrderRoom(entries: number, atEpochMs: number): boolean {
    const { state } = this
    const missing = state.orders.size + entries - state.capacity.orders
    return missing <= 0 || this.isForgettable(state.endedAt(missing - 1), atEpochMs)
  }

  private isForgettable(order: number, atEpochMs: number): boolean {
    return order !== none && this.state.orders.updatedAt(order) + retentionMs + orderGraceMs <= atEpochMs
  }

  // ---- with a record

  /** Decides a command that `admit` let through. Its events follow in `state.events`. */
  apply(command: Command.Command, sequence: number, atEpochMs: number): Outcome {
    const { state } = this
    assert(sequence === state.sequence + 1, "sequences are gapless")
    assert(atEpochMs >= state.atEpochMs, "times never go back")
    state.sequence = sequence
    state.atEpochMs = atEpochMs
    this.forget(atEpochMs)
    if (!state.halted) this.runDue(atEpochMs)
    const outcome: Outcome = {
      sequence,
      atEpochMs,
      refusal: Refusal.none,
      replayed: false,
      entries: this.decide(command)
    }
    state.idempotency.remember(command, outcome)
    this.log(outcome)
    return outcome
  }

  /** Notes that something of an account's past is forgotten. */
  private readonly evict = (account: number): void => {
    if (account >= 0) this.state.accounts.setEvicted(account, 1)
  }

  /** Forgets the keys and orders whose time is over. */
  private forget(atEpochMs: number): void {
    const { orders } = this.state
    this.state.idempotency.expire(atEpochMs, this.endOf, this.evict)
    for (let order = this.state.oldestEnded(); this.isForgettable(order, atEpochMs); order = this.state.oldestEnded()) {
      this.state.shiftEnded()
      orders.unindex(order)
      OrderEntry.disown(this.state, order)
      if (orders.clientOrderId[order] !== "") orders.unindexClient(order)
      orders.release(order)
    }
  }

  private decide(command: Command.Command): ReadonlyArray<EntryOutcome> {
    const { state } = this
    switch (command.kind) {
      case "PlaceOrders":
        return command.entries.map((_, index) => OrderEntry.place(state, command, index))
      case "CancelOrders":
        return command.entries.map((entry) => OrderEntry.cancel(state, command, entry))
      case "AmendOrder":
        return [OrderEntry.amend(state, command)]
      case "CancelAllOrders": {
        const named = state.markets[command.market]
        if (command.market !== anyMarket && (named === undefined || !Market.isListed(named.status))) {
          return [refusedEntry(Refusal.marketNotFound, none)]
        }
        const canceled = OrderEntry.cancelAll(state, command.account, command.market, Order.CancelReason.user)
        return [{ ...doneEntry(), canceledAtoms: canceled }]
      }
      case "SetCancelAllAfter":
        return [this.setSwitch(command)]
      case "FenceOutcome":
        return [this.fence(command)]
      case "PassTime":
        state.events.event1(Event.TimePassed, state.atEpochMs)
        return [doneEntry()]
      case "OpenVenue":
        return [this.openVenue(command)]
      case "PutMarket":
        return [this.putMarket(command.parameters)]
      case "SetMarketStatus":
        return [this.setMarketStatus(command.market, command.status)]
      case "SetIndexPrice":
        return [this.setIndexPrice(command)]
      case "HaltEngine":
        return [this.setHalt(true)]
      case "ResumeEngine":
        return [this.setHalt(false)]
      case "OpenDemoAccounts":
        return this.openDemoAccounts(command)
      default:
        return unreachable(command)
    }
  }

  /**
   * Does what is due, before anything else happens at this time: dead-man switches first, then expiries, each
   * by its moment. Nothing is due while the engine is halted; it is as soon as the halt lifts.
   */
  private runDue(atEpochMs: number): void {
    const { state } = this
    for (let account = state.switches.shiftDue(atEpochMs); account !== none; account = state.switches.shiftDue(atEpochMs)) {
      const canceled = OrderEntry.cancelAll(state, account, anyMarket, Order.CancelReason.cancelAllAfter)
      state.events.event2(Event.SwitchFired, account, canceled)
    }
    for (let order = state.expiries.shiftDue(atEpochMs); order !== none; order = state.expiries.shiftDue(atEpochMs)) {
      Matching.cancelResting(state, order, Order.CancelReason.expired)
    }
  }

  /** When something is due next; `Infinity` when nothing is, or while nothing may be done. */
  get nextDueEpochMs(): number {
    const { state } = this
    return state.halted ? Number.POSITIVE_INFINITY : Math.min(state.switches.earliest, state.expiries.earliest)
  }

  private setSwitch(command: Command.SetCancelAllAfter): EntryOutcome {
    const { state } = this
    const dueEpochMs = command.timeoutMs === 0 ? 0 : state.atEpochMs + command.timeoutMs
    if (dueEpochMs === 0) state.switches.remove(command.account)
    else state.switches.set(command.account, dueEpochMs)
    state.events.event2(Event.SwitchSet, command.account, dueEpochMs)
    return doneEntry()
  }

  /** Whether a client fenced the key, or so a placement's clientOrderId (then only its entry is refused). */
  private isKeyFenced(command: Command.ClientCommand, atEpochMs: number): boolean {
    const { hasFences, idempotency } = this.state
    return hasFences
      && idempotency.outcomeOf(command.account, FenceScope.idempotencyKey, command.idempotencyKey, atEpochMs, this.endOf) !== undefined
  }

  /** Fences what was never seen. What was decided before stands, and is not fenced. */
  private fence(command: Command.FenceOutcome): EntryOutcome {
    const { state } = this
    const { account, fencedClientOrderId, fencedKey } = command
    const seen = fencedKey === ""
      ? state.orders.findClient(account, fencedClientOrderId) !== none
      : this.findOutcomes(account, fencedKey).length > 0
    if (seen) return refusedEntry(Refusal.alreadySeen, none)
    const scope = fencedKey === "" ? FenceScope.clientOrderId : FenceScope.idempotencyKey
    if (this.isFenced(account, fencedKey, fencedClientOrderId)) {
      state.idempotency.renew(account, scope, fencedKey === "" ? fencedClientOrderId : fencedKey, state.atEpochMs)
      return doneEntry()
    }
    const fenced: Outcome = {
      sequence: state.sequence,
      atEpochMs: state.atEpochMs,
      refusal: Refusal.none,
      replayed: false,
      entries: [doneEntry()]
    }
    state.idempotency.put(account, scope, fencedKey === "" ? fencedClientOrderId : fencedKey, command, fenced)
    state.hasFences = true
    state.events.event1(Event.Fenced, account)
    return doneEntry()
  }

  private openVenue(command: Command.OpenVenue): EntryOutcome {
    const { state } = this
    assert(state.rules === 0, "a venue is opened once")
    state.environment = command.environment
    state.rules = command.rules
    state.events.event1(Event.VenueOpened, command.rules)
    return doneEntry()
  }

  private putMarket(parameters: Market.Parameters): EntryOutcome {
    const { state } = this
    if (Market.fault(parameters) !== undefined) return refusedEntry(Refusal.marketInvalid, none)
    const existing = state.markets[state.marketById.get(parameters.marketId) ?? none]
    if (existing === undefined) {
      const market = new MarketState(state.markets.length, parameters)
      state.markets.push(market)
      state.books.push(new Book(state.orders))
      state.marketById.set(parameters.marketId, market.index)
      state.marketBySymbol.set(Market.symbol(parameters), market.index)
      this.touchMarket(market)
      state.events.event2(Event.MarketPut, market.index, 1)
      return doneEntry(market.index)
    }
    if (!this.mayUpdate(existing, parameters)) return refusedEntry(Refusal.marketInvalid, existing.index)
    existing.setParameters(parameters)
    state.riskEpoch++
    this.touchMarket(existing)
    state.events.event2(Event.MarketPut, existing.index, 0)
    return doneEntry(existing.index)
  }

  /**
   * Whether a market may take new parameters. Its scales never change once orders can have been sent for it,
   * and while anyone has a position or an order in it, neither its bounds nor its margins get tighter.
   */
  private mayUpdate(market: MarketState, next: Market.Parameters): boolean {
    const now = market.parameters
    if (market.status === "draft") return true
    if (next.priceScale !== now.priceScale || next.quantityScale !== now.quantityScale) return false
    if (market.openInterest === 0 && this.state.books[market.index]!.orderCount === 0) return true
    return next.minPriceAtoms <= now.minPriceAtoms && next.maxPriceAtoms >= now.maxPriceAtoms
      && next.maxPositionQuantityAtoms >= now.maxPositionQuantityAtoms
      && next.initialMarginBps <= now.initialMarginBps && next.maxLeverageX >= now.maxLeverageX
      && next.maintenanceMarginTiers.every((tier) =>
        Margin.maintenance(next.maintenanceMarginTiers, tier.notionalThresholdAtoms)
          <= Margin.maintenance(now.maintenanceMarginTiers, tier.notionalThresholdAtoms)
      )
      && now.maintenanceMarginTiers.every((tier) =>
        Margin.maintenance(next.maintenanceMarginTiers, tier.notionalThresholdAtoms)
          <= Margin.maintenance(now.maintenanceMarginTiers, tier.notionalThresholdAtoms)
      )
      && next.maintenanceMarginTiers.at(-1)!.maintenanceMarginBps <= now.maintenanceMarginTiers.at(-1)!.maintenanceMarginBps
  }

  private touchMarket(market: MarketState): void {
    market.marketSequence = this.state.sequence
    this.state.registrySequence = this.state.sequence
  }

  private setMarketStatus(index: number, status: Market.Status): EntryOutcome {
    const market = this.state.markets[index]
    if (market === undefined) return refusedEntry(Refusal.marketUnknown, index)
    if (!Market.mayMove(market.status, status)) return refusedEntry(Refusal.statusMoveRefused, index)
    market.status = status
    this.touchMarket(market)
    this.state.events.event2(Event.MarketStatusSet, index, Market.statuses.indexOf(status))
    return doneEntry(index)
  }

  private setIndexPrice(command: Command.SetIndexPrice): EntryOutcome {
    const { state } = this
    const market = state.markets[command.market]
    if (market === undefined) return refusedEntry(Refusal.marketUnknown, command.market)
    const { maxPriceAtoms, minPriceAtoms } = market.parameters
    if (command.priceAtoms < minPriceAtoms || command.priceAtoms > maxPriceAtoms) {
      const bound = command.priceAtoms < minPriceAtoms ? minPriceAtoms : maxPriceAtoms
      return refusedEntry(Refusal.indexPriceInvalid, market.index, bound, command.priceAtoms, bound)
    }
    market.indexPrice = command.priceAtoms
    market.indexSource = command.sourceEpochMs === 0 ? state.atEpochMs : command.sourceEpochMs
    if (market.mark !== command.priceAtoms) {
      market.setMark(command.priceAtoms)
      state.riskEpoch++
    }
    state.events.event3(Event.IndexPriceSet, market.index, command.priceAtoms, command.sourceEpochMs)
    return doneEntry(market.index)
  }

  private setHalt(halted: boolean): EntryOutcome {
    this.state.halted = halted
    this.state.events.event1(Event.HaltSet, halted ? 1 : 0)
    // What fell due under the halt is done before anything can match again.
    if (!halted) this.runDue(this.state.atEpochMs)
    return doneEntry()
  }

  private openDemoAccounts(command: Command.OpenDemoAccounts): ReadonlyArray<EntryOutcome> {
    const { state } = this
    const { collateralAtoms } = command
    if (!Number.isSafeInteger(collateralAtoms) || collateralAtoms < 0 || collateralAtoms > maxCreditAtoms) {
      return command.keys.map(() => refusedEntry(Refusal.accountTotalLimit, none, maxCreditAtoms, collateralAtoms, maxCreditAtoms))
    }
    return command.keys.map((grant, index) => {
      const born = Ids.ordinal(state.sequence, index)
      const account = state.accounts.open(born, state.sequence)
      state.accounts.setCollateral(account, collateralAtoms)
      state.credited.add(collateralAtoms)
      const key = state.accounts.issueKey({
        keyId: grant.keyId,
        account,
        displayPrefix: grant.displayPrefix,
        secretSha256: grant.secretSha256,
        scopes: grant.scopes,
        createdAtEpochMs: state.atEpochMs,
        expiresAtEpochMs: grant.expiresAtEpochMs,
        revokedAtEpochMs: 0
      })
      state.events.event2(Event.AccountOpened, account, born)
      state.events.event2(Event.Credited, account, collateralAtoms)
      state.events.event4(Event.ApiKeyIssued, key, account, grant.scopes, grant.expiresAtEpochMs)
      return doneEntry(account)
    })
  }

  private log(outcome: Outcome): void {
    const { events } = this.state
    for (const entry of outcome.entries) {
      events.event12(
        Event.EntryDecided,
        entry.refusal,
        entry.orderNumber,
        entry.status,
        entry.cancelReason,
        entry.filledAtoms,
        entry.filledNotionalAtoms,
        entry.canceledAtoms,
        entry.priceAtoms,
        entry.quantityAtoms,
        Number.isNaN(entry.limit) ? absent : entry.limit,
        Number.isNaN(entry.actual) ? absent : entry.actual,
        Number.isNaN(entry.nearest) ? absent : entry.nearest
      )
    }
    events.event3(Event.RecordDecided, outcome.sequence, outcome.atEpochMs, outcome.entries.length)
  }

  // ---- reads

  get sequence(): number {
    return this.state.sequence
  }

  get atEpochMs(): number {
    return this.state.atEpochMs
  }

  get environment(): string {
    return this.state.environment
  }

  get rules(): number {
    return this.state.rules
  }

  get halted(): boolean {
    return this.state.halted
  }

  get marketCount(): number {
    return this.state.markets.length
  }

  get registrySequence(): number {
    return this.state.registrySequence
  }

  findAccount(accountId: string): number {
    return this.state.accounts.find(accountId)
  }

  accountId(account: number): string {
    const born = this.state.accounts.born(account)
    assert(born !== undefined && account < this.state.accounts.count, "an account index is one that was opened")
    return Ids.accountId(born)
  }

  findMarket(marketId: string): number {
    return this.state.marketById.get(marketId) ?? none
  }

  findSymbol(symbol: string): number {
    return this.state.marketBySymbol.get(symbol) ?? none
  }

  market(index: number): MarketView {
    const market = this.state.markets[index]
    assert(market !== undefined, "a market index is one that was made")
    return {
      index,
      parameters: market.parameters,
      status: market.status,
      lastPriceAtoms: market.lastPrice,
      indexPriceAtoms: market.indexPrice,
      indexSourceEpochMs: market.indexSource,
      change24hBps: market.change24hBps(this.state.atEpochMs),
      bookSequence: market.bookSequence,
      marketSequence: market.marketSequence
    }
  }

  private orderView(order: number): OrderView {
    const { orders } = this.state
    return {
      orderNumber: orders.number(order),
      account: orders.account(order),
      market: orders.market(order),
      status: orders.status(order),
      cancelReason: orders.cancelReason(order),
      side: orders.side(order),
      type: orders.type(order),
      timeInForce: orders.timeInForce(order),
      priceAtoms: orders.priceAtoms(order),
      quantityAtoms: orders.quantity(order),
      filledAtoms: orders.filled(order),
      filledNotionalAtoms: orders.filledNotional(order),
      canceledAtoms: orders.canceled(order),
      postOnly: orders.postOnly(order),
      reduceOnly: orders.reduceOnly(order),
      selfTradePrevention: orders.selfTradePrevention(order),
      clientOrderId: orders.clientOrderId[order]!,
      idempotencyKey: orders.idempotencyKey[order]!,
      expiresAtEpochMs: this.state.expiries.at(order),
      createdAtEpochMs: orders.createdAt(order),
      updatedAtEpochMs: orders.updatedAt(order),
      lastSequence: orders.lastSequence(order)
    }
  }

  findOrder(account: number, orderNumber: number): OrderView | undefined {
    const order = orderNumber < 0 ? none : this.state.orders.find(orderNumber)
    return order === none || this.state.orders.account(order) !== account ? undefined : this.orderView(order)
  }

  findOutcomes(account: number, idempotencyKey: string): ReadonlyArray<RememberedOutcome> {
    const { state } = this
    const found: Array<RememberedOutcome> = []
    for (const operation of clientOperations) {
      const outcome = state.idempotency.outcomeOf(account, operation, idempotencyKey, state.atEpochMs, this.endOf)
      if (outcome !== undefined) found.push({ operation, outcome })
    }
    return found
  }

  isFenced(account: number, idempotencyKey: string, clientOrderId: string): boolean {
    const { state } = this
    if (clientOrderId !== "") return state.isClientFenced(account, clientOrderId)
    return state.hasFences
      && state.idempotency.outcomeOf(account, FenceScope.idempotencyKey, idempotencyKey, state.atEpochMs, this.endOf) !== undefined
  }

  hasForgotten(account: number): boolean {
    return this.state.accounts.evicted(account) === 1
  }

  findClientOrder(account: number, clientOrderId: string): OrderView | undefined {
    const order = this.state.orders.findClient(account, clientOrderId)
    return order === none ? undefined : this.orderView(order)
  }

  orders(account: number, filter: OrderFilter, beforeNumber: number, limit: number): OrderPage {
    const { accounts, orders } = this.state
    const found: Array<OrderView> = []
    // A page looks at so many orders at most, whatever the filter finds among them; the cursor goes on from there.
    let looked = 0
    let order = accounts.newestOrder(account)
    if (beforeNumber !== Number.POSITIVE_INFINITY) {
      const at = orders.find(beforeNumber)
      if (at !== none && orders.account(at) === account) order = orders.ownOlder(at)
      else while (order !== none && orders.number(order) >= beforeNumber) order = orders.ownOlder(order)
    }
    let last = beforeNumber
    for (; order !== none && found.length < limit && looked < ordersLookedAt; order = orders.ownOlder(order)) {
      looked++
      last = orders.number(order)
      if (filter.market !== none && orders.market(order) !== filter.market) continue
      if (filter.status !== undefined && orders.status(order) !== filter.status) continue
      found.push(this.orderView(order))
    }
    return { orders: found, nextBefore: order === none ? undefined : last }
  }

  ordersSince(
    account: number,
    filter: OrderFilter,
    sinceEpochMs: number | undefined,
    limit: number
  ): ReadonlyArray<OrderView> | undefined {
    const { accounts, orders } = this.state
    const found: Array<number> = []
    let looked = 0
    let order = accounts.newestOrder(account)
    for (; order !== none && orders.createdAt(order) >= (sinceEpochMs ?? 0); order = orders.ownOlder(order)) {
      if (sinceEpochMs === undefined && found.length === limit) break
      if (looked++ === ordersLookedAtSince) return undefined
      if (filter.market !== none && orders.market(order) !== filter.market) continue
      if (filter.status === undefined || orders.status(order) === filter.status) found.push(order)
    }
    return found.slice(-limit).reverse().map((slot) => this.orderView(slot))
  }

  fills(account: number, market: number, before: number, limit: number): ReadonlyArray<Fill> {
    return this.state.fills.ofAccount(account, market, before, limit)
  }

  trades(market: number, before: number, limit: number): ReadonlyArray<Fill> {
    return this.state.fills.ofMarket(market, before, limit)
  }

  tradesSince(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Fill> {
    return this.state.fills.since(market, none, sinceEpochMs, limit)
  }

  fillsSince(account: number, market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Fill> {
    return this.state.fills.since(market, account, sinceEpochMs, limit)
  }

  stats(index: number): StatsView {
    const market = this.state.markets[index]
    assert(market !== undefined, "a market index is one that was made")
    return {
      ...market.minutes.day(this.state.atEpochMs),
      lastPriceAtoms: market.lastPrice,
      indexPriceAtoms: market.indexPrice,
      indexSourceEpochMs: market.indexSource,
      markPriceAtoms: market.mark,
      openInterestBaseAtoms: market.openInterest,
      openInterestQuoteAtoms: BigInt(market.openInterest) * BigInt(market.mark * market.factor),
      change24hBps: market.change24hBps(this.state.atEpochMs)
    }
  }

  cancelAllAtEpochMs(account: number): number {
    return this.state.switches.at(account)
  }

  openOrders(account: number, market: number): ReadonlyArray<OrderView> {
    const { accounts, orders, positions } = this.state
    const views: Array<OrderView> = []
    for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
      if (market !== none && positions.market(slot) !== market) continue
      for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) views.push(this.orderView(order))
    }
    return views.sort((one, other) => one.orderNumber - other.orderNumber)
  }

  positions(account: number): ReadonlyArray<PositionView> {
    const { state } = this
    const { accounts, positions } = state
    Margin.refreshAccount(state, account)
    const views: Array<PositionView> = []
    for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
      if (positions.quantity(slot) === 0) continue
      const market = state.markets[positions.market(slot)]!
      const notional = Math.abs(positions.quantity(slot)) * market.mark * market.factor
      views.push({
        born: positions.born(slot),
        account,
        market: positions.market(slot),
        quantityAtoms: positions.quantity(slot),
        entryNotionalAtoms: positions.entryNotional(slot),
        markPriceAtoms: market.mark,
        unrealizedPnlAtoms: positions.unrealizedPnl(slot),
        notionalAtoms: notional,
        initialMarginAtoms: Margin.initial(market.parameters, notional),
        maintenanceMarginAtoms: Margin.maintenance(market.parameters.maintenanceMarginTiers, notional),
        realizedPnlAtoms: positions.realizedPnl(slot),
        feesPaidAtoms: positions.feesPaid(slot),
        openedAtEpochMs: positions.openedAt(slot),
        lastSequence: positions.lastSequence(slot)
      })
    }
    return views.sort((one, other) => one.market - other.market)
  }

  balance(account: number): BalanceView {
    const { accounts } = this.state
    Margin.refreshAccount(this.state, account)
    const collateral = accounts.collateral(account)
    const pnl = accounts.sumUnrealizedPnl(account)
    const marginEquity = collateral + accounts.sumUnrealizedLoss(account)
    const initialMargin = accounts.sumInitialMargin(account)
    const orderLoss = accounts.sumOrderLoss(account)
    return {
      account,
      accountId: this.accountId(account),
      collateralAtoms: collateral,
      equityAtoms: collateral + pnl,
      marginEquityAtoms: marginEquity,
      unrealizedPnlAtoms: pnl,
      initialMarginAtoms: initialMargin,
      maintenanceMarginAtoms: accounts.sumMaintenanceMargin(account),
      orderLossAtoms: orderLoss,
      availableAtoms: Math.max(0, marginEquity - orderLoss - initialMargin),
      lastSequence: accounts.lastSequence(account)
    }
  }

  book(market: number, depth: number): BookView {
    const book = this.state.books[market]
    assert(book !== undefined, "a market index is one that was made")
    return { bids: book.levels(Order.buy, depth), asks: book.levels(Order.sell, depth) }
  }

  findApiKey(keyId: string): ApiKeyView | undefined {
    const index = this.state.accounts.findKey(keyId)
    if (index === none) return undefined
    const key = this.state.accounts.apiKeys[index]!
    let view = this.keyViews.get(key)
    if (view === undefined) {
      view = { index, ...key }
      this.keyViews.set(key, view)
    }
    return view
  }

  get occupancy(): Occupancy {
    const { state } = this
    return {
      orders: state.orders.size,
      orderCapacity: state.capacity.orders,
      openOrders: state.openOrders,
      idempotencyEntries: state.idempotency.size,
      idempotencyCapacity: state.capacity.idempotencyKeys,
      accounts: state.accounts.count,
      apiKeys: state.accounts.apiKeys.length
    }
  }
}
