/**
 * `POST /v1/orders/{orderId}/amend`: changes the price or the total quantity of an open order.
 *
 * A request needs `price`, `quantity` or both; a zero price is refused like in a placement. Conflicting bodies under
 * one key are told apart by what was sent, also where the market or the id is none.
 *
 * The answer is `external-amend-order/v1`: price, quantities, status and fills as decided, terms from the order's
 * record as far as they never change, under the amendment's own key. The expiry is not repeated: the record forgets
 * it when the order ends, and the answer must not change.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { Operation, type Outcome } from "../../operations/Operations.js"
import type { Refused } from "../../operations/Outcome.js"
import { noAutoClose } from "../../operations/accounts/AutoClose.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { Refusal } from "../../domain/Refusal.js"
import type { OrderView } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Requests from "../http/Requests.js"
import * as Route from "../http/Route.js"
import { type Broken, decimal, feeds, name, ruled, shape } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import * as Canceling from "./Canceling.js"
import * as Grid from "./Grid.js"
import { orderFields } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"
import { withPlainDecimals } from "./PlainDecimals.js"

/** The rule between the members of an amendment, if it is broken. */
const brokenRule = (body: { readonly price?: string; readonly quantity?: string }): Broken | undefined =>
  body.price === undefined && body.quantity === undefined
    ? { field: "price", message: "price or quantity is needed" }
    : undefined

/** Changes an open order. At least one of price and quantity is there; `quantity` is the new total. */
const AmendOrderBody = Schema.Struct({
  accountId: Fields.Name,
  marketId: Fields.Name,
  price: Fields.optional(Fields.DecimalInput),
  quantity: Fields.optional(Fields.DecimalInput)
}).pipe(Schema.filter((body) => brokenRule(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "AmendOrderBody",
  description: "At least one of `price` and `quantity`. `quantity` is the new total: at or under what is filled it cancels the rest. "
    + "The order keeps its time priority only where its price stays and the quantity does not grow."
})
type AmendOrderBody = typeof AmendOrderBody.Type

const amendShape = shape({ accountId: name, marketId: name }, { price: decimal, quantity: decimal })

/** What an amendment came to: the order as it was decided, under the amendment's own `idempotencyKey`. */
const AmendResult = Schema.Struct({
  version: Schema.Literal("external-amend-order/v1"),
  accepted: Schema.Literal(true),
  ...orderFields
}).annotations({ identifier: "AmendResult" })

/** `external-amend-order/v1`. */
const amended = (
  accountId: string,
  market: OrderText.Scales,
  view: OrderView,
  decided: OrderDecided,
  outcome: Outcome,
  idempotencyKey: string
): string => {
  const { priceAtoms, quantityAtoms } = decided
  // A repetition is told the same, also once neither the expiry nor the brackets are kept any more: so they are left out from the first.
  const terms: OrderText.Terms = { ...view, priceAtoms, quantityAtoms, expiresAtEpochMs: 0, autoClose: noAutoClose }
  const { atEpochMs, sequence } = outcome
  return `{"version":"external-amend-order/v1","accepted":true,`
    + OrderText.members(accountId, market, terms, decided, idempotencyKey, sequence, view.createdAtEpochMs, atEpochMs)
    + "}"
}

/**
 * What was compared, in the terms of an amendment. Where a trigger of the order stands in the way, the decision has the nearest trigger,
 * and an amendment states a price: told is the price that the trigger leaves, one step from it on the side on which the price has to be.
 */
const inItsTerms = (decided: Refused): Refused => {
  const { actual: trigger, limit: price, nearest, refusal } = decided
  if (refusal !== Refusal.triggerInvalid) return decided
  // A trigger that the market's bounds no longer allow leaves none.
  return { ...decided, nearest: nearest === price ? Number.NaN : trigger + price - nearest }
}

export const amendOrder = Route.hot({
  tag: "orders",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.post("amendOrder", "/v1/orders/:orderId/amend")
    .setPath(Fields.OrderPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(AmendOrderBody)
    .addSuccess(AmendResult)
    .addError(Failures.native(Failures.command, 404, 422, "Standing"))
    .annotate(OpenApi.Summary, "Change the price or the total quantity of an open order"),
  example: {
    target: `/v1/orders/${Example.orderId}/amend`,
    body: { accountId: Example.accountId, marketId: Example.marketId, price: "59990.0", quantity: "0.020" }
  },
  decode: (body) => ruled<AmendOrderBody>(body, amendShape, brokenRule),
  feed: feeds(amendShape),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey, trader } = admitted
    if (body.accountId !== accountId) return call.failDurably(Errors.accountNotFound)
    const { state } = call.services
    const orderId = call.params["orderId"] ?? ""
    const index = state.findMarket(body.marketId)
    const { entry, market } = Canceling.prepare(state, index, body.marketId, orderId)
    const gridOf = ({ price, quantity }: AmendOrderBody) => Grid.ofDecimals(Grid.known(state, index), price, quantity, "is_none")
    const grid = gridOf(body)
    const shown = Canceling.shown(state, trader.account, entry.orderNumber)
    const answer = ({ comparison, fault }: Grid.OnGrid) => (outcome: Outcome): void => {
      const decided = Submission.decidedEntry(outcome, 0)
      if (Submission.isRefused(decided)) {
        const isFault = fault !== Refusal.none && decided.refusal === fault
        const compared = isFault ? comparison : Errors.comparisonOf(inItsTerms(decided), market)
        return Submission.failEntry(call, decided, outcome, compared, body.marketId)
      }
      assert(market !== undefined, "an order without a market cannot be amended")
      const order = shown()
      if (order === undefined) return call.fail(Errors.refused(Refusal.orderNotFound), outcome.atEpochMs)
      call.succeed(amended(accountId, market, order, Submission.asOrder(decided), outcome, idempotencyKey))
    }
    if (Requests.isFailure(grid)) {
      // The request may have been decided before without its trailing zeros, or before its market became visible.
      const before = gridOf(withPlainDecimals(body))
      return Submission.failUndecided(call, admitted, Operation.amendV1, grid, answer(Requests.isFailure(before) ? Grid.unknown : before))
    }
    const isPlain = entry.raw === "" && grid.fault === Refusal.none
    Submission.submit(call, admitted, {
      kind: "AmendOrder",
      operation: Operation.amendV1,
      market: entry.market,
      orderNumber: entry.orderNumber,
      priceAtoms: grid.priceAtoms ?? 0,
      quantityAtoms: grid.quantityAtoms ?? -1,
      fault: grid.fault,
      raw: isPlain ? "" : JSON.stringify([body.marketId, orderId, body.price ?? null, body.quantity ?? null])
    }, answer(grid))
  }
})
