/**
 * Every failure a client can see, in both envelopes. Refusals of commands come from the domain's table;
 * what only the edge can refuse is described here in the same terms.
 */
import { assert } from "../../domain/Assert.js"
import { isoTime } from "../../domain/IsoTime.js"
import * as Market from "../../domain/Market.js"
import type { Unit } from "../../domain/Unit.js"
import type { Refused } from "../../operations/Outcome.js"
import * as Refusal from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import type { Rejection } from "../../identity/ApiKeys.js"
import type { Family } from "./Envelopes.js"
import type { Response } from "./Listener.js"
import * as Protection from "./Protection.js"

/** A failure on its way to an envelope. */
export interface Failure {
  readonly description: Refusal.Description
  /** Replaces the description's message: which member was wrong, and how. */
  readonly message?: string
  /** What the refusal compared, in the guard's unit. */
  readonly comparison?: Comparison
  /** For a remembered decision: when it was made. */
  readonly decidedAtEpochMs?: number
  /** For a 429 whose wait is not a minute: how long until the same request may succeed. */
  readonly retryAfterSeconds?: number
  /** Further headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Decimal strings in the guard's own unit, whole numbers for counts and times, a market's status; absent where nothing was compared. */
export interface Comparison {
  readonly limit?: string | undefined
  readonly actual?: string | undefined
  readonly nearest?: string | undefined
}

const invalid: Refusal.Description = {
  name: "InvalidRequest",
  status: 400,
  code: "invalid_request",
  compatName: "BadRequest",
  retryable: false,
  recoveryActions: ["fix_request"],
  safeMessage: "The request is not valid.",
  compares: undefined
}

const unauthorized = (name: string, apiKeyRejection: string, safeMessage: string): Failure => ({
  description: {
    name,
    status: 401,
    code: "unauthorized",
    apiKeyRejection,
    compatName: "AuthenticationError",
    retryable: false,
    recoveryActions: ["authenticate"],
    safeMessage,
    compares: undefined
  }
})

/** Whether a margin refusal reports a negative limit, which needs more explanation than "too little". */
export const isBelowZero = (refusal: Refusal.Refusal, comparison: Comparison | undefined): boolean =>
  refusal === Refusal.Refusal.marginInsufficient && comparison?.limit?.startsWith("-") === true

/** An additional explanation derived only from the compared values, so that a repetition gets the same one. */
const explained = (refusal: Refusal.Refusal, comparison: Comparison): string | undefined => {
  if (refusal !== Refusal.Refusal.marginInsufficient) return undefined
  const { nearest } = comparison
  const more = [
    ...(isBelowZero(refusal, comparison) ? [Refusal.backingBelowZero] : []),
    ...(nearest === undefined ? [] : [`The largest quantity that would have been accepted is ${nearest}.`])
  ]
  return more.length === 0 ? undefined : [Refusal.describe(refusal).safeMessage, ...more].join(" ")
}

/** A command's refusal. */
export const refused = (refusal: Refusal.Refusal, comparison?: Comparison): Failure => {
  const description = Refusal.describe(refusal)
  if (comparison === undefined) return { description }
  const message = explained(refusal, comparison)
  return message === undefined ? { description, comparison } : { description, comparison, message }
}

/** The refusal of a batch as a whole because of some of its markets, which the message names: the others could be sent without them. */
export const refusedForMarkets = (refusal: Refusal.Refusal, marketIds: ReadonlyArray<string>): Failure => {
  const { description } = refused(refusal)
  return { description, message: `${description.safeMessage} The batch waits for ${marketIds.join(", ")}.` }
}

/** The request breaks the contract; `message` names the first offending part and echoes nothing. */
export const invalidRequest = (message: string): Failure => ({ description: invalid, message })

/** A market whose assets are none that the venue can settle it by. */
export const marketAssetsInvalid = (message: string): Failure => ({
  description: { ...invalid, name: "MarketAssetsInvalid", guard: "market_assets_invalid" },
  message
})

/** Names that the compatibility layer gives to values with too many decimals, by refusal. */
const tooFineNames: ReadonlyMap<Refusal.Refusal, string> = new Map([
  [Refusal.Refusal.priceOffGrid, "PriceTooFine"],
  [Refusal.Refusal.quantityOffGrid, "QuantityTooFine"],
  [Refusal.Refusal.triggerInvalid, "TriggerTooFine"]
])

/**
 * A native request with more decimals than its market has. It never becomes an order, and gets the guard of an order off the grid.
 */
export const offGrid = (refusal: Refusal.Refusal, message: string, comparison: Comparison): Failure => {
  const { compares, guard } = Refusal.describe(refusal)
  const name = tooFineNames.get(refusal)
  assert(name !== undefined && guard !== undefined, "what is off the grid is a price, a quantity or a trigger")
  return { description: { ...invalid, name, guard, compares }, message, comparison }
}

export const routeNotFound: Failure = {
  description: { ...invalid, name: "RouteNotFound", status: 404, code: "route_not_found", safeMessage: "There is no such route." }
}

/** There is no such route; the message suggests the one that may be meant. */
export const routeMeant = ({ method, path }: { readonly method: string; readonly path: string }): Failure => ({
  ...routeNotFound,
  message: `${routeNotFound.description.safeMessage} Did you mean ${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}?`
})

/** A request for the stream's path without an upgrade: usually a proxy on the way has removed it. */
export const upgradeMissing: Failure = {
  ...routeNotFound,
  message: "There is no such route: this path takes WebSocket upgrades alone, and the request came without Upgrade and Connection. "
    + "A proxy in between has to hand them on."
}

/** The path exists, with other methods: they are in the `allow` header. */
export const methodNotAllowed: Failure = {
  description: {
    ...invalid,
    name: "MethodNotAllowed",
    status: 405,
    code: "method_not_allowed",
    compatName: "NotSupported",
    safeMessage: "The route does not take this method."
  }
}

export const payloadTooLarge: Failure = {
  description: {
    ...invalid,
    name: "PayloadTooLarge",
    status: 413,
    code: "payload_too_large",
    safeMessage: "The request body is larger than 64 KiB."
  }
}

export const unsupportedMediaType: Failure = {
  description: {
    ...invalid,
    name: "UnsupportedMediaType",
    status: 415,
    code: "unsupported_media_type",
    safeMessage: "The request body must be application/json in UTF-8."
  }
}

/** A body that says it is compressed. */
export const unsupportedCoding: Failure = {
  ...unsupportedMediaType,
  message: "The request body must be application/json in UTF-8 as it is: this venue takes no Content-Encoding."
}

/** Part of the contract that this release does not serve; nothing was done. */
export const notSupported = (message: string): Failure => ({
  description: {
    ...invalid,
    name: "NotSupported",
    status: 501,
    code: "not_supported",
    compatName: "NotSupported",
    safeMessage: "This is not supported."
  },
  message
})

/** A member that this release does not serve. */
export const memberNotSupported = (member: string): Failure => notSupported(`${member} is not supported here. Nothing was done.`)

/** Part of the contract that this venue does not do in its present configuration. */
export const operationNotAvailable = (message: string): Failure => ({
  description: {
    ...invalid,
    name: "OperationNotAvailable",
    code: "operation_not_available",
    compatName: "NotSupported",
    recoveryActions: ["none"],
    safeMessage: "This operation is not available here."
  },
  message
})

/** A cursor that this listing never issued, or issued in another format. */
export const staleCursor: Failure = {
  description: {
    ...invalid,
    name: "CursorInvalid",
    recoveryActions: ["restart_from_first_page"],
    safeMessage: "cursor: is none of this listing's. Start again from the first page."
  }
}

/** A listing by time that would look at more than one read may. */
export const tooManyOrders: Failure = {
  description: {
    ...invalid,
    name: "ListingTooLong",
    safeMessage: "The listing would look at too many orders. Choose a later `since`, or page through "
      + "/v1/accounts/{accountId}/orders."
  }
}

export const starting: Failure = {
  description: {
    ...invalid,
    name: "Starting",
    status: 503,
    code: "starting",
    compatName: "OnMaintenance",
    retryable: true,
    recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The venue is not ready. Nothing was done; repeat the same request shortly."
  }
}

/** On the routes that the venue adds to its contract: unknown and foreign accounts alike. */
export const accountNotFound: Failure = {
  description: {
    ...invalid,
    name: "AccountNotFound",
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch",
    safeMessage: "There is no such account for this credential."
  }
}

/** An operator's command about an account that was never opened. */
export const accountUnknown: Failure = {
  description: {
    ...invalid,
    name: "AccountUnknown",
    status: 404,
    code: "account_not_found",
    safeMessage: "There is no such account."
  }
}

/** A read of an order that is not the account's, or that the venue has forgotten; ended orders are read like open ones. */
export const orderUnknown: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.orderNotFound),
    name: "OrderUnknown",
    safeMessage: "The account has no such order, neither open nor among those that ended and are still remembered."
  }
}

