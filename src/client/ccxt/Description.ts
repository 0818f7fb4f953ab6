/** The exchange class's description of itself: names, URLs, routes, and the unified methods that it supports. */

/** Supported unified methods and capabilities. All other names that the library knows are set to false. */
export const served = [
  "publicAPI",
  "privateAPI",
  "swap",
  "ws",
  "cancelAllOrders",
  "cancelAllOrdersAfter",
  "cancelOrder",
  "cancelOrderWithClientOrderId",
  "cancelOrders",
  "cancelOrdersForSymbols",
  "closeAllPositions",
  "closePosition",
  "createLimitBuyOrder",
  "createLimitOrder",
  "createLimitSellOrder",
  "createMarketBuyOrder",
  "createMarketBuyOrderWithCost",
  "createMarketOrder",
  "createMarketOrderWithCost",
  "createMarketSellOrder",
  "createMarketSellOrderWithCost",
  "createOrder",
  "createOrderWithTakeProfitAndStopLoss",
  "createOrders",
  "createPostOnlyOrder",
  "createReduceOnlyOrder",
  "createStopLossOrder",
  "createTakeProfitOrder",
  "editOrder",
  "editOrderWithClientOrderId",
  "editOrders",
  "fetchAccounts",
  "fetchBalance",
  "fetchBidsAsks",
  "fetchCanceledAndClosedOrders",
  "fetchCanceledOrders",
  "fetchClosedOrder",
  "fetchClosedOrders",
  "fetchDeposit",
  "fetchDeposits",
  "fetchFundingHistory",
  "fetchFundingInterval",
  "fetchFundingIntervals",
  "fetchFundingRate",
  "fetchFundingRateHistory",
  "fetchFundingRates",
  "fetchIndexOHLCV",
  "fetchL2OrderBook",
  "fetchLastPrices",
  "fetchLedger",
  "fetchLeverage",
  "fetchLeverageTiers",
  "fetchLeverages",
  "fetchLiquidations",
  "fetchMarginMode",
  "fetchMarginModes",
  "fetchMarkPrice",
  "fetchMarkPrices",
  "fetchMarketLeverageTiers",
  "fetchMarkets",
  "fetchMyLiquidations",
  "fetchMyTrades",
  "fetchOHLCV",
  "fetchOpenInterest",
  "fetchOpenInterests",
  "fetchOpenOrder",
  "fetchOpenOrders",
  "fetchOrder",
  "fetchOrderBook",
  "fetchOrderTrades",
  "fetchOrderWithClientOrderId",
  "fetchOrders",
  "fetchPosition",
  "fetchPositionHistory",
  "fetchPositionMode",
  "fetchPositions",
  "fetchPositionsForSymbol",
  "fetchPositionsHistory",
  "fetchStatus",
  "fetchTicker",
  "fetchTickers",
  "fetchTime",
  "fetchTrades",
  "fetchTradingFee",
  "fetchTradingFees",
  "fetchTradingLimits",
  "setLeverage",
  "watchBalance",
  "watchMyTrades",
  "watchOHLCV",
  "watchOrderBook",
  "watchOrders",
  "watchPositions",
  "watchTicker",
  "watchTrades"
] as const

/** Most entries of one listing in the library's format, and entries of one where nothing else is asked for. */
export const maxListed = 500
export const usuallyListed = 100

/** Most entries on a page of a native listing. */
export const maxPage = 100

/** Candle lengths, by the venue's names, which are also the library's. */
export const timeframes = Object.fromEntries(
  ["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d", "3d", "1w", "1M"].map((name) => [name, name])
)

/** Most orders in one batch. */
export const maxPlaced = 32

/** Most orders placed here whose ids are known by their names. */
export const maxNamed = 10_000

/** How long closing a position waits at most for the markets as they are now, in milliseconds. */
export const renewalMs = 1_000

/** All markets. */
export const marketsPath = "v2/markets"

/** How soon the markets are read anew again for a symbol that is not known, in milliseconds. */
export const seekAgainMs = 10_000

/** Most concurrent requests where one is sent for each market. */
export const readsAtOnce = 8

/** Sets the take-profit and stop-loss of a position. */
export const autoClosePath = "v1/accounts/{accountId}/positions/{marketId}/auto-close"

/** Lists the account's take-profits and stop-losses, of one market or of all, or cancels all of them. */
export const triggersPath = "v1/accounts/{accountId}/triggers"

/** Places one order. */
export const placePath = "v1/orders"

/** Places up to `maxPlaced` orders. */
export const placeBatchPath = "v1/orders/batch"

/** Cancels one order. */
export const cancelOrderPath = "v2/orders/{orderId}/cancel"

/** Cancels several orders. */
export const cancelBatchPath = "v1/orders/batch/cancel"

/** Cancels all open orders. */
export const cancelAllPath = "v2/orders/cancel-all"

/** Arms the dead-man switch. */
export const cancelAllAfterPath = "v1/accounts/{accountId}/orders/cancel-all-after"

