/** The payloads of the stream about markets and accounts: the same records that the REST routes return. */
import * as Ids from "../../domain/Ids.js"
import { anyMarket, none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import * as Units from "../../domain/Units.js"
import type { MarketView, Reads } from "../../engine/Reads.js"
import { type AccountChannel, isAccountChannel, type MarketChannel } from "../../streams/Channels.js"
import type { Entry, Levels, Payloads } from "../../streams/Payloads.js"
import type { AccountTouched, MarketTouched } from "../../streams/Touched.js"
import { balance } from "../accounts/getBalance.js"
import { ownFill } from "../accounts/listFills.js"
import { position } from "../accounts/listPositions.js"
import { deposit } from "../funds/TransferRecord.js"
import { bookChecksum, bookText, checksumDepth } from "../markets/getBook.js"
import { candleRecord } from "../markets/getCandles.js"
import { figuresOf, stats } from "../markets/getStats.js"
import { interval } from "../markets/listFundings.js"
import { staleFromEpochMs } from "../markets/Listed.js"
import { trade } from "../markets/listTrades.js"
import * as Snapshot from "../markets/Snapshot.js"
import * as OrderText from "../orders/OrderText.js"

/** Entries in a snapshot of an unbounded list: trades, fills, deposits, funding intervals. */
const latest = 100
/** Every level of a book. */
const everyLevel = Number.POSITIVE_INFINITY
const fromNewest = Number.POSITIVE_INFINITY

const entry = (key: string, value: object): Entry => ({ key, text: JSON.stringify(value) })

/** Prices of one side whose size has changed, with their present size; 0 where nothing rests there any more. */
const levels = (reads: Reads, { index, parameters }: MarketView, side: Order.Side, prices: ReadonlySet<number>): ReadonlyArray<Entry> => {
  const { priceScale, quantityScale } = parameters
  const name = side === Order.buy ? "bid" : "ask"
  return [...prices].sort((left, right) => left - right).map((priceAtoms) => {
    const sizeAtoms = reads.levelSize(index, side, priceAtoms)
    return {
      key: `${name} ${priceAtoms}`,
      text: `{"side":"${name}","price":"${Units.formatDecimal(priceAtoms, priceScale)}","priceAtoms":"${priceAtoms}"`
        + `,"size":"${Units.formatDecimal(sizeAtoms, quantityScale)}","sizeAtoms":"${sizeAtoms}"}`
    }
  })
}

/** A market's figures as of the last record; what moves with time alone is as of a given time, as by REST. */
const figures = (reads: Reads, view: MarketView, nowEpochMs: number): object =>
  stats(view, figuresOf({ now: () => nowEpochMs, state: reads }, view))

/** The new rows of the current record, oldest first. */
const brought = <A extends { readonly sequence: number }>(reads: Reads, newestFirst: ReadonlyArray<A>): ReadonlyArray<A> =>
  newestFirst.filter(({ sequence }) => sequence === reads.sequence).toReversed()

/** A position in its present state; for a closed one, only that it is flat. */
const positionEntry = (reads: Reads, account: number, market: number): Entry => {
  const { parameters } = reads.market(market)
  const view = reads.positions(account).find((held) => held.market === market)
  return entry(
    parameters.marketId,
    view === undefined ? { marketId: parameters.marketId, closed: true, lastSequence: reads.sequence } : position(parameters, view)
  )
}

const orderEntries = (reads: Reads, account: number, orders: Iterable<number>): ReadonlyArray<Entry> => {
  const accountId = reads.accountId(account)
  const entries: Array<Entry> = []
  for (const number of orders) {
    const view = reads.findOrder(account, number)
    // The venue's own orders, of liquidations and triggers, are in no list of orders.
    if (view === undefined) continue
    entries.push({ key: Ids.orderId(number), text: OrderText.order(accountId, reads.market(view.market).parameters, view) })
  }
  return entries
}

const fillEntries = (reads: Reads, account: number, fills: number): ReadonlyArray<Entry> =>
  brought(reads, reads.fills(account, anyMarket, fromNewest, fills)).map((fill) =>
    entry(Ids.tradeId(fill.ordinal), ownFill(reads.market(fill.market).parameters, reads.accountId(account), account, fill))
  )

/** Listings of one market's trades, funding and orders, as arrays. */
const list = (texts: ReadonlyArray<string>): string => `[${texts.join(",")}]`

const depositText = (state: Reads, transfer: Parameters<typeof deposit>[1]): string =>
  JSON.stringify(deposit({ environment: state.environment, state }, transfer))

const depositEntries = (reads: Reads, account: number, touched: ReadonlySet<number>): ReadonlyArray<Entry> => {
  const open = touched.has(none) ? reads.openTransfersOf(account) : []
  const changed = open.filter(({ lastSequence }) => lastSequence === reads.sequence).map(({ number }) => number)
  return [...new Set([...touched, ...changed])].flatMap((number) => {
    const transfer = reads.transfer(number)
    return transfer?.kind === "deposit" ? [{ key: transfer.id, text: depositText(reads, transfer) }] : []
  })
}

/** A market's status with the registry's digest. */
type StatusOf = (reads: Reads, view: MarketView) => Snapshot.MarketSnapshot

const ofMarket = (
  status: StatusOf,
  reads: Reads,
  channel: MarketChannel,
  market: number,
  { hasNewFigures, hasNewFunding, hasNewStatus, trades }: MarketTouched,
  { asks, bids }: Levels
): ReadonlyArray<Entry> => {
  const view = reads.market(market)
  switch (channel) {
    case "market.book":
      return [...levels(reads, view, Order.buy, bids), ...levels(reads, view, Order.sell, asks)]
    case "market.trades":
      if (trades === 0) return []
      return brought(reads, reads.trades(market, fromNewest, trades)).map((fill) =>
        entry(Ids.tradeId(fill.ordinal), trade(view.parameters, fill))
      )
    case "market.ticker":
      return hasNewFigures || reads.hasSampled(market) ? [entry("ticker", figures(reads, view, reads.atEpochMs))] : []
    case "market.funding":
      if (!hasNewFunding) return []
      return brought(reads, reads.fundings(market, 0, 1)).map((funding) => entry(String(funding.atEpochMs), interval(view, funding)))
    case "market.status":
      return hasNewStatus ? [entry("status", status(reads, view))] : []
  }
}

const ofAccount = (
  reads: Reads,
  channel: AccountChannel,
  account: number,
  { fills, orders, positions, transfers }: AccountTouched
): ReadonlyArray<Entry> => {
  switch (channel) {
    case "account.orders":
      return orderEntries(reads, account, orders)
    case "account.fills":
      return fills === 0 ? [] : fillEntries(reads, account, fills)
    case "account.positions":
      return [...positions].map((market) => positionEntry(reads, account, market))
    case "account.balance":
      // Some records name an account without changing its money or orders.
      return reads.accountSequence(account) === reads.sequence ? [entry("balance", balance(reads, account))] : []
    case "account.deposits":
      return depositEntries(reads, account, transfers)
  }
}

/** A market as a snapshot shows it. A trade moves its last price without an update, so its own sequence may be ahead of the stream's. */
const standing = (snapshot: Snapshot.MarketSnapshot, sequence = snapshot.resync.fromSequence): Snapshot.MarketSnapshot => ({
  ...snapshot,
  resync: { ...snapshot.resync, fromSequence: sequence }
})

const snapshotOfMarket = (
  status: StatusOf,
  reads: Reads,
  channel: MarketChannel,
  market: number,
  nowEpochMs: number,
  sequence: number | undefined
): string => {
  const view = reads.market(market)
  switch (channel) {
    case "market.book":
      return bookText(view.parameters, view.bookSequence, reads.book(market, everyLevel))
    case "market.trades":
      return list(reads.trades(market, fromNewest, latest).map((fill) => JSON.stringify(trade(view.parameters, fill))))
    case "market.ticker":
      return JSON.stringify(figures(reads, view, nowEpochMs))
    case "market.funding":
      return list(reads.fundings(market, 0, latest).map((funding) => JSON.stringify(interval(view, funding))))
    case "market.status":
      return JSON.stringify(standing(status(reads, view), sequence))
  }
}

const snapshotOfAccount = (reads: Reads, channel: AccountChannel, account: number, nowEpochMs: number): string => {
  const accountId = reads.accountId(account)
  switch (channel) {
    case "account.orders":
      return list(
        reads.openOrders(account, anyMarket).map((view) => OrderText.order(accountId, reads.market(view.market).parameters, view))
      )
    case "account.fills":
      return list(
        reads.fills(account, anyMarket, fromNewest, latest).map((fill) =>
          JSON.stringify(ownFill(reads.market(fill.market).parameters, accountId, account, fill))
        )
      )
    case "account.positions":
      return list(reads.positions(account).map((view) => JSON.stringify(position(reads.market(view.market).parameters, view))))
    case "account.balance":
      return JSON.stringify(balance(reads, account, nowEpochMs))
    case "account.deposits":
      return list(reads.transfersOf(account, "deposit", fromNewest, latest).map((transfer) => depositText(reads, transfer)))
  }
}

const changedAt = (reads: Reads, channel: MarketChannel | AccountChannel, subject: number): number => {
  switch (channel) {
    case "market.book":
      return reads.market(subject).bookSequence
    case "market.status":
      return reads.market(subject).marketSequence
    case "market.trades":
      // Forgotten rows are older than all retained ones.
      return reads.trades(subject, fromNewest, 1)[0]?.sequence ?? reads.oldestFill().sequence
    case "market.funding":
      return reads.fundings(subject, 0, 1)[0]?.sequence ?? 0
    case "account.fills":
      return reads.fills(subject, anyMarket, fromNewest, 1)[0]?.sequence
        ?? Math.min(reads.oldestFill().sequence, reads.accountSequence(subject))
    case "account.positions":
      return reads.positionsSequence(subject)
    case "account.deposits":
      return reads.depositsSequence(subject)
    case "account.orders":
    case "account.balance":
      return reads.accountSequence(subject)
    default:
      return reads.sequence
  }
}

const make = (status: StatusOf): Payloads => ({
  ofMarket: (...asked) => ofMarket(status, ...asked),
  ofAccount,
  snapshot: (reads, channel, subject, nowEpochMs, sequence) =>
    isAccountChannel(channel)
      ? snapshotOfAccount(reads, channel, subject, nowEpochMs)
      : snapshotOfMarket(status, reads, channel, subject, nowEpochMs, sequence),
  staleFrom: (reads, market) => staleFromEpochMs(reads.market(market)),
  changedAt,
  candle: (reads, market, candle) => entry(String(candle.openTimeEpochMs), candleRecord(reads.market(market).parameters, candle)),
  proof: (reads, market) => `,"checksum":"${bookChecksum(reads.book(market, checksumDepth))}"`
})

/** All payloads of the stream. */
export const payloads: Payloads = make((reads, view) => Snapshot.make(reads)(view))

/** The same for a single engine: the registry's digest is computed once for all recipients. */
export const payloadsOf = (venue: Reads): Payloads => {
  const status = Snapshot.make(venue)
  return make((_, view) => status(view))
}
