/** Registration of passkeys: `POST /v1/auth/passkeys/registration/options` and `.../verify`. The first one opens the account. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Principal } from "../../operations/Header.js"
import { Operation } from "../../operations/Operations.js"
import * as Passkeys from "../../identity/Passkeys.js"
import * as PasskeyRules from "../../identity/PasskeyRules.js"
import type { SessionView } from "../../engine/Reads.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import * as Assertions from "./Assertions.js"
import * as Samples from "./Samples.js"
import { owned, proved } from "./Sent.js"
import { opened, Session } from "./Session.js"

const defaultName = "Passkey"

const OptionsBody = Schema.Struct({
  displayName: Fields.optional(Fields.Label).annotations({ description: "What the owner calls the passkey: nobody else sees it." }),
  assertion: Fields.optional(Assertions.Assertion).annotations({
    description: "With an owner's session: a passkey of the account, asked for with the purpose `add_passkey`. Adds another one to it."
  }),
  authentication: Fields.optional(Assertions.Assertion).annotations({ description: "Another name of `assertion`; one of them is sent." })
}).annotations({ identifier: "PasskeyRegistrationOptionsBody" })

const RegistrationOptions = Schema.Struct({
  version: Schema.Literal("passkey-registration-options/v1"),
  challengeIdentifier: Fields.Text,
  options: Schema.Struct({
    rp: Schema.Struct({ id: Fields.Text, name: Fields.Text }),
    user: Schema.Struct({ id: Fields.Text, name: Fields.Text, displayName: Fields.Text }),
    challenge: Fields.Text,
    pubKeyCredParams: Schema.Array(Schema.Struct({ type: Schema.Literal("public-key"), alg: Schema.Int })),
    timeout: Schema.Int,
    excludeCredentials: Schema.Array(Samples.CredentialDescriptor),
    authenticatorSelection: Schema.Struct({
      residentKey: Schema.Literal("required"),
      requireResidentKey: Schema.Boolean,
      userVerification: Schema.Literal("required")
    }),
    attestation: Schema.Literal("none")
  }),
  expiresAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "PasskeyRegistrationOptions" })

/** What is to be registered: the first passkey of a new account, or another one of an owner who has proved an existing one. */
const ceremonyOf = (
  services: Services,
  owner: SessionView | undefined,
  { assertion, authentication, displayName = defaultName }: typeof OptionsBody.Type,
  remoteAddress: string
): Effect.Effect<Passkeys.Ceremony, Errors.Failure> => {
  const proof = assertion ?? authentication
  if (assertion !== undefined && authentication !== undefined) {
    return fail(Errors.invalidRequest("authentication: the same as assertion, which is there already."))
  }
  if (owner === undefined) {
    return proof === undefined
      ? Effect.sync(() => ({ purpose: "open_account", userHandle: services.identity.challenges.newUserHandle(), displayName }))
      : fail(Errors.signInNeeded)
  }
  if (proof === undefined) {
    return fail(Errors.invalidRequest("assertion: a passkey of the account proves that its owner adds another one."))
  }
  return Effect.flatMap(
    Assertions.prove(services, proof, ["add_passkey"], owner.account, remoteAddress),
    ({ failed, passkey: { account, credentialId, userHandle }, signCount }) => {
      const proving = owned("ProvePasskey", owner, Operation.provePasskey, { credentialId, signCount, remoteAddress })
      return Effect.map(Effect.tapError(Submission.submitted(services, proving), failed),
        (): Passkeys.Ceremony => ({ purpose: "new_passkey", account, provedBy: credentialId, userHandle, displayName }))
    }
  )
}

export const beginRegistration = Route.effect({
  tag: "identity",
  access: "anyone_or_owner",
  budget: "sign_in",
  endpoint: HttpApiEndpoint.post("beginRegistration", "/v1/auth/passkeys/registration/options")
    .setPayload(OptionsBody)
    .addSuccess(RegistrationOptions)
    .addError(Failures.native(Failures.openWithBody, 401, "Passkeys", "Owners"))
    .annotate(OpenApi.Summary, "What a browser makes a passkey by: the first one of a new account, or another one of the owner's"),
  example: { target: "/v1/auth/passkeys/registration/options", body: { displayName: "My phone" } },
  handler: (services) => ({ payload, remoteAddress, trader }) =>
    Effect.gen(function*() {
      const ceremony = yield* ceremonyOf(services, trader, payload, remoteAddress)
      const [challengeIdentifier, { challenge, expiresAtEpochMs }] = yield* Assertions.ask(services, ceremony, remoteAddress)
      const { displayName: name, userHandle } = ceremony as Extract<Passkeys.Ceremony, { readonly userHandle: string }>
      const known = Assertions.allowed(services, trader?.account)
      return {
        version: "passkey-registration-options/v1" as const,
        challengeIdentifier,
        options: Passkeys.creationOptions(services.identity.rpId, challenge, { userHandle, name }, known),
        expiresAtEpochMs
      }
    })
})

