/**
 * The library's `watch...` methods, over the venue's stream. Each returns what has changed since its last call, and waits where that is
 * nothing. Lost connections, tickets and gaps are handled by the underlying client; the caller only waits longer.
 */
import {
  type Balances,
  type Dict,
  type Int,
  type Market,
  type MarketInterface,
  NetworkError,
  NotSupported,
  type OHLCV,
  type Order,
  type OrderBook,
  OrderNotFound,
  type Position,
  Precise,
  type Str,
  type Strings,
  type Ticker,
  type Trade
} from "ccxt"
import type { BookFeed } from "../venue/BookFeed.js"
import type { Candles, Channel, StreamEvent } from "../venue/Channels.js"
import { Client } from "../venue/Client.js"
import type * as Contract from "../venue/Contract.js"
import type { LocalBook } from "../venue/LocalBook.js"
import { nodePlatform } from "../venue/NodePlatform.js"
import type { Refusal } from "../venue/Refusal.js"
import * as Closing from "./Closing.js"
import { News } from "./News.js"
import { errorOf } from "./Refusals.js"
import { Triggers } from "./Triggers.js"

/** A value from the stream, with its name and its market. */
type Told<A> = readonly [name: string, symbol: string, value: A]

/** Handles known values that are missing from a snapshot, by their names. */
type End<A> = (
  left: ReadonlyArray<readonly [name: string, value: A]>,
  into: News<A>,
  sequence: number,
  /** Stops following the stream. */
  leave: () => void
) => void

/** How long to wait before asking again, in milliseconds, where the venue could not be asked how an order has ended. */
const askAgainMs = 2_000

type AnyNews = News<unknown>

/** The library's own transport. */
interface Undici {
  readonly Agent: new() => object
}

/** How far a stream has been delivered: a snapshot repeats trades and fills. */
interface Progress {
  sequence: number
}

export class Watching extends Triggers {
  private venueClient: Client | undefined
  private readonly watched = new Map<string, AnyNews>()

  /**
   * The book with at most `limit` levels for each side, each time that it has changed. Its checksum is verified; while the book is not the
   * venue's current one, the call waits.
   */
  override async watchOrderBook(symbol: string, limit: Int = undefined, params: Dict = {}): Promise<OrderBook> {
    this.takesNone("watchOrderBook", params)
    const market = await this.loadMarket(symbol)
    const news = this.newsOf<BookFeed>(`book:${market.id!}`, (into) => void this.followBook(market, into))
    for (;;) {
      const [feed] = await news.next(undefined)
      // The book may have become invalid since, or the connection may be lost: once it is restored, that counts as a change.
      if (feed!.isCurrent) return this.localBook(feed!.book, market.symbol, limit)
    }
  }

  /** Public trades, oldest first; the first call returns the latest hundred. */
  override async watchTrades(symbol: string, since: Int = undefined, limit: Int = undefined, params: Dict = {}): Promise<Array<Trade>> {
    this.takesNone("watchTrades", params)
    const market = await this.loadMarket(symbol)
    const news = this.streamed("market.trades", market,
      (event, progress) =>
        unseen(event, event.data as ReadonlyArray<Contract.Trade>, progress).map((trade) =>
          [trade.tradeId, market.symbol, this.publicTrade(trade, market)] as const
        ))
    return this.filterBySinceLimit(await news.next(undefined, this.isWhole()), since, limit, "timestamp", true) as Array<Trade>
  }

  /** The daily figures, mark and index, each time that they change. For best bid and offer see `watchOrderBook`. */
  override async watchTicker(symbol: string, params: Dict = {}): Promise<Ticker> {
    this.takesNone("watchTicker", params)
    const market = await this.loadMarket(symbol)
    const news = this.streamed("market.ticker", market,
      ({ data }) => listOf<Contract.Stats>(data).map((stats) => ["ticker", market.symbol, this.statsTicker(stats, market)] as const))
    return (await news.next(undefined)).at(-1)!
  }

