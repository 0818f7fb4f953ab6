/** Public market data: terms, books, fees and limits. */
import {
  type Dict,
  ArgumentsRequired,
  ExchangeNotAvailable,
  functions,
  type Int,
  type LastPrice,
  type LastPrices,
  type LeverageTier,
  type LeverageTiers,
  type MarginMode,
  type MarginModes,
  type Market,
  type MarketInterface,
  NotSupported,
  type Num,
  type OrderBook,
  Precise,
  type Status,
  type Str,
  type Strings,
  type TradingFeeInterface,
  type TradingFees
} from "ccxt"
import { marketIdPattern } from "../venue/MarketId.js"
import { Delivery } from "./Delivery.js"
import * as Description from "./Description.js"
import { Shared } from "./Shared.js"

/** What is wanted of a listing: the name of its rows and of their time, and which of them. */
interface Listed {
  readonly name: string
  readonly time: string
  readonly since: Int
  readonly count: number
  readonly keeps?: (row: Dict) => boolean
}

/** The smallest amount of money. */
const moneyStep = 0.000001

export class Markets extends Delivery {
  /** When the markets were last read anew for one that was not known. */
  private soughtAtEpochMs = -Infinity
  /** The markets, while they are read. */
  private readonly loading = new Shared<Awaited<ReturnType<Delivery["loadMarkets"]>>>()

  override describe(): Dict {
    const base: Dict = super.describe()
    const known: Dict = base["has"]
    const has: Dict = {}
    for (const name of Object.keys(known)) has[name] = false
    for (const name of Description.served) has[name] = true
    return this.deepExtend(base, {
      id: "perpetuum",
      name: "Perpetuum",
      countries: [],
      version: "v2",
      rateLimit: 100,
      pro: true,
      hostname: "127.0.0.1:8080",
      has,
      urls: Description.urls,
      api: Description.api,
      features: Description.features,
      requiredCredentials: { apiKey: true, secret: false },
      precisionMode: functions.TICK_SIZE,
      timeframes: Description.timeframes,
      fees: { trading: { tierBased: false, percentage: true } },
      options: Description.options
    })
  }

  /** There is no sandbox. The library would take the absent address of one for one, and orders would go to the venue all the same. */
  override setSandboxMode(enabled: boolean): void {
    if (enabled) throw new NotSupported(`${this.id} does not have a sandbox: baseURL or hostname names the venue`)
  }

  override async fetchTime(params: Dict = {}): Promise<Int> {
    const response = this.asDict(await this.request("v2/time", "public", "GET", params))
    return this.safeInteger(response, "timestamp")
  }

  /** `ok`, or `maintenance` while the venue starts, stops or recovers. It says nothing of a halt or a paused market, where reads go on. */
  override async fetchStatus(params: Dict = {}): Promise<Status> {
    const told = (status: string, info: unknown): Status => ({ status, updated: undefined, eta: undefined, url: undefined, info })
    try {
      return told("ok", await this.request("readyz", "system", "GET", params))
    } catch (error) {
      if (!(error instanceof ExchangeNotAvailable)) throw error
      return told("maintenance", error.message)
    }
  }

  override async fetchMarkets(params: Dict = {}): Promise<Array<Market>> {
    return this.parseMarkets(await this.request(Description.marketsPath, "public", "GET", params))
  }

  override parseMarket(market: Dict): Market {
    const limits: Dict = market["limits"]
    const range = (name: string) => ({
      min: this.safeNumber(limits[name], "min"),
      max: this.safeNumber(limits[name], "max")
    })
    return this.safeMarketStructure({
      ...this.omit(market, ["limits", "precision"]),
      subType: "linear",
      index: false,
      percentage: true,
      tierBased: false,
      feeSide: "quote",
      marginModes: { cross: true, isolated: false },
      precision: {
        amount: this.safeNumber(market["precision"], "amount"),
        price: this.safeNumber(market["precision"], "price"),
        // Of the currency: the library would else take the finest tick of all markets for the smallest amount of money.
        quote: moneyStep
      },
      limits: { leverage: range("leverage"), amount: range("amount"), price: range("price"), cost: range("cost") }
    })
  }

  /** The book, with at most `limit` levels for each side. The venue refuses more than 500. */
  override async fetchOrderBook(symbol: string, limit: Int = undefined, params: Dict = {}): Promise<OrderBook> {
    const market = await this.loadMarket(symbol)
    const response = this.asDict(
      await this.request("v2/markets/{symbol}/book", "public", "GET", {
        symbol: market.symbol,
        ...(limit === undefined ? undefined : { limit }),
        ...params
      })
    )
    const book = this.parseOrderBook(response, market.symbol, this.safeInteger(response, "timestamp"))
    book.nonce = this.safeInteger(response, "nonce")
    return book
  }

  /** The markets' current fees, which are the same for every account. */
  override async fetchTradingFees(params: Dict = {}): Promise<TradingFees> {
    const fees: Record<string, TradingFeeInterface> = {}
    for (const { info, maker, symbol, taker } of await this.fetchMarketsOf(undefined, params)) {
      fees[symbol] = { info, symbol, maker, taker, percentage: true, tierBased: false }
    }
    return fees
  }

