/** `POST /v1/accounts/{accountId}/orders/cancel-all-after`: sets the dead-man switch. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Operation, type Outcome } from "../../operations/Operations.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { feeds, plain, shape, whole } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"

/** Shortest and longest time a dead-man switch may be set to, ms. */
export const minTimeoutMs = 1_000
export const maxTimeoutMs = 600_000

/** Whether a switch may be set to this: 0 disarms it. */
const isTimeout = (value: number): boolean =>
  Number.isSafeInteger(value) && (value === 0 || (value >= minTimeoutMs && value <= maxTimeoutMs))

const CancelAllAfterBody = Schema.Struct({
  timeoutMs: Schema.Int.pipe(
    Schema.filter(isTimeout, { jsonSchema: { type: "integer", anyOf: [{ const: 0 }, { minimum: minTimeoutMs, maximum: maxTimeoutMs }] } })
  ).annotations({ description: "0 disarms; otherwise 1000..600000." })
}).annotations({ identifier: "CancelAllAfterBody" })
type CancelAllAfterBody = typeof CancelAllAfterBody.Type

/** How the dead-man switch was set. `cancelAtEpochMs` is null when it was disarmed. */
const CancelAllAfterResult = Schema.Struct({
  version: Schema.Literal("external-cancel-all-after/v1"),
  accountId: Fields.Text,
  timeoutMs: Fields.Count,
  cancelAtEpochMs: Schema.NullOr(Fields.EpochMs),
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({
  identifier: "CancelAllAfterResult",
  description: "Every setting needs an Idempotency-Key of its own: a repeated one gets the earlier answer and moves no deadline."
})

const timeout = whole((value) =>
  typeof value === "number" && isTimeout(value)
    ? undefined
    : `must be 0 or a whole number from ${minTimeoutMs} to ${maxTimeoutMs}`
)

const cancelAllAfterShape = shape({ timeoutMs: timeout })

/** `external-cancel-all-after/v1`. */
const cancelAllAfter = (accountId: string, timeoutMs: number, outcome: Outcome, idempotencyKey: string): string =>
  `{"version":"external-cancel-all-after/v1","accountId":"${accountId}","timeoutMs":${timeoutMs}`
  + `,"cancelAtEpochMs":${timeoutMs === 0 ? "null" : outcome.atEpochMs + timeoutMs}`
  + `,"lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)},"decidedAtEpochMs":${outcome.atEpochMs}}`

export const setCancelAllAfter = Route.hot({
  tag: "safety",
  access: "trade",
  budget: "cancel",
  endpoint: HttpApiEndpoint.post("setCancelAllAfter", "/v1/accounts/:accountId/orders/cancel-all-after")
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CancelAllAfterBody)
    .addSuccess(CancelAllAfterResult)
    .addError(Failures.native(Failures.command, 404))
    .annotate(OpenApi.Summary, "Dead-man switch: cancel all open orders unless set again before the time is over"),
  example: {
    target: `/v1/accounts/${Example.accountId}/orders/cancel-all-after`,
    body: { timeoutMs: 30_000 }
  },
  decode: (body) => plain<CancelAllAfterBody>(body, cancelAllAfterShape),
  feed: feeds(cancelAllAfterShape),
  run: (call, admitted) => {
    const { accountId, body: { timeoutMs }, idempotencyKey } = admitted
    if (call.params["accountId"] !== accountId) return call.failDurably(Errors.accountNotFound)
    const operation = Operation.cancelAllAfterV1
    Submission.submit(call, admitted, { kind: "SetCancelAllAfter", operation, timeoutMs },
      (outcome) => call.succeed(cancelAllAfter(accountId, timeoutMs, outcome, idempotencyKey)))
  }
})
