/** An account's API keys: `GET /v1/accounts/{accountId}/api-keys` and `DELETE .../{keyId}`; and the key that asks. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import { Operation } from "../../operations/Operations.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { ApiKeyRecord, record } from "./ApiKeyRecord.js"
import { withContractAccount } from "../accounts/Own.js"
import { owned } from "./Sent.js"

const ApiKeyCurrent = Schema.Struct({
  version: Schema.Literal("api-key-current/v1"),
  key: ApiKeyRecord,
  rateLimit: Schema.Struct({
    limit: Fields.Count,
    remaining: Fields.Count,
    resetsAtEpochMs: Fields.EpochMs
  }).annotations({ description: "Requests of the key in its present window, this one among them." })
}).annotations({ identifier: "ApiKeyCurrent" })

export const getCurrentApiKey = Route.effect({
  tag: "identity",
  access: "key",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getCurrentApiKey", "/v1/api-keys/current")
    .addSuccess(ApiKeyCurrent)
    .addError(Failures.native(Failures.anyKeyRead))
    .annotate(OpenApi.Summary, "The API key that asks"),
  example: { target: "/v1/api-keys/current" },
  handler: (services) => ({ trader }) =>
    Effect.sync(() => ({
      version: "api-key-current/v1" as const,
      key: record(services, trader),
      rateLimit: services.rateLimits.key.view(trader.credential, services.now())
    }))
})

const ApiKeyList = Schema.Struct({
  version: Schema.Literal("api-key-list/v1"),
  keys: Schema.Array(ApiKeyRecord)
}).annotations({
  identifier: "ApiKeyList",
  description: "Newest first: all that may act, and for 30 days those that have ended. When a key is issued, of those the latest 128 are "
    + "kept, so that until the next one at most 192 are listed."
})

export const listApiKeys = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listApiKeys", "/v1/accounts/:accountId/api-keys")
    .setPath(Fields.AccountPath)
    .addSuccess(ApiKeyList)
    .addError(Failures.native(Failures.owned))
    .annotate(OpenApi.Summary, "The account's API keys, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/api-keys` },
  handler: (services) => ({ path: { accountId }, trader }) =>
    withContractAccount(services.state, trader, accountId, (account) => {
      const keys = services.state.apiKeys(account, Number.POSITIVE_INFINITY).map((key) => record(services, key))
      return Effect.succeed({ version: "api-key-list/v1" as const, keys })
    })
})

const ApiKeyRevoked = Schema.Struct({
  version: Schema.Literal("api-key-revoke/v1"),
  key: ApiKeyRecord
}).annotations({ identifier: "ApiKeyRevoked" })

const keyUnknown = fail(Errors.refused(Refusal.keyNotFound))

export const revokeApiKey = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.del("revokeApiKey", "/v1/accounts/:accountId/api-keys/:keyId")
    .setPath(Schema.Struct({ accountId: Fields.Name, keyId: Fields.Name }))
    .addSuccess(ApiKeyRevoked)
    .addError(Failures.native(Failures.owned, 404))
    .annotate(OpenApi.Summary, "Revoke an API key at once; repeating keeps the first time"),
  example: { target: `/v1/accounts/${Example.accountId}/api-keys/key_2f8b1c9d4e` },
  handler: (services) => ({ path: { accountId, keyId }, remoteAddress, trader }) => {
    const { state } = services
    return withContractAccount(state, trader, accountId, (account) => {
      const key = state.findApiKey(keyId)
      if (key === undefined || key.account !== account) return keyUnknown
      const revoked = () => {
        const found = state.findApiKey(keyId)
        // Many other keys may have ended meanwhile, so that this one is forgotten.
        return found === undefined
          ? keyUnknown
          : Effect.succeed({ version: "api-key-revoke/v1" as const, key: record(services, found) })
      }
      // A revoked key stays revoked: a repetition needs no record.
      if (key.revokedAtEpochMs !== 0) return Effect.suspend(revoked)
      const revocation = owned("RevokeApiKey", trader, Operation.revokeApiKey, { keyId, remoteAddress })
      return Effect.flatMap(Submission.submitted(services, revocation), revoked)
    })
  }
})
