/** Sign-in by passkey: `POST /v1/auth/passkeys/authentication/options` and `.../verify`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Principal } from "../../operations/Header.js"
import { Operation } from "../../operations/Operations.js"
import * as Passkeys from "../../identity/Passkeys.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Assertions from "./Assertions.js"
import * as Samples from "./Samples.js"
import { proved } from "./Sent.js"
import { opened, Session } from "./Session.js"

const Purpose = Schema.Literal("sign_in", "add_passkey", "remove_passkey").annotations({
  description: "What the assertion is for: it is good for nothing else. `sign_in` when absent."
})

const OptionsBody = Schema.Struct({
  accountId: Fields.optional(Fields.Name).annotations({
    description: "The account that is to be signed in to. Absent: the one of whichever passkey the browser finds."
  }),
  purpose: Fields.optional(Purpose)
}).annotations({ identifier: "PasskeyAuthenticationOptionsBody" })

const AuthenticationOptions = Schema.Struct({
  version: Schema.Literal("passkey-authentication-options/v1"),
  challengeIdentifier: Fields.Text,
  options: Schema.Struct({
    rpId: Fields.Text,
    challenge: Fields.Text,
    timeout: Schema.Int,
    allowCredentials: Schema.Array(Samples.CredentialDescriptor),
    userVerification: Schema.Literal("required")
  }),
  expiresAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "PasskeyAuthenticationOptions" })

export const beginAuthentication = Route.effect({
  tag: "identity",
  access: "public",
  budget: "sign_in",
  endpoint: HttpApiEndpoint.post("beginAuthentication", "/v1/auth/passkeys/authentication/options")
    .setPayload(OptionsBody)
    .addSuccess(AuthenticationOptions)
    .addError(Failures.native(Failures.openWithBody))
    .annotate(OpenApi.Summary, "What a browser proves a passkey by"),
  example: { target: "/v1/auth/passkeys/authentication/options", body: { accountId: Example.accountId } },
  handler: (services) => ({ payload: { accountId, purpose = "sign_in" }, remoteAddress }) =>
    Effect.suspend(() => {
      // An unknown account (-1) has no passkey, so the answer fails like a wrong one.
      const account = accountId === undefined ? undefined : services.state.findAccount(accountId)
      return Effect.map(Assertions.ask(services, { purpose, account }, remoteAddress),
        ([challengeIdentifier, { challenge, expiresAtEpochMs }]) => ({
          version: "passkey-authentication-options/v1" as const,
          challengeIdentifier,
          // All passkeys are discoverable: nobody learns which ones an account has, or whether it exists.
          options: Passkeys.requestOptions(services.identity.rpId, challenge, []),
          expiresAtEpochMs
        }))
    })
})

export const finishAuthentication = Route.effect({
  tag: "identity",
  access: "public",
  budget: "sign_in",
  endpoint: HttpApiEndpoint.post("finishAuthentication", "/v1/auth/passkeys/authentication/verify")
    .setPayload(Assertions.Assertion)
    .addSuccess(Session)
    .addError(Failures.native(Failures.openWithBody, "Passkeys"))
    .annotate(OpenApi.Summary, "Sign in with what the passkey has signed"),
  example: { target: "/v1/auth/passkeys/authentication/verify", body: Samples.assertion },
  handler: (services) => ({ payload, remoteAddress }) =>
    Effect.flatMap(
      Assertions.prove(services, payload, ["sign_in"], undefined, remoteAddress),
      ({ failed, passkey: { credentialId }, signCount }) =>
        Effect.tapError(
          opened(services,
            (opening) => proved("SignIn", Principal.passkey, Operation.signIn, { credentialId, signCount, remoteAddress, ...opening })),
          failed
        )
    )
})