/** A batch of the index stream that is refused as sent. */
const indexStreamConflict = (name: string, safeMessage: string, action: "refresh_state" | "fix_request"): Failure => ({
  description: { ...invalid, name, status: 409, code: "index_stream_conflict", recoveryActions: [action], safeMessage }
})

/** Another process has opened a session since, the venue has restarted, or no session was opened. */
export const indexSessionEnded: Failure = indexStreamConflict(
  "IndexSessionEnded",
  "The index stream has no such session any more. Nothing was done; open another one.",
  "refresh_state"
)

/** A batch whose predecessor has not been accepted. */
export const indexSequenceGap: Failure = indexStreamConflict(
  "IndexSequenceGap",
  "A batch of the index stream was left out. Nothing was done; go on with the expected number.",
  "fix_request"
)

/** More prices than a stream may send. */
export const indexStreamTooFast: Failure = {
  description: {
    ...invalid,
    name: "IndexStreamTooFast",
    status: 429,
    code: "rate_limited",
    compatName: "RateLimitExceeded",
    retryable: true,
    recoveryActions: ["wait_and_retry_same_identity"],
    safeMessage: "The index stream sends more than is taken. Nothing was done; repeat the same batch shortly."
  },
  retryAfterSeconds: 1
}

const tooManyRequests: Refusal.Description = {
  ...invalid,
  name: "RateLimited",
  status: 429,
  code: "rate_limited",
  compatName: "RateLimitExceeded",
  retryable: true,
  recoveryActions: ["wait_and_retry_same_identity"],
  safeMessage: "Too many requests. Nothing was done; repeat the same request, with the same Idempotency-Key and clientOrderId, "
    + "after the seconds of Retry-After."
}

