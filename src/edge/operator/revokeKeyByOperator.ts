/** `DELETE /v1/operator/api-keys/{keyId}`: revokes any API key, including those of demo accounts, which have no owner. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import { Operation } from "../../operations/Operations.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { ApiKeyRecord, record } from "../identity/ApiKeyRecord.js"
import { command } from "./Sent.js"

export const OperatorKeyRevoked = Schema.Struct({
  version: Schema.Literal("operator-key-revoke/v1"),
  key: ApiKeyRecord,
  idempotencyKey: Schema.String,
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({
  identifier: "OperatorKeyRevoked",
  description: "The key's realtime tickets end with it, and the account's owner is told."
})

export const revokeKeyByOperator = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.del("revokeKeyByOperator", "/v1/operator/api-keys/:keyId")
    .setPath(Schema.Struct({ keyId: Fields.Name }))
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(OperatorKeyRevoked)
    .addError(Failures.native(Failures.operatorCommandWithoutBody))
    .annotate(OpenApi.Summary, "Revoke any API key at once; repeating keeps the first time"),
  example: { target: "/v1/operator/api-keys/key_2f8b1c9d4e" },
  handler: (services) => ({ headers, path: { keyId } }) => {
    const { state } = services
    const revocation = command("RevokeKeyByOperator", Operation.revokeKeyByOperator, headers, { keyId }, { keyId })
    return Effect.flatMap(Submission.submitted(services, revocation), ({ atEpochMs, sequence }) => {
      const key = state.findApiKey(keyId)
      // Many other keys may have ended meanwhile, so that this one is forgotten.
      if (key === undefined) return fail(Errors.refused(Refusal.keyNotFound))
      return Effect.succeed({
        version: "operator-key-revoke/v1" as const,
        key: record(services, key),
        idempotencyKey: revocation.idempotencyKey,
        sequence,
        decidedAtEpochMs: atEpochMs
      })
    })
  }
})
