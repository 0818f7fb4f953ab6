/** Checks an owner's assertion: the challenge, the origin of the venue's own pages, and that the passkey is pinned. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as PasskeyRules from "../identity/PasskeyRules.js"
import type { PasskeyVerifier } from "../identity/PasskeyVerifier.js"
import { SignerRefused } from "./PartySigner.js"
import type { Account, Pinned } from "./Records.js"
import type { Assertion } from "./Requests.js"

/** Where owners approve. Without an origin, which only development allows, it is any port of `localhost`. */
export interface Site {
  readonly publicOrigin?: string
  readonly rpId: string
}

const localOrigin = /^https?:\/\/localhost(?::[0-9]{1,5})?$/

/**
 * The one origin from which an assertion may come. Without a configured one it is the origin that the assertion states, if that is on this
 * machine.
 */
const originOf = ({ publicOrigin }: Site, said: string): string => publicOrigin ?? (localOrigin.test(said) ? said : "http://localhost")

const Said = Schema.parseJson(Schema.Struct({ challenge: Schema.String, origin: Schema.String }))
const decodeSaid = Schema.decodeUnknownEither(Said)

const refused = (reason: "assertion_invalid" | "challenge_mismatch" | "passkey_not_pinned" | "replayed", detail: string) =>
  new SignerRefused({ reason, detail })

/** The browser's response from which the assertion was taken, without the members that nobody reads. */
const responseOf = ({ authenticatorData, clientDataJSON, credentialId, signature }: Assertion): PasskeyRules.AuthenticationResponse => ({
  id: credentialId,
  rawId: credentialId,
  type: "public-key",
  response: { clientDataJSON, authenticatorData, signature },
  clientExtensionResults: {}
})

/**
 * Whether a sign counter may follow the last one: an authenticator that counts never repeats a number, and one that does not always sends
 * 0.
 */
const isAhead = (signCount: number, before: number): boolean => signCount > before || (signCount === 0 && before === 0)

/** Verifies an assertion. Returns the account's passkeys with the new sign counter of the one that answered. */
export const asserted = (
  verifier: Context.Tag.Service<PasskeyVerifier>,
  site: Site,
  { passkeys }: Account,
  assertion: Assertion,
  challenge: string
): Effect.Effect<ReadonlyArray<Pinned>, SignerRefused> =>
  Effect.gen(function*() {
    const said = decodeSaid(Buffer.from(assertion.clientDataJSON, "base64url").toString("utf8"))
    if (Either.isLeft(said)) return yield* refused("assertion_invalid", "its client data is not readable")
    if (said.right.challenge !== challenge) return yield* refused("challenge_mismatch", "it approves something else")
    const pinned = passkeys.find(({ credentialId }) => credentialId === assertion.credentialId)
    if (pinned === undefined) return yield* refused("passkey_not_pinned", "it is of a passkey that the account has not pinned")
    const origin = originOf(site, said.right.origin)
    const response = responseOf(assertion)
    const fault = PasskeyRules.fault(response, "webauthn.get", challenge, origin)
    if (fault !== undefined) return yield* refused("assertion_invalid", fault)
    const signCount = yield* Effect.mapError(
      verifier.asserted(response, pinned, { challenge, origin, rpId: site.rpId }),
      ({ reason }) => refused("assertion_invalid", reason)
    )
    if (!isAhead(signCount, pinned.signCount)) return yield* refused("replayed", "the passkey's counter went back")
    return passkeys.map((each) => each === pinned ? { ...each, signCount } : each)
  })
