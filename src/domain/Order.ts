/** An order's enumerations. In commands, journal and engine they are small integers; their names face clients. */

/** Sides by code. */
export const sides = ["buy", "sell"] as const
export const buy = 0
export const sell = 1
export type Side = 0 | 1

/** Order types by code. */
export const types = ["limit", "market"] as const
export const limit = 0
export const market = 1
export type Type = 0 | 1

/** Times in force by code. */
export const timesInForce = ["GTC", "IOC"] as const
export const gtc = 0
export const ioc = 1
export type TimeInForce = 0 | 1

/** Self-trade prevention modes by code; the incoming order chooses. */
export const selfTradePreventions = ["cancel_resting", "cancel_incoming", "cancel_both"] as const
export const cancelResting = 0
export const cancelIncoming = 1
export const cancelBoth = 2
export type SelfTradePrevention = 0 | 1 | 2

/** Order statuses by code: `closed` is fully filled; `canceled` includes a partly filled order whose remainder was cancelled. */
export const statuses = ["open", "closed", "canceled"] as const
export const open = 0
export const closed = 1
export const canceled = 2
export type Status = 0 | 1 | 2

/** Why an order's remainder was cancelled, by code; 0 where it was not. */
export const cancelReasons = [
  "",
  "user",
  "ioc_remainder",
  "margin_unbacked",
  "self_trade",
  "reduce_only_exceeded",
  "liquidation",
  "expired",
  "market_halted",
  "market_delisted",
  "market_reduce_only",
  "cancel_all_after",
  "disconnected",
  "position_closed",
  "price_band_exceeded",
  "operator"
] as const
export type CancelReasonName = Exclude<(typeof cancelReasons)[number], "">

export const CancelReason = {
  none: 0,
  user: 1,
  iocRemainder: 2,
  marginUnbacked: 3,
  selfTrade: 4,
  reduceOnlyExceeded: 5,
  liquidation: 6,
  expired: 7,
  marketHalted: 8,
  marketDelisted: 9,
  marketReduceOnly: 10,
  cancelAllAfter: 11,
  disconnected: 12,
  positionClosed: 13,
  priceBandExceeded: 14,
  operator: 15
} as const
export type CancelReason = (typeof CancelReason)[keyof typeof CancelReason]
