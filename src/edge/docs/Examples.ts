/** One good request of every endpoint: path and query as they are asked, and the body. Tests decode each with its schema. */
import type * as Contract from "../Contract.js"

export interface Example {
  /** Path and query, with every parameter filled in. */
  readonly target: string
  readonly body?: unknown
}

const accountId = "acc_1s"
const marketId = "BTC-USDC-PERP"
const symbol = "BTC/USDC:USDC"
const encodedSymbol = "BTC%2FUSDC%3AUSDC"
const orderId = "ord_2bk"

const nativeOrder = {
  accountId,
  marketId,
  clientOrderId: "grid-42",
  side: "buy",
  orderType: "limit",
  price: "60000.0",
  quantity: "0.010",
  postOnly: true
}
const compatOrder = { symbol, type: "limit", side: "buy", amount: 0.01, price: 60000, params: { clientOrderId: "grid-42" } }

export const examples: Readonly<Record<Contract.Name, Example>> = {
  placeOrder: { target: "/v1/orders", body: nativeOrder },
  placeOrderBatch: { target: "/v1/orders/batch", body: { orders: [nativeOrder] } },
  cancelOrderBatch: { target: "/v1/orders/batch/cancel", body: { orders: [{ accountId, marketId, orderId }] } },
  cancelOrder: { target: `/v1/orders/${orderId}/cancel`, body: { accountId, marketId } },
  amendOrder: { target: `/v1/orders/${orderId}/amend`, body: { accountId, marketId, price: "59990.0", quantity: "0.020" } },
  cancelAllOrders: { target: "/v1/orders/cancel-all", body: { accountId, marketId } },
  getOrder: { target: `/v1/orders/${orderId}` },
  setCancelAllAfter: { target: `/v1/accounts/${accountId}/orders/cancel-all-after`, body: { timeoutMs: 30_000 } },
  getCancelAllAfter: { target: `/v1/accounts/${accountId}/orders/cancel-all-after` },
  lookUpOutcome: { target: `/v1/accounts/${accountId}/outcomes?idempotencyKey=grid-42-attempt` },
  fenceOutcome: { target: `/v1/accounts/${accountId}/outcomes/fence`, body: { idempotencyKey: "grid-42-attempt" } },
  getBalance: { target: `/v1/accounts/${accountId}/balance` },
  listPositions: { target: `/v1/accounts/${accountId}/positions` },
  listOrders: { target: `/v1/accounts/${accountId}/orders?status=open&limit=100` },
  listFills: { target: `/v1/accounts/${accountId}/fills?marketId=${marketId}` },
  getCurrentApiKey: { target: "/v1/api-keys/current" },
  listMarkets: { target: "/v1/markets" },
  getMarket: { target: `/v1/markets/${marketId}` },
  getBook: { target: `/v1/markets/${marketId}/book` },
  listTrades: { target: `/v1/markets/${marketId}/trades?limit=100` },
  getStats: { target: `/v1/markets/${marketId}/stats` },
  createOrders: { target: "/v2/orders", body: [compatOrder] },
  createOrder: { target: "/v2/order", body: compatOrder },
  cancelCompatOrder: { target: `/v2/orders/${orderId}/cancel`, body: { symbol } },
  getCompatOrder: { target: `/v2/orders/${orderId}?symbol=${encodedSymbol}` },
  cancelAllCompatOrders: { target: "/v2/orders/cancel-all", body: { symbol } },
  listCompatOrders: { target: `/v2/orders?symbol=${encodedSymbol}&status=open` },
  listCompatOwnTrades: { target: `/v2/trades?symbol=${encodedSymbol}&limit=50` },
  listCompatPositions: { target: "/v2/positions" },
  getCompatBalance: { target: "/v2/balance" },
  listCompatMarkets: { target: "/v2/markets" },
  getCompatBook: { target: `/v2/markets/${encodedSymbol}/book?limit=20` },
  listCompatTrades: { target: `/v2/markets/${encodedSymbol}/trades?since=1767225600000` },
  getCompatStats: { target: `/v2/markets/${encodedSymbol}/stats` },
  getCompatTicker: { target: `/v2/markets/${encodedSymbol}/ticker` },
  getCompatTime: { target: "/v2/time" },
  putMarket: {
    target: `/v1/operator/markets/${marketId}`,
    body: {
      underlyingSymbol: "BTC",
      marketType: "crypto",
      priceScale: 1,
      quantityScale: 3,
      minPrice: "1.0",
      maxPrice: "1000000.0",
      minQuantity: "0.001",
      maxQuantity: "100.000",
      maxPositionQuantity: "1000.000",
      initialMarginBps: 500,
      maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 250 }],
      maxLeverageX: 20,
      makerFeeBps: 1,
      takerFeeBps: 5
    }
  },
  setMarketStatus: { target: `/v1/operator/markets/${marketId}/status`, body: { status: "paused" } },
  setIndexPrice: { target: `/v1/operator/markets/${marketId}/index-price`, body: { price: "60000.0" } },
  haltEngine: { target: "/v1/operator/engine/halt" },
  resumeEngine: { target: "/v1/operator/engine/halt" },
  openDemoAccounts: { target: "/v1/operator/demo/accounts", body: { accounts: 2, collateral: "100000" } },
  getHealth: { target: "/healthz" },
  getReadiness: { target: "/readyz" },
  getMetrics: { target: "/metrics" },
  getOpenApi: { target: "/openapi.json" },
  getDocs: { target: "/docs" }
}
