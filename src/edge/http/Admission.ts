/** Lets a call in or answers it, by what its endpoint declares: the one place where access is enforced, for every route. */
import { scopeRead, scopeTrade } from "../../operations/accounts/OpenDemoAccounts.js"
import { Refusal } from "../../domain/Refusal.js"
import type { ApiKeyView } from "../../engine/Reads.js"
import * as ApiKeys from "../../identity/ApiKeys.js"
import type { KeyLevel } from "./Access.js"
import type { Call } from "./Call.js"
import * as Errors from "./Errors.js"
import * as Limiting from "./Limiting.js"

/** Who calls. */
export interface Caller {
  /** The key, on routes that need one. */
  readonly key: ApiKeyView | undefined
}

const anyone: Caller = { key: undefined }

/** The bits of a key's scopes that a level needs. */
const scopes: Readonly<Record<KeyLevel, number>> = { key: 0, read: scopeRead, trade: scopeTrade }

const withKey = (call: Call, level: KeyLevel): Caller | undefined => {
  const { now, state, tokens } = call.services
  const key = ApiKeys.identify(call.request.headers["authorization"], state, tokens, now())
  if (typeof key === "string") {
    // Whoever guesses at keys is held up like anybody without one.
    if (!Limiting.ofAddress(call)) return undefined
    if (key === "missing" || key === "malformed") call.fail(Errors.keyRejected(key))
    else call.failDurably(Errors.keyRejected(key))
    return undefined
  }
  if (!Limiting.ofKey(call, key.index)) return undefined
  const scope = scopes[level]
  if ((key.scopes & scope) !== scope) {
    call.failDurably(Errors.refused(Refusal.keyScopeMissing))
    return undefined
  }
  return { key }
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
    case "read":
    case "trade":
      return withKey(call, access)
    case "operator":
      return operator(call)
  }
}
