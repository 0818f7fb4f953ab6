/** `GET /v1/api-keys/current`: the API key that asks. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ApiKeyView, Reads } from "../../engine/Reads.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { scopeRead, scopeTrade } from "../../operations/accounts/OpenDemoAccounts.js"

const ApiKeyRecord = Schema.Struct({
  keyId: Fields.Text,
  accountId: Fields.Text,
  principalKind: Schema.Literal("agent", "bot"),
  displayPrefix: Fields.Text,
  scopes: Schema.Array(Schema.Literal("read", "trade")),
  state: Schema.Literal("active", "revoked", "expired"),
  createdAtEpochMs: Fields.EpochMs,
  expiresAtEpochMs: Fields.EpochMs,
  revokedAtEpochMs: Schema.NullOr(Fields.EpochMs),
  lastUsedAtEpochMs: Schema.NullOr(Fields.EpochMs)
}).annotations({ identifier: "ApiKeyRecord" })

const ApiKeyCurrent = Schema.Struct({
  version: Schema.Literal("api-key-current/v1"),
  key: ApiKeyRecord,
  rateLimit: Schema.Struct({
    limit: Fields.Count,
    remaining: Fields.Count,
    resetsAtEpochMs: Fields.EpochMs
  }).annotations({ description: "Requests of the key in its present window, this one among them." })
}).annotations({ identifier: "ApiKeyCurrent" })

/** A key's record; never its text. */
const apiKey = (state: Reads, key: ApiKeyView, atEpochMs: number) => ({
  keyId: key.keyId,
  accountId: state.accountId(key.account),
  principalKind: "agent" as const,
  displayPrefix: key.displayPrefix,
  scopes: [
    ...((key.scopes & scopeRead) !== 0 ? ["read" as const] : []),
    ...((key.scopes & scopeTrade) !== 0 ? ["trade" as const] : [])
  ],
  state: key.revokedAtEpochMs > 0
    ? "revoked" as const
    : key.expiresAtEpochMs <= atEpochMs
    ? "expired" as const
    : "active" as const,
  createdAtEpochMs: key.createdAtEpochMs,
  expiresAtEpochMs: key.expiresAtEpochMs,
  revokedAtEpochMs: key.revokedAtEpochMs === 0 ? null : key.revokedAtEpochMs,
  lastUsedAtEpochMs: null
})

export const getCurrentApiKey = Route.effect({
  tag: "accounts",
  access: "key",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getCurrentApiKey", "/v1/api-keys/current")
    .addSuccess(ApiKeyCurrent)
    .addError(Failures.native(Failures.anyKeyRead))
    .annotate(OpenApi.Summary, "The API key that asks"),
  example: { target: "/v1/api-keys/current" },
  handler: ({ now, rateLimits, state }) => ({ key }) =>
    Effect.sync(() => {
      const at = now()
      return {
        version: "api-key-current/v1" as const,
        key: apiKey(state, key, at),
        rateLimit: rateLimits.key.view(key.index, at)
      }
    })
})