const VerifyBody = Schema.Struct({
  challengeIdentifier: Fields.Name,
  credential: PasskeyRules.RegistrationResponse
}).annotations({ identifier: "PasskeyRegistration" })

/** An owner who adds a passkey must still be signed in to the same account, in any session. */
const isStillOwner = (ceremony: Passkeys.Ceremony, owner: SessionView | undefined): boolean =>
  ceremony.purpose === "open_account" || ceremony.account === owner?.account

export const finishRegistration = Route.effect({
  tag: "identity",
  access: "anyone_or_owner",
  budget: "sign_in",
  endpoint: HttpApiEndpoint.post("finishRegistration", "/v1/auth/passkeys/registration/verify")
    .setPayload(VerifyBody)
    .addSuccess(Session)
    .addError(Failures.native(Failures.openWithBody, 401, "Passkeys", "Owners"))
    .annotate(OpenApi.Summary, "Register the passkey that the browser has made, and sign in with it"),
  example: { target: "/v1/auth/passkeys/registration/verify", body: Samples.registration },
  handler: (services) => ({ payload: { challengeIdentifier, credential }, remoteAddress, trader }) =>
    Effect.gen(function*() {
      const { challenges, publicOrigin: origin, rpId, verifier } = services.identity
      // Looked at before the challenge is used up, and before anything is verified. Only an owner adds to an account.
      const secondsLeft = trader === undefined ? services.openings.secondsLeft(remoteAddress, services.now()) : 0
      if (secondsLeft > 0) return yield* fail(Errors.accountOpenings(secondsLeft))
      const taken = challenges.take(challengeIdentifier, ["open_account", "new_passkey"], services.now())
      if (taken === undefined) return yield* fail(Errors.registrationInvalid(Errors.challengeOver))
      const { ceremony, challenge } = taken
      if (!isStillOwner(ceremony, trader)) return yield* fail(Errors.signInNeeded)
      const fault = PasskeyRules.fault(credential, "webauthn.create", challenge, origin)
      if (fault !== undefined) return yield* fail(Errors.registrationInvalid(fault))
      const registered = yield* Effect.mapError(
        verifier.registered(credential, { challenge, origin, rpId }),
        ({ reason }) => Errors.registrationInvalid(reason)
      )
      if (registered.credentialId !== credential.id) {
        return yield* fail(Errors.registrationInvalid("The response's id is not the credential's."))
      }
      const { displayName, userHandle } = ceremony
      const passkey = {
        ...registered,
        transports: registered.transports.filter((each) => PasskeyRules.transports.includes(each)).join(","),
        userHandle,
        displayName,
        remoteAddress
      }
      const atEpochMs = services.now()
      // Only registrations that would open an account count, so that nobody can use up the limit without making a passkey for each.
      const opensAccount = ceremony.purpose === "open_account"
      const session = Effect.suspend(() =>
        opensAccount && !services.openings.take(remoteAddress, atEpochMs)
          ? fail(Errors.accountOpenings(services.openings.secondsLeft(remoteAddress, atEpochMs)))
          : Effect.tapError(
            opened(services, (opening) =>
              opensAccount || trader === undefined
                ? proved("OpenOwnerAccount", Principal.passkey, Operation.openOwnerAccount, { ...passkey, ...opening })
                : owned("AddPasskey", trader, Operation.addPasskey, { ...passkey, provedBy: ceremony.provedBy, ...opening })),
            // Nothing was opened where the same request may be repeated.
            (failure) =>
              Effect.sync(() => {
                if (opensAccount && Errors.maySayAgain(failure)) services.openings.giveBack(remoteAddress, atEpochMs, services.now())
              })
          )
      )
      return yield* Effect.tapError(session, Assertions.failed(services, challengeIdentifier, taken, remoteAddress))
    })
})
