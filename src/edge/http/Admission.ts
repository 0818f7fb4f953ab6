/** Admits a call or answers it, as its endpoint declares: the one place where access is enforced, for every route. */
import { scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"
import { Principal } from "../../operations/Header.js"
import { Refusal } from "../../domain/Refusal.js"
import type { Trader } from "../../engine/Reads.js"
import * as ApiKeys from "../../identity/ApiKeys.js"
import * as Credentials from "../../identity/Credentials.js"
import type { KeyLevel, TraderLevel } from "./Access.js"
import type { Call, Services } from "./Call.js"
import { decidedAt } from "./JournalTime.js"
import * as Errors from "./Errors.js"
import * as Limiting from "./Limiting.js"
import * as Requests from "./Requests.js"

/** Who calls. */
export interface Caller {
  /** The credential that acts for an account, on routes that need one. */
  readonly trader: Trader | undefined
}

const anyone: Caller = { trader: undefined }

/** The bits of a key's scopes that a level needs. */
const scopes: Readonly<Record<TraderLevel | KeyLevel, number>> = { key: 0, key_read: scopeRead, read: scopeRead, trade: scopeTrade }

/** Notes the use of a key through one of its tickets, like any other use, so that its owner sees when and from where. */
export const noteUse = ({ keyUses, now, state }: Services, apiKey: number, address: string): void => {
  const key = state.apiKey(apiKey)
  if (key !== undefined) keyUses.note(key, address, now())
}

/** The credential's holder, if the credential may act now; otherwise why not. */
const identify = ({ request, services }: Call): Trader | Credentials.Rejection =>
  request.ticketOf === undefined
    ? Credentials.identify(request.headers["authorization"], services.state, services.tokens, decidedAt(services))
    : ApiKeys.standing(services.state.apiKey(request.ticketOf.apiKey), decidedAt(services))

/**
 * Counts a call against its trader's limit, and notes the use of the key. Returns whether the call is admitted; otherwise it has
 * been answered.
 */
const letIn = (call: Call, trader: Trader): boolean => {
  if (!Limiting.ofTrader(call, trader)) return false
  const { keyUses, now } = call.services
  if (trader.principal === Principal.key) keyUses.note(trader, call.remoteAddress, now())
  return true
}

/** The failure for a credential that may not act. */
const rejected = (call: Call, rejection: Credentials.Rejection): Errors.Failure =>
  rejection === "session_ended"
    ? Errors.refused(Refusal.sessionEnded)
    : rejection === "malformed" && ApiKeys.bearerToken(call.request.headers["authorization"] ?? "") === undefined
    ? Errors.bearerMissing
    : Errors.keyRejected(rejection)

/** Why an admitted call would not be admitted any more: for answers that are given after a while. */
export const outBy = (call: Call): Errors.Failure | undefined => {
  const trader = identify(call)
  return typeof trader === "string" ? rejected(call, trader) : undefined
}

/** The credential's holder; undefined when the call was answered. */
const identified = (call: Call): Trader | undefined => {
  const trader = identify(call)
  if (typeof trader !== "string") return letIn(call, trader) ? trader : undefined
  // Calls with invalid credentials are limited by address like those without any, which slows down guessing.
  if (!Limiting.ofAddress(call)) return undefined
  const failure = rejected(call, trader)
  // This failure was not derived from the state, so it need not wait for anything to be durable.
  if (trader === "missing" || trader === "malformed") call.fail(failure)
  else call.failDurably(failure)
  return undefined
}

const withTrader = (call: Call, level: TraderLevel | KeyLevel): Caller | undefined => {
  const trader = identified(call)
  if (trader === undefined) return undefined
  // The owner's session has every scope.
  if (trader.principal === Principal.session) {
    if (level === "read" || level === "trade") return { trader }
    call.failDurably(Errors.keyNeeded)
    return undefined
  }
  const scope = scopes[level]
  if ((trader.scopes & scope) === scope) return { trader }
  call.failDurably(Errors.refused(Refusal.keyScopeMissing))
  return undefined
}

/** No API key is accepted here: what belongs to the owner requires a passkey. */
const owner = (call: Call): Caller | undefined => {
  if ((call.request.headers["authorization"] ?? "") === "") {
    if (Limiting.ofAddress(call)) call.fail(Errors.signInNeeded)
    return undefined
  }
  const trader = identified(call)
  if (trader === undefined) return undefined
  if (trader.principal === Principal.session) return { trader }
  call.failDurably(Errors.passkeyRequired)
  return undefined
}

/** The reader identified by the credential, if any; an invalid one identifies nobody. */
const reader = (call: Call): Caller | undefined => {
  const trader = identify(call)
  if (typeof trader === "string") return Limiting.ofAddress(call) ? anyone : undefined
  if (!letIn(call, trader)) return undefined
  return trader.principal === Principal.session || (trader.scopes & scopeRead) !== 0 ? { trader } : anyone
}

const operator = (call: Call): Caller | undefined => {
  const { operatorToken } = call.services
  if (operatorToken === undefined) {
    call.fail(Errors.routeNotFound)
    return undefined
  }
  const token = ApiKeys.bearerToken(call.request.headers["authorization"] ?? "")
  if (token === undefined || !ApiKeys.equalConstantTime(ApiKeys.digest(token), ApiKeys.digest(operatorToken))) {
    if (Limiting.ofAddress(call)) call.fail(Errors.operatorRejected)
    return undefined
  }
  return anyone
}

/** The longest body that is looked at before it is known whether the request may proceed: a ticket's has less than a hundred bytes. */
const longestTicketBody = 256

/** The key of the ticket that a request shows; undefined where the ticket is not the venue's, or its family has ended. */
const shownKey = ({ request, services }: Call): number | undefined => {
  const { identity: { tickets }, state } = services
  if (request.body.byteLength > longestTicketBody) return undefined
  const body = Requests.json(request)
  if (Requests.isFailure(body) || typeof body.value !== "object" || body.value === null || !("ticket" in body.value)) return undefined
  const { ticket } = body.value
  const place = typeof ticket === "string" ? tickets.verify(state, ticket) : undefined
  const family = place === undefined ? undefined : state.findTicketFamily(place.family)
  if (family === undefined || family.isEnded) return undefined
  const key = ApiKeys.standing(state.apiKey(family.apiKey), decidedAt(services))
  return typeof key === "string" ? undefined : key.credential
}

/** Whether a call that needs no credential may proceed; otherwise it has been answered. */
const isLetIn = (call: Call): boolean => {
  switch (call.endpoint.budget) {
    case "none":
      return true
    case "ticket":
      return Limiting.ofTicket(call, () => shownKey(call))
    case "metrics":
      return Limiting.ofMetrics(call)
    default:
      return Limiting.ofAddress(call)
  }
}

/** The caller, if admitted; undefined when the call was answered. */
export const admit = (call: Call): Caller | undefined => {
  const { access } = call.endpoint
  switch (access) {
    case "system":
    case "public":
      return isLetIn(call) ? anyone : undefined
    case "key":
    case "key_read":
    case "read":
    case "trade":
      return withTrader(call, access)
    case "owner":
      return owner(call)
    case "anyone_or_owner":
      if ((call.request.headers["authorization"] ?? "") !== "") return owner(call)
      return Limiting.ofAddress(call) ? anyone : undefined
    case "anyone_or_trader":
      return reader(call)
    case "operator":
      return operator(call)
  }
}
