/** Public trading data: tickers, marks, trades, open interest and funding. */
import {
  type Dict,
  type FundingRate,
  type FundingRateHistory,
  type FundingRates,
  type Int,
  type Liquidation,
  type Market,
  type MarketInterface,
  type OHLCV,
  type OpenInterest,
  type OpenInterests,
  Precise,
  type Str,
  type Strings,
  type Ticker,
  type Tickers,
  type Trade
} from "ccxt"
import * as Description from "./Description.js"
import { Markets } from "./Markets.js"

export class Prices extends Markets {
  override async fetchTicker(symbol: string, params: Dict = {}): Promise<Ticker> {
    const market = await this.loadMarket(symbol)
    const response = await this.request("v2/markets/{symbol}/ticker", "public", "GET", { symbol: market.symbol, ...params })
    return this.parseTicker(this.asDict(response), market)
  }

  override parseTicker(ticker: Dict, market?: Market): Ticker {
    return this.safeTicker({ ...ticker, symbol: this.safeSymbol(this.safeString(ticker, "symbol"), market) }, market)
  }

  /** The tickers of these markets, or of all of them: one request for each. */
  override async fetchTickers(symbols: Strings = undefined, params: Dict = {}): Promise<Tickers> {
    return await this.ofEach(symbols, (symbol) => this.fetchTicker(symbol, params))
  }

  /** The best bid and offer of each market, absent where there is none. */
  override async fetchBidsAsks(symbols: Strings = undefined, params: Dict = {}): Promise<Tickers> {
    return await this.tickersWith(["bid", "bidVolume", "ask", "askVolume"], symbols, params)
  }

  /** Mark and index of each market, absent before the index is known. */
  override async fetchMarkPrices(symbols: Strings = undefined, params: Dict = {}): Promise<Tickers> {
    return await this.tickersWith(["markPrice", "indexPrice"], symbols, params)
  }

  override async fetchMarkPrice(symbol: string, params: Dict = {}): Promise<Ticker> {
    const [ticker] = Object.values(await this.fetchMarkPrices([symbol], params))
    return ticker!
  }

  /** Tickers reduced to these members, with their market and time. */
  private async tickersWith(names: ReadonlyArray<string>, symbols: Strings, params: Dict): Promise<Tickers> {
    return await this.ofEach(symbols, async (symbol) => {
      const market = this.market(symbol)
      const ticker = this.asDict(
        await this.request("v2/markets/{symbol}/ticker", "public", "GET", { symbol: market.symbol, ...params })
      )
      const kept = ["symbol", "timestamp", "datetime", "info", ...names]
      return this.parseTicker(Object.fromEntries(Object.entries(ticker).filter(([name]) => kept.includes(name))), market)
    })
  }

  override async fetchOpenInterest(symbol: string, params: Dict = {}): Promise<OpenInterest> {
    const market = await this.loadMarket(symbol)
    const stats = await this.fetchStats(market, params)
    return this.safeOpenInterest({
      symbol: market.symbol,
      // The library's former names for the two members that follow.
      baseVolume: this.safeNumber(stats, "openInterestAmount"),
      quoteVolume: this.safeNumber(stats, "openInterestValue"),
      openInterestAmount: this.safeNumber(stats, "openInterestAmount"),
      openInterestValue: this.safeNumber(stats, "openInterestValue"),
      timestamp: this.safeInteger(stats, "timestamp"),
      datetime: this.safeString(stats, "datetime"),
      info: stats
    }, market)
  }

  /** The open interest of these markets, or of all of them: one request for each. */
  override async fetchOpenInterests(symbols: Strings = undefined, params: Dict = {}): Promise<OpenInterests> {
    return await this.ofEach(symbols, (symbol) => this.fetchOpenInterest(symbol, params))
  }