/** The outcome of a key, or an order by its clientOrderId. */
export const outcomesPath = "v1/accounts/{accountId}/outcomes"

/** Amends an order. */
export const editOrderPath = "v1/orders/{orderId}/amend"

/** An account's fills, newest first. */
export const fillsPath = "v1/accounts/{accountId}/fills"

/** A market's past funding intervals, newest first. */
export const fundingPath = "v1/markets/{marketId}/funding"

/** An account's funding payments, newest first. */
export const fundingPaymentsPath = "v1/accounts/{accountId}/funding-payments"

/** Steps of liquidations of a market, and those that an account had a side of, newest first. */
export const liquidationsPath = "v1/markets/{marketId}/liquidations"
export const ownLiquidationsPath = "v1/accounts/{accountId}/liquidations"

/** An account's deposits, newest first, and one of them. */
export const depositsPath = "v1/accounts/{accountId}/deposits"
export const depositPath = "v1/accounts/{accountId}/deposits/{depositId}"

/** What changed an account's balance, newest first. */
export const ledgerPath = "v1/accounts/{accountId}/ledger"

/** A market's candles, oldest first. */
export const candlesPath = "v2/markets/{symbol}/candles"

/** An account's positions from their first fill until they were flat again: open ones first, then the most recently closed. */
export const positionHistoryPath = "v1/accounts/{accountId}/positions/history"

/** Reads or sets an account's leverage in a market. */
export const leveragePath = "v1/accounts/{accountId}/markets/{marketId}/leverage"

/** Routes by section and method. Every one of them counts once against the rate limit. */
export const api = {
  system: {
    get: ["readyz"]
  },
  public: {
    get: [
      fundingPath,
      liquidationsPath,
      "v2/time",
      marketsPath,
      "v2/markets/{symbol}/book",
      candlesPath,
      "v2/markets/{symbol}/trades",
      "v2/markets/{symbol}/stats",
      "v2/markets/{symbol}/ticker"
    ]
  },
  private: {
    get: [
      "v1/api-keys/current",
      outcomesPath,
      autoClosePath,
      triggersPath,
      fillsPath,
      fundingPaymentsPath,
      ownLiquidationsPath,
      depositsPath,
      depositPath,
      ledgerPath,
      leveragePath,
      positionHistoryPath,
      "v2/orders",
      "v2/orders/{orderId}",
      "v2/trades",
      "v2/positions",
      "v2/balance"
    ],
    post: [
      placePath,
      placeBatchPath,
      cancelBatchPath,
      editOrderPath,
      cancelAllAfterPath,
      "v1/accounts/{accountId}/outcomes/fence",
      "v2/order",
      cancelOrderPath,
      cancelAllPath
    ],
    put: [autoClosePath, leveragePath],
    delete: [autoClosePath, triggersPath]
  }
}

/**
 * A venue that `npm start` runs. `hostname` or `baseURL` name another; on this machine itself a `hostname` is asked without TLS. There is
 * no sandbox.
 */
export const urls = { api: { rest: "https://{hostname}" } }

/** What one request may cost before it is given up, and how patient its repetitions are. */
export const options = {
  /** Attempts in all under one idempotency key. */
  maxAttempts: 5,
  /** Milliseconds before the second attempt; each further one waits twice as long, unless the venue names a time. */
  retryDelayMs: 200,
  /** Things of one stream that are held for who watches it: trades, orders, candles. Where nobody takes them, the oldest are forgotten. */
  watchedMost: 1_000
}

const listing = { marginMode: false, limit: 500, daysBack: undefined, untilDays: undefined, symbolRequired: false }
const orders = { ...listing, trigger: false, trailing: false }

/** What orders and listings may say, in the library's terms. */
export const features = {
  spot: undefined,
  swap: {
    linear: {
      sandbox: false,
      createOrder: {
        marginMode: false,
        triggerPrice: true,
        triggerPriceType: { last: true, mark: true, index: true },
        triggerDirection: true,
        stopLossPrice: true,
        takeProfitPrice: true,
        attachedStopLossTakeProfit: { triggerPriceType: { last: true, mark: true, index: true }, price: true },
        timeInForce: { IOC: true, FOK: false, PO: true, GTD: false },
        hedged: false,
        trailing: false,
        leverage: false,
        marketBuyByCost: false,
        marketBuyRequiresPrice: false,
        selfTradePrevention: true,
        iceberg: false
      },
      createOrders: { max: maxPlaced },
      fetchMyTrades: listing,
      fetchOrder: { marginMode: false, trigger: true, trailing: false, symbolRequired: false },
      fetchOpenOrders: { ...orders, trigger: true },
      fetchOrders: orders,
      fetchClosedOrders: { ...orders, daysBackCanceled: undefined },
      fetchOHLCV: { limit: maxPage }
    },
    inverse: undefined
  },
  future: { linear: undefined, inverse: undefined }
}
