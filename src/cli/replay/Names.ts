/** Readable names for the things in a state, and the subject that a report is restricted to. */
import * as Ids from "../../domain/Ids.js"
import type * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import type { DecodedEvent } from "../../engine/EventLog.js"
import { idOf } from "../../engine/funds/Transfer.js"
import type { State } from "../../engine/State.js"
import type { Record } from "../../journal/Record.js"
import * as Format from "./Format.js"

/** The subject, by the engine's numbers; -1 where it is not of that kind, or does not exist yet. */
export interface Who {
  readonly orderNumber: number
  readonly account: number
  readonly market: number
  readonly transfer: number
}

/** No subject: a base from which to select a single thing. */
export const nobody: Who = { orderNumber: -1, account: -1, market: -1, transfer: -1 }

/** No restriction: every line is reported. */
export const everyone: Who = { orderNumber: Number.NaN, account: Number.NaN, market: Number.NaN, transfer: Number.NaN }

export interface Concerned {
  readonly orders?: ReadonlyArray<number>
  readonly accounts?: ReadonlyArray<number>
  readonly markets?: ReadonlyArray<number>
  readonly transfers?: ReadonlyArray<number>
}

export const concerns = (who: Who, { accounts = [], markets = [], orders = [], transfers = [] }: Concerned): boolean =>
  who === everyone
  || (who.orderNumber >= 0 && orders.includes(who.orderNumber))
  || (who.account >= 0 && accounts.includes(who.account))
  || (who.market >= 0 && markets.includes(who.market))
  || (who.transfer >= 0 && transfers.includes(who.transfer))

export const accountName = (state: State, account: number): string =>
  account >= 0 && account < state.accounts.count ? Ids.accountId(state.accounts.born(account)) : `account ${account}`

/** A transfer's id; the number of one that is no longer kept. */
export const transferName = (state: State, number: number): string => {
  const transfer = state.funds.transfers.find(number)
  return transfer === undefined ? `transfer ${number}` : idOf(transfer)
}

const marketOf = (state: State, market: number): Market.Parameters | undefined => state.markets[market]?.parameters
export const marketName = (state: State, market: number): string => marketOf(state, market)?.marketId ?? "no such market"

export const priceOf = (state: State, market: number, atoms: number): string => {
  const parameters = marketOf(state, market)
  return parameters === undefined ? `${atoms} atoms` : Format.price(parameters, atoms)
}

export const sizeOf = (state: State, market: number, atoms: number): string => {
  const parameters = marketOf(state, market)
  return parameters === undefined ? `${atoms} atoms` : Format.size(parameters, atoms)
}

/** The market and owner of an order that the state remembers; -1 for any other. */
export const ownerOf = (state: State, orderNumber: number): { readonly market: number; readonly account: number } => {
  const slot = state.orders.find(orderNumber)
  return slot < 0 ? { market: -1, account: -1 } : { market: state.orders.market(slot), account: state.orders.account(slot) }
}

/**
 * The owner of an order that the state remembers, that this record may have placed, or that the venue itself sent with it; -1 for any
 * other.
 */
export const ownerBy = (
  state: State,
  record: Record,
  events: () => ReadonlyArray<DecodedEvent>,
  orderNumber: number
): number => {
  const { account } = ownerOf(state, orderNumber)
  if (account >= 0) return account
  const { command, sequence } = record
  const index = orderNumber - Ids.ordinal(sequence, 0)
  const isPlaced = command.kind === "PlaceOrders" && index >= 0 && index < command.entries.length
  return isPlaced ? command.account : sentFor(state, record, events, orderNumber)
}

/**
 * The account for which the venue itself sent an order with a record: for a trigger that fired, in a liquidation, or to unwind what the
 * insurance fund has; -1 for any other order. Such an order exists only within its record, so that no state remembers it. Its number names
 * that record, and the events of no other one are asked for.
 */
const sentFor = (
  { accounts }: State,
  { sequence }: Record,
  events: () => ReadonlyArray<DecodedEvent>,
  orderNumber: number
): number => {
  if (Ids.sequenceOf(orderNumber) !== sequence) return none
  for (const event of events()) {
    if (!("orderNumber" in event) || event.orderNumber !== orderNumber) continue
    if (event.event === "FundUnwound") return accounts.find(Ids.insuranceFundId)
    if (event.event === "LiquidationOrdered" || event.event === "TriggerFired") return event.account
  }
  return none
}

export const named = (code: number, names: ReadonlyArray<string>): string => names[code] ?? String(code)
