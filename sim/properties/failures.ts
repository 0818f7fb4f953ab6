/**
 * Safety (contract). Every failure is reported as the contract specifies: one of the listed ones, with its own status, code, guard, name
 * and advice, in its family's envelope, both halves of which agree. A rate-limited client is told to come again within a minute, and one
 * that used a wrong method learns the path's methods. Request ids are unique.
 */
import * as Contract from "../../src/edge/Contract.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Funds from "../reading/Funds.js"
import * as Identity from "../reading/Identity.js"
import * as Queries from "../reading/Queries.js"
import * as Refusals from "../reading/Refusals.js"
import type { Answer, Call } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The possible names of a failure, by status, code, guard and advice: a native one has none. */
const known: ReadonlyMap<string, ReadonlySet<string>> = Refusals.all.reduce((all, { action, code, guard, name, status }) => {
  const told = `${status} ${code} ${guard} ${action}`
  return all.set(told, (all.get(told) ?? new Set<string>()).add(name))
}, new Map<string, Set<string>>())

/** Failures to be retried that are not about the venue's room. */
const waited: ReadonlySet<unknown> = new Set(["authorization_pending", "slow_down"])

/** Reads from the histories, or that continue there where the engine's memory ends. */
const histories: ReadonlySet<string> = new Set(["getCandles", "getCompatCandles", "listPositionHistory", "getOrder", "getCompatOrder",
  "listOrders", "listCompatOrders", "lookUpOutcome", "listFills", "listCompatOwnTrades", "listTrades", "listCompatTrades", "listLedger",
  "listFundingPayments"])

/** Requests that look in the histories for what the engine has forgotten, besides their main purpose. */
const looking: ReadonlySet<string> = new Set(["listSecurityEvents", "listDeposits", "getDeposit", "cancelDeposit", "confirmDeposit",
  "listWithdrawals", "getWithdrawal", "cancelWithdrawal", "confirmWithdrawal", "getLedgerParty", "cancelLedgerPartyChange",
  "confirmLedgerPartyChange"])

/** An operator's requests to the ledger. */
const ofLedger: ReadonlySet<string> = new Set(["reconcile", "fundLedgerParty", "allowWithdrawals"])

const members: ReadonlySet<string> = new Set(["version", "requestId", "code", "safeMessage", "retryable", "recoveryActions",
  "occurredAtEpochMs", "apiKeyRejection", "realtimeTicketFailure", "dependency", "withdrawalFailure", "rejectionGuard", "limit", "actual",
  "nearest"])
const compatMembers: ReadonlySet<string> = new Set(["name", "message", "code", "retryable", "timestamp", "datetime", "info"])

/** Whether a request is about a favorite, or the affiliate, of another account than the credential's. */
const namesAnother = ({ accountId, body, endpoint, method, target }: Call): boolean => {
  if (endpoint === "listPositionHistory") {
    const reading = Queries.read(target)
    return reading._tag === "query" && reading.query.account !== accountId
  }
  if (endpoint === "getAffiliate") return !target.startsWith(`/v1/accounts/${accountId}/`)
  const reading = Identity.read(method, target, body)
  return reading?.access === "trader" && reading.accountId !== accountId
}

/** Whether a request is well-formed but for its account: unknown query parameters and members of the body are checked before that. */
const isOfGoodForm = ({ body, method, target }: Call): boolean => {
  const reading = Identity.read(method, target, body)
  return !target.includes("?") && (reading === undefined || reading.wish !== undefined)
}

