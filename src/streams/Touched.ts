/** Which of the things that are streamed a record has changed: read from the events that it came to. */
import * as Order from "../domain/Order.js"
import { EventFields, type EventName, eventNames } from "../engine/EventLog.js"
import type { Reads } from "../engine/Reads.js"

/** What a record changed of one account. */
export class AccountTouched {
  /** Order numbers, in the order in which they were first touched. */
  readonly orders = new Set<number>()
  /** How many fills it had. */
  fills = 0
  /** Markets. */
  readonly positions = new Set<number>()
  /** Numbers of transfers; `none` among them where all that are open may have changed, as with the account's party. */
  readonly transfers = new Set<number>()
}

/** What a record changed of one market, beside its book. */
export class MarketTouched {
  trades = 0
  hasNewStatus = false
  hasNewFigures = false
  hasNewFunding = false
}

/** What is asked for: others are passed over. */
export interface Wanted {
  readonly account: (account: number) => boolean
  readonly market: (market: number) => boolean
  /** Whether orders are to be told apart, which takes looking each of them up. */
  readonly anyAccount: boolean
}

export interface Touched {
  readonly accounts: ReadonlyMap<number, AccountTouched>
  readonly markets: ReadonlyMap<number, MarketTouched>
}

/** What of a market or an account an event changes. */
interface Meaning {
  /** Where its fields of these names are. */
  readonly accounts: ReadonlyArray<number>
  readonly market: number
  readonly orders: ReadonlyArray<number>
  /** The number of what closes by itself, where it ends: an open order is told without it from then on. */
  readonly bracket: number
  readonly transfer: number
  readonly figures: boolean
  readonly status: boolean
  readonly funding: boolean
  readonly position: boolean
}

const accountFields: ReadonlySet<string> = new Set(["account", "makerAccount", "takerAccount", "counterparty"])
const orderFields: ReadonlySet<string> = new Set(["orderNumber", "makerOrder", "takerOrder"])

/** Events that change what a market's figures say. */
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

/** Events that change what a market is, or whether it can be traded: not its last price, which trades tell. */
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

/** Events that change nothing of an account that is streamed, though they name it. */
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
 * The account of an open order that a bracket has ended of: the two have one number. What an order is told to close by is there from its
 * placement on, and changes in no other way than that it is gone: how much of it is armed is no part of the order. Of an order that is
 * over nothing more is told, and a bracket that was set for a whole position is no order's.
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