  /** Current maintenance tiers by notional. Each slice of the notional is charged its own tier's rate. */
  override async fetchLeverageTiers(symbols: Strings = undefined, params: Dict = {}): Promise<LeverageTiers> {
    const tiers: Record<string, Array<LeverageTier>> = {}
    for (const market of await this.fetchMarketsOf(symbols, params)) {
      tiers[market.symbol] = this.parseMarketLeverageTiers(market.info, market)
    }
    return tiers
  }

  override parseMarketLeverageTiers(info: unknown, market?: Market): Array<LeverageTier> {
    const details: Dict = this.safeDict(info, "market", {})
    const tiers: Array<Dict> = this.safeList(details, "maintenanceMarginTiers", [])
    const notional = (tier: Dict | undefined): Num => this.ofAtoms(this.safeString(tier, "notionalThresholdAtoms"))
    // The largest notional that a position can have: the greatest quantity at the highest price. A tier that begins beyond it is empty.
    const most = this.parseNumber(Precise.stringMul(this.safeString(details, "maxPositionQuantity"), this.safeString(details, "maxPrice")))
    const ended = (from: Num): Num => most === undefined || from === undefined ? most : Math.max(most, from)
    const maxLeverage = this.safeNumber(details, "maxLeverageX")
    // What a position at the end of the tiers so far needs to be kept; half as much again is needed to open it.
    let maintenance = 0
    return tiers.map((tier, index) => {
      const minNotional = notional(tier)
      const maxNotional = notional(tiers[index + 1]) ?? ended(minNotional)
      const rate = this.parseNumber(Precise.stringDiv(this.safeString(tier, "maintenanceMarginBps"), "10000"))
      maintenance += ((maxNotional ?? 0) - (minNotional ?? 0)) * (rate ?? 0)
      const atItsEnd = Math.floor((maxNotional ?? 0) / (1.5 * maintenance) + 1e-9)
      return {
        tier: index + 1,
        symbol: market?.symbol,
        currency: market?.settle,
        minNotional,
        maxNotional,
        maintenanceMarginRate: rate,
        maxLeverage: Math.max(1, Math.min(maxLeverage ?? atItsEnd, atItsEnd)),
        info: tier
      }
    })
  }

  /** Current limits of an order in each market: minimum and maximum of amount, price, cost and leverage. */
  override async fetchTradingLimits(symbols: Strings = undefined, params: Dict = {}): Promise<Dict> {
    const limits: Dict = {}
    for (const market of await this.fetchMarketsOf(symbols, params)) limits[market.symbol] = { info: market.info, limits: market.limits }
    return limits
  }

  /** Margin is crossed in every market. */
  override async fetchMarginModes(symbols: Strings = undefined, _params: Dict = {}): Promise<MarginModes> {
    const modes: Record<string, MarginMode> = {}
    for (const symbol of await this.chosen(symbols)) {
      modes[symbol] = { info: this.market(symbol).info, symbol, marginMode: "cross" }
    }
    return modes
  }

  /** The last traded price in each market, from a single request; the venue gives neither the time nor the side. */
  override async fetchLastPrices(symbols: Strings = undefined, params: Dict = {}): Promise<LastPrices> {
    const prices: Record<string, LastPrice> = {}
    for (const { info, symbol } of await this.fetchMarketsOf(symbols, params)) {
      const price = this.safeNumber(this.safeDict(info, "market"), "lastPrice")
      prices[symbol] = {
        symbol,
        timestamp: undefined,
        datetime: undefined,
        // The venue gives 0 before the first trade.
        price: price === 0 ? undefined : price,
        side: undefined,
        info
      }
    }
    return prices
  }

  // Shared by all methods.

  /** The markets' current data, rather than that of the first load. */
  private async fetchMarketsOf(symbols: Strings, params: Dict): Promise<Array<MarketInterface>> {
    const chosen = symbols === undefined ? undefined : new Set(await this.chosen(symbols))
    const markets: Array<MarketInterface> = []
    for (const market of await this.fetchMarkets(params)) {
      if (market !== undefined && chosen?.has(market.symbol) !== false) markets.push(market)
    }
    return markets
  }

  /** These markets' symbols, or all of them where none are named. The call ends where this is closed meanwhile. */
  protected async chosen(symbols: Strings): Promise<ReadonlyArray<string>> {
    await this.beforehand(() => this.loadMarkets())
    if (symbols === undefined) return this.symbols
    const chosen: Array<string> = []
    for (const symbol of symbols) chosen.push((await this.loadMarket(symbol)).symbol)
    return chosen
  }