/** The possible reasons why a credential is refused: given for keys, never for an operator's token. */
const rejectionOf = (call: Call, code: unknown): ReadonlyArray<string | undefined> => {
  const isOperators = call.target.startsWith("/v1/operator/")
  switch (code) {
    case "unauthorized":
      if (isOperators) return [undefined]
      if (call.token === "") return ["missing"]
      // Given for a session: only that it has ended, or where a key is required.
      return call.token.startsWith("ses_") ? [undefined, "malformed"] : ["malformed", "unknown", "expired", "revoked"]
    case "scope_missing":
      return ["scope_missing"]
    case "account_not_found":
      return isOperators ? [undefined] : ["account_mismatch"]
    case "invalid_request":
      // Where a foreign account is reported as not found, this failure is about something else that is invalid.
      if (call.reading._tag === "foreign" && call.reading.statuses.includes(404)) return [undefined, "account_mismatch"]
      return call.reading._tag === "foreign" || namesAnother(call)
        ? isOfGoodForm(call) ? ["account_mismatch"] : [undefined, "account_mismatch"]
        : call.credential === "issued"
        ? [undefined, "account_mismatch"]
        : [undefined]
    default:
      return [undefined]
  }
}

/** The possible failures of a ticket; one that was not sent has only its own. */
const ticketFailures: ReadonlySet<unknown> = new Set(["invalid", "expired", "rotated", "revoked"])

const ticketFault = ({ body }: Call, { code, realtimeTicketFailure: failure }: Json): string | undefined => {
  if (code !== "realtime_ticket_rejected") return failure === undefined ? undefined : "tells of a ticket where none is at fault"
  const isRight = body.includes("\"ticket\"") ? ticketFailures.has(failure) : failure === "missing"
  return isRight ? undefined : `says ${String(failure)} of the ticket`
}

/** The dependency of an answer's failure: the named one where the route has two. */
const dependencyOf = (call: Call, { dependency }: Json): string => {
  if (histories.has(call.endpoint)) return "read_model"
  if (dependency === "read_model" && looking.has(call.endpoint)) return "read_model"
  if (call.endpoint === "issueBotKey" && dependency === "workload_issuer") return "workload_issuer"
  // Before a passkey is removed, the signer is asked from which passkeys it accepts approvals.
  const asksSigner = call.endpoint === "removePasskey"
  return (Funds.isOfFunds(call.target) || ofLedger.has(call.endpoint) || asksSigner) && dependency === "ledger" ? "ledger" : "journal"
}

const nativeFault = (call: Call, status: number, info: Json): string | undefined => {
  const { code, recoveryActions, rejectionGuard, retryable } = info
  const stranger = Object.keys(info).find((name) => !members.has(name))
  if (stranger !== undefined) return `has a member ${stranger}`
  const actions = Array.isArray(recoveryActions) ? recoveryActions : []
  if (actions.length !== 1 || !known.has(`${status} ${String(code)} ${String(rejectionGuard)} ${String(actions[0])}`)) {
    return "is none of the failures there are"
  }
  // A failure that an operator has to repair first is not to be retried, nor one that lasts until a key or a ticket is ended.
  const isLasting = status === 503 && actions[0] === "contact_operator" || rejectionGuard === "key_limit"
    || rejectionGuard === "ticket_families"
  if (retryable !== ((status === 429 || status === 503 || waited.has(code)) && !isLasting))
    return `says that it is ${retryable === true ? "" : "not "}retryable`
  if ((info["dependency"] === dependencyOf(call, info)) !== (code === "dependency_unavailable"))
    return "names a dependency where none is at fault"
  const isOfWithdrawal = code === "withdrawal_rejected" && ["requested", "approval"].includes(String(info["withdrawalFailure"]))
  if (!isOfWithdrawal && (info["withdrawalFailure"] !== undefined || code === "withdrawal_rejected"))
    return "says wrongly how far a withdrawal came"
  const ticket = ticketFault(call, info)
  if (ticket !== undefined) return ticket
  const rejections = rejectionOf(call, code)
  const rejection = info["apiKeyRejection"] as string | undefined
  return rejections.includes(rejection) ? undefined : `says ${String(rejection)} of the credential, must be ${String(rejections)}`
}

