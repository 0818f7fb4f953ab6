/** What went wrong, in words for whoever sees it: the venue's own message, what to do next, and the request's id to ask about. */
import type { Envelope, RecoveryAction } from "./Contract.js"
import type { Answered, CeremonyTrouble } from "./Outside.js"

export interface Failure {
  readonly message: string
  /** What to do next; empty where there is nothing to do. */
  readonly advice: string
  /** The venue's `code`; undefined where the venue did not say anything. */
  readonly code: string | undefined
  readonly requestId: string | undefined
  /** Whether the very same may be asked again. */
  readonly again: boolean
  /** The rule that refused an order. */
  readonly guard?: string
  /** A nearby value that would have passed, in the rule's own unit. */
  readonly nearest?: string
}

/** What was asked for, or why there is none. */
export type Result<A> = { readonly value: A } | { readonly failure: Failure }

export const hasFailed = <A>(result: Result<A>): result is { readonly failure: Failure } => "failure" in result

const advice: Readonly<Record<RecoveryAction, string>> = {
  none: "",
  fix_request: "Change what you entered and try again.",
  authenticate: "Sign in again.",
  sign_in_with_passkey: "Sign in with your passkey and try again.",
  wait_and_retry_same_identity: "Wait a moment, then try again: nothing will be done twice.",
  retry_same_identity: "Try again: nothing will be done twice.",
  refresh_state: "Things have changed meanwhile: reload the page to see how they stand.",
  restart_from_first_page: "Start again from the first page.",
  contact_operator: "Tell the venue's operator, with the request's id."
}

const isEnvelope = (body: unknown): body is Envelope =>
  typeof body === "object" && body !== null && "safeMessage" in body && "recoveryActions" in body

/**
 * Whether the very same may be asked again. A defect of the venue may have come behind what was asked: only the same key finds that out,
 * and does it once at most.
 */
const mayBeAskedAgain = ({ code, retryable }: Envelope): boolean => retryable || code === "internal_error"

/** What the venue says of a failure; `again` where that is known otherwise than by its envelope. */
export const ofEnvelope = (envelope: Envelope, again = mayBeAskedAgain(envelope)): Failure => ({
  message: envelope.safeMessage,
  advice: envelope.recoveryActions.map((action) => advice[action] ?? "").filter((text) => text !== "").join(" "),
  code: envelope.code,
  requestId: envelope.requestId,
  again,
  ...(envelope.rejectionGuard === undefined ? undefined : { guard: envelope.rejectionGuard }),
  ...(envelope.nearest === undefined ? undefined : { nearest: envelope.nearest })
})

/** An answer that is no success. */
export const ofAnswer = ({ body, requestId, status }: Answered): Failure => {
  if (!isEnvelope(body)) {
    return {
      message: `Something between you and the venue answered instead of it (HTTP ${status}).`,
      advice: "Try again. If it goes on, tell the venue's operator.",
      code: undefined,
      requestId,
      again: true
    }
  }
  return ofEnvelope(body)
}

/** No answer: what was asked may have been done. */
export const unanswered: Failure = {
  message: "The venue did not answer.",
  advice: "Check your connection and try again: nothing will be done twice.",
  code: undefined,
  requestId: undefined,
  again: true
}

/** Whoever asked has gone: nobody is told. */
export const left: Failure = {
  message: "Nobody waits for it any more.",
  advice: "",
  code: undefined,
  requestId: undefined,
  again: false
}

const ofCeremony = (message: string, advice: string): Failure => ({ message, advice, code: undefined, requestId: undefined, again: false })

const wrongAddress = ofCeremony(
  "Passkeys of this venue do not work at this address.",
  "Open the page at the address that the operator gave you: a development venue's is http://localhost with its port, not an IP address."
)

const alreadyThere = ofCeremony("This device already holds a passkey of this account.", "Use that one, or add one from another device.")

const unsupported = ofCeremony(
  "This browser or device has no passkeys that ask for your fingerprint, face or PIN.",
  "Use another browser or device, or a security key with a PIN."
)

const closed = ofCeremony("The passkey prompt was closed, or its time ran out. Nothing was done.", "Try again when you are ready.")

/** By the library's code, then by the browser's own name of it. */
const ceremonies: Readonly<Record<string, Failure>> = {
  ERROR_INVALID_DOMAIN: wrongAddress,
  ERROR_INVALID_RP_ID: wrongAddress,
  SecurityError: wrongAddress,
  ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED: alreadyThere,
  InvalidStateError: alreadyThere,
  ERROR_AUTHENTICATOR_MISSING_DISCOVERABLE_CREDENTIAL_SUPPORT: unsupported,
  ERROR_AUTHENTICATOR_MISSING_USER_VERIFICATION_SUPPORT: unsupported,
  ERROR_AUTHENTICATOR_NO_SUPPORTED_PUBKEYCREDPARAMS_ALG: unsupported,
  NotSupportedError: unsupported,
  NotAllowedError: closed,
  AbortError: closed
}

/** A passkey that was not made or used. */
export const ofTrouble = ({ code, name }: CeremonyTrouble): Failure =>
  ceremonies[code] ?? ceremonies[name]
    ?? ofCeremony("The browser could not use a passkey.", `Try again, or use another browser or device. It said ${name}.`)
