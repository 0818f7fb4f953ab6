/** What the exchange class says of itself: names, addresses, routes, and the unified methods that it serves. */

/** Unified methods and capabilities that are there. Every other name that the library knows is set to false. */
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
  "fetchFundingHistory",
  "fetchFundingRate",
  "fetchFundingRateHistory",
  "fetchFundingRates",
  "fetchL2OrderBook",
  "fetchLastPrices",
  "fetchLeverage",
  "fetchLeverageTiers",
  "fetchLeverages",
  "fetchMarginMode",
  "fetchMarginModes",
  "fetchMarkPrice",
  "fetchMarkPrices",
  "fetchMarketLeverageTiers",
  "fetchMarkets",
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

/** Entries that one listing of the library's shapes may hold. */
export const maxListed = 500

/** Entries of a page of a native listing. */
export const maxPage = 100

/** Lengths of candles, by the names that the venue has for them, which are the library's. */
export const timeframes = Object.fromEntries(
  ["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d", "3d", "1w", "1M"].map((name) => [name, name])
)

/** Orders that one batch may place. */
export const maxPlaced = 32

/** Requests under way at a time where one is sent for each market. */
export const readsAtOnce = 8

/** Where what closes a position is set. */
export const autoClosePath = "v1/accounts/{accountId}/positions/{marketId}/auto-close"

/** What closes the account's positions by itself, of one market or of all. */
export const triggersPath = "v1/accounts/{accountId}/triggers"

/** Where one order is placed. */
export const placePath = "v1/orders"

/** Where up to `maxPlaced` of them are. */
export const placeBatchPath = "v1/orders/batch"

/** Where one order is cancelled. */
export const cancelOrderPath = "v2/orders/{orderId}/cancel"

/** Where several are. */
export const cancelBatchPath = "v1/orders/batch/cancel"

/** Where all open orders are. */
export const cancelAllPath = "v2/orders/cancel-all"

/** Where the dead-man switch is armed. */
export const cancelAllAfterPath = "v1/accounts/{accountId}/orders/cancel-all-after"

/** What became of a key, or of an order by its name. */
export const outcomesPath = "v1/accounts/{accountId}/outcomes"

/** Where an order is changed. */
export const editOrderPath = "v1/orders/{orderId}/amend"

/** An account's fills, newest first. */
export const fillsPath = "v1/accounts/{accountId}/fills"

/** A market's ended funding intervals, newest first. */
export const fundingPath = "v1/markets/{marketId}/funding"

/** An account's own payments of funding, newest first. */
export const fundingPaymentsPath = "v1/accounts/{accountId}/funding-payments"

/** Candles of a market, oldest first. */
export const candlesPath = "v2/markets/{symbol}/candles"

/** An account's positions from their first fill until they were flat again, open ones first, then newest ended first. */
export const positionHistoryPath = "v1/accounts/{accountId}/positions/history"

/** An account's leverage in a market: read and set. */
export const leveragePath = "v1/accounts/{accountId}/markets/{marketId}/leverage"

/** Routes by section and method. Every one of them counts once against the rate limit. */
export const api = {
  system: {
    get: ["readyz"]
  },
  public: {
    get: [
      fundingPath,
      "v2/time",
      "v2/markets",
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

/** A venue that `npm start` runs. `hostname` or `baseURL` name another; on this machine itself a `hostname` is asked without TLS. */
export const urls = {
  api: { rest: "https://{hostname}" },
  test: { rest: "https://{hostname}" }
}

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
        triggerDirection: false,
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
