/** How an owner approves: the challenge, and the assertion that answers it, in the shapes of the contract. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { PasskeyView } from "../../engine/Reads.js"
import type { Question } from "../../funds/Approvals.js"
import * as PasskeyRules from "../../identity/PasskeyRules.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Fields from "../http/Fields.js"
import { noteFailure, type Proved } from "../identity/Assertions.js"

/** The longest part of an assertion, characters of base64url. */
const longestPart = 4_096

const Part = Schema.String.pipe(Schema.maxLength(longestPart), Schema.pattern(/^[A-Za-z0-9_-]+$/)).annotations({
  identifier: "AssertionPart"
})

export const FirstFactor = Schema.Struct({
  kind: Schema.Literal("Fido2"),
  credentialAssertion: Schema.Struct({
    credId: Part,
    clientData: Part,
    signature: Part,
    authenticatorData: Part
  })
}).annotations({ identifier: "FirstFactor", description: "What the passkey has signed, each part in base64url." })
export type FirstFactor = typeof FirstFactor.Type

const Credential = Schema.Struct({ type: Schema.Literal("public-key"), id: Fields.Text })

export const Challenge = Schema.Struct({
  challenge: Fields.Text.annotations({
    description: "base64url: what the passkey signs. It is made of the transaction, and approves no other."
  }),
  challengeIdentifier: Fields.Text,
  allowCredentials: Schema.Struct({ key: Schema.Array(Credential), webauthn: Schema.Array(Credential) }).annotations({
    description: "Passkeys are in `webauthn`; `key` is empty."
  }),
  userVerification: Schema.Literal("required"),
  rpId: Fields.Text,
  expiresAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "ApprovalChallenge" })
export type Challenge = typeof Challenge.Type

/** A challenge as it is sent to its owner. */
export const asked = (
  { identity: { rpId } }: Services,
  { challenge, challengeIdentifier, expiresAtEpochMs }: Question<unknown>,
  credentialIds: ReadonlyArray<string>
): Challenge => ({
  challenge,
  challengeIdentifier,
  allowCredentials: { key: [], webauthn: credentialIds.map((id) => ({ type: "public-key" as const, id })) },
  userVerification: "required",
  rpId,
  expiresAtEpochMs
})

const responseOf = (
  { credentialAssertion: { authenticatorData, clientData, credId, signature } }: FirstFactor
): PasskeyRules.AuthenticationResponse => ({
  id: credId,
  rawId: credId,
  type: "public-key",
  response: { clientDataJSON: clientData, authenticatorData, signature },
  clientExtensionResults: {}
})

const unproved = Errors.assertionInvalid("The assertion approves nothing: it was not made by a passkey of the account for this challenge.")

/** The failure for an answer to no open challenge. */
export const over = Errors.assertionInvalid("The challenge is over, was answered before, or is none of this venue's.")

/** Proves that a passkey of the account has answered a challenge. */
export const prove = (
  services: Services,
  account: number,
  factor: FirstFactor,
  challenge: string,
  remoteAddress: string
): Effect.Effect<Proved, Errors.Failure> =>
  Effect.suspend(() => {
    const { identity: { publicOrigin: origin, rpId, verifier }, state } = services
    const passkey = state.findPasskey(factor.credentialAssertion.credId)
    if (passkey?.account !== account) return fail(unproved)
    const refuse = () => {
      noteFailure(services, passkey, remoteAddress, "approval_failed")
      return fail(unproved)
    }
    const response = responseOf(factor)
    if (PasskeyRules.fault(response, "webauthn.get", challenge, origin) !== undefined) return refuse()
    return verifier.asserted(response, passkey, { challenge, origin, rpId }).pipe(
      Effect.map((signCount) => ({ passkey, signCount })),
      Effect.catchAll(refuse)
    )
  })

/** The challenge that an assertion says it answers; undefined where it says none. */
export const answered = ({ credentialAssertion: { clientData } }: FirstFactor): string | undefined => PasskeyRules.challengeOf(clientData)

/**
 * The account's passkeys that may approve at a given time: for a deposit all of them, otherwise those that are not in their first
 * day.
 */
export const approving = (passkeys: ReadonlyArray<PasskeyView>, isDeposit: boolean, atEpochMs: number): ReadonlyArray<string> =>
  passkeys.filter(({ approvesFromEpochMs }) => isDeposit || approvesFromEpochMs <= atEpochMs).map(({ credentialId }) => credentialId)
