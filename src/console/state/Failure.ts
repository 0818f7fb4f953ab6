/** A failure in words for the user: the venue's message, what to do next, and the request's id for inquiries. */
import type { Envelope, RecoveryAction } from "./Contract.js"
import type { Answered, CeremonyTrouble } from "./Outside.js"

export interface Failure {
  readonly message: string
  /** What to do next; empty where there is nothing to do. */
  readonly advice: string
  /** The venue's `code`; undefined where there is no answer from the venue. */
  readonly code: string | undefined
  readonly requestId: string | undefined
  /** Whether the same request may be repeated. */
  readonly again: boolean
  /** The rule that refused an order. */
  readonly guard?: string
  /** A nearby value that would have been accepted, in the rule's unit. */
  readonly nearest?: string
}

/** The result of a request, or why there is none. */
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
 * Whether the same request may be repeated. After an internal error the request may have been done: only repeating it under the same key
 * finds out, and does it at most once.
 */
const mayBeAskedAgain = ({ code, retryable }: Envelope): boolean => retryable || code === "internal_error"

/** The failure in an envelope; `again` overrides whether the request may be repeated. */
export const ofEnvelope = (envelope: Envelope, again = mayBeAskedAgain(envelope)): Failure => ({
  message: envelope.safeMessage,
  advice: envelope.recoveryActions.map((action) => advice[action] ?? "").filter((text) => text !== "").join(" "),
  code: envelope.code,
  requestId: envelope.requestId,
  again,
  ...(envelope.rejectionGuard === undefined ? undefined : { guard: envelope.rejectionGuard }),
  ...(envelope.nearest === undefined ? undefined : { nearest: envelope.nearest })
})

/** The failure in an unsuccessful answer. */
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

/** No answer: the request may have been done. */
export const unanswered: Failure = {
  message: "The venue did not answer.",
  advice: "Check your connection and try again: nothing will be done twice.",
  code: undefined,
  requestId: undefined,
  again: true
}

/**
 * Whether a request without a key may have been done all the same: there is no answer, none of the venue's own, or one that says so. To
 * repeat it may do it twice, whatever the failure advises.
 */
export const isUnknown = ({ code }: Failure): boolean => code === undefined || code === "internal_error"

/** The failure of a request without a key: where nobody knows whether it was done, what is unknown, and how to find out. */
export const withoutKey = (failure: Failure, what: string, advice: string): Failure =>
  isUnknown(failure) ? { ...failure, message: `It is not known whether ${what}.`, advice, again: false } : failure

/** The caller has gone: the failure is not shown. */
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
  "Open the page at the operator's address: a development venue's is http://localhost with its port."
)

const alreadyThere = ofCeremony("This device already holds a passkey of this account.", "Use that one, or add one from another device.")

const unsupported = ofCeremony(
  "This browser or device has no passkeys that ask for your fingerprint, face or PIN.",
  "Use another browser or device, or a security key with a PIN."
)

const closed = ofCeremony("The passkey prompt was closed or ran out. Nothing was done.", "Try again when you are ready.")

/** Failures by the library's code, or by the browser's name for them. */
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

/** The failure to create or use a passkey. */
export const ofTrouble = ({ code, name }: CeremonyTrouble): Failure =>
  ceremonies[code] ?? ceremonies[name]
    ?? ofCeremony("The browser could not use a passkey.", `Try again, or use another browser or device. It said ${name}.`)