/**
 * Whether a failure says that nothing was done and that the same request may be repeated: a challenge that the request answers then stays
 * open, since otherwise the repetition could only fail.
 */
export const maySayAgain = ({ description: { retryable } }: Failure): boolean => retryable

/** Somebody's limit of requests is used up until its window ends. */
export const rateLimited = (retryAfterSeconds: number): Failure => ({ description: tooManyRequests, retryAfterSeconds })

/** A defect of the venue. Says nothing else. */
export const internal: Failure = {
  description: {
    name: "InternalError",
    status: 500,
    code: "internal_error",
    compatName: "ExchangeError",
    retryable: false,
    recoveryActions: ["contact_operator"],
    safeMessage: "The venue failed to answer. Whether the request was carried out is unknown: "
      + "repeat it with the same Idempotency-Key.",
    compares: undefined
  }
}

const operatorUnauthorized: Failure = {
  description: {
    name: "OperatorUnauthorized",
    status: 401,
    code: "unauthorized",
    compatName: "AuthenticationError",
    retryable: false,
    recoveryActions: ["authenticate"],
    safeMessage: "The operator's token is missing or wrong.",
    compares: undefined
  }
}

/** A credential without the word `Bearer`. */
export const bearerMissing = unauthorized(
  "BearerMissing",
  "malformed",
  "The Authorization header does not begin with Bearer. Send it as Authorization: Bearer, a space, and then the key."
)

const keyFailures: Readonly<Record<Rejection, Failure>> = {
  missing: unauthorized("KeyMissing", "missing", "An Authorization header with an API key is needed."),
  malformed: unauthorized("KeyMalformed", "malformed", "The credential is neither an API key nor an owner's session."),
  unknown: refused(Refusal.Refusal.keyUnknown),
  revoked: refused(Refusal.Refusal.keyRevoked),
  expired: refused(Refusal.Refusal.keyExpired)
}

/** A credential that is not an active API key. */
export const keyRejected = (rejection: Rejection): Failure => keyFailures[rejection]

const unsigned = (name: string, safeMessage: string): Failure => ({
  description: { ...unauthorized(name, "missing", safeMessage).description, recoveryActions: ["sign_in_with_passkey"] }
})

/** An owner's route without any credential. */
export const signInNeeded = unsigned("SignInNeeded", "This is the owner's alone: sign in with a passkey and send the session's token.")

/** A session where an API key is needed. */
export const keyNeeded = unauthorized("KeyNeeded", "malformed", "This route takes an API key, not a session.")

/** A good key where the owner is needed. */
export const passkeyRequired: Failure = {
  description: {
    name: "PasskeyRequired",
    status: 403,
    code: "passkey_required",
    compatName: "PermissionDenied",
    retryable: false,
    recoveryActions: ["sign_in_with_passkey"],
    safeMessage: "No API key may do this: it is behind the owner's passkey.",
    compares: undefined
  }
}

/** The message for a challenge that can no longer be answered, whatever its purpose was. */
export const challengeOver = "The challenge is over, was answered before, or is none of this venue's."