const compatFault = (status: number, json: Json, info: Json): string | undefined => {
  const [action] = info["recoveryActions"] as ReadonlyArray<string>
  const names = known.get(`${status} ${String(info["code"])} ${String(info["rejectionGuard"])} ${action}`)!
  const stranger = Object.keys(json).find((member) => !compatMembers.has(member))
  if (stranger !== undefined) return `has a member ${stranger}`
  const isSame = names.has(String(json["name"])) && json["message"] === info["safeMessage"] && json["code"] === info["code"]
    && json["retryable"] === info["retryable"] && json["timestamp"] === info["occurredAtEpochMs"]
    && json["datetime"] === new Date(Number(info["occurredAtEpochMs"])).toISOString()
  return isSame ? undefined : `is not ${[...names].join(" or ")}, or says otherwise than its info`
}

/** The contract's paths by their segments; a parameter stands for any. */
const paths = Contract.endpoints.map(({ method, path }) => ({ method, segments: path.split("/") }))

/** The methods of a target's path, sorted: GET includes HEAD. */
const methodsOf = (target: string): string => {
  const asked = target.split("?")[0]!.split("/")
  const isMet = (segment: string, at: number): boolean => segment === asked[at] || (segment.startsWith(":") && asked[at] !== "")
  const found = paths.filter(({ segments }) => segments.length === asked.length && segments.every(isMet)).map(({ method }) => method)
  return [...new Set(found.includes("GET") ? [...found, "HEAD"] : found)].sort().join(", ")
}

/** Whether a wait is valid: no client has to wait for longer than a minute. */
const isWait = (seconds: string | undefined): boolean => /^[1-9][0-9]?$/.test(seconds ?? "") && Number(seconds) <= 60

/** The first fault of an answer's headers. */
const headersFault = ({ endpoint, target }: Call, { headers, status }: Answer, info: Json): string | undefined => {
  if (headers["content-type"] !== "application/json") return `is ${headers["content-type"]}`
  if (headers["x-request-id"] !== info["requestId"]) return "has another id in its headers than in its body"
  const { allow, "retry-after": retryAfter } = headers
  // Who asks for changes where there is no room is told when to ask again, too.
  const isCrowded = endpoint === "listChanges" && status === 503 && info["code"] === "overloaded"
  if (status === 429 || isCrowded ? !isWait(retryAfter) : retryAfter !== undefined) return `says to come again after ${retryAfter} s`
  if (status !== 405) return allow === undefined ? undefined : "says which methods there are, and is not about that"
  const must = methodsOf(target)
  return allow?.split(", ").sort().join(", ") === must ? undefined : `says that there are the methods ${allow}, must be ${must}`
}

const failed = (call: Call, answer: Answer): Verdict => {
  const { json, status, text } = answer
  const isCompat = call.target.startsWith("/v2/")
  const what = `the failure ${status} of ${call.method} ${call.target}`
  if (!isObject(json) || isCompat !== isObject(json["info"])) return broken(`${what} is in no envelope of its family: ${text}`)
  const info = (isCompat ? json["info"] : json) as Json
  const fault = nativeFault(call, status, info) ?? (isCompat ? compatFault(status, json, info) : undefined)
    ?? headersFault(call, answer, info)
  return fault === undefined ? holds : broken(`${what} ${fault}: ${text}`)
}

/** Ids of answered requests. */
type State = Set<string>

export const failures: Property<State> = {
  name: "failures-are-those-of-the-contract",
  invariant: "contract",
  kind: "safety",
  initial: () => new Set(),
  observe: (ids, seen) => {
    if (seen._tag !== "Answered") return holds
    const { answer, call } = seen
    const id = answer.headers["x-request-id"]
    if (id === undefined || !/^req_[0-9a-f]{24}(?:_[1-9a-z][0-9a-z]*)?$/.test(id))
      return broken(`${call.target} is answered with the id ${String(id)}`)
    if (ids.has(id)) return broken(`${call.target} is answered with the id ${id}, which another request has`)
    ids.add(id)
    // A venue that is not ready answers with details, which is not a failure of the request.
    const isReadiness = call.endpoint === "getReadiness" && answer.status === 503 && isObject(answer.json) && "details" in answer.json
    return answer.status < 400 || isReadiness ? holds : failed(call, answer)
  }
}
