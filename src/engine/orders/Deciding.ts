/** How commands about orders are decided. */
import * as Market from "../../domain/Market.js"
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { done, refused } from "../../operations/Outcome.js"
import { PlaceOrders } from "../../operations/orders/PlaceOrders.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import { boundOf, isBeyondPart, isBeyondPartThen, mayReduce } from "../Share.js"
import * as Announced from "../markets/Announced.js"
import { waitsForMark } from "../markets/Freshness.js"
import type { State } from "../State.js"
import { amend } from "./Amend.js"
import * as Band from "./Band.js"
import { cancel, cancelAll, endConnection, findOpen } from "./Cancel.js"
import { cancelByOperator } from "./CancelByOperator.js"
import * as Connections from "./Connections.js"
import { fence, hasRoomToFence } from "./Fences.js"
import { overOrders } from "./Forgetting.js"
import { place } from "./Place.js"
import { roomBeyondPart } from "./Reducing.js"

/**
 * Refuses a placement without a record where its entries do not all find a free slot, counting slots of orders that the record
 * would forget first, or where the account would exceed its part.
 */
const refusesOrders = (state: State, command: PlaceOrders, atEpochMs: number): Refusal => {
  const { capacity, orders } = state
  const share = PlaceOrders.share(command)
  const entries = command.entries.length
  const bound = boundOf(capacity.orders, share)
  const ofPlacements = boundOf(capacity.orders, "placement")
  const free = bound - orders.size
  const parts = capacity.accountParts ?? 0
  const held = orders.held.of(command.account)
  // Nearly always there is room, and expired orders need not be counted.
  if (entries <= free && !isBeyondPart(parts, held, entries, ofPlacements - orders.size)) return Refusal.none
  const over = overOrders(state, command.account, atEpochMs)
  const full = entries > free + over.count
  if (full) capacity.reached?.("the table of orders was full")
  else if (entries > free) capacity.reached?.("an order found room where one is forgotten")
  if (full) return Refusal.tableFull
  const taken = orders.size - over.count
  if (!isBeyondPartThen(parts, held, entries, ofPlacements - taken, over)) return Refusal.none
  return share === "reduction" && roomBeyondPart(state, command) !== "none"
      && mayReduce(capacity.orders, parts, held - over.own, entries, taken)
    ? Refusal.none
    : Refusal.accountShare
}

/**
 * Whether any market is being cleared, or may be in a record of the given time. Nearly always none is, and the books need not be
 * searched.
 */
const mayBeClearing = (state: State, atEpochMs: number): boolean => state.clearing.length > 0 || Announced.nextEpochMs(state) <= atEpochMs

/** Refuses, without a record, whatever would be placed or changed in a market that is being cleared, or whose mark is behind. */
const refusesMarket = (state: State, market: number, atEpochMs: number): Refusal => {
  const found = state.markets[market]
  if (found === undefined) return Refusal.none
  if (mayBeClearing(state, atEpochMs) && Band.takesNone(state, market, atEpochMs)) return Refusal.marketClearing
  return waitsForMark(found, atEpochMs) ? Refusal.markBehind : Refusal.none
}

/**
 * The markets, each once, that turn a placement of several entries away, for whichever of the two reasons: whoever leaves out its entries
 * there is taken. Undefined where the refusal is no market's.
 */
const marketsRefusing = (
  state: State,
  { entries }: PlaceOrders,
  refusal: Refusal,
  atEpochMs: number
): ReadonlyArray<number> | undefined => {
  if (entries.length === 1 || refusal !== Refusal.marketClearing && refusal !== Refusal.markBehind) return undefined
  const refusing = entries.map(({ market }) => market).filter((market) => refusesMarket(state, market, atEpochMs) !== Refusal.none)
  return refusing.length === 0 ? undefined : [...new Set(refusing)]
}

/** Refuses a placement without a record, for the first reason that there is. `none` admits it. */
export const refusesPlacement = (state: State, command: PlaceOrders, atEpochMs: number): Refusal => {
  if (command.connection !== none && !state.connections.isArmed(command.connection, command.account)) return Refusal.connectionEnded
  const refusal = refusesOrders(state, command, atEpochMs)
  if (refusal !== Refusal.none) return refusal
  for (const { market } of command.entries) {
    const ofMarket = refusesMarket(state, market, atEpochMs)
    if (ofMarket !== Refusal.none) return ofMarket
  }
  return Refusal.none
}

export const deciders: Deciders<"orders"> = {
  PlaceOrders: {
    admit: (state, command, atEpochMs) => {
      const refusal = refusesPlacement(state, command, atEpochMs)
      const markets = refusal === Refusal.none ? undefined : marketsRefusing(state, command, refusal, atEpochMs)
      return markets === undefined ? refusal : { refusal, markets }
    },
    decide: (state, command) => command.entries.map((_, index) => place(state, command, index))
  },
  CancelOrders: {
    admit: always,
    decide: (state, command) => command.entries.map((entry) => cancel(state, command, entry))
  },
  AmendOrder: {
    admit: (state, { account, market, orderNumber }, atEpochMs) => {
      const order = findOpen(state, account, orderNumber, market)
      return order === none ? Refusal.none : refusesMarket(state, state.orders.market(order), atEpochMs)
    },
    decide: (state, command) => [amend(state, command)]
  },
  CancelAllOrders: {
    admit: always,
    decide: (state, command) => {
      const named = state.markets[command.market]
      if (command.market !== anyMarket && (named === undefined || !Market.isListed(named.status))) {
        return [refused(Refusal.marketNotFound, none)]
      }
      const { all } = cancelAll(state, command.account, command.market, Order.CancelReason.user)
      return [{ _tag: "OrdersCanceled", canceledOrders: all }]
    }
  },
  SetCancelAllAfter: {
    admit: always,
    decide: (state, command) => {
      const dueEpochMs = command.timeoutMs === 0 ? 0 : state.atEpochMs + command.timeoutMs
      if (dueEpochMs === 0) state.switches.remove(command.account)
      else state.switches.set(command.account, dueEpochMs)
      state.events.event2(Event.SwitchSet, command.account, dueEpochMs)
      return [done]
    }
  },
  FenceOutcome: {
    admit: (state) => hasRoomToFence(state) ? Refusal.none : Refusal.tableFull,
    decide: (state, command) => [fence(state, command)]
  },
  CancelByOperator: {
    admit: always,
    decide: (state, command) => [cancelByOperator(state, command)]
  },
  ArmConnection: {
    admit: ({ connections }, { account }) =>
      connections.size >= Connections.mostInAll
        ? Refusal.tableFull
        : connections.countOf(account) >= Connections.mostOfAccount
        ? Refusal.connectionLimit
        : Refusal.none,
    decide: (state, { account }) => {
      state.connections.arm(state.sequence, account)
      return [done]
    }
  },
  EndConnection: {
    admit: always,
    decide: (state, { connection }) => {
      endConnection(state, connection)
      return [done]
    }
  }
}