/** An assertion that proves nothing. The message helps honest clients, and reveals nothing about any account. */
export const assertionInvalid = (message: string): Failure => ({
  description: { ...Refusal.describe(Refusal.Refusal.passkeyUnknown), name: "AssertionInvalid" },
  message
})

/** A registration that yields no passkey for this venue. */
export const registrationInvalid = (message: string): Failure => ({
  description: { ...invalid, name: "RegistrationInvalid", guard: "passkey_registration_invalid" },
  message
})

/** No room for another challenge, or for another agent that waits for its owner. */
export const identityBusy: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.inboxFull),
    name: "IdentityBusy",
    safeMessage:
      "There is no room for this now, or what it is about is being decided. Nothing was done; repeat the same request in a moment."
  }
}

const grantCode = (name: string, code: string, retryable: boolean, safeMessage: string): Failure => ({
  description: {
    ...invalid,
    name,
    code,
    retryable,
    recoveryActions: retryable ? ["wait_and_retry_same_identity"] : ["fix_request"],
    safeMessage
  }
})

/** The answer to an agent that asks for its key before the owner has decided. */
export const authorizationPending = grantCode("AuthorizationPending", "authorization_pending", true, "The owner has not decided yet.")
export const slowDown = grantCode("SlowDown", "slow_down", true, "You ask more often than the interval allows.")
export const accessDenied = grantCode("AccessDenied", "access_denied", false, "The owner denied the request.")

/** No agent waits under this code. */
export const userCodeUnknown: Failure = { description: Refusal.describe(Refusal.Refusal.grantTaken) }

/** Most keys that the refusal of a code names. */
const mostNamed = 8

/** Keys that agents have fetched of late, newest first, in words. */
const fetchedInWords = (keyIds: ReadonlyArray<string>): string =>
  keyIds.length === 1
    ? `An agent has fetched ${keyIds[0]} within the last ten minutes: revoke it if the code was that agent's.`
    : `Agents have fetched ${keyIds.slice(0, mostNamed).join(", ")}${keyIds.length > mostNamed ? " and others" : ""} `
      + "within the last ten minutes: revoke the one whose agent had the code."

/**
 * No agent waits under this code, to an owner who has let agents have keys: the code may be wrong, or it is of one of these agents and the
 * process does not know it any more. So what may still be fetched, or was fetched of late, is told of: otherwise an owner who denies would
 * read that there is nothing to deny.
 */
export const userCodeUnknownBeside = (isApproved: boolean, keyIds: ReadonlyArray<string>): Failure => ({
  ...userCodeUnknown,
  message: [
    userCodeUnknown.description.safeMessage,
    ...(isApproved ? ["There is an approval whose key was not fetched yet: it also ends with the session that gave it."] : []),
    ...(keyIds.length === 0 ? [] : [fetchedInWords(keyIds)])
  ].join(" ")
})

/**
 * An account has all the keys that it may have, to an operator, who can revoke any key by its id but lists none: so bots' keys, which
 * nothing ends when their bot starts anew and gets another, are named, the oldest first.
 */
export const keyLimitOfBots = (keyIds: ReadonlyArray<string>): Failure => {
  const { description } = refused(Refusal.Refusal.keyLimit)
  const named = keyIds.slice(0, mostNamed).join(", ")
  return {
    description,
    message: keyIds.length === 0 ? description.safeMessage : `${description.safeMessage} Its bots' active keys, oldest first: ${named}`
      + (keyIds.length > mostNamed ? ` and ${keyIds.length - mostNamed} later ones.` : ".")
  }
}

/** The agent to be denied has already fetched its key. */
export const grantFetched = (keyId: string): Failure => ({
  description: { ...userCodeUnknown.description, name: "GrantFetched", guard: "grant_fetched" },
  message: `The agent has fetched its key, which acts on: revoke ${keyId} to stop it.`
})

/** A limit other than that of requests is used up for a while. */
const limitReached = (name: string, guard: string, safeMessage: string): Refusal.Description => ({
  ...tooManyRequests,
  name,
  guard,
  safeMessage
})

/** Too many wrong codes for one account. */
export const userCodesLocked: Failure = {
  description: limitReached(
    "UserCodesLocked",
    "user_codes_locked",
    "Ten wrong codes within a minute: no agent can be approved for this account for a minute."
  )
}

/** A request about a ticket that contains none. */
export const ticketMissing: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.ticketInvalid),
    name: "TicketMissing",
    realtimeTicketFailure: "missing",
    safeMessage: "The request says no ticket."
  }
}

