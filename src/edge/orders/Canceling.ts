/** Cancellations on their way to the engine: of named orders, and of all orders. */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import type * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import type { EntryOutcome, Operation, Outcome } from "../../operations/Operations.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import type { OrdersCanceled } from "../../operations/orders/CancelAllOrders.js"
import type { OrderView, Reads } from "../../engine/Reads.js"
import type { Call } from "../http/Call.js"
import type { Admitted } from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import * as Grid from "./Grid.js"
import type { CancelEntry } from "../../operations/orders/CancelOrders.js"

/** One order to cancel, with the market in whose units it is answered. */
export interface Prepared {
  readonly entry: CancelEntry
  readonly market: Market.Parameters | undefined
  /** The name by which the request says its market. */
  readonly marketName: string
}

/** Prepares one order for cancellation; an id or market that cannot exist is distinguished by the text sent. */
export const prepare = (
  state: Reads,
  marketIndex: number,
  marketText: string,
  orderId: string
): Prepared => {
  const market = Grid.known(state, marketIndex)?.parameters
  const orderNumber = Ids.parseOrderId(orderId) ?? none
  return {
    market,
    marketName: marketText,
    entry: {
      market: marketIndex,
      orderNumber,
      raw: market === undefined || orderNumber < 0 ? JSON.stringify([marketText, orderId]) : ""
    }
  }
}

/**
 * An order as an answer shows it: in its present state or, where it is forgotten before the decision is durable because the clock
 * jumped ahead, in the state before the request.
 */
export const shown = (state: Reads, account: number, orderNumber: number): () => OrderView | undefined => {
  const before = state.findOrder(account, orderNumber)
  return () => state.findOrder(account, orderNumber) ?? before
}

/** Cancels named orders in one writer turn; `answer` is called with their decision. */
export const submit = (
  call: Call,
  admitted: Admitted<object>,
  operation: Operation,
  entries: ReadonlyArray<CancelEntry>,
  answer: (outcome: Outcome) => void
): void => Submission.submit(call, admitted, { kind: "CancelOrders", operation, entries }, answer)

/** Cancels one order; `answer` is called unless that was refused. */
export const submitOne = (
  call: Call,
  admitted: Admitted<object>,
  operation: Operation,
  { entry, market, marketName }: Prepared,
  answer: (market: Market.Parameters, decided: OrderDecided, outcome: Outcome) => void
): void =>
  submit(call, admitted, operation, [entry], (outcome) => {
    const decided = Submission.decidedEntry(outcome, 0)
    if (Submission.isRefused(decided)) return Submission.failEntry(call, decided, outcome, undefined, marketName)
    assert(market !== undefined, "an order without a market cannot be cancelled")
    answer(market, Submission.asOrder(decided), outcome)
  })

/** The entry as the outcome of cancelling all orders. */
const asCanceled = (decided: EntryOutcome): OrdersCanceled => {
  assert(decided._tag === "OrdersCanceled", "a cancel of all orders comes to their number")
  return decided
}

/** Cancels all open orders, in one market or all; `answer` is called unless that was refused. */
export const submitAll = (
  call: Call,
  admitted: Admitted<object>,
  operation: Operation,
  market: number,
  /** The market as sent. */
  marketText: string | undefined,
  answer: (decided: OrdersCanceled, outcome: Outcome) => void
): void =>
  Submission.submit(call, admitted, {
    kind: "CancelAllOrders",
    operation,
    market,
    raw: market === none ? marketText ?? "" : ""
  }, (outcome) => {
    const decided = Submission.decidedEntry(outcome, 0)
    if (Submission.isRefused(decided)) return Submission.failEntry(call, decided, outcome)
    answer(asCanceled(decided), outcome)
  })