  /**
   * Candles of trades that have changed, oldest first; the first call returns those of the venue's snapshot. The last one is still open.
   * With `price: "index"` in `params`, candles of the index.
   */
  override async watchOHLCV(
    symbol: string,
    timeframe = "1m",
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<OHLCV>> {
    this.takesNone("watchOHLCV", this.omit(params, "price"))
    const market = await this.loadMarket(symbol)
    const which = { timeframe: this.safeString(this.timeframes, timeframe, timeframe), series: this.safeString(params, "price", "trade") }
    const news = this.streamed("market.candles", market,
      ({ data }) =>
        (data as ReadonlyArray<Contract.Candle>).map((candle) =>
          [String(candle.openTimeEpochMs), market.symbol, this.parseNativeCandle(candle)] as const
        ), which as Candles)
    const candles = this.sortBy(await news.next(undefined, this.isWhole()), 0) as Array<OHLCV>
    return this.filterBySinceLimit(candles, since, limit, 0, true) as Array<OHLCV>
  }

  /** The account's orders that have changed, each in its present state; the first call returns the open ones, and waits where none is. */
  override async watchOrders(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Order>> {
    this.takesNone("watchOrders", params)
    const only = await this.marketOf(symbol)
    const news = this.streamed("account.orders", undefined, ({ data }) =>
      (data as ReadonlyArray<Contract.Order>).map((order) => {
        const parsed = this.parseOrder(order)
        return [order.orderId, parsed.symbol!, parsed] as const
      }), {}, (left, into, _sequence, leave) => void this.tellEnded(left, into, leave))
    return this.filterBySinceLimit(await news.next(only === undefined ? undefined : [only.symbol], this.isWhole()), since, limit,
      "timestamp", true) as Array<Order>
  }

  /** The account's own trades, oldest first; the first call returns the latest hundred, and waits for the first one where there is none. */
  override async watchMyTrades(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Trade>> {
    this.takesNone("watchMyTrades", params)
    const only = await this.marketOf(symbol)
    const news = this.streamed("account.fills", undefined,
      (event, progress) =>
        unseen(event, event.data as ReadonlyArray<Contract.Fill>, progress).map((fill) => {
          const market = this.safeMarket(fill.marketId)
          // A trade of the account with itself has two fills.
          return [`${fill.tradeId} ${fill.orderId}`, market.symbol, this.parseFill(fill, market)] as const
        }))
    return this.filterBySinceLimit(await news.next(only === undefined ? undefined : [only.symbol], this.isWhole()), since, limit,
      "timestamp", true) as Array<Trade>
  }

  /**
   * The account's positions that have changed, a flat one with 0 contracts; the first call returns all that are not flat, and waits where
   * none is. A position is a state and not an event: it has no time, so `since` leaves none out.
   */
  override async watchPositions(
    symbols: Strings = undefined,
    _since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Position>> {
    this.takesNone("watchPositions", params)
    const chosen = await this.chosen(symbols)
    // As elsewhere in the library, an empty list stands for all.
    const wanted = symbols === undefined || symbols.length === 0 ? undefined : chosen
    const told = (position: Dict & { readonly marketId: string }): Told<Position> => {
      const market = this.safeMarket(position.marketId)
      return [position.marketId, market.symbol, this.nativePosition(position, market)]
    }
    const news = this.streamed("account.positions", undefined, ({ data }) => (data as ReadonlyArray<Contract.Position>).map(told), {},
      (left, into, sequence) => {
        for (const [marketId, { contracts }] of left) {
          if (contracts !== 0) into.put(...told({ marketId, closed: true, lastSequence: sequence }))
        }
      })
    return this.filterBySinceLimit(await news.next(wanted, this.isWhole()), undefined, limit, "timestamp", true) as Array<Position>
  }

  /** The account's money, each time that it changes. */
  override async watchBalance(params: Dict = {}): Promise<Balances> {
    this.takesNone("watchBalance", params)
    await this.beforehand(() => this.loadMarkets())
    const news = this.streamed("account.balance", undefined,
      ({ data }) => listOf<Contract.Balance>(data).map((info) => ["balance", "", this.parseBalance({ info })] as const))
    return (await news.next(undefined)).at(-1)!
  }

  /**
   * Ends all watching, what waits, commands before they are sent or sent again, and reads before they are repeated: such calls get
   * `ExchangeClosedByUser`. A request that is with the venue may still be answered, and a command that may have acted finds out its
   * outcome. Watching again starts anew.
   */
  override async close(isCleaning = false): Promise<void> {
    const client = this.venueClient
    this.venueClient = undefined
    this.endCalls()
    // A restore that happens before the next watching is noticed by nobody.
    this.idsByName.clear()
    for (const news of this.watched.values()) news.fail(this.closed())
    this.watched.clear()
    await client?.close()
    await super.close(isCleaning)
  }

  /**
   * Refuses parameters that would otherwise be ignored. The parameter `trigger` is among them: it asks for take-profits and stop-losses,
   * which the stream does not tell of.
   */
  private takesNone(method: string, params: Dict): void {
    const { isTrigger, rest } = Closing.askedFor(params)
    const odd = isTrigger ? "trigger" : Closing.firstGiven(rest)
    if (odd !== undefined) throw new NotSupported(`${this.id} ${method}() does not take ${odd}`)
  }

  /** Whether calls return everything held rather than only what is new, as the library's `newUpdates` option has it. */
  private isWhole(): boolean {
    return this.newUpdates === false
  }

  /** A method and not a getter, since the library reads every property of an exchange while constructing it. */
  private stream(): Client {
    return this.venueClient ??= new Client(nodePlatform, { url: this.directUrl(), apiKey: () => this.apiKey })
  }

  /** The venue's address. The stream has no way through a proxy, and a caller who has set one must not be connected past it. */
  private directUrl(): string {
    const url = this.venueUrl()
    const agents = [this.agent, this.httpsAgent, this.httpAgent].map((agent) => this.extractProxyFromAgent(agent) as Str)
    const proxies = [this.checkProxyUrlSettings(url), ...this.checkProxySettings(url), ...this.checkWsProxySettings(), ...agents]
    if (proxies.every((proxy) => proxy === undefined || proxy === "") && !this.isDispatchedElsewhere()) return url
    throw new NotSupported(`${this.id} watch methods connect directly, and a proxy is set: use the fetch methods, or set none`)
  }

  /** Whether requests are sent by another dispatcher than the library's own, or one of its class: nothing tells what it connects to. */
  private isDispatchedElsewhere(): boolean {
    const { fetchDispatcher, undiciModule } = this as { readonly fetchDispatcher?: object; readonly undiciModule?: Undici }
    if (fetchDispatcher === undefined || fetchDispatcher === null || fetchDispatcher.constructor.name === "Agent") return false
    return undiciModule === undefined || !(fetchDispatcher instanceof undiciModule.Agent)
  }

  /** The values held for a stream, which is followed from the first call on. */
  private newsOf<A>(key: string, follow: (into: News<A>) => void): News<A> {
    // A proxy may have been set since the stream was connected.
    this.directUrl()
    const held = this.watched.get(key)
    if (held !== undefined) return held as News<A>
    const made = new News<A>(this.safeInteger(this.options, "watchedMost", 1))
    this.watched.set(key, made as AnyNews)
    try {
      follow(made)
    } catch (error) {
      // Nothing supplies values to it: the next caller must not wait for it.
      this.watched.delete(key)
      throw error
    }
    return made
  }

  /** Follows a stream; `read` extracts the values from its events. */
  private streamed<C extends Channel, A>(
    channel: C,
    market: MarketInterface | undefined,
    read: (event: StreamEvent<C>, progress: Progress) => ReadonlyArray<Told<A>>,
    candles: Candles = {},
    end: End<A> = () => {}
  ): News<A> {
    if (market === undefined) this.checkRequiredCredentials()
    const name = {
      channel,
      ...(market === undefined ? undefined : { marketId: market.id! }),
      ...candles
    }
    const key = Object.values(name).join(":")
    return this.newsOf<A>(key, (into) => {
      const progress = { sequence: 0 }
      const take = (event: StreamEvent<C>): void => {
        const told = read(event, progress)
        // A snapshot lacks whatever has ended since the last event.
        const left = event.type === "snapshot" ? into.beside(new Set(told.map(([thing]) => thing))) : []
        if (left.length > 0) end(left, into, event.sequence, () => following.close())
        for (const [thing, symbol, value] of told) into.put(thing, symbol, value)
      }
      const following = this.stream().follow(name, {
        snapshot: take,
        update: take,
        // Other trades, fills and orders have those numbers now.
        lost: (fromSequence) => {
          this.idsByName.clear()
          progress.sequence = Math.min(progress.sequence, fromSequence - 1)
        },
        ended: (refusal) => this.endedBy(key, into, refusal)
      })
    })
  }

  /** Asks how orders have ended that were last known to be open and are missing from a snapshot, one after another. */
  private async tellEnded(left: ReadonlyArray<readonly [string, Order]>, into: News<Order>, leave: () => void): Promise<void> {
    const open = left.filter(([, { status }]) => status === "open")
    const key = "account.orders"
    for (let at = 0; at < open.length && this.watched.get(key) === into as AnyNews;) {
      const [id, order] = open[at]!
      try {
        const ended = into.get(id) === order ? await this.fetchOrder(id, order.symbol) : order
        if (ended !== order && into.get(id) === order) into.put(id, order.symbol!, ended)
        at++
      } catch (error) {
        if (this.watched.get(key) !== into as AnyNews) return
        if (error instanceof NetworkError) await this.pause(askAgainMs).catch(() => {})
        else if (error instanceof OrderNotFound) {
          // How an order has ended that the venue does not know cannot be reported; it is not returned as an open one any more.
          if (into.get(id) === order) into.drop(id)
          at++
        } // Any other refusal is thrown to the caller, who can watch again to retry.
        else {
          this.watched.delete(key)
          leave()
          return into.fail(error)
        }
      }
    }
  }

  private async followBook(market: MarketInterface, into: News<BookFeed>): Promise<void> {
    try {
      const feed = this.stream().book(market.id!)
      for await (const _ of feed.changes()) into.put("book", market.symbol, feed)
    } catch (refusal) {
      this.endedBy(`book:${market.id!}`, into, refusal as Refusal)
    }
  }

  /** The venue refused a stream: waiting calls fail, and watching again retries. */
  private endedBy<A>(key: string, news: News<A>, refusal: Refusal | undefined): void {
    if (refusal === undefined) return
    this.watched.delete(key)
    news.fail(errorOf(this.id, refusal.status ?? 400, {}, refusal.envelope) ?? refusal)
  }

  private localBook(book: LocalBook, symbol: string, limit: Int): OrderBook {
    const side = (levels: LocalBook["bids"]): Array<[number, number]> =>
      levels.slice(0, limit).map(({ price, size }) => [Number(price), Number(size)])
    const parsed = this.parseOrderBook({ bids: side(book.bids), asks: side(book.asks) }, symbol)
    parsed.nonce = book.sequence
    return parsed
  }

  private publicTrade(trade: Contract.Trade, market: MarketInterface): Trade {
    return this.safeTrade({
      info: trade,
      id: trade.tradeId,
      timestamp: trade.executedAtEpochMs,
      datetime: this.iso8601(trade.executedAtEpochMs),
      symbol: market.symbol,
      order: undefined,
      type: undefined,
      side: trade.takerSide,
      takerOrMaker: "taker",
      price: trade.price,
      amount: trade.size,
      fee: undefined
    }, market)
  }

  private statsTicker(stats: Contract.Stats, market: MarketInterface): Ticker {
    const { marketData } = stats
    // The venue gives 0 before there was any.
    const known = (value: string): Str => Precise.stringEq(value, "0") ? undefined : value
    const ticker = this.safeTicker({
      info: stats,
      symbol: market.symbol,
      timestamp: undefined,
      datetime: undefined,
      high: known(stats.high24h),
      low: known(stats.low24h),
      last: known(stats.lastPrice),
      baseVolume: stats.volume24hBase,
      quoteVolume: stats.volume24hQuote,
      markPrice: known(marketData.markPrice),
      indexPrice: known(marketData.indexPrice)
    }, market)
    const percentage = known(stats.lastPrice) === undefined ? undefined : Number(stats.change24hBps) / 100
    return { ...ticker, percentage }
  }

  private parseNativeCandle({ close, high, low, open, openTimeEpochMs, volume }: Contract.Candle): OHLCV {
    return [openTimeEpochMs, Number(open), Number(high), Number(low), Number(close), Number(volume)]
  }

  /** A position from the stream. For the whole account's equity see `watchBalance`. */
  private nativePosition(position: Dict, market: Market): Position {
    const text = (name: string): string => this.safeString(position, name, "0")
    const notional = Precise.stringMul(text("quantity"), text("markPrice"))
    const share = (name: string): Str => Precise.stringEq(notional, "0") ? undefined : Precise.stringDiv(text(name), notional, 8)
    return this.parsePosition({
      info: position,
      id: this.safeString(position, "positionId"),
      symbol: market!.symbol,
      side: this.safeString(position, "side"),
      contracts: text("quantity"),
      entryPrice: this.safeString(position, "avgEntryPrice"),
      markPrice: this.safeString(position, "markPrice"),
      notional,
      leverage: this.safeString(position, "leverageX"),
      initialMargin: text("initialMargin"),
      initialMarginPercentage: share("initialMargin"),
      maintenanceMargin: text("maintenanceMargin"),
      maintenanceMarginPercentage: share("maintenanceMargin"),
      unrealizedPnl: text("unrealizedPnl"),
      realizedPnl: this.safeString(position, "realizedPnl"),
      liquidationPrice: this.safeString(position, "liquidationPrice")
    }, market)
  }
}

/** A single value or a list, as a list: a snapshot has one value where an update has a list. */
const listOf = <A>(data: unknown): ReadonlyArray<A> => Array.isArray(data) ? data : [data as A]

/** From a snapshot, which is newest first, the entries not delivered yet; from an update all. Oldest first. */
const unseen = <A extends { readonly sequence: number }>(
  { sequence, type }: StreamEvent,
  things: ReadonlyArray<A>,
  progress: Progress
): ReadonlyArray<A> => {
  const seen = progress.sequence
  progress.sequence = Math.max(seen, sequence)
  return type === "snapshot" ? things.filter((thing) => thing.sequence > seen).toReversed() : things
}