/** A frame of a connection on which no ticket was accepted. Such frames have none themselves. */
export const connectionWithoutTicket: Failure = {
  description: {
    ...ticketMissing.description,
    name: "ConnectionWithoutTicket",
    safeMessage: "The connection acts for no account: send auth with a ticket first."
  }
}

/** A ticket shown on the stream shortly after its rotation: whoever rotated it has the successor, and the family has not ended. */
export const ticketReplaced: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.ticketRotated),
    name: "TicketReplaced",
    safeMessage: "The ticket was rotated: show its successor."
  }
}

/** A workload's token that proves nothing here. The message helps whoever configured the workload. */
export const workloadTokenRejected = (message: string): Failure => ({
  description: { ...invalid, name: "WorkloadTokenRejected", guard: "workload_token_rejected" },
  message
})

/** Something that the venue needs for the answer cannot be had now. */
const unavailable = (
  name: string,
  dependency: NonNullable<Refusal.Description["dependency"]>,
  safeMessage: string
): Refusal.Description => ({
  ...invalid,
  name,
  status: 503,
  code: "dependency_unavailable",
  dependency,
  compatName: "ExchangeNotAvailable",
  retryable: true,
  recoveryActions: ["wait_and_retry_same_identity"],
  safeMessage
})

/** The issuer of workload tokens does not provide its signing keys. */
export const workloadKeysUnavailable: Failure = {
  description: unavailable(
    "WorkloadKeysUnavailable",
    "workload_issuer",
    "The keys of the tokens' issuer cannot be had now. Nothing was done; repeat the same request later."
  )
}

/** The ledger or the signer cannot be reached, or gave no answer. */
export const ledgerUnavailable: Failure = {
  description: unavailable(
    "LedgerUnavailable",
    "ledger",
    "The ledger cannot be reached now. Repeat the same request later: what was approved goes on by itself."
  )
}

/** Candles of a series that the contract names but this venue does not make. */
export const markCandles = operationNotAvailable("There are no candles of the mark: ask for the series index or trade.")

/** What is made of all accounts at once, and published, is not there or too old. */
const unpublished = (name: string, safeMessage: string): Refusal.Description => ({
  ...invalid,
  name,
  status: 503,
  code: "snapshot_unavailable",
  compatName: "ExchangeNotAvailable",
  retryable: true,
  recoveryActions: ["wait_and_retry_same_identity"],
  safeMessage
})

/** No solvency proof has been made yet; the request has started one. */
export const solvencyUnavailable: Failure = {
  description: unpublished("SolvencyUnavailable", "The balances of all accounts are being put together: repeat the same request shortly.")
}

/** The histories are being opened, or rebuilt from the journal, or more is asked of them than they can read. */
export const historiesUnavailable: Failure = {
  description: unavailable(
    "HistoriesUnavailable",
    "read_model",
    "The histories are not ready, or asked too much at a time: repeat the same request shortly."
  )
}

/** No leaderboard has been made yet, or none recently. */
export const leaderboardUnavailable: Failure = {
  description: unpublished("LeaderboardUnavailable", "There is no leaderboard of late: repeat the same request shortly.")
}

const behind = (name: string, guard: string, safeMessage: string) => (comparison: Comparison): Failure => ({
  description: { ...invalid, name, guard, compares: "count", recoveryActions: ["refresh_state"], safeMessage },
  comparison
})

/** Changes after a sequence that does not exist yet: `limit` is the last one that does. */
export const sequenceAhead = behind(
  "SequenceAhead",
  "sequence_ahead",
  "fromSequence: lies ahead of the venue's last record. Nothing was read."
)

/** Changes that are no longer retained: `limit` is the oldest sequence after which they are, `nearest` the venue's last. */
export const sequenceNotRetained = behind(
  "SequenceNotRetained",
  "sequence_not_retained",
  "fromSequence: what lies behind it is told no more. Read the account anew, and go on from the sequence that nearest names."
)

/** The hourly limit of new accounts, of all callers or of one network, is used up. */
export const accountOpenings = (retryAfterSeconds: number): Failure => ({
  description: limitReached(
    "AccountOpenings",
    "account_openings",
    "As many accounts were opened within an hour as may be. Accounts that there are can be signed in to."
  ),
  retryAfterSeconds
})

/** A ticket that was minted without a scope that its key has: another key would help nobody. */
export const ticketScopeMissing: Failure = {
  description: {
    name: "TicketScopeMissing",
    status: 403,
    code: "scope_missing",
    compatName: "PermissionDenied",
    retryable: false,
    recoveryActions: ["authenticate"],
    safeMessage: "The ticket was minted without the scope that this needs: mint another one with the key, "
      + "with the scope read, and with trade besides for what trades.",
    compares: undefined
  }
}