  /**
   * `fundingRate` is the current interval's rate according to its samples so far, charged at `fundingTimestamp`, and 0 where nothing
   * will be paid for it; `previousFundingRate` was charged at the end of the previous interval. Rates are fractions per `interval`;
   * positive: longs pay.
   */
  override async fetchFundingRate(symbol: string, params: Dict = {}): Promise<FundingRate> {
    const market = await this.loadMarket(symbol)
    return this.parseStatsFunding(await this.fetchStats(market, params), market)
  }

  /** The funding rates of these markets, or of all of them: one request for each. */
  override async fetchFundingRates(symbols: Strings = undefined, params: Dict = {}): Promise<FundingRates> {
    return await this.ofEach(symbols, (symbol) => this.fetchFundingRate(symbol, params))
  }

  /** How long the funding intervals of these markets are, in `interval`, or of all of them: one request for each. */
  override async fetchFundingIntervals(symbols: Strings = undefined, params: Dict = {}): Promise<FundingRates> {
    return await this.fetchFundingRates(symbols, params)
  }

  override async fetchFundingInterval(symbol: string, params: Dict = {}): Promise<FundingRate> {
    return await this.fetchFundingRate(symbol, params)
  }

  /** Whether a market has no trading sessions. */
  private isAlwaysOpen({ info }: MarketInterface): boolean {
    return this.safeString(this.safeDict(info, "market", {}), "marketType") === "crypto"
  }

  private parseStatsFunding(stats: Dict, market: MarketInterface): FundingRate {
    const native: Dict = this.safeDict(stats, "info", {})
    const number = (name: string): number => this.safeNumber(stats, name) ?? 0
    const timestamp = number("timestamp")
    // The venue gives 0 where funding has ended, in a delisted market, and where it knows of no session in which it goes on.
    const fundingTimestamp = number("nextFundingTimestamp") || undefined
    // In a market with sessions the last interval may have ended days before the next one begins.
    const previousFundingTimestamp = fundingTimestamp === undefined || !this.isAlwaysOpen(market)
      ? undefined
      : fundingTimestamp - this.safeInteger(native, "fundingIntervalMs", 0)
    const price = (name: string) => number(name) === 0 ? undefined : { [name]: number(name) }
    return {
      info: stats,
      symbol: market.symbol,
      // The venue gives 0 before these prices exist.
      ...price("markPrice"),
      ...price("indexPrice"),
      timestamp,
      datetime: this.iso8601(timestamp) ?? "",
      // The venue's "next" rate is that of the current interval; the library names rates by which is charged next.
      fundingRate: number("nextFundingRate"),
      ...(fundingTimestamp === undefined
        ? undefined
        : { fundingTimestamp, fundingDatetime: this.iso8601(fundingTimestamp) ?? "" }),
      previousFundingRate: number("fundingRate"),
      ...(previousFundingTimestamp === undefined
        ? undefined
        : { previousFundingTimestamp, previousFundingDatetime: this.iso8601(previousFundingTimestamp) ?? "" }),
      interval: this.safeString(stats, "interval", "")
    }
  }

