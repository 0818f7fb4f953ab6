/**
 * Safety (bounds). A command is refused for lack of room exactly where there is none: a placement where its orders would not fit beside
 * those remembered, any command with a key where its part of the table of keys, or of their outcomes, is full, and a new market where there
 * are as many as may be. A last eighth of each table
 * is reserved for risk-reducing commands, and of that a last part for the operator. No account takes more than its part of what is free to
 * placements when it asks, after ended entries were forgotten, and none is refused for less. Beyond it, cancels of its own open orders go
 * on, and whoever has something else to reduce has half of what is free to that, as long as a quarter of the placements' part is free or none of
 * it. Computed here from the records alone, without asking the venue.
 */
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Principal } from "../../src/operations/Header.js"
import type { Command } from "../../src/operations/Operations.js"
import type { NaiveFound } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { mayAddRisk } from "./inbox.js"
import type { Bounds } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { type Taken, Undurable } from "./Undurable.js"

interface State {
  bounds: Bounds | undefined
  readonly undurable: Undurable
}

/** How much of a table with this capacity may be taken, the command's own entries included. */
const boundOf = (command: Command, capacity: number): number => {
  const kept = Math.floor(capacity / 8)
  if (mayAddRisk(command)) return capacity - kept
  return command.principal === Principal.operator ? capacity : capacity - Math.floor(kept / 8)
}

const wants = (command: Command): number => command.kind === "PlaceOrders" ? command.entries.length : 0

/** Most outcomes that one key remembers. */
const outcomesOf = (command: Command): number => {
  switch (command.kind) {
    case "PlaceOrders":
    case "CancelOrders":
      return command.entries.length
    case "OpenDemoAccounts":
      return command.keys.length
    default:
      return 1
  }
}

/** The markets that a venue has room for where nothing else is said. */
const usualMarkets = 1_024

/** The room that the command lacks; undefined where there is enough. */
const lack = ({ atEpochMs, command }: Taken, bounds: Bounds, model: NaiveVenue): string | undefined => {
  const { idempotencyKeys, markets = usualMarkets, orders } = bounds
  const isNewMarket = command.kind === "PutMarket"
    && !model.markets.some(({ parameters: { marketId } }) => marketId === command.parameters.marketId)
  if (isNewMarket && model.markets.length >= markets) return `there are ${model.markets.length} markets, and ${markets} may be`
  const wanted = wants(command)
  const mostOrders = boundOf(command, orders)
  if (wanted > 0 && model.orders.size + wanted > mostOrders) {
    const kept = model.keptOrders(atEpochMs)
    if (kept + wanted > mostOrders) return `${kept} orders are remembered, ${wanted} come, and ${mostOrders} may be`
  }
  if (command.idempotencyKey === "") return undefined
  const most = boundOf(command, idempotencyKeys)
  // A fence takes two places: for its own key, and for the fenced name.
  const keys = command.kind === "FenceOutcome" ? 2 : 1
  const further = outcomesOf(command) - 1
  // Nearly always there is room for everything that ever was.
  if (model.mostKeys + keys <= most && model.mostFurther + further <= most) return undefined
  const kept = model.keptKeys(atEpochMs)
  if (kept.keys + keys > most) return `${kept.keys} keys are remembered, ${keys} come, and ${most} may be`
  return kept.further + further > most ? `${kept.further} further outcomes are remembered, ${further} come, and ${most} may be` : undefined
}

/** How much a command may take beyond its account's part: as much as there is, half of what is free to its class, or nothing. */
type Beyond = "all" | "half" | "nothing"

/** What a risk-reducing command's account has to reduce by it. */
const beyondPart = (command: Command, model: NaiveVenue): Beyond => {
  const account = model.accounts[command.account]!
  const open = account.open.filter((order) => model.leavesFor(order) === Order.CancelReason.none)
  const isOf = (named: number, market: number): boolean => named === anyMarket || named === market
  const half = (has: boolean): Beyond => has ? "half" : "nothing"
  switch (command.kind) {
    case "CancelOrders": {
      const found = open.filter(({ market, number }) =>
        command.entries.some((entry) => entry.orderNumber === number && isOf(entry.market, market))
      )
      // Nothing is remembered of a cancel that finds nothing.
      return found.length === 0 || found.length * 2 >= command.entries.length ? "all" : "half"
    }
    case "CancelAllOrders":
      return open.some(({ market }) => isOf(command.market, market)) ? "all" : "nothing"
    case "SetCancelAllAfter":
      return half(command.timeoutMs === 0 ? account.cancelAllAtEpochMs !== 0 : open.length > 0)
    case "PlaceOrders":
      return half(command.entries.some(({ market, side }) => {
        const quantity = account.positions.get(market)?.quantity ?? 0
        return side === Order.buy ? quantity < 0 : quantity > 0
      }))
    case "SetAutoClose":
      return half(
        open.some(({ market }) => isOf(command.market, market))
          || [...account.positions.keys()].some((market) => isOf(command.market, market))
      )
    case "FenceOutcome":
    case "RequestDeposit":
    case "RequestWithdrawal":
    case "RequestPartyChange":
      return half(!account.waitsForCredit)
    default:
      return "nothing"
  }
}