/** The ticket was revoked together with the API key that minted it. */
export const ticketsKeyRevoked: Failure = {
  ...refused(Refusal.Refusal.ticketRevoked),
  message: "The API key that minted the ticket was revoked: mint another one with a key that may act."
}

/** The account has as many stream connections as it may, or all accounts together have. */
export const socketsOfAccount: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.accountShare),
    name: "SocketsOfAccount",
    safeMessage: "This account has its part of the connections that may act for accounts, a quarter of which is for keys that may "
      + "trade, or none is free. End one of its own, or try again later."
  },
  retryAfterSeconds: 1
}

/** The network has as many stream connections as one network may. */
export const socketsOfNetwork: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.inboxFull),
    name: "SocketsOfNetwork",
    safeMessage: "The network that this comes from has as many connections of the stream as may be of one. Come again once one has ended."
  }
}

/** Too many requests of the account are waiting. */
export const waitsOfAccount: Failure = {
  description: limitReached(
    "WaitsOfAccount",
    "waits_per_account",
    "As many requests of the account wait for changes as may; one place is for who may trade. Ask without waitMs, or "
      + "once one of them was answered."
  ),
  retryAfterSeconds: 1
}

/** More requests for changes wait, or need the journal or streams of their own, than the venue has room for. */
export const changesBusy: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.inboxFull),
    name: "ChangesBusy",
    safeMessage: "More ask for changes than the venue has room for now. Repeat the same request shortly, or ask without waitMs."
  },
  headers: { "retry-after": "1" }
}

/** The journal cannot be read just now. */
export const changesUnavailable: Failure = {
  description: unavailable("ChangesUnavailable", "journal", "The journal cannot be read now: repeat the same request shortly.")
}

/** A sequence at which nothing was published, or whose publication has been dropped. */
export const solvencyNotKept: Failure = {
  description: {
    ...invalid,
    name: "SolvencyNotKept",
    status: 404,
    code: "not_found",
    compatName: "OrderNotFound",
    recoveryActions: ["refresh_state"],
    safeMessage: "Nothing is kept of this sequence: only the latest and the one before are."
  }
}

/** A condition that only an operator can resolve. */
export const ledgerStopped: Failure = {
  description: {
    ...ledgerUnavailable.description,
    name: "LedgerStopped",
    retryable: false,
    recoveryActions: ["contact_operator"],
    safeMessage: "The venue cannot go on with this on the ledger before its operator has looked at it. Nothing is lost by that."
  }
}

/**
 * The ledger refuses to prepare the step. Of a deposit the owner's own party pays, which may hold too little; of a withdrawal the venue
 * does, and what is in its way is nothing that an owner could see to.
 */
export const ledgerDeclines = (code: "deposit_rejected" | "withdrawal_rejected"): Failure => ({
  description: {
    ...invalid,
    name: code === "withdrawal_rejected" ? "WithdrawalDeclined" : "DepositDeclined",
    status: 422,
    code,
    guard: "ledger_declines",
    ...(code === "withdrawal_rejected" ? { withdrawalFailure: "approval" as const } : undefined),
    recoveryActions: ["refresh_state"],
    safeMessage: code === "withdrawal_rejected"
      ? "The ledger does not prepare this step now, and the amount stays held. Send initiate again later, or give the withdrawal up."
      : "The ledger does not prepare this step now. See that the party that pays holds enough, then send initiate again."
  }
})

/** The ledger knows no such party as the one to which an owner withdraws. */
export const receiverUnknown: Failure = {
  description: {
    ...ledgerDeclines("withdrawal_rejected").description,
    name: "WithdrawalReceiverUnknown",
    recoveryActions: ["fix_request"],
    safeMessage: "The ledger does not know the party that is to receive: give this withdrawal up, and ask for one to the right party."
  }
}

/** Withdrawals may not go on: the treasury lacks more than would be accepted by that. */
export const shortfallNotAccepted = (comparison: Comparison): Failure => ({
  description: {
    ...invalid,
    name: "ShortfallNotAccepted",
    guard: "shortfall_not_accepted",
    compares: "money_atoms",
    safeMessage: "Withdrawals stay stopped: the treasury lacks `actual`, and this would accept `limit`. Once that is explained, accept "
      + "`nearest`."
  },
  comparison
})

/** An operator has stopped withdrawals while the books were compared for another one who would let them go on. */
export const stoppedMeanwhile: Failure = {
  description: {
    ...invalid,
    name: "StoppedMeanwhile",
    guard: "stopped_meanwhile",
    recoveryActions: ["refresh_state"],
    safeMessage: "Withdrawals were stopped once more while the books were compared, and stay stopped. Look why, and repeat this then."
  }
}

