/** Lets a call in or answers it, by what its endpoint declares: the one place where access is enforced, for every route. */
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

/** Who calls. */
export interface Caller {
  /** Whoever acts for an account, on routes that need one. */
  readonly trader: Trader | undefined
}

const anyone: Caller = { trader: undefined }

/** The bits of a key's scopes that a level needs. */
const scopes: Readonly<Record<TraderLevel | KeyLevel, number>> = { key: 0, key_read: scopeRead, read: scopeRead, trade: scopeTrade }

/** Notes the use of a key by one of its tickets, which is a use like any other: its owner is to see when and from where. */
export const noteUse = ({ keyUses, now, state }: Services, apiKey: number, address: string): void => {
  const key = state.apiKey(apiKey)
  if (key !== undefined) keyUses.note(key, address, now())
}

/** Whoever the credential is of, if it may act now; otherwise why not. */
const identify = ({ request, services }: Call): Trader | Credentials.Rejection =>
  request.ticketOf === undefined
    ? Credentials.identify(request.headers["authorization"], services.state, services.tokens, decidedAt(services))
    : ApiKeys.standing(services.state.apiKey(request.ticketOf.apiKey), decidedAt(services))

/** Counts a call for whom it is of; the use of a key is noted where it is let in. Whether it is; it was answered otherwise. */
const letIn = (call: Call, trader: Trader): boolean => {
  if (!Limiting.ofTrader(call, trader)) return false
  const { keyUses, now } = call.services
  if (trader.principal === Principal.key) keyUses.note(trader, call.remoteAddress, now())
  return true
}

/** What is said of a credential that may not act. */
const rejected = (call: Call, rejection: Credentials.Rejection): Errors.Failure =>
  rejection === "session_ended"
    ? Errors.refused(Refusal.sessionEnded)
    : rejection === "malformed" && ApiKeys.bearerToken(call.request.headers["authorization"] ?? "") === undefined
    ? Errors.bearerMissing
    : Errors.keyRejected(rejection)

/** Why a call that was let in would not be let in any more: for answers that come a while after. */
export const outBy = (call: Call): Errors.Failure | undefined => {
  const { state, tokens } = call.services
  const trader = Credentials.identify(call.request.headers["authorization"], state, tokens, decidedAt(call.services))
  return typeof trader === "string" ? rejected(call, trader) : undefined
}

/** Whoever the credential is of; undefined when the call was answered. */
const identified = (call: Call): Trader | undefined => {
  const trader = identify(call)
  if (typeof trader !== "string") return letIn(call, trader) ? trader : undefined
  // Whoever guesses at credentials is held up like anybody without one.
  if (!Limiting.ofAddress(call)) return undefined
  const failure = rejected(call, trader)
  // What was not looked up in the state is no later than it.
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

/** No key ever gets here: what is an owner's is behind a passkey. */
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

/** Whoever may read by the credential that was sent; one that is not good for that says nothing of the caller. */
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

/** Who calls, if they may; undefined when the call was answered. */
export const admit = (call: Call): Caller | undefined => {
  const { access } = call.endpoint
  switch (access) {
    case "system":
    case "public":
      return call.endpoint.budget === "none" || Limiting.ofAddress(call) ? anyone : undefined
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
