/** `GET /v1/accounts/{accountId}/outcomes`: what is remembered under an identity, for a client whose answer was lost. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import { type EntryOutcome, lookupNames, requestOf } from "../../operations/Operations.js"
import { type TransferKind, transferKinds } from "../../operations/funds/Transfers.js"
import type { Refused } from "../../operations/Outcome.js"
import * as Refusal from "../../domain/Refusal.js"
import type { OrderView, Reads, RememberedOutcome } from "../../engine/Reads.js"
import { withAccount } from "../accounts/Own.js"
import type { Services } from "../http/Call.js"
import { CompleteSince, memberOf, ordersCompleteSince } from "../http/Complete.js"
import * as Envelopes from "../http/Envelopes.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { identityFault } from "./Identity.js"
import { findClientOrder } from "./OrderHistory.js"
import { OrderRecord } from "./OrderRecord.js"
import * as OrderText from "./OrderText.js"
import { tellOrder } from "./Telling.js"

/** The outcome of one entry of a remembered decision, as decided. */
const DecidedEntry = Schema.Struct({
  index: Fields.Count,
  accepted: Schema.Boolean,
  orderId: Fields.optional(Fields.Text),
  status: Fields.optional(Fields.OrderStatus),
  cancelReason: Fields.optional(Fields.CancelReason),
  filledQuantityAtoms: Fields.optional(Fields.Atoms),
  canceledQuantityAtoms: Fields.optional(Fields.Atoms),
  canceledOrders: Fields.optional(Fields.Count),
  depositId: Fields.optional(Fields.Text),
  withdrawalId: Fields.optional(Fields.Text),
  partyChangeId: Fields.optional(Fields.Text),
  code: Fields.optional(Fields.Text),
  rejectionGuard: Fields.optional(Envelopes.Guard),
  retryable: Fields.optional(Schema.Boolean),
  recoveryActions: Fields.optional(Schema.Array(Schema.Literal(...Refusal.recoveryActions)))
}).annotations({ identifier: "DecidedEntry" })

/** What is remembered under an Idempotency-Key or a clientOrderId, of operations as their declarations name them. */
const OutcomeLookup = Schema.Struct({
  version: Schema.Literal("external-outcome/v1"),
  accountId: Fields.Text,
  idempotencyKey: Fields.optional(Schema.String),
  clientOrderId: Fields.optional(Fields.ClientOrderId),
  outcome: Schema.Literal("accepted", "refused", "never_seen", "unknown_expired"),
  fenced: Schema.Boolean.annotations({ description: "Nothing is done under it while the fence holds." }),
  decisions: Schema.Array(Schema.Struct({
    operation: Schema.Literal(...lookupNames),
    sequence: Fields.Sequence,
    decidedAtEpochMs: Fields.EpochMs,
    entries: Schema.Array(DecidedEntry)
  })).annotations({ description: "One for each operation that the key was used in; empty for a clientOrderId." }),
  order: Fields.optional(OrderRecord).annotations({ description: "The order of a clientOrderId, as it is now." }),
  ...CompleteSince,
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "OutcomeLookup",
  description: "`accepted`: at least one entry was; `refused`: all were. `never_seen` is said only while nothing of the account "
    + "was forgotten, and an original that is still on its way may act after it: fence the identity first. "
    + "A refused order leaves nothing under its clientOrderId: look its Idempotency-Key up. "
    + "Without an `order`, none was ever accepted under a clientOrderId, or none at `completeSinceEpochMs` or later. "
    + "A cancel, of one order or several, that found none of them open leaves nothing under either: `never_seen`."
})

/** A transfer that was requested, by the id under which it can be read. */
const transferIds: Readonly<Record<TransferKind, (transfer: number) => object>> = {
  deposit: (transfer) => ({ depositId: Ids.depositId(transfer) }),
  withdrawal: (transfer) => ({ withdrawalId: Ids.withdrawalId(transfer) }),
  party_change: (transfer) => ({ partyChangeId: Ids.partyChangeId(transfer) })
}