  /**
   * Reads something for each of these markets, by symbol: one request for each, a few at a time. The first failure ends it, and so does
   * `close()`.
   */
  protected async ofEach<A>(symbols: Strings, read: (symbol: string) => Promise<A>): Promise<Record<string, A>> {
    const stillOpen = this.stillOpen()
    const chosen = [...await this.chosen(symbols)]
    const found: Record<string, A> = Object.fromEntries(chosen.map((symbol) => [symbol, undefined])) as Record<string, never>
    const next = chosen.values()
    const reader = async (): Promise<void> => {
      for (const symbol of next) {
        stillOpen()
        found[symbol] = await read(symbol)
      }
    }
    await Promise.all(Array.from({ length: Description.readsAtOnce }, reader))
    return found
  }

  /** The query of a listing, whose answers hold at most 500 entries. */
  protected listing(since: Int, limit: Int): Dict {
    return {
      ...(since === undefined ? undefined : { since }),
      ...(limit === undefined ? undefined : { limit: Math.min(limit, Description.maxListed) })
    }
  }

  /** The pages of one of the account's listings, newest first, read only as they are used, and no more of them after `close()`. */
  protected async *pages(path: string, target: Dict): AsyncGenerator<Dict, void> {
    const stillOpen = this.stillOpen()
    let cursor: Str = undefined
    do {
      stillOpen()
      const page = this.asDict(await this.request(path, "private", "GET", cursor === undefined ? target : { ...target, cursor }))
      yield page
      cursor = this.safeString(page, "nextCursor")
    } while (cursor !== undefined)
  }

  /**
   * Rows of one of the account's listings, which the venue lists newest first, oldest first: all from `since` on, or the latest `count`
   * of those that `keeps` keeps.
   */
  protected async oldestFirst(path: string, target: Dict, { count, keeps = () => true, name, since, time }: Listed): Promise<Array<Dict>> {
    const found: Array<Dict> = []
    for await (const page of this.pages(path, target)) {
      const rows: Array<Dict> = this.safeList(page, name, [])
      found.push(...rows.filter(keeps))
      const isPast = since !== undefined && rows.some((row) => this.safeInteger(row, time, since) < since)
      if (isPast || (since === undefined && found.length >= count)) break
    }
    const wanted = since === undefined ? found.slice(0, count) : found.filter((row) => this.safeInteger(row, time, 0) >= since)
    return wanted.reverse()
  }

  /** Atoms of money as an amount. */
  protected ofAtoms(atoms: Str): Num {
    return atoms === undefined ? undefined : this.parseNumber(Precise.stringDiv(atoms, "1000000"))
  }

  /**
   * What is loaded, unless it is to be read anew: calls that need no more than that go on while it is, and where it fails. With the
   * library's own, they would wait for every load that is under way, and fail with it. Loads at the same time are one.
   */
  override async loadMarkets(reload = false, params: Dict = {}): ReturnType<Delivery["loadMarkets"]> {
    if (!reload && this.markets !== undefined && this.markets_by_id !== undefined) return this.markets
    return await this.loading.join(() => this.loadMarketsHelper(reload, params))
  }

  protected override endCalls(): void {
    this.loading.leave()
    super.endCalls()
  }

  /**
   * A market by its symbol. The markets are read anew for one that is not known, since it may have been listed meanwhile: not again within
   * `seekAgainMs` after they were, so that a symbol that nobody has does not cost a request for each call. The call ends where this is
   * closed meanwhile.
   */
  protected async loadMarket(symbol: string): Promise<MarketInterface> {
    const stillOpen = this.stillOpen()
    await this.loadMarkets()
    stillOpen()
    if (symbol !== undefined && this.markets?.[symbol] === undefined && this.markets_by_id?.[symbol] === undefined) {
      const isDue = Math.abs(this.milliseconds() - this.soughtAtEpochMs) >= Description.seekAgainMs
      if (isDue || this.loading.isUnderWay) {
        await this.loadMarkets(true)
        this.soughtAtEpochMs = this.milliseconds()
        stillOpen()
      }
    }
    return this.market(symbol)
  }

  /** The market of a symbol that may be left out. The call ends where this is closed meanwhile. */
  protected async marketOf(symbol: Str): Promise<MarketInterface | undefined> {
    if (symbol !== undefined) return await this.loadMarket(symbol)
    await this.beforehand(() => this.loadMarkets())
    return undefined
  }

  /** A market by its id. One that was listed since the markets were read has the same symbol as it will have when they are read anew. */
  override safeMarket(
    marketId: Str = undefined,
    market: Market = undefined,
    delimiter: Str = undefined,
    marketType: Str = undefined
  ): MarketInterface {
    const found = super.safeMarket(marketId, market, delimiter, marketType)
    const [, base, quote] = found.id === undefined ? marketIdPattern.exec(found.symbol ?? "") ?? [] : []
    if (base === undefined || quote === undefined) return found
    return { ...found, id: found.symbol, symbol: `${base}/${quote}:USDC`, base, quote, settle: "USDC" }
  }

  protected required(symbol: Str, method: string): string {
    if (symbol === undefined) throw new ArgumentsRequired(`${this.id} ${method}() requires a symbol argument`)
    return symbol
  }
}