/** All holdings that the treasury could pay from are used by approved withdrawals that are not decided yet. */
export const treasuryBusy: Failure = {
  description: {
    ...ledgerUnavailable.description,
    name: "TreasuryBusy",
    guard: "treasury_busy",
    safeMessage: "What the treasury could pay this from is under way with other withdrawals. Repeat the same request in a moment."
  }
}

/** The passkey has approved a transfer that the signer has not seen yet, and must not give it a later answer before. */
export const approvalFirst: Failure = {
  description: {
    ...ledgerUnavailable.description,
    name: "ApprovalFirst",
    safeMessage: "A transfer that was approved with this passkey is signed first. Repeat the same request in a moment."
  }
}

/** The payer holds the amount in more pieces than one transaction can spend: `limit` is what it could pay at once. */
export const tooManyPieces = (code: "deposit_rejected" | "withdrawal_rejected", largestAtoms: string): Failure => ({
  description: {
    ...ledgerDeclines(code).description,
    name: code === "withdrawal_rejected" ? "WithdrawalInPieces" : "DepositInPieces",
    guard: "too_many_pieces",
    compares: "money_atoms",
    safeMessage:
      "The party that pays holds this amount in more pieces than one transaction spends: give it up, and ask for `limit` at most."
  },
  comparison: { limit: Units.formatDecimal(Number(largestAtoms), Units.moneyScale) }
})

/** A valid passkey whose approvals the signer does not accept yet. */
export const passkeyNotPinned: Failure = {
  description: {
    ...passkeyRequired.description,
    name: "PasskeyNotPinned",
    guard: "passkey_not_pinned",
    safeMessage: "The signer takes no approval by this passkey yet: use an older one, or have that one approve this first."
  }
}

/** The only passkey by which the signer takes approvals. */
export const lastPinnedPasskey: Failure = {
  description: {
    ...Refusal.describe(Refusal.Refusal.lastPasskey),
    name: "LastPinnedPasskey",
    guard: "passkey_not_pinned",
    safeMessage: "The signer takes approvals by none of the account's other passkeys yet: have this one approve another first."
  }
}

/** The operator's token is missing or wrong. */
export const operatorRejected: Failure = operatorUnauthorized

/** Every failure that only the edge makes, for catalogues and tests. */
export const all: ReadonlyArray<Failure> = [
  invalidRequest("quantity: must be a decimal string"),
  marketAssetsInvalid("marketId: a market's base must be another asset than its quote."),
  routeNotFound,
  methodNotAllowed,
  payloadTooLarge,
  unsupportedMediaType,
  notSupported("timeInForce is not supported."),
  operationNotAvailable("Index prices do not come from operators here."),
  historiesUnavailable,
  leaderboardUnavailable,
  staleCursor,
  tooManyOrders,
  starting,
  accountNotFound,
  accountUnknown,
  orderUnknown,
  indexSessionEnded,
  indexSequenceGap,
  indexStreamTooFast,
  rateLimited(60),
  internal,
  operatorRejected,
  signInNeeded,
  keyNeeded,
  passkeyRequired,
  assertionInvalid("The assertion was not made for this challenge."),
  registrationInvalid("The response was not made for this challenge."),
  identityBusy,
  authorizationPending,
  slowDown,
  accessDenied,
  userCodeUnknown,
  grantFetched("key_2f8b1c9d4e"),
  userCodesLocked,
  accountOpenings(1),
  ticketMissing,
  connectionWithoutTicket,
  ticketReplaced,
  ticketScopeMissing,
  workloadTokenRejected("The token has expired."),
  workloadKeysUnavailable,
  ledgerUnavailable,
  ledgerStopped,
  solvencyUnavailable,
  solvencyNotKept,
  sequenceAhead({ limit: "41", actual: "42" }),
  sequenceNotRetained({ limit: "41", actual: "17", nearest: "1000041" }),
  socketsOfAccount,
  socketsOfNetwork,
  waitsOfAccount,
  changesBusy,
  changesUnavailable,
  ledgerDeclines("deposit_rejected"),
  ledgerDeclines("withdrawal_rejected"),
  receiverUnknown,
  stoppedMeanwhile,
  shortfallNotAccepted({ limit: "0.000000", actual: "40.000000", nearest: "40.000000" }),
  treasuryBusy,
  approvalFirst,
  tooManyPieces("deposit_rejected", "12000000"),
  tooManyPieces("withdrawal_rejected", "12000000"),
  passkeyNotPinned,
  lastPinnedPasskey,
  ...[...tooFineNames.keys()].map((refusal) => offGrid(refusal, "price: has more than 1 decimals.", {})),
  bearerMissing,
  ...Object.values(keyFailures)
]

