/** `PUT /v1/operator/limits`: changes those of the venue's limits that are configurable. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { minuteMs } from "../../domain/Durations.js"
import { isRetention, leastRetentionMs, mostRetentionMs } from "../../domain/Retention.js"
import { Operation } from "../../operations/Operations.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

const SetLimitsBody = Schema.Struct({
  idempotencyRetentionMs: Schema.Int.pipe(
    Schema.filter((durationMs) => isRetention(durationMs) || `must be whole minutes, ${leastRetentionMs}..${mostRetentionMs}`, {
      jsonSchema: { minimum: leastRetentionMs, maximum: mostRetentionMs, multipleOf: minuteMs }
    })
  ).annotations({
    description: "How long what is decided from this record on is remembered: whole minutes, from 10 minutes to 30 days. What was "
      + "decided before keeps what it was promised, whether that is shorter or longer."
  })
}).annotations({ identifier: "SetLimitsBody" })

export const setLimits = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("setLimits", "/v1/operator/limits")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(SetLimitsBody)
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Set how long what is decided is remembered")
    .annotate(OpenApi.Description, "`GET /v1/limits` tells what holds. A shorter retention makes room in the tables of keys and "
      + "orders only as what was decided before runs out."),
  example: { target: "/v1/operator/limits", body: { idempotencyRetentionMs: 43_200_000 } },
  handler: (services) => ({ headers, payload }) =>
    operated(
      services,
      "set_limits",
      command("SetLimits", Operation.setLimits, headers, payload, { retentionMs: payload.idempotencyRetentionMs })
    )
})
