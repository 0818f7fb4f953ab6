/**
 * Passkey assertions in requests: each answers a challenge, which ends with its first answer, valid or not, unless the venue says that
 * nothing was done and the same request may be repeated.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { internal, Principal } from "../../operations/Header.js"
import { withFields } from "../../operations/Operations.js"
import * as Passkeys from "../../identity/Passkeys.js"
import * as PasskeyRules from "../../identity/PasskeyRules.js"
import type { PasskeyView } from "../../engine/Reads.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Fields from "../http/Fields.js"

export const Assertion = Schema.Struct({
  challengeIdentifier: Fields.Name,
  credential: PasskeyRules.AuthenticationResponse
}).annotations({ identifier: "PasskeyAssertion" })
export type Assertion = typeof Assertion.Type

/** What an assertion has proved. */
export interface Proved {
  readonly passkey: PasskeyView
  /** The authenticator's counter in it. */
  readonly signCount: number
}

/** What the answer to a challenge has proved, for a command. */
export interface Answered extends Proved {
  /** To be called with the failure of the command. */
  readonly failed: (failure: Errors.Failure) => Effect.Effect<void>
}

/** What becomes of an answered challenge when the command fails that the answer was for. */
export const failed = (
  { identity: { challenges } }: Services,
  challengeIdentifier: string,
  challenge: Passkeys.Challenge,
  remoteAddress: string
) =>
(failure: Errors.Failure): Effect.Effect<void> =>
  Effect.sync(() => {
    if (Errors.maySayAgain(failure)) challenges.place(challengeIdentifier, challenge, remoteAddress)
  })

/** Reports a failed assertion to the account's owner; the journal takes a limited number per account. */
export const noteFailure = (
  { identity, now, submit }: Services,
  { account, credentialId }: PasskeyView,
  remoteAddress: string,
  what: "sign_in_failed" | "approval_failed" = "sign_in_failed"
): void => {
  if (!identity.notes.take(account, now())) return
  const note = { what, ofAccount: account, credentialId, remoteAddress } as const
  submit(withFields("NoteSecurity", internal(Principal.venue), note), () => {})
}

/** The answer to any invalid assertion: it reveals neither which passkeys exist nor whose they are. */
const unproved = Errors.assertionInvalid("The assertion proves no passkey for this challenge.")

/** Proves a passkey for one of the given purposes, and of the given account, where the challenge was made for one. */
export const prove = (
  services: Services,
  { challengeIdentifier, credential }: Assertion,
  purposes: ReadonlyArray<"sign_in" | "add_passkey" | "remove_passkey">,
  account: number | undefined,
  remoteAddress: string
): Effect.Effect<Answered, Errors.Failure> =>
  Effect.suspend(() => {
    const { identity: { challenges, publicOrigin: origin, rpId, verifier }, now, state } = services
    const taken = challenges.take(challengeIdentifier, purposes, now())
    if (taken === undefined) return fail(Errors.assertionInvalid(Errors.challengeOver))
    const passkey = state.findPasskey(credential.id)
    if (passkey === undefined) return fail(unproved)
    const refuse = () => {
      noteFailure(services, passkey, remoteAddress)
      return fail(unproved)
    }
    const isOf = (wanted: number | undefined): boolean => wanted === undefined || passkey.account === wanted
    // Both the challenge's account and the caller's must be the passkey's own.
    if (!isOf(taken.ceremony.account) || !isOf(account)) return refuse()
    // Where no account was named, the authenticator reports its owner; whatever it reports has to be right.
    const userHandle = credential.response.userHandle ?? undefined
    if (userHandle === undefined ? taken.ceremony.account === undefined : userHandle !== passkey.userHandle) return refuse()
    const { challenge } = taken
    if (PasskeyRules.fault(credential, "webauthn.get", challenge, origin) !== undefined) return refuse()
    return verifier.asserted(credential, passkey, { challenge, origin, rpId }).pipe(
      Effect.map((signCount) => ({ passkey, signCount, failed: failed(services, challengeIdentifier, taken, remoteAddress) })),
      Effect.catchAll(refuse)
    )
  })

/** The passkeys that a challenge may be answered by. */
export const allowed = ({ state }: Services, account: number | undefined): ReadonlyArray<PasskeyView> =>
  account === undefined ? [] : state.passkeys(account)

/** Issues a challenge to an address. */
export const ask = (
  { identity, now }: Services,
  ceremony: Passkeys.Ceremony,
  remoteAddress: string
): Effect.Effect<readonly [string, Passkeys.Challenge]> => Effect.sync(() => identity.challenges.ask(ceremony, remoteAddress, now()))
