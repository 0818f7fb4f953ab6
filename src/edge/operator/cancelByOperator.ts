/** `POST /v1/operator/orders/cancel`: cancels one order of any account, or what an account, a market, or both have open. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { anyMarket, none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import { type EntryOutcome, Operation } from "../../operations/Operations.js"
import { canceledAtOnce, type OrdersCanceledByOperator } from "../../operations/orders/CancelByOperator.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { command } from "./Sent.js"

/** What is wrong with the selection of orders, beyond the forms of its members. */
const selectionFault = (body: { readonly orderId?: string; readonly accountId?: string; readonly marketId?: string }) => {
  const { accountId, marketId, orderId } = body
  if (orderId === undefined) return accountId === undefined && marketId === undefined ? "one of the three must be there" : undefined
  return accountId === undefined && marketId === undefined ? undefined : "orderId must be alone"
}

/** Whose orders are to be cancelled. */
export const OperatorCancelBody = Schema.Struct({
  orderId: Fields.optional(Fields.Name),
  accountId: Fields.optional(Fields.Name),
  marketId: Fields.optional(Fields.Name)
}).pipe(Schema.filter(selectionFault, { jsonSchema: {} })).annotations({
  identifier: "OperatorCancelBody",
  description: "`orderId` alone; or `accountId`, `marketId` or both, for the open orders of that account, in that market."
})
export type OperatorCancelBody = typeof OperatorCancelBody.Type

export const OperatorCancel = Schema.Struct({
  version: Schema.Literal("operator-cancel/v1"),
  orderId: Fields.optional(Fields.Text),
  accountId: Fields.optional(Fields.Text),
  marketId: Fields.optional(Fields.Text),
  canceledOrders: Fields.Count.annotations({ description: `At most ${canceledAtOnce}.` }),
  remainingOrders: Fields.Count.annotations({
    description: "Of those that were meant, how many are still open. While there are any, ask again with an Idempotency-Key of its own."
  }),
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "OperatorCancel" })
export type OperatorCancel = typeof OperatorCancel.Type

/** The entry as the outcome of an operator's cancellation. */
const asCanceled = (decided: EntryOutcome): OrdersCanceledByOperator => {
  assert(decided._tag === "OrdersCanceledByOperator", "an operator's cancel comes to how many it cancelled")
  return decided
}

export const cancelByOperator = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("cancelByOperator", "/v1/operator/orders/cancel")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(OperatorCancelBody)
    .addSuccess(OperatorCancel)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Cancel any order, an account's open orders, or a market's"),
  example: { target: "/v1/operator/orders/cancel", body: { accountId: Example.accountId, marketId: Example.marketId } },
  handler: (services) => ({ headers, payload }) => {
    const { accountId, marketId, orderId } = payload
    const { state } = services
    const orderNumber = orderId === undefined ? none : Ids.parseOrderId(orderId)
    if (orderNumber === undefined) return fail(Errors.refused(Refusal.orderNotFound))
    const ofAccount = accountId === undefined ? none : state.findAccount(accountId)
    if (accountId !== undefined && ofAccount < 0) return fail(Errors.accountUnknown)
    const market = marketId === undefined ? anyMarket : state.findMarket(marketId)
    if (market === none) return fail(Errors.refused(Refusal.marketUnknown))
    const canceling = command("CancelByOperator", Operation.cancelByOperator, headers, payload, {
      orderNumber,
      ofAccount,
      market,
      tellsOwner: true
    })
    return Effect.map(Submission.submitted(services, canceling), (outcome): OperatorCancel => {
      const { canceledOrders, remainingOrders } = asCanceled(Submission.decidedEntry(outcome, 0))
      return {
        version: "operator-cancel/v1",
        ...payload,
        canceledOrders,
        remainingOrders,
        lastSequence: outcome.sequence,
        idempotencyKey: canceling.idempotencyKey,
        decidedAtEpochMs: outcome.atEpochMs
      }
    })
  }
})
