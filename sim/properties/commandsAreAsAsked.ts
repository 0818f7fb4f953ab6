/**
 * Safety (I5 from the request on). Every command of a client or an operator is what a request under its key asked for, field by field, and
 * every answer is about its own request. A well-formed request is never called malformed, and a malformed one is never journaled. Another
 * request under a used key is refused as a conflict, and the same one never is, however it is spelled. Requests are told apart by the
 * fingerprints of their commands: no two different requests have the same one, under whichever keys, and equal requests always do.
 *
 * Requests are read by `sim/reading`, from their text alone, which shares nothing with the venue's edge.
 */
import { Principal } from "../../src/operations/Header.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { type Asked, familyOf, type Reading } from "../reading/Asked.js"
import * as Answers from "../reading/Answers.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Commands from "../reading/Commands.js"
import { idOf } from "../model/Shown.js"
import * as MarketRules from "../reading/MarketRules.js"
import { Markets, type Moment } from "../reading/Markets.js"
import { type Call, isLimited, type Observation, occurredAtEpochMs, refusedAtEpochMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A request under a key, read once for all calls with the same content. */
interface Request {
  readonly asked: Asked
  readonly accountId: string
  readonly body: string
  /** The markets when it was first made. */
  readonly since: Moment
  /** Whether the account that an operator's request is about, if any, existed by then. */
  readonly isAccountThere: boolean
}

/** The well-formed request of a call, and the scope of its key. */
interface Made {
  readonly request: Request
  readonly scope: string
}

/** A record of a request, with the contents of all requests that it may be of. */
interface Decided {
  readonly sequence: number
  readonly atEpochMs: number
  readonly says: ReadonlySet<string>
}

interface State {
  readonly markets: Markets
  /** Well-formed requests with a valid credential, by the call's number. */
  readonly calls: Map<number, Made>
  /** By scope of their key. */
  readonly requests: Map<string, Array<Request>>
  readonly records: Map<string, Array<Decided>>
  /** The content of requests by fingerprint, and the fingerprint by content, both by the scope without the key. */
  readonly said: Map<string, string>
  readonly fingerprints: Map<string, string>
  /** By order number. */
  readonly orders: Map<number, Answers.Placed>
  /** Every account's id, once its record is durable: none is ever removed. */
  readonly accounts: Set<string>
}

/** An account's number and the request's code with the key; -1 for the operator. */
const scopeOf = (account: number, operation: number, key: string): string => `${account}/${operation}/${key}`

/** Keys that a start uses for commands from the markets file. */
const isOfStart = (key: string): boolean => key.startsWith("bootstrap/")

/** Whether a call has the credential that its route requires. */
const isAdmitted = ({ credential }: Call): boolean => credential === "trader" || credential === "issued" || credential === "operator"

/** Whether an issued credential has ended or lacks the right: `authority` checks how that is reported. */
const isTurnedAway = ({ credential }: Call, { status, text }: Answered["answer"]): boolean =>
  credential === "issued" && (status === 401 || (status === 403 && /"code":"(?:scope_missing|passkey_required)"/.test(text)))

const isAccountThere = ({ accounts }: State, { wanted }: Asked): boolean =>
  !("accountId" in wanted) || wanted.accountId === undefined || accounts.has(wanted.accountId)

const asked = (state: State, call: Call): void => {
  const { reading } = call
  if (reading._tag !== "asked" || !isAdmitted(call)) return
  const scope = scopeOf(call.account, reading.asked.operation, call.idempotencyKey ?? "")
  const known = state.requests.get(scope) ?? []
  const same = known.filter((each) => each.asked.canonical === reading.asked.canonical)
  // Each spelling is kept, since a refusal repeats the values as sent.
  let request = same.find((each) => each.body === call.body)
  if (request === undefined) {
    const [first] = same
    request = {
      asked: reading.asked,
      accountId: call.accountId,
      body: call.body,
      since: first?.since ?? state.markets.moment(),
      isAccountThere: first?.isAccountThere ?? isAccountThere(state, reading.asked)
    }
    known.push(request)
    state.requests.set(scope, known)
  }
  state.calls.set(call.id, { request, scope })
}

/**
 * Checks that a command has its request's fingerprint. A key is seldom reused for a request that differs only in what a faulty fingerprint
 * would omit, so requests under all keys are compared.
 */
const toldApart = ({ fingerprints, said }: State, { command }: Committed["record"], { says }: Decided): string | undefined => {
  // A record that may be of several requests tells nothing.
  const [canonical, ...others] = says
  if (canonical === undefined || others.length > 0) return undefined
  const { a, b, c, d } = command.fingerprint
  const fingerprint = [a, b, c, d].join("/")
  const scope = scopeOf(command.account, command.operation, "")
  const saidBefore = said.get(scope + fingerprint)
  if (saidBefore !== undefined && saidBefore !== canonical) return `has the fingerprint of ${saidBefore} and says ${canonical}`
  const before = fingerprints.get(scope + canonical)
  if (before !== undefined && before !== fingerprint) return `says ${canonical} like one before and has another fingerprint`
  said.set(scope + fingerprint, canonical)
  fingerprints.set(scope + canonical, fingerprint)
  return undefined
}

/** The meanings that names of markets may have had since a request was first made. */
const meaning = ({ markets }: State, { asked, since }: Request): Commands.Find => (name) => markets.meanings(name, familyOf(asked), since)

type Committed = Observation & { readonly _tag: "Committed" }

const committed = (state: State, { decision: { outcomes }, model, record }: Committed): Verdict => {
  const { command, sequence } = record
  for (let known = state.accounts.size; known < model.accounts.length; known++) state.accounts.add(idOf("acc", model.accounts[known]!.born))
  const isKeyless = Commands.isOfIdentity(command) || Commands.isOfTickets(command) || Commands.isOfFunds(command)
    || command.kind === "SetFavorite"
    || command.kind === "RegisterAffiliate"
    || command.kind === "ArmConnection"
  const isOutside = !isKeyless && (command.principal === Principal.key || command.principal === Principal.session)
    || (command.principal === Principal.operator && !isOfStart(command.idempotencyKey))
  const isDone = outcomes[0]?.refusal === Refusal.none
  if (isOutside) {
    const what = `record ${sequence}, ${command.kind} under key ${command.idempotencyKey},`
    if (!Commands.isAskedFor(command)) return broken(`${what} is of a kind that no request asks for`)
    const scope = scopeOf(command.account, command.operation, command.idempotencyKey)
    const requests = state.requests.get(scope) ?? []
    let said = "was asked for by no request"
    const of = requests.filter((request) => {
      const accountOf = (id: string) => model.accounts.findIndex(({ born }) => idOf("acc", born) === id)
      const difference = Commands.difference(request.asked, command, meaning(state, request), accountOf)
      if (difference !== undefined) said = difference
      return difference === undefined
    })
    if (of.length === 0) return broken(`${what} ${said}`)
    const decided = { sequence, atEpochMs: record.atEpochMs, says: new Set(of.map((request) => request.asked.canonical)) }
    const alike = toldApart(state, record, decided)
    if (alike !== undefined) return broken(`${what} ${alike}`)
    const before = state.records.get(scope)
    if (before === undefined) state.records.set(scope, [decided])
    else before.push(decided)
    placed(state, of[0]!, outcomes)
  }
  if (isDone) state.markets.done(command)
  return holds
}

/** Notes the orders that a request placed or changed. */
const placed = (
  { markets, orders }: State,
  { accountId, asked: { wanted } }: Request,
  outcomes: Committed["decision"]["outcomes"]
): void => {
  if (wanted.kind !== "PlaceOrders" && wanted.kind !== "AmendOrder") return
  for (let index = 0; index < outcomes.length; index++) {
    const { orderNumber, refusal } = outcomes[index]!
    if (refusal !== Refusal.none) continue
    if (wanted.kind === "AmendOrder") orders.get(orderNumber)!.amended = true
    else {
      const order = wanted.orders[index]!
      orders.set(orderNumber, { order, place: markets.find(order.market, wanted.family)!, accountId, amended: false })
    }
  }
}

// ---- answers

type Answered = Observation & { readonly _tag: "Answered" }

/** The status of a malformed request. Anything that the venue cannot take at the moment is 503, whoever asks. */
const refusals: Readonly<Record<Exclude<Reading["_tag"], "asked" | "other" | "foreign" | "nowhere">, number>> = {
  malformed: 400,
  notJson: 415,
  tooLarge: 413,
  unsupported: 501
}

/** Answers to a well-formed request that was not decided. */
const undecided: ReadonlySet<number> = new Set([401, 429, 503])

const refusedWhole = (call: Call, answer: Answered["answer"]): Verdict => {
  const { reading } = call
  const { status, text } = answer
  if (reading._tag === "asked" || reading._tag === "other") return holds
  // A request beyond its limit, or before the venue is ready, is not examined. An unknown route is reported even where nothing else is
  // accepted.
  if (isLimited(answer)) return holds
  if (status === 503 && (reading._tag !== "nowhere" || text.includes("\"starting\""))) return holds
  const may = reading._tag === "foreign"
    ? reading.statuses.includes(status)
    : status === (reading._tag === "nowhere" ? reading.status : refusals[reading._tag])
  return may ? holds : broken(`${call.target} with ${call.body} is ${reading._tag} by the contract, and is answered ${status}: ${text}`)
}

const nativeOf = (json: unknown): Json => {
  if (!isObject(json)) return {}
  return isObject(json["info"]) ? json["info"] : json
}

/** Commands that may be refused as invalid because of their effect. */
const mattersOf: ReadonlySet<string> = new Set(["PutMarket", "SetMarketStatus", "SetIndexPrice", "DelistMarket", "OpenDemoAccounts",
  "AddToFund", "CreditAccount"])

/** Whether an account, market or order named by an operator is reported as missing; for a possible order id, a record says so. */
const isNotThere = (request: Request, decided: Decided | undefined, code: unknown, find: Commands.Find): boolean => {
  const { asked: { wanted }, isAccountThere } = request
  if (code === "account_not_found") return !isAccountThere
  if (wanted.kind !== "CancelByOperator") return false
  if (code === "market_not_found") return wanted.market !== undefined && find(wanted.market).includes(undefined)
  return code === "not_found" && wanted.orderId !== undefined && (decided !== undefined || Commands.numberOf(wanted.orderId) < 0)
}

/** Whether a 400 or 404 comes from a decision, or from the named market, and not from the request's form. */
const isRefusalOfMatter = (state: State, request: Request, decided: Decided | undefined, json: unknown): boolean => {
  const { asked } = request
  const { code, rejectionGuard } = nativeOf(json)
  if (rejectionGuard === "expiry_passed") return decided !== undefined
  const find = meaning(state, request)
  if (Commands.mayBeMalformed(asked, find)) return true
  const { wanted } = asked
  if (wanted.kind === "SetMarketStatus" || wanted.kind === "DelistMarket")
    return decided !== undefined || find(wanted.market).includes(undefined)
  // Parameters that break a rule between them put no market, and need no record to be refused.
  if (wanted.kind === "PutMarket" && !MarketRules.isSound(wanted.parameters)) return true
  // Another underlying at once is refused before a record where anybody has a position, and so are higher fees.
  if (wanted.kind === "PutMarket" && rejectionGuard === "notice_required" && wanted.effectiveAtEpochMs === 0) return true
  // Withdrawals are not let go on over what a comparison with the ledger finds lacking; another property checks whether anything was.
  if (wanted.kind === "AllowWithdrawals") return rejectionGuard === "shortfall_not_accepted" || rejectionGuard === "stopped_meanwhile"
  // An invalid token has a guard of its own; another property checks that, and the same for missing keys.
  if (wanted.kind === "IssueBotKey") return code !== "invalid_request" || rejectionGuard !== undefined
  if (wanted.kind === "RevokeKeyByOperator") return code === "not_found"
  if (wanted.kind === "CancelByOperator" || wanted.kind === "SetAccountFlags") return isNotThere(request, decided, code, find)
  if (wanted.kind === "CreditAccount" && code === "account_not_found") return isNotThere(request, decided, code, find)
  // A request that breaks a market's rules or the venue's totals is an operator's, and decided.
  return decided !== undefined && (code !== "invalid_request" || mattersOf.has(wanted.kind))
}

/** The subject of a 409: another body under the key, a fenced identity, or a decision. */
const conflictOf = (json: unknown): "body" | "fence" | "decision" => {
  const { code, rejectionGuard } = nativeOf(json)
  if (code !== "idempotency_key_conflict") return "decision"
  return rejectionGuard === undefined ? "body" : rejectionGuard === "fenced" ? "fence" : "decision"
}

/** Checks an answer to a well-formed request against what its key was used for. */
const answeredGood = (state: State, { answer, call, memory, model }: Answered, request: Request, scope: string): Verdict => {
  const { json, status, text } = answer
  const { asked } = request
  if (undecided.has(status)) return holds
  const what = `${call.target} with ${call.body} under key ${call.idempotencyKey}`
  const records = state.records.get(scope) ?? []
  const own = records.filter((record) => record.says.has(asked.canonical))
  const said = `is answered ${status}: ${text}`
  const conflict = status === 409 ? conflictOf(json) : undefined
  // A key that was fenced before any request has no record, and no answer names one.
  if (conflict === "fence" && own.length === 0) return holds
  if (conflict === "body") {
    // A refusal waits until the record that it is about is durable.
    if (records.length === 0 && !isOfStart(call.idempotencyKey ?? "")) return broken(`${what}, which was used for nothing, ${said}`)
    // The network delivers an answer late, and a request twice: a decision after the refusal is not the refusal's subject. With a clock
    // that was set back, a refusal has an earlier time than previous records: it may be about any record with a later time.
    const refusedAt = occurredAtEpochMs(answer)
    const last = records.findLastIndex(({ atEpochMs }) => atEpochMs <= refusedAt)
    const isOnlyOwn = last >= 0 && records.slice(last).every(({ says }) => says.size === 1 && says.has(asked.canonical))
    const isKept = memory !== undefined && model.isRemembered(memory, refusedAtEpochMs(answer, model))
    return isOnlyOwn && isKept ? broken(`${what} is what the key was used for, and ${said}`) : holds
  }
  if (status === 400 || status === 404) {
    return isRefusalOfMatter(state, request, own.at(-1), json) ? holds : broken(`${what} is a good request, and ${said}`)
  }
  if (status !== 200 && status !== 403 && status !== 409 && status !== 422) return broken(`${what} is a good request, and ${said}`)
  if (own.length === 0) return broken(`${what}, which nothing was decided for, ${said}`)
  const asking = {
    accountId: request.accountId,
    idempotencyKey: call.idempotencyKey ?? "",
    find: (name: string) => state.markets.find(name, familyOf(asked))
  }
  const difference = status === 200
    ? Answers.difference(asked, json, asking)
    : Answers.refusedOtherwise(asked, nativeOf(json), asking)
  return difference === undefined ? holds : broken(`${what} ${said}: ${difference}`)
}

// ---- reads

/** The orders in answers to reads. */
const shown = (endpoint: string, json: unknown): ReadonlyArray<unknown> => {
  switch (endpoint) {
    case "getOrder":
    case "getCompatOrder":
    case "amendOrder":
    case "cancelCompatOrder":
      return [json]
    case "listOrders":
      return isObject(json) && Array.isArray(json["orders"]) ? json["orders"] : []
    case "listCompatOrders":
      return Array.isArray(json) ? json : []
    case "lookUpOutcome":
      return isObject(json) && json["order"] !== undefined ? [json["order"]] : []
    default:
      return []
  }
}

const ordersAreShown = ({ orders }: State, call: Call, json: unknown): Verdict => {
  for (const each of shown(call.endpoint, json)) {
    if (!isObject(each)) return broken(`${call.target} shows ${JSON.stringify(each)}`)
    const id = String(each["orderId"] ?? each["id"])
    const order = orders.get(Commands.numberOf(id))
    if (order === undefined) return broken(`${call.target} shows ${id}, which nobody asked for`)
    const difference = Answers.shownOtherwise(id, each, order)
    if (difference !== undefined) return broken(`${call.target}: ${difference}`)
  }
  return holds
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer, call } = seen
  const made = state.calls.get(call.id)
  if (isTurnedAway(call, answer)) return holds
  if (isAdmitted(call)) {
    const verdict = made === undefined ? refusedWhole(call, answer) : answeredGood(state, seen, made.request, made.scope)
    if (verdict !== undefined) return verdict
  } else if (call.reading._tag === "asked" && answer.status !== 401 && answer.status !== 503 && !isLimited(answer)) {
    return broken(`${call.target} without a good credential is answered ${answer.status}: ${answer.text}`)
  }
  return answer.status === 200 ? ordersAreShown(state, call, answer.json) : holds
}

export const commandsAreAsAsked: Property<State> = {
  name: "commands-and-answers-are-as-asked",
  invariant: "I5",
  kind: "safety",
  initial: () => ({
    markets: new Markets(),
    calls: new Map(),
    requests: new Map(),
    records: new Map(),
    said: new Map(),
    fingerprints: new Map(),
    orders: new Map(),
    accounts: new Set()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked":
        if (!state.calls.has(seen.call.id)) asked(state, seen.call)
        return holds
      case "Committed":
        return committed(state, seen)
      case "Answered":
        return answered(state, seen)
      case "AnsweredOver":
        return answered(state, seen.answered)
      default:
        return holds
    }
  }
}
