/**
 * The session that asks: `GET` and `DELETE /v1/auth/sessions/current`; and all others of its account, `DELETE
 * /v1/auth/sessions/others`.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Operation } from "../../operations/Operations.js"
import { noContent } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { owned } from "./Sent.js"

const CurrentSession = Schema.Struct({
  version: Schema.Literal("session/v1"),
  tokenType: Schema.Literal("Bearer"),
  accountId: Fields.Text,
  expiresAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "CurrentSession", description: "A session without its token, which is shown once." })

const target = "/v1/auth/sessions/current"

export const getCurrentSession = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getCurrentSession", target)
    .addSuccess(CurrentSession)
    .addError(Failures.native(Failures.owned))
    .annotate(OpenApi.Summary, "The session that asks"),
  example: { target },
  handler: ({ state }) => ({ trader: { account, expiresAtEpochMs } }) =>
    Effect.succeed({
      version: "session/v1" as const,
      tokenType: "Bearer" as const,
      accountId: state.accountId(account),
      expiresAtEpochMs
    })
})

export const endCurrentSession = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.del("endCurrentSession", target)
    .addSuccess(HttpApiSchema.NoContent)
    .addError(Failures.native(Failures.owned))
    .annotate(OpenApi.Summary, "Sign out: the session that asks ends"),
  example: { target },
  handler: (services) => ({ remoteAddress, trader }) =>
    Effect.map(Submission.submitted(services, owned("EndSession", trader, Operation.endSession, { remoteAddress, isElsewhere: false })),
      () => noContent)
})

export const endOtherSessions = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.del("endOtherSessions", "/v1/auth/sessions/others")
    .addSuccess(HttpApiSchema.NoContent)
    .addError(Failures.native(Failures.owned))
    .annotate(OpenApi.Summary, "Sign out everywhere else: all sessions end but the one that asks; API keys and their tickets stay"),
  example: { target: "/v1/auth/sessions/others" },
  handler: (services) => ({ remoteAddress, trader }) => {
    const ending = owned("EndSession", trader, Operation.endSession, { remoteAddress, isElsewhere: true })
    return Effect.map(Submission.submitted(services, ending), () => noContent)
  }
})
