/** Determines from a record's events which streamed items it has changed. */
import * as Order from "../domain/Order.js"
import { EventFields, type EventName, eventNames } from "../engine/EventLog.js"
import type { Reads } from "../engine/Reads.js"

/** What a record changed of one account. */
export class AccountTouched {
  /** Order numbers, in the order in which they were first touched. */
  readonly orders = new Set<number>()
  /** The number of its fills. */
  fills = 0
  /** Markets. */
  readonly positions = new Set<number>()
  /** Numbers of transfers; includes `none` where all open ones may have changed, as with a change of the account's party. */
  readonly transfers = new Set<number>()
}

/** What a record changed in one market, other than its book. */
export class MarketTouched {
  trades = 0
  hasNewStatus = false
  hasNewFigures = false
  hasNewFunding = false
}

/** What is wanted; everything else is skipped. */
export interface Wanted {
  readonly account: (account: number) => boolean
  readonly market: (market: number) => boolean
  /** Whether orders have to be identified, which takes a lookup of each. */
  readonly anyAccount: boolean
}

export interface Touched {
  readonly accounts: ReadonlyMap<number, AccountTouched>
  readonly markets: ReadonlyMap<number, MarketTouched>
}

/** What an event changes in a market or an account. */
interface Meaning {
  /** The positions of its fields with these names. */
  readonly accounts: ReadonlyArray<number>
  readonly market: number
  readonly orders: ReadonlyArray<number>
  /** The number of an ending bracket, which an open order no longer shows from then on. */
  readonly bracket: number
  readonly transfer: number
  readonly figures: boolean
  readonly status: boolean
  readonly funding: boolean
  readonly position: boolean
}

const accountFields: ReadonlySet<string> = new Set(["account", "makerAccount", "takerAccount", "counterparty"])
const orderFields: ReadonlySet<string> = new Set(["orderNumber", "makerOrder", "takerOrder"])

/** Events that change a market's figures. */
const ofFigures: ReadonlySet<EventName> = new Set([
  "Traded",
  "MarkSet",
  "IndexPriceSet",
  "IndexPriceHeld",
  "FundingSet",
  "PositionChanged",
  "MarketPut",
  "MarketTookEffect",
  "MarketDelisting",
  "MarketSessionSet"
])

/** Events that change a market's description or whether it can be traded; not its last price, which trades show. */
const ofStatus: ReadonlySet<EventName> = new Set([
  "MarketPut",
  "MarketStatusSet",
  "MarketAnnounced",
  "MarketTookEffect",
  "MarketDelisting",
  "MarketSessionSet"
])

/** Events that change a position of the accounts that they name. */
const ofPositions: ReadonlySet<EventName> = new Set(["Traded", "PositionChanged", "FundingPaid", "LeverageSet", "Deleveraged", "Settled",
  "TakenOver"])

/** Events that name an account but change nothing that is streamed of it. */
const silent: ReadonlySet<EventName> = new Set([
  "EntryDecided",
  "ApiKeyIssued",
  "ApiKeyRevoked",
  "SessionOpened",
  "SessionEnded",
  "PasskeysChanged",
  "AgentApproved",
  "SecurityNoted",
  "FavoriteSet",
  "AffiliateRegistered",
  "SwitchSet",
  "Fenced"
])

const meaningOf = (name: EventName): Meaning | undefined => {
  if (silent.has(name)) return undefined
  const fields: ReadonlyArray<string> = EventFields[name]
  const at = (names: ReadonlySet<string>): ReadonlyArray<number> => fields.flatMap((field, index) => names.has(field) ? [index] : [])
  const meaning: Meaning = {
    accounts: at(accountFields),
    market: fields.indexOf("market"),
    orders: at(orderFields),
    bracket: name === "BracketEnded" ? fields.indexOf("bracket") : -1,
    transfer: fields.indexOf("transfer"),
    figures: ofFigures.has(name),
    status: ofStatus.has(name),
    funding: name === "FundingSet",
    position: ofPositions.has(name)
  }
  return meaning.accounts.length + meaning.orders.length > 0 || meaning.market >= 0 || meaning.transfer >= 0 ? meaning : undefined
}

/** By event code, which counts from 1. */
const meanings: ReadonlyArray<Meaning | undefined> = [undefined, ...eventNames.map(meaningOf)]
const tradedCode = eventNames.indexOf("Traded") + 1

const entry = <V>(map: Map<number, V>, key: number, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/**
 * The account of the open order to which an ended bracket belonged: both have the same number. An order shows its bracket from its
 * placement on, without the armed quantity, and the only change is that the bracket is gone. Ended orders are not streamed any
 * more, and a bracket that was set for a whole position belongs to no order.
 */
const openOrderAccount = (reads: Pick<Reads, "findOrder" | "orderAccount">, bracket: number): number => {
  const account = reads.orderAccount(bracket)
  return account >= 0 && reads.findOrder(account, bracket)?.status === Order.open ? account : -1
}

/** Reads the words of one record's events. `reads` stands at the record. */
export const touchedBy = (
  words: Float64Array,
  from: number,
  to: number,
  wanted: Wanted,
  reads: Pick<Reads, "findOrder" | "orderAccount" | "transfer">
): Touched => {
  const accounts = new Map<number, AccountTouched>()
  const markets = new Map<number, MarketTouched>()
  const touchedAccount = (account: number): AccountTouched | undefined =>
    wanted.account(account) ? entry(accounts, account, () => new AccountTouched()) : undefined
  for (let at = from; at < to; at += 2 + words[at + 1]!) {
    const meaning = meanings[words[at]!]
    if (meaning === undefined) continue
    const fields = at + 2
    const market = meaning.market < 0 ? -1 : words[fields + meaning.market]!
    if (market >= 0 && wanted.market(market)) {
      const told = entry(markets, market, () => new MarketTouched())
      if (words[at] === tradedCode) told.trades++
      if (meaning.figures) told.hasNewFigures = true
      if (meaning.status) told.hasNewStatus = true
      if (meaning.funding) told.hasNewFunding = true
    }
    if (!wanted.anyAccount) continue
    for (const place of meaning.accounts) {
      const told = touchedAccount(words[fields + place]!)
      if (told === undefined) continue
      if (words[at] === tradedCode) told.fills++
      if (meaning.position && market >= 0) told.positions.add(market)
      if (meaning.transfer >= 0) told.transfers.add(words[fields + meaning.transfer]!)
    }
    if (meaning.transfer >= 0 && meaning.accounts.length === 0) {
      const transfer = words[fields + meaning.transfer]!
      const account = reads.transfer(transfer)?.account
      if (account !== undefined) touchedAccount(account)?.transfers.add(transfer)
    }
    for (const place of meaning.orders) {
      const order = words[fields + place]!
      const account = order < 0 ? -1 : reads.orderAccount(order)
      if (account >= 0) touchedAccount(account)?.orders.add(order)
    }
    if (meaning.bracket >= 0) {
      const order = words[fields + meaning.bracket]!
      const account = openOrderAccount(reads, order)
      if (account >= 0) touchedAccount(account)?.orders.add(order)
    }
  }
  return { accounts, markets }
}
