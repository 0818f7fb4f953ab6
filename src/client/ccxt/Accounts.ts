/** Reads of the account's own data: money, positions, leverage and funding. Its orders are in `Orders.ts`. */
import {
  type Account,
  type Balances,
  type Dict,
  type FundingHistory,
  type Int,
  type Leverage,
  type Leverages,
  type Liquidation,
  type Market,
  type Num,
  type Position,
  type PositionModeInfo,
  Precise,
  type Str,
  type Strings
} from "ccxt"
import * as Description from "./Description.js"
import { Prices } from "./Prices.js"

export class Accounts extends Prices {
  /** The one account that the API key belongs to. */
  override async fetchAccounts(params: Dict = {}): Promise<Array<Account>> {
    const info = this.asDict(await this.request("v1/api-keys/current", "private", "GET", params))
    return [{ id: this.safeString(info["key"], "accountId"), type: "swap", code: "USDC", info }]
  }

  /** One position in each market: there is no hedging. */
  override async fetchPositionMode(symbol: Str = undefined, _params: Dict = {}): Promise<PositionModeInfo> {
    const info = symbol === undefined ? {} : (await this.loadMarket(symbol)).info
    return { info, hedged: false }
  }

  override async fetchBalance(params: Dict = {}): Promise<Balances> {
    await this.loadMarkets()
    return this.parseBalance(await this.request("v2/balance", "private", "GET", params))
  }

  /** `total` is the equity and `free` what can back new orders. `used` is the exact difference of the two. */
  override parseBalance(response: Dict): Balances {
    const info: Dict = response["info"]
    return this.safeBalance({
      info: response,
      timestamp: this.safeInteger(response, "timestamp"),
      datetime: this.safeString(response, "datetime"),
      [this.safeString(info, "asset", "USDC")]: {
        total: this.safeString(info, "equity"),
        free: this.safeString(info, "available")
      }
    })
  }

  /**
   * Positions that are not flat. Margin is crossed: `collateral` is the whole account's equity, which backs every position, and
   * `marginRatio` is the maintenance margin relative to it; at 1 the account is liquidated. Both are read just after the positions.
   */
  override async fetchPositions(symbols: Strings = undefined, params: Dict = {}): Promise<Array<Position>> {
    const chosen = await this.chosen(symbols)
    const only = symbols?.length === 1 ? { symbol: chosen[0] } : {}
    const response = await this.request("v2/positions", "private", "GET", { ...only, ...params })
    const positions = this.asList(response)
    if (positions.length === 0) return []
    const balance: Dict = this.asDict(await this.request("v2/balance", "private", "GET"))["info"]
    const collateral = this.safeString(balance, "equity", "0")
    const isPositive = Precise.stringGt(collateral, "0")
    const marginRatio = isPositive ? Precise.stringDiv(this.safeString(balance, "maintenanceMargin"), collateral, 8) : undefined
    return this.parsePositions(positions.map((position) => ({ ...position, collateral, marginRatio })), symbols)
  }

  override async fetchPositionsForSymbol(symbol: string, params: Dict = {}): Promise<Array<Position>> {
    return await this.fetchPositions([symbol], params)
  }

  /** The position in one market; a flat one has 0 contracts and no side. */
  override async fetchPosition(symbol: string, params: Dict = {}): Promise<Position> {
    const [position] = await this.fetchPositions([symbol], params)
    return position ?? this.parsePosition({ symbol: this.market(symbol).symbol, contracts: 0, info: {} })
  }

