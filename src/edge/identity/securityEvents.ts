/** What concerns the security of an account: `GET /v1/accounts/{accountId}/security-events`, newest first. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { securityKinds, type SecurityEventView } from "../../engine/Reads.js"
import { withAccount } from "../accounts/Own.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { page, pageLimit, withCursor } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { securityEventsBefore } from "./SecurityHistory.js"

const Optional = Schema.NullOr(Fields.Text)

const SecurityEvent = Schema.Struct({
  kind: Schema.Literal(...securityKinds),
  occurredAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence,
  credentialId: Optional.annotations({ description: "The key or the passkey that it is about." }),
  remoteAddress: Optional.annotations({ description: "Where the request came from, as the venue saw it." }),
  detail: Optional.annotations({ description: "What the passkey is called, or what the agent called itself." })
}).annotations({ identifier: "SecurityEvent" })

const SecurityEvents = Schema.Struct({
  version: Schema.Literal("external-security-events/v1"),
  accountId: Fields.Text,
  events: Schema.Array(SecurityEvent),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({ identifier: "SecurityEvents", description: "Newest first, back to the account's first or `completeSinceEpochMs`." })

const orNull = (text: string): string | null => text === "" ? null : text

const event = (view: SecurityEventView): typeof SecurityEvent.Type => ({
  kind: view.kind,
  occurredAtEpochMs: view.atEpochMs,
  sequence: view.sequence,
  credentialId: orNull(view.credentialId),
  remoteAddress: orNull(view.remoteAddress),
  detail: orNull(view.detail)
})

export const listSecurityEvents = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listSecurityEvents", "/v1/accounts/:accountId/security-events")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct(Fields.page))
    .addSuccess(SecurityEvents)
    .addError(Failures.native(Failures.owned, 404))
    .annotate(OpenApi.Summary, "Sign-ins, passkeys, keys and agents of the account, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/security-events?limit=50` },
  handler: (services) => ({ path: { accountId }, trader, urlParams }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withCursor("events", urlParams.cursor, (before) => {
        const limit = pageLimit(urlParams.limit)
        return Effect.flatten(securityEventsBefore(services, { account, before, limit: limit + 1 }, (rows) =>
          json({
            version: "external-security-events/v1",
            accountId,
            ...page("events", limit, rows, event),
            ...completeSince(services)
          })))
      }))
})
