/** What a client needs when it cannot be sure: the dead-man switch, outcome lookup, and the fence. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Refusal from "../../domain/Refusal.js"
import { Access, ApiKeySecurity } from "./Access.js"
import * as Envelopes from "./Envelopes.js"
import * as Failures from "./Failures.js"
import * as Fields from "./Fields.js"
import { OrderRecord } from "./Orders.js"

/** Shortest and longest time a dead-man switch may be set to, ms. */
export const minTimeoutMs = 1_000
export const maxTimeoutMs = 600_000

/** Whether a switch may be set to this: 0 disarms it. */
export const isTimeout = (value: number): boolean =>
  Number.isSafeInteger(value) && (value === 0 || (value >= minTimeoutMs && value <= maxTimeoutMs))

export const CancelAllAfterBody = Schema.Struct({
  timeoutMs: Schema.Int.pipe(
    Schema.filter(isTimeout, { jsonSchema: { anyOf: [{ const: 0 }, { minimum: minTimeoutMs, maximum: maxTimeoutMs }] } })
  ).annotations({ description: "0 disarms; otherwise 1000..600000." })
}).annotations({ identifier: "CancelAllAfterBody" })
export type CancelAllAfterBody = typeof CancelAllAfterBody.Type

/** How the dead-man switch was set. `cancelAtEpochMs` is null when it was disarmed. */
export const CancelAllAfterResult = Schema.Struct({
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

/** How the dead-man switch stands. */
export const CancelAllAfterState = Schema.Struct({
  version: Schema.Literal("external-cancel-all-after-state/v1"),
  accountId: Fields.Text,
  armed: Schema.Boolean,
  cancelAtEpochMs: Schema.NullOr(Fields.EpochMs),
  journalSequence: Fields.Sequence
}).annotations({ identifier: "CancelAllAfterState" })

/** Operations as a lookup names them. */
export const OperationName = Schema.Literal(
  "place_order",
  "place_order_batch",
  "create_order",
  "create_orders",
  "cancel_order",
  "cancel_order_batch",
  "cancel_compat_order",
  "amend_order",
  "cancel_all_orders",
  "cancel_all_compat_orders",
  "set_cancel_all_after"
)
export type OperationName = typeof OperationName.Type

/** What one entry of a remembered decision came to, as it was decided. */
const DecidedEntry = Schema.Struct({
  index: Fields.Count,
  accepted: Schema.Boolean,
  orderId: Fields.optional(Fields.Text),
  status: Fields.optional(Fields.OrderStatus),
  cancelReason: Fields.optional(Fields.CancelReason),
  filledQuantityAtoms: Fields.optional(Fields.Atoms),
  canceledQuantityAtoms: Fields.optional(Fields.Atoms),
  canceledOrders: Fields.optional(Fields.Count),
  code: Fields.optional(Fields.Text),
  rejectionGuard: Fields.optional(Envelopes.Guard),
  retryable: Fields.optional(Schema.Boolean),
  recoveryActions: Fields.optional(Schema.Array(Schema.Literal(...Refusal.recoveryActions)))
}).annotations({ identifier: "DecidedEntry" })

/** What is remembered under an Idempotency-Key or a clientOrderId. */
export const OutcomeLookup = Schema.Struct({
  version: Schema.Literal("external-outcome/v1"),
  accountId: Fields.Text,
  idempotencyKey: Fields.optional(Schema.String),
  clientOrderId: Fields.optional(Fields.ClientOrderId),
  outcome: Schema.Literal("accepted", "refused", "never_seen", "unknown_expired"),
  fenced: Schema.Boolean.annotations({ description: "Nothing will ever be done under it." }),
  decisions: Schema.Array(Schema.Struct({
    operation: OperationName,
    sequence: Fields.Sequence,
    decidedAtEpochMs: Fields.EpochMs,
    entries: Schema.Array(DecidedEntry)
  })).annotations({ description: "One for each operation that the key was used in; empty for a clientOrderId." }),
  order: Fields.optional(OrderRecord).annotations({ description: "The order of a clientOrderId, as it is now." }),
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "OutcomeLookup",
  description: "`accepted`: at least one entry was; `refused`: all were. `never_seen` is said only while nothing of the account "
    + "was forgotten, and an original that is still on its way may act after it: fence the identity first. "
    + "A refused order leaves nothing under its clientOrderId: look its Idempotency-Key up."
})

interface Identity {
  readonly idempotencyKey?: string
  readonly clientOrderId?: string
}

/** The rule between the members of a lookup or fence, if it is broken. */
export const identityFault = (value: Identity): { readonly field: string; readonly message: string } | undefined =>
  (value.idempotencyKey === undefined) === (value.clientOrderId === undefined)
    ? { field: "idempotencyKey", message: "exactly one of idempotencyKey and clientOrderId is needed" }
    : undefined

/** What is to be fenced: a key, or a clientOrderId. */
export const FenceBody = Schema.Struct({
  idempotencyKey: Fields.optional(Fields.IdempotencyKey),
  clientOrderId: Fields.optional(Fields.ClientOrderId)
}).pipe(Schema.filter((body) => identityFault(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "FenceBody",
  description: "Exactly one of the two."
})
export type FenceBody = typeof FenceBody.Type

/** The fence stands: nothing will ever be done under that identity. */
export const FenceResult = Schema.Struct({
  version: Schema.Literal("external-outcome-fence/v1"),
  accountId: Fields.Text,
  fenced: Schema.Literal(true),
  fencedIdempotencyKey: Fields.optional(Schema.String),
  fencedClientOrderId: Fields.optional(Fields.ClientOrderId),
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "FenceResult" })

export const group = HttpApiGroup.make("safety", { topLevel: true })
  .add(
    HttpApiEndpoint.post("setCancelAllAfter", "/v1/accounts/:accountId/orders/cancel-all-after")
      .setPath(Fields.AccountPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(CancelAllAfterBody)
      .addSuccess(CancelAllAfterResult)
      .addError(Failures.native(Failures.command, 404))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Dead-man switch: cancel all open orders unless set again before the time is over")
  )
  .add(
    HttpApiEndpoint.get("getCancelAllAfter", "/v1/accounts/:accountId/orders/cancel-all-after")
      .setPath(Fields.AccountPath)
      .addSuccess(CancelAllAfterState)
      .addError(Failures.native(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "How the dead-man switch stands")
  )
  .add(
    HttpApiEndpoint.get("lookUpOutcome", "/v1/accounts/:accountId/outcomes")
      .setPath(Fields.AccountPath)
      .setUrlParams(Schema.Struct({
        idempotencyKey: Fields.optional(Fields.IdempotencyKey),
        clientOrderId: Fields.optional(Fields.ClientOrderId)
      }))
      .addSuccess(OutcomeLookup)
      .addError(Failures.native(Failures.keyedRead, 404))
      .annotate(Access, "read")
      .annotate(OpenApi.Summary, "What became of a request whose answer was lost")
  )
  .add(
    HttpApiEndpoint.post("fenceOutcome", "/v1/accounts/:accountId/outcomes/fence")
      .setPath(Fields.AccountPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(FenceBody)
      .addSuccess(FenceResult)
      .addError(Failures.native(Failures.command, 404))
      .annotate(Access, "trade")
      .annotate(OpenApi.Summary, "Make sure that what was never seen will never act")
  )
  .middleware(ApiKeySecurity)