/** The least share of what is free to its class that a risk-reducing command has beyond the account's part. */
const reductionParts = 2

/** What the command's account has too much of; undefined where it keeps to its part. Fences, which take two places, are not checked. */
const excess = (
  { atEpochMs, command }: Taken,
  { accountParts: parts = 0, idempotencyKeys, orders }: Bounds,
  model: NaiveVenue
): string | undefined => {
  const { account, idempotencyKey, principal } = command
  if (parts === 0 || account < 0 || principal === Principal.operator || command.kind === "FenceOutcome") return undefined
  const isBeyond = (ever: number, capacity: number, wanted: number, find: () => NaiveFound): boolean => {
    const ofPlacements = capacity - Math.floor(capacity / 8)
    if ((ever + wanted) * parts <= ofPlacements - ever) return false
    const { all, mayBeLess, own } = find()
    // Accounts are not limited where more may be over than one record forgets.
    if (mayBeLess || (own + wanted) * parts <= ofPlacements - all) return false
    const beyond = mayAddRisk(command) ? "nothing" : beyondPart(command, model)
    if (beyond !== "half") return beyond === "nothing"
    const isShared = all < ofPlacements && (ofPlacements - all) * 4 < ofPlacements
    return isShared || (own + wanted) * Math.min(parts, reductionParts) > boundOf(command, capacity) - all
  }
  const wanted = wants(command)
  if (wanted > 0 && isBeyond(model.orders.size, orders, wanted, () => model.ordersFound(account, atEpochMs))) {
    return "its part of the orders"
  }
  if (idempotencyKey === "") return undefined
  const ever = model.mostKeys + model.mostFurther
  return isBeyond(ever, idempotencyKeys, outcomesOf(command), () => model.keysFound(account, atEpochMs))
    ? "its part of the keys"
    : undefined
}

/** How many ended orders a record visits by default. */
const usualAtOnce = 64

const ofShare = (taken: Taken, bounds: Bounds, model: NaiveVenue): Verdict => {
  const { answered, atEpochMs, command, sequence } = taken
  if (command.kind === "FenceOutcome") return holds
  // No rule gives the order in the queue of orders that one record ended: where a record visits few, it is unknown which it forgets.
  const isOpen = model.forgottenAtOnce < usualAtOnce && model.keptOrders(atEpochMs) < model.orders.size
  if (wants(command) > 0 && isOpen) return holds
  const has = excess(taken, bounds, model)
  if (answered === undefined) {
    return has === undefined ? holds : broken(`a ${command.kind} was decided behind record ${sequence}, and its account has ${has}`)
  }
  return has === undefined
    ? broken(`a ${command.kind} was refused for its account's part behind record ${sequence}, and it has less`)
    : holds
}

const judge = (taken: Taken, bounds: Bounds, model: NaiveVenue): Verdict => {
  const { answered, atEpochMs, command } = taken
  // Another property checks grants and tickets, and their tables.
  if (answered !== undefined && (command.kind === "ApproveAgent" || command.kind === "MintTicket")) return holds
  if (answered?.refusal === Refusal.accountShare) return ofShare(taken, bounds, model)
  if (answered !== undefined && answered.refusal !== Refusal.tableFull) return holds
  const lacking = lack(taken, bounds, model)
  if (answered === undefined) {
    return lacking === undefined ? ofShare(taken, bounds, model) : broken(`a ${command.kind} was decided, and ${lacking}`)
  }
  // Ended entries are forgotten oldest first: some may still be held that need not be.
  if (lacking !== undefined || model.hasForgettable(atEpochMs)) return holds
  return broken(`a ${command.kind} was refused for want of room behind record ${taken.sequence}, and there was room`)
}

export const tables: Property<State> = {
  name: "tables-are-full-exactly-at-their-bounds",
  invariant: "bounds",
  kind: "safety",
  initial: () => ({ bounds: undefined, undurable: new Undurable() }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.bounds = seen.bounds
    return state.undurable.observe(seen, (taken, model) => judge(taken, state.bounds!, model))
  }
}
