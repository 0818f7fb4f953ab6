/**
 * `POST /v1/accounts/{accountId}/outcomes/fence`: makes sure that an identity which was never used, as far as that is remembered, does not
 * act for the retention.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { type EntryOutcome, Operation, type Outcome } from "../../operations/Operations.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { clientOrderId, feeds, idempotencyKey, ruled, shape } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import { identityFault } from "./Identity.js"

/** What is to be fenced: a key, or a clientOrderId. */
const FenceBody = Schema.Struct({
  idempotencyKey: Fields.optional(Fields.IdempotencyKey),
  clientOrderId: Fields.optional(Fields.ClientOrderId)
}).pipe(Schema.filter((body) => identityFault(body)?.message, { jsonSchema: {} })).annotations({
  identifier: "FenceBody",
  description: "Exactly one of the two."
})
type FenceBody = typeof FenceBody.Type

/** The fence stands: nothing is done under that identity until it ends. */
const FenceResult = Schema.Struct({
  version: Schema.Literal("external-outcome-fence/v1"),
  accountId: Fields.Text,
  fenced: Schema.Literal(true).annotations({
    description: "Nothing was done under it as far as the venue remembers, and nothing will be. What was decided long ago and is "
      + "forgotten is not noticed: look an older identity up before it is taken for one that never acted. Under its clientOrderId an "
      + "order is found however old it is."
  }),
  fencedIdempotencyKey: Fields.optional(Schema.String),
  fencedClientOrderId: Fields.optional(Fields.ClientOrderId),
  holdsUntilEpochMs: Fields.optional(Fields.EpochMs).annotations({
    description: "Until then nothing is done under it, also when the original arrives late. From then on a late original would act: "
      + "fence it again before, or see to it that none is on its way. Absent from the repeated answer of a fence that version 0.2.0 "
      + "or an earlier one set, which holds for 24 hours from `decidedAtEpochMs`."
  }),
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "FenceResult" })

const fenceShape = shape({}, { idempotencyKey, clientOrderId })

/** Until when a fence holds, where the decision tells. */
const holdsUntil = (decided: EntryOutcome): string => decided._tag === "FenceSet" ? `,"holdsUntilEpochMs":${decided.holdsUntilEpochMs}` : ""

/** `external-outcome-fence/v1`. */
const fenced = (accountId: string, body: FenceBody, decided: EntryOutcome, outcome: Outcome, key: string): string =>
  `{"version":"external-outcome-fence/v1","accountId":"${accountId}","fenced":true`
  + (body.idempotencyKey === undefined ? "" : `,"fencedIdempotencyKey":${quote(body.idempotencyKey)}`)
  + (body.clientOrderId === undefined ? "" : `,"fencedClientOrderId":${quote(body.clientOrderId)}`)
  + holdsUntil(decided)
  + `,"lastSequence":${outcome.sequence},"idempotencyKey":${quote(key)},"decidedAtEpochMs":${outcome.atEpochMs}}`

/** A lookup reports the fence itself as `fenced`, and lists none of its decisions. */
export const fenceOutcome = Route.hot({
  tag: "safety",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.post("fenceOutcome", "/v1/accounts/:accountId/outcomes/fence")
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(FenceBody)
    .addSuccess(FenceResult)
    .addError(Failures.native(Failures.command, 404))
    .annotate(OpenApi.Summary, "Make sure that what was never seen does not act for the retention of `GET /v1/limits`"),
  example: {
    target: `/v1/accounts/${Example.accountId}/outcomes/fence`,
    body: { idempotencyKey: "grid-42-attempt" }
  },
  decode: (body) => ruled<FenceBody>(body, fenceShape, identityFault),
  feed: feeds(fenceShape),
  run: (call, admitted) => {
    const { accountId, body } = admitted
    if (call.params["accountId"] !== accountId) return call.failDurably(Errors.accountNotFound)
    Submission.submit(call, admitted, {
      kind: "FenceOutcome",
      operation: Operation.fenceV1,
      fencedKey: body.idempotencyKey ?? "",
      fencedClientOrderId: body.clientOrderId ?? ""
    }, (outcome) => {
      const decided = Submission.decidedEntry(outcome, 0)
      if (Submission.isRefused(decided)) return Submission.failEntry(call, decided, outcome)
      call.succeed(fenced(accountId, body, decided, outcome, admitted.idempotencyKey))
    })
  }
})