type Grid = Pick<Market.Parameters, "priceScale" | "quantityScale">

/** A compared value as text in its unit; undefined where the unit needs a market and there is none. */
const told = (value: number, unit: Unit, market: Grid | undefined): string | undefined => {
  switch (unit) {
    case "price_atoms":
      return market === undefined ? undefined : Units.formatDecimal(value, market.priceScale)
    case "size_atoms":
      return market === undefined ? undefined : Units.formatDecimal(value, market.quantityScale)
    case "money_atoms":
      return Units.formatDecimal(value, Units.moneyScale)
    case "market_status":
      return Market.statuses[value]
    case "epoch_ms":
    case "duration_ms":
    case "bps":
    case "e9":
    case "scale":
    case "leverage":
    case "count":
    case "bits":
    case "version":
      return String(value)
  }
}

/** The values that a refusal compared, in the units that it names; undefined where it compared nothing. */
export const comparisonOf = (entry: Refused, market: Grid | undefined): Comparison | undefined => {
  const { compares: unit, nearestIn = unit } = Refusal.describe(entry.refusal)
  if (unit === undefined || nearestIn === undefined) return undefined
  const comparison: Record<string, string> = {}
  for (const name of ["limit", "actual", "nearest"] as const) {
    const text = Number.isSafeInteger(entry[name]) ? told(entry[name], name === "nearest" ? nearestIn : unit, market) : undefined
    if (text !== undefined) comparison[name] = text
  }
  return Object.keys(comparison).length === 0 ? undefined : comparison
}

/** The native envelope, as a value. */
export const envelope = (failure: Failure, requestId: string, atEpochMs: number): object => {
  const { description } = failure
  return {
    version: "external-rest-error/v1",
    requestId,
    code: description.code,
    safeMessage: failure.message ?? description.safeMessage,
    retryable: description.retryable,
    recoveryActions: description.recoveryActions,
    occurredAtEpochMs: atEpochMs,
    ...(description.realtimeTicketFailure === undefined ? undefined : { realtimeTicketFailure: description.realtimeTicketFailure }),
    ...(description.apiKeyRejection === undefined ? undefined : { apiKeyRejection: description.apiKeyRejection }),
    ...(description.withdrawalFailure === undefined ? undefined : { withdrawalFailure: description.withdrawalFailure }),
    ...(description.dependency === undefined ? undefined : { dependency: description.dependency }),
    ...(description.guard === undefined ? undefined : { rejectionGuard: description.guard }),
    ...failure.comparison
  }
}

/** Seconds after which a request that met a limit may be repeated: remembered decisions expire minute by minute. */
const retryMinuteSeconds = 60

/** The headers of a failure's response. */
export const headersOf = (
  { description, headers, retryAfterSeconds = retryMinuteSeconds }: Failure
): Readonly<Record<string, string>> | undefined =>
  description.status === 429 ? { "retry-after": String(retryAfterSeconds), ...headers } : headers

/** How long an answer asks its client to wait, for frames of the stream, which have no headers; undefined where it does not. */
export const waitSecondsOf = (headers: Readonly<Record<string, string>> | undefined): number | undefined => {
  const seconds = headers?.["retry-after"]
  return seconds === undefined ? undefined : Number(seconds)
}

/** The envelope's JSON. `atEpochMs` is the decision's time for a remembered decision, otherwise now. */
export const body = (family: Family, failure: Failure, requestId: string, atEpochMs: number): string => {
  const info = envelope(failure, requestId, atEpochMs)
  if (family === "native") return JSON.stringify(info)
  const { description } = failure
  return JSON.stringify({
    name: description.compatName,
    message: failure.message ?? description.safeMessage,
    code: description.code,
    retryable: description.retryable,
    timestamp: atEpochMs,
    datetime: isoTime(atEpochMs),
    info
  })
}

/** The whole response for a failure. `headers` join the usual ones. */
export const response = (
  family: Family,
  failure: Failure,
  requestId: string,
  atEpochMs: number,
  headers?: Readonly<Record<string, string>>
): Response => {
  assert(failure.description.status >= 400, "a failure has an error status")
  return {
    status: failure.description.status,
    headers: { "content-type": "application/json", "x-request-id": requestId, ...Protection.unkept, ...headers },
    body: body(family, failure, requestId, atEpochMs)
  }
}