/** What an accepted entry shows besides that it was accepted. */
const told = (decided: Exclude<EntryOutcome, Refused>): object => {
  switch (decided._tag) {
    case "OrderDecided":
      return tellOrder(decided)
    case "OrdersCanceled":
      return { canceledOrders: decided.canceledOrders }
    case "TransferRequested":
      return transferIds[transferKinds[decided.kind]!](decided.transfer)
    default:
      return {}
  }
}

const entry = (decided: EntryOutcome, index: number) => {
  if (!Submission.isRefused(decided)) return { index, accepted: true, ...told(decided) }
  const orderId = decided.orderNumber < 0 ? undefined : Ids.orderId(decided.orderNumber)
  const { code, guard, recoveryActions, retryable } = Refusal.describe(decided.refusal)
  return { index, accepted: false, orderId, code, rejectionGuard: guard, retryable, recoveryActions }
}

const decision = ({ operation, outcome }: RememberedOutcome) => ({
  operation: requestOf(operation)?.request.lookup,
  sequence: outcome.sequence,
  decidedAtEpochMs: outcome.atEpochMs,
  entries: outcome.entries.map(entry)
})

const isAccepted = ({ outcome }: RememberedOutcome): boolean => outcome.entries.some((decided) => !Submission.isRefused(decided))

/** Nothing is remembered: whether this means that the key was never used. */
const absent = (state: Reads, account: number, idempotencyKey: string): "never_seen" | "unknown_expired" =>
  state.hasForgotten(account, idempotencyKey) ? "unknown_expired" : "never_seen"

/** `external-outcome/v1` of an Idempotency-Key, as JSON. */
const ofKey = (
  state: Reads,
  account: number,
  accountId: string,
  idempotencyKey: string
): string => {
  const found = state.findOutcomes(account, idempotencyKey)
  return JSON.stringify({
    version: "external-outcome/v1",
    accountId,
    idempotencyKey,
    outcome: found.some(isAccepted) ? "accepted" : found.length > 0 ? "refused" : absent(state, account, idempotencyKey),
    fenced: state.isFenced(account, idempotencyKey, ""),
    decisions: found.map(decision),
    journalSequence: state.sequence
  })
}

/** `external-outcome/v1` of a clientOrderId, as JSON. */
const ofClientOrder = (
  { histories, state }: Pick<Services, "histories" | "state">,
  account: number,
  accountId: string,
  clientOrderId: string,
  order: OrderView | undefined
): string =>
  `{"version":"external-outcome/v1","accountId":${quote(accountId)},"clientOrderId":"${clientOrderId}"`
  + `,"outcome":"${order === undefined ? absent(state, account, "") : "accepted"}"`
  + `,"fenced":${state.isFenced(account, "", clientOrderId)},"decisions":[]`
  + (order === undefined
    ? memberOf(ordersCompleteSince({ histories }))
    : `,"order":${OrderText.order(accountId, state.market(order.market).parameters, order)}`)
  + `,"journalSequence":${state.sequence}}`

export const lookUpOutcome = Route.effect({
  tag: "safety",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("lookUpOutcome", "/v1/accounts/:accountId/outcomes")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({
      idempotencyKey: Fields.optional(Fields.IdempotencyKey),
      clientOrderId: Fields.optional(Fields.ClientOrderId)
    }))
    .addSuccess(OutcomeLookup)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "What became of a request whose answer was lost"),
  example: { target: `/v1/accounts/${Example.accountId}/outcomes?idempotencyKey=grid-42-attempt` },
  handler: (services) => ({ trader, path: { accountId }, urlParams }) => {
    const { state } = services
    return withAccount(state, trader, accountId, (account) => {
      const { clientOrderId, idempotencyKey } = urlParams
      const fault = identityFault(urlParams)
      if (fault !== undefined) return fail(Errors.invalidRequest(`${fault.field}: ${fault.message}.`))
      return idempotencyKey !== undefined
        ? Effect.succeed(new Rendered(ofKey(state, account, accountId, idempotencyKey)))
        : Effect.map(findClientOrder(services, account, clientOrderId!),
          (order) => new Rendered(ofClientOrder(services, account, accountId, clientOrderId!, order)))
    })
  }
})
