/**
 * The requests and answers of the venue's routes and streams, by the schemas that declare them: types only, without any server code. The
 * package contains the same types written out from the same schemas, so each line here must have a form that `scripts/client` can read.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { getBalance } from "../../edge/accounts/getBalance.js"
import type { listFills } from "../../edge/accounts/listFills.js"
import type { listPositions } from "../../edge/accounts/listPositions.js"
import type { listDeposits } from "../../edge/funds/deposits.js"
import type { nativeError } from "../../edge/http/Envelopes.js"
import type { getCurrentApiKey } from "../../edge/identity/apiKeys.js"
import type { mintTicket } from "../../edge/identity/tickets.js"
import type { getBook } from "../../edge/markets/getBook.js"
import type { getCandles } from "../../edge/markets/getCandles.js"
import type { getMarket, listMarkets } from "../../edge/markets/getMarket.js"
import type { getStats } from "../../edge/markets/getStats.js"
import type { listFundings } from "../../edge/markets/listFundings.js"
import type { listTrades } from "../../edge/markets/listTrades.js"
import type { amendOrder } from "../../edge/orders/amendOrder.js"
import type { cancelAllOrders } from "../../edge/orders/cancelAllOrders.js"
import type { cancelOrder } from "../../edge/orders/cancelOrder.js"
import type { cancelOrderBatch } from "../../edge/orders/cancelOrderBatch.js"
import type { fenceOutcome } from "../../edge/orders/fenceOutcome.js"
import type { getOrder } from "../../edge/orders/getOrder.js"
import type { listOrders } from "../../edge/orders/listOrders.js"
import type { lookUpOutcome } from "../../edge/orders/lookUpOutcome.js"
import type { placeOrder } from "../../edge/orders/placeOrder.js"
import type { placeOrderBatch } from "../../edge/orders/placeOrderBatch.js"
import type { setCancelAllAfter } from "../../edge/orders/setCancelAllAfter.js"
import type { getLimits } from "../../edge/system/getLimits.js"

interface Declared {
  readonly endpoint: HttpApiEndpoint.HttpApiEndpoint.Any
}
type Answer<R extends Declared> = HttpApiEndpoint.HttpApiEndpoint.Success<R["endpoint"]>
type Body<R extends Declared> = HttpApiEndpoint.HttpApiEndpoint.Payload<R["endpoint"]>

export type Envelope = ReturnType<typeof nativeError>["Type"]

export type Limits = Answer<typeof getLimits>
export type MarketList = Answer<typeof listMarkets>
export type MarketSnapshot = Answer<typeof getMarket>
export type Book = Answer<typeof getBook>
export type Level = Book["bids"][number]
export type TradeList = Answer<typeof listTrades>
export type Trade = TradeList["trades"][number]
export type Stats = Answer<typeof getStats>
export type FundingHistory = Answer<typeof listFundings>
export type FundingInterval = FundingHistory["intervals"][number]
export type CandleList = Answer<typeof getCandles>
export type Candle = CandleList["candles"][number]
export type Timeframe = CandleList["timeframe"]

export type CurrentApiKey = Answer<typeof getCurrentApiKey>
export type Ticket = Answer<typeof mintTicket>

export type Balance = Answer<typeof getBalance>
export type PositionList = Answer<typeof listPositions>
export type Position = PositionList["positions"][number]
export type FillList = Answer<typeof listFills>
export type Fill = FillList["fills"][number]
export type OrderList = Answer<typeof listOrders>
export type DepositList = Answer<typeof listDeposits>
export type Deposit = DepositList["deposits"][number]

export type Order = Answer<typeof getOrder>
export type PlaceOrder = Body<typeof placeOrder>
export type PlacedOrder = Answer<typeof placeOrder>
export type PlacedBatch = Answer<typeof placeOrderBatch>
export type AmendOrder = Body<typeof amendOrder>
export type Amended = Answer<typeof amendOrder>
export type Canceled = Answer<typeof cancelOrder>
export type CanceledBatch = Answer<typeof cancelOrderBatch>
export type CanceledAll = Answer<typeof cancelAllOrders>
export type CancelAllAfter = Answer<typeof setCancelAllAfter>
export type OutcomeLookup = Answer<typeof lookUpOutcome>
export type Fence = Answer<typeof fenceOutcome>
