/** An account's passkeys: `GET /v1/accounts/{accountId}/passkeys` and `DELETE .../{credentialId}`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Operation } from "../../operations/Operations.js"
import { withAccount } from "../accounts/Own.js"
import * as Example from "../http/Example.js"
import { noContent } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Assertions from "./Assertions.js"
import * as Samples from "./Samples.js"
import { removed, withAnotherPinned } from "./Removal.js"
import { owned } from "./Sent.js"

const PasskeyList = Schema.Struct({
  version: Schema.Literal("passkey-list/v1"),
  accountId: Fields.Text,
  passkeys: Schema.Array(
    Schema.Struct({
      credentialId: Fields.Text,
      displayName: Fields.Text,
      createdAtEpochMs: Fields.EpochMs,
      lastUsedAtEpochMs: Schema.NullOr(Fields.EpochMs),
      approvesFromEpochMs: Fields.EpochMs.annotations({
        description: "From when on it may approve withdrawals and changes of the ledger party."
      })
    }).annotations({ identifier: "Passkey" })
  )
}).annotations({ identifier: "PasskeyList", description: "Oldest first; at most 16." })

export const listPasskeys = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listPasskeys", "/v1/accounts/:accountId/passkeys")
    .setPath(Fields.AccountPath)
    .addSuccess(PasskeyList)
    .addError(Failures.native(Failures.owned, 404))
    .annotate(OpenApi.Summary, "The account's passkeys"),
  example: { target: `/v1/accounts/${Example.accountId}/passkeys` },
  handler: ({ state }) => ({ path: { accountId }, trader }) =>
    withAccount(state, trader, accountId, (account) =>
      Effect.succeed({
        version: "passkey-list/v1" as const,
        accountId,
        passkeys: state.passkeys(account).map((each) => ({
          credentialId: each.credentialId,
          displayName: each.displayName,
          createdAtEpochMs: each.createdAtEpochMs,
          lastUsedAtEpochMs: each.lastUsedAtEpochMs === 0 ? null : each.lastUsedAtEpochMs,
          approvesFromEpochMs: each.approvesFromEpochMs
        }))
      }))
})

/** A credential's id has up to 1,023 bytes. */
const CredentialId = Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,1364}$/)).annotations({ identifier: "CredentialId" })
const PasskeyPath = Schema.Struct({ accountId: Fields.Name, credentialId: CredentialId })
const RemovalBody = Schema.Struct({ assertion: Assertions.Assertion }).annotations({ identifier: "PasskeyRemovalBody" })

export const removePasskey = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.del("removePasskey", "/v1/accounts/:accountId/passkeys/:credentialId")
    .setPath(PasskeyPath)
    .setPayload(RemovalBody)
    .addSuccess(HttpApiSchema.NoContent)
    .addError(Failures.native(Failures.ownedWithBody, 404, "Passkeys", "LastPasskeys"))
    .annotate(OpenApi.Summary, "Remove a passkey with the sessions that it opened; a passkey of the account proves that its owner asks"),
  example: {
    target: `/v1/accounts/${Example.accountId}/passkeys/${Samples.assertion.credential.id}`,
    body: { assertion: Samples.assertion }
  },
  handler: (services) => ({ path: { accountId, credentialId }, payload: { assertion }, remoteAddress, trader }) =>
    withAccount(services.state, trader, accountId, (account) =>
      Effect.flatMap(Assertions.prove(services, assertion, ["remove_passkey"], account, remoteAddress),
        ({ failed, passkey, signCount }) => {
          const provedBy = passkey.credentialId
          const removal = owned("RemovePasskey", trader, Operation.removePasskey, { credentialId, provedBy, signCount, remoteAddress })
          return withAnotherPinned(services, account, credentialId).pipe(
            Effect.zipRight(removed(services, account, credentialId, removal)),
            Effect.tapError(failed),
            Effect.as(noContent)
          )
        }))
})