  /**
   * Closed positions, oldest first: `timestamp` is when a position was opened, `lastUpdateTimestamp` when it was closed, `contracts` the
   * largest size held. The first `limit` that were closed from `since` on, or the latest.
   */
  override async fetchPositionsHistory(
    symbols: Strings = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Position>> {
    const chosen = await this.chosen(symbols)
    const wanted = symbols === undefined ? undefined : chosen.map((symbol) => this.market(symbol).id)
    const target = {
      accountId: await this.loadAccountId(),
      limit: Description.maxPage,
      ...(wanted?.length === 1 ? { marketId: wanted[0] } : undefined),
      ...params
    }
    // The venue lists open positions first, then the most recently closed.
    const ended = await this.oldestFirst(Description.positionHistoryPath, target, {
      name: "episodes",
      time: "closedAtEpochMs",
      since,
      count: limit ?? Description.maxPage,
      keeps: (episode) =>
        this.safeString(episode, "status") !== "open"
        && (wanted === undefined || wanted.includes(this.safeString(episode, "marketId", "")))
    })
    return ended.slice(0, limit).map((episode) => this.parseEpisode(episode))
  }

  private parseEpisode(episode: Dict): Position {
    const timestamp = this.safeInteger(episode, "openedAtEpochMs")
    const { id, symbol } = this.safeMarket(this.safeString(episode, "marketId"))
    const held = this.safeString(episode, "maxQuantity")
    const entry = this.safeString(episode, "avgEntryPrice")
    return this.safePosition({
      info: episode,
      id: this.safeString(episode, "positionId", id),
      symbol,
      timestamp,
      datetime: this.iso8601(timestamp),
      lastUpdateTimestamp: this.safeInteger(episode, "closedAtEpochMs"),
      hedged: false,
      marginMode: "cross",
      side: this.safeString(episode, "side"),
      contracts: this.parseNumber(held),
      contractSize: 1,
      entryPrice: this.parseNumber(entry),
      lastPrice: this.safeNumber(episode, "avgExitPrice"),
      notional: this.parseNumber(Precise.stringMul(held, entry)),
      realizedPnl: this.safeNumber(episode, "realizedPnl")
    })
  }

  override parsePosition(position: Dict, market?: Market): Position {
    const symbol = this.safeSymbol(this.safeString(position, "symbol"), market)
    const number = (name: string): Num => this.safeNumber(position, name)
    return this.safePosition({
      info: this.safeDict(position, "info", {}),
      id: this.safeString(position, "id"),
      symbol,
      timestamp: this.safeInteger(position, "timestamp"),
      datetime: this.safeString(position, "datetime"),
      lastUpdateTimestamp: undefined,
      hedged: false,
      marginMode: "cross",
      side: this.safeString(position, "side"),
      contracts: number("contracts"),
      contractSize: this.safeNumber(position, "contractSize", 1),
      entryPrice: number("entryPrice"),
      markPrice: number("markPrice"),
      lastPrice: undefined,
      notional: number("notional"),
      leverage: number("leverage"),
      collateral: number("collateral"),
      initialMargin: number("initialMargin"),
      initialMarginPercentage: number("initialMarginPercentage"),
      maintenanceMargin: number("maintenanceMargin"),
      maintenanceMarginPercentage: number("maintenanceMarginPercentage"),
      marginRatio: number("marginRatio"),
      unrealizedPnl: number("unrealizedPnl"),
      realizedPnl: number("realizedPnl"),
      liquidationPrice: number("liquidationPrice"),
      stopLossPrice: undefined,
      takeProfitPrice: undefined
    })
  }

  /**
   * Funding that the account paid (negative) and received, oldest first: the first `limit` payments from `since` on, or the latest. The
   * venue lists the newest first, for all markets, on pages of 500, which are read as far back as needed.
   */
  override async fetchFundingHistory(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<FundingHistory>> {
    const market = await this.marketOf(symbol)
    const target = { accountId: await this.loadAccountId(), ...this.listing(since, Description.maxListed), ...params }
    const count = limit ?? Description.maxListed
    const found: Array<Dict> = []
    for await (const page of this.pages(Description.fundingPaymentsPath, target)) {
      const payments: Array<Dict> = this.safeList(page, "payments", [])
      found.push(...payments.filter((payment) => market === undefined || this.safeString(payment, "marketId") === market.id))
      if (since === undefined && found.length >= count) break
    }
    return this.parseIncomes(since === undefined ? found.slice(0, count) : found, market, since, limit)
  }

  override parseIncome(payment: Dict, market?: Market): FundingHistory {
    const timestamp = this.safeInteger(payment, "occurredAtEpochMs")
    const { id, settle, symbol } = this.safeMarket(this.safeString(payment, "marketId"), market)
    return {
      info: payment,
      symbol,
      code: settle,
      timestamp,
      datetime: this.iso8601(timestamp),
      id: `${id}.${this.safeString(payment, "sequence", "")}`,
      amount: this.parseNumber(Precise.stringNeg(this.safeString(payment, "paid")))
    }
  }

  /**
   * What changed the account's positions without a trade of its own, oldest first: its liquidations, deleveragings of which it was the
   * counterparty, and settlements of delisted markets (`info.role`, `info.step`). The first `limit` from `since` on, or the latest, of the
   * newest 500.
   */
  override async fetchMyLiquidations(
    symbol: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Liquidation>> {
    const market = await this.marketOf(symbol)
    const target = { accountId: await this.loadAccountId(), ...this.listing(since, Description.maxListed), ...params }
    const steps = this.closingSteps(this.asDict(await this.request(Description.ownLiquidationsPath, "private", "GET", target)))
    const wanted = market === undefined ? steps : steps.filter(({ marketId }) => marketId === market.id)
    return this.parseLiquidations(wanted, undefined, since, limit)
  }

  /** The account's maximum leverage in a market: the one that was set, or the market's own. */
  override async fetchLeverage(symbol: string, params: Dict = {}): Promise<Leverage> {
    const market = await this.loadMarket(symbol)
    const target = { accountId: await this.loadAccountId(), marketId: market.id, ...params }
    return this.parseLeverage(this.asDict(await this.request(Description.leveragePath, "private", "GET", target)), market)
  }

  /** The maximum leverage in each of these markets, or in all of them: one request for each. */
  override async fetchLeverages(symbols: Strings = undefined, params: Dict = {}): Promise<Leverages> {
    return await this.ofEach(symbols, (symbol) => this.fetchLeverage(symbol, params))
  }

  override parseLeverage(leverage: Dict, market?: Market): Leverage {
    const most = this.safeNumber(leverage, "leverageX")
    return { info: leverage, symbol: market?.symbol, marginMode: "cross", longLeverage: most, shortLeverage: most }
  }
}
