/** Every route of the capability: placing, cancelling, changing and reading orders, and what is needed when an answer is lost. */
import { amendOrder } from "./amendOrder.js"
import { cancelAllCompatOrders, cancelAllOrders } from "./cancelAllOrders.js"
import { cancelCompatOrder } from "./cancelCompatOrder.js"
import { cancelOrder } from "./cancelOrder.js"
import { cancelOrderBatch } from "./cancelOrderBatch.js"
import { createOrder } from "./createOrder.js"
import { createOrders } from "./createOrders.js"
import { fenceOutcome } from "./fenceOutcome.js"
import { getCancelAllAfter } from "./getCancelAllAfter.js"
import { getCompatOrder, getOrder } from "./getOrder.js"
import { listCompatOrders } from "./listOrders.js"
import { lookUpOutcome } from "./lookUpOutcome.js"
import { placeOrder } from "./placeOrder.js"
import { placeOrderBatch } from "./placeOrderBatch.js"
import { setCancelAllAfter } from "./setCancelAllAfter.js"

const native = [
  placeOrder,
  placeOrderBatch,
  cancelOrderBatch,
  cancelOrder,
  amendOrder,
  cancelAllOrders,
  setCancelAllAfter,
  getOrder
] as const

const compat = [createOrders, createOrder, cancelCompatOrder, getCompatOrder, cancelAllCompatOrders, listCompatOrders] as const

/** The routes, in the order in which the reference lists those of one chapter. */
export const routes = [...native, ...compat, getCancelAllAfter, lookUpOutcome, fenceOutcome] as const