  /** Rates of past intervals, oldest first. The venue keeps the latest 720 for each market and returns the latest 500. */
  override async fetchFundingRateHistory(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<FundingRateHistory>> {
    const market = await this.loadMarket(this.required(symbol, "fetchFundingRateHistory"))
    // The venue returns the newest first, but the library wants the first from `since` on, so all have to be requested.
    const count = since === undefined ? limit : Description.maxListed
    const response = this.asDict(
      await this.request(Description.fundingPath, "public", "GET", {
        marketId: market.id,
        ...this.listing(since, count),
        ...params
      })
    )
    return this.parseFundingRateHistories(this.safeList(response, "intervals", []), market, since, limit)
  }

  override parseFundingRateHistory(interval: Dict, market?: Market): FundingRateHistory {
    const timestamp = this.safeInteger(interval, "endedAtEpochMs")
    return {
      info: interval,
      symbol: market?.symbol,
      fundingRate: this.parseNumber(Precise.stringDiv(this.safeString(interval, "fundingRateE9"), "1000000000")),
      timestamp,
      datetime: this.iso8601(timestamp)
    }
  }

  private async fetchStats(market: MarketInterface, params: Dict): Promise<Dict> {
    return this.asDict(await this.request("v2/markets/{symbol}/stats", "public", "GET", { symbol: market.symbol, ...params }))
  }

  /**
   * Candles of trades, oldest first, without those in which nothing traded. With `price: "index"` in `params`, candles of the index,
   * without volume. At most 100: the first from `since` on, or the latest.
   */
  override async fetchOHLCV(
    symbol: string,
    timeframe = "1m",
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<OHLCV>> {
    const market = await this.loadMarket(symbol)
    const response = await this.request(Description.candlesPath, "public", "GET", {
      symbol: market.symbol,
      timeframe: this.safeString(this.timeframes, timeframe, timeframe),
      series: this.safeString(params, "price", "trade"),
      ...(since === undefined ? undefined : { since }),
      ...(limit === undefined ? undefined : { limit: Math.min(limit, Description.maxPage) }),
      ...this.omit(params, "price")
    })
    return this.parseOHLCVs(response, market, timeframe, since, limit)
  }

  /** Liquidations in a market that closed something, oldest first: the first `limit` from `since` on, or the latest, of the newest 500. */
  override async fetchLiquidations(
    symbol: string,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Liquidation>> {
    const market = await this.loadMarket(symbol)
    const target = { marketId: market.id, ...this.listing(since, Description.maxListed), ...params }
    const response = this.asDict(await this.request(Description.liquidationsPath, "public", "GET", target))
    const steps = this.closingSteps(response).filter(({ step }) => step !== "settlement")
    return this.parseLiquidations(steps, market, since, limit)
  }

  /** The listed steps that closed something, oldest first: some ordered what nobody took, or found no counterparty. */
  protected closingSteps(response: Dict): Array<Dict> {
    const steps: Array<Dict> = this.safeList(response, "steps", [])
    return steps.filter((step) => Precise.stringGt(this.safeString(step, "filledQuantity"), "0")).reverse()
  }

  /**
   * `side` is that of the order which closes: the liquidated position's, or, in the account's own listing, its own position's. An order of
   * the venue's has the bankruptcy price, and trades at that or better: at which prices is not told, so it has no `quoteValue`.
   */
  override parseLiquidation(step: Dict, market?: Market): Liquidation {
    const { contractSize, symbol } = this.safeMarket(this.safeString(step, "marketId"), market)
    const timestamp = this.safeInteger(step, "occurredAtEpochMs")
    const [contracts, price] = [this.safeString(step, "filledQuantity"), this.safeString(step, "price")]
    const isLong = (step["side"] === "long") !== (step["role"] === "counterparty")
    return {
      info: step,
      symbol,
      timestamp,
      datetime: this.iso8601(timestamp),
      side: isLong ? "sell" : "buy",
      contracts: this.parseNumber(contracts),
      contractSize: contractSize ?? 1,
      price: this.parseNumber(price),
      baseValue: this.parseNumber(contracts),
      quoteValue: step["step"] === "order" ? undefined : this.parseNumber(Precise.stringMul(contracts, price))
    }
  }

  override async fetchTrades(
    symbol: string,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Trade>> {
    const market = await this.loadMarket(symbol)
    const response = await this.request("v2/markets/{symbol}/trades", "public", "GET", {
      symbol: market.symbol,
      ...this.listing(since, limit),
      ...params
    })
    return this.parseTrades(this.asList(response), market, since, limit)
  }

  override parseTrade(trade: Dict, market?: Market): Trade {
    return this.safeTrade({
      ...trade,
      order: this.safeString(trade, "order"),
      type: undefined,
      symbol: this.safeSymbol(this.safeString(trade, "symbol"), market),
      fee: this.safeDict(trade, "fee")
    }, market)
  }
}
