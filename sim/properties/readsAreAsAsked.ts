/**
 * Safety (contract, I19). A read is answered as the contract says: a well-formed one with a valid credential is never refused, a malformed
 * one always is, with its own failure, and a request for something that is another's, or does not exist, discloses nothing more. A listing
 * has exactly what its filters, its limit and its cursor select, and has a cursor where there is more: checked in full where nothing in
 * the list has changed between the question and the answer.
 */
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { NaiveFill, NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { idOf } from "../model/Shown.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { numberOf } from "../reading/Commands.js"
import { Markets, type Meanings, type Moment } from "../reading/Markets.js"
import * as Funds from "../reading/Funds.js"
import * as Identity from "../reading/Identity.js"
import * as Queries from "../reading/Queries.js"
import { type Call, isLimited, type Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The state when a read was sent. */
interface Before {
  readonly markets: Moment
  /** The last record of its account, and the number of trades. */
  readonly lastSequence: number
  readonly trades: number
}

interface State {
  readonly markets: Markets
  /** Whether accounts may be affiliates: otherwise there is no such route. */
  affiliates: boolean
  /** Undefined before the first record. */
  model: NaiveVenue | undefined
  /** By call and attempt. */
  readonly asked: Map<string, Before>
}

type Answered = Observation & { readonly _tag: "Answered" }

interface Expected {
  readonly status: number
  readonly code?: string
  readonly action?: string
}

const good: Expected = { status: 200 }
const invalid: Expected = { status: 400, code: "invalid_request", action: "fix_request" }
const stale: Expected = { status: 400, code: "invalid_request", action: "restart_from_first_page" }
/** No session of the index stream is open. */
const noSession: Expected = { status: 409, code: "index_stream_conflict" }
const elsewhere: Expected = { status: 400, code: "invalid_request", action: "refresh_state" }
const crowded: Expected = { status: 429, code: "rate_limited" }
const notAvailable: Expected = { status: 400, code: "operation_not_available", action: "none" }
const unauthorized: Expected = { status: 401, code: "unauthorized" }
const noAccount: Expected = { status: 404, code: "account_not_found" }
const noMarket: Expected = { status: 404, code: "market_not_found" }
const noOrder: Expected = { status: 404, code: "not_found" }
const noRoute: Expected = { status: 404, code: "route_not_found" }

/** Whether an order was ever the account's: one that the engine has forgotten is answered all the same. */
const isOwn = (model: NaiveVenue, account: number, number: number): boolean => model.orders.get(number)?.account === account

/** All possible answers to a read of an order. */
const ofOrder = (call: Call, { order, query }: Queries.Query, model: NaiveVenue): ReadonlyArray<Expected> => {
  const number = numberOf(order!)
  const symbol = query.get("symbol")
  const { baseAsset, quoteAsset, settlementAsset } = model.markets[model.orders.get(number)?.market ?? 0]!.parameters
  const isOther = symbol !== undefined && symbol !== `${baseAsset}/${quoteAsset}:${settlementAsset}`
  return [isOwn(model, call.account, number) && !isOther ? good : noOrder]
}

/** All possible answers to a cursor. */
const ofCursor = (call: Call, kind: Queries.Listed, cursor: string, window: string, model: NaiveVenue): ReadonlyArray<Expected> => {
  // A board is dropped after a while.
  if (kind === "board") return Queries.rankOf(cursor)?.window === window ? [good, stale] : [stale]
  if (kind === "episodes") return [Queries.episodeOf(cursor) === undefined ? stale : good]
  if (kind === "entries" || kind === "payments") return [Queries.placeOf(kind, cursor) === undefined ? stale : good]
  const before = Queries.numberOf(kind, cursor)
  if (before === undefined) return [stale]
  if (kind !== "orders") return [good]
  return [isOwn(model, call.account, before) ? good : stale]
}

/** All possible answers to a read, whatever the venue's state; in the order in which things are checked. */
const mayBe = (
  call: Call,
  reading: Queries.Reading,
  meanings: Meanings,
  { affiliates, model }: { readonly affiliates: boolean; readonly model: NaiveVenue }
): ReadonlyArray<Expected> => {
  if (reading._tag === "nowhere") return [noRoute]
  const isAffiliates = (reading._tag === "query" ? reading.query.endpoint : reading.endpoint) === "getAffiliate"
  if (isAffiliates && !affiliates) return [noRoute]
  const access = reading._tag === "query" ? reading.query.access : reading.access
  if (access === "key" && call.credential !== "trader" && call.credential !== "issued") return [unauthorized]
  if (access === "operator" && call.credential !== "operator") return [unauthorized]
  if (reading._tag === "malformed") return [invalid]
  const { query } = reading
  // On the contract's own routes another account is a malformed request; on additional ones it is not found.
  if (query.account !== undefined && query.account !== call.accountId) return [query.kind === "episodes" ? invalid : noAccount]
  if (query.query.get("series") === "mark") return [notAvailable]
  // Records decided by another version cannot be replayed.
  if (query.endpoint === "listChanges") return [good, elsewhere, crowded]
  // The route does not exist where the venue gets its index prices otherwise, and before a session is opened there is none.
  if (query.endpoint === "getIndexStream") return [good, notAvailable, noSession]
  // A report is kept only for sequences that were requested recently.
  if (query.endpoint === "getSolvency" || query.endpoint === "getSolvencyProof")
    return query.query.has("sequence")
      ? [good, noOrder]
      : [good]
  if (query.order !== undefined) return ofOrder(call, query, model)
  if (query.endpoint === "lookUpOutcome") return query.query.size === 1 ? [good] : [invalid]
  // An operator also sees markets that are not listed yet.
  const isKnown = (place: Meanings[number]): boolean => query.access === "operator" ? place !== undefined : place?.listed === true
  const found = meanings.some(isKnown)
  const missing = !meanings.every(isKnown)
  const cursor = query.query.get("cursor")
  const within = cursor === undefined ? [good] : ofCursor(call, query.kind!, cursor, query.query.get("window") ?? "daily", model)
  if (query.market === undefined) return within
  return [...(missing ? [noMarket] : []), ...(found ? within : [])]
}

const failureOf = (json: unknown): Json => !isObject(json) ? {} : isObject(json["info"]) ? json["info"] : json

const isAnswered = ({ answer }: Answered, { action, code, status }: Expected): boolean => {
  if (answer.status !== status) return false
  if (status === 200) return true
  const failure = failureOf(answer.json)
  const actions = failure["recoveryActions"]
  return failure["code"] === code && (action === undefined || (Array.isArray(actions) && actions[0] === action))
}

// ---- listings

/** A listing that is compared in full. */
interface Listing<A> {
  readonly all: ReadonlyArray<A>
  readonly idOf: (one: A) => string
  readonly limit: number
}

/** Compares the shown entries with a listing; returns the remaining entries after the last one shown. */
const walk = <A>(shown: ReadonlyArray<unknown>, { all, idOf: name, limit }: Listing<A>): Verdict | ReadonlyArray<A> => {
  if (shown.length > limit) return broken(`shows ${shown.length}, and asked for were ${limit}`)
  for (const [at, id] of shown.entries()) {
    if (at >= all.length) return broken(`shows ${String(id)} where it is not to be`)
    if (name(all[at]!) !== id) return broken(`shows ${String(id)} where ${name(all[at]!)} is to be`)
  }
  const left = all.slice(shown.length)
  const missing = shown.length < limit ? left[0] : undefined
  return missing === undefined ? left : broken(`leaves out ${name(missing)}`)
}

/** Checks that the cursor of the next page exists exactly where there is more, and continues after the last entry shown. */
const nextFault = (json: Json, kind: Queries.Kind, last: number | undefined, isMore: boolean): Verdict => {
  const next = json["nextCursor"]
  if (next === null) return isMore ? broken("has no next page, and there is more") : holds
  if (!isMore) return broken("goes on, and there is no more")
  return last !== undefined && next === Queries.cursorOf(kind, last) ? holds : broken("goes on elsewhere than behind its last entry")
}

const idsOf = (items: unknown, member: string): ReadonlyArray<unknown> =>
  Array.isArray(items) ? items.map((item) => isObject(item) ? item[member] : undefined) : []

const marketIndex = (markets: Markets, { family, market }: Queries.Query): number | undefined =>
  market === undefined ? undefined : markets.find(market, family)?.index

interface Read {
  readonly call: Call
  readonly json: unknown
  readonly query: Queries.Query
  readonly model: NaiveVenue
  /** Undefined: of every market. */
  readonly market: number | undefined
  /** The number of the venue's trades when it was read. */
  readonly trades: number
}

/** Those of some fills that were readable then: the engine keeps the latest, and all of these are listed. */
const readable = ({ trades }: Read, fills: ReadonlyArray<NaiveFill>): ReadonlyArray<NaiveFill> =>
  fills.filter(({ ordinal }) => ordinal < trades)

/** An account's orders that pass the filters, oldest first. */
const filtered = ({ call, market, model, query: { query } }: Read): ReadonlyArray<NaiveOrder> => {
  const status = query.get("status")
  return model.accounts[call.account]!.placed.filter((order) =>
    (market === undefined || order.market === market) && (status === undefined || Order.statuses[order.status] === status)
  )
}

const nativeOrders = (read: Read): Verdict => {
  const { call, json, model, query: { query } } = read
  const cursor = query.get("cursor")
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : Queries.numberOf("orders", cursor)!
  const limit = Number(query.get("limit") ?? 50)
  const all = filtered(read).filter((order) => order.number < before).toReversed()
  const shown = idsOf((json as Json)["orders"], "orderId")
  const left = walk(shown, { all, idOf: (order) => idOf("ord", order.number), limit })
  if (typeof left === "string" || left === undefined) return left
  const last = shown.length === 0 ? undefined : numberOf(String(shown.at(-1)))
  // A page has a cursor while there is any older order of the account; for open orders, only while there is an older open one.
  const older = query.get("status") === "open"
    ? left
    : model.accounts[call.account]!.placed.filter((order) => last !== undefined && order.number < last)
  const isFull = shown.length === limit
  return nextFault(json as Json, "orders", last, isFull && older.length > 0)
}

const fillPage = (read: Read, kind: "fills" | "trades", made: ReadonlyArray<NaiveFill>): Verdict => {
  const { json, query: { query } } = read
  const cursor = query.get("cursor")
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : Queries.numberOf(kind, cursor)!
  const limit = Number(query.get("limit") ?? 50)
  const all = readable(read, made).filter((fill) => fill.ordinal < before).toReversed()
  const shown = idsOf((json as Json)[kind], "tradeId")
  const left = walk(shown, { all, idOf: (fill) => idOf("trd", fill.ordinal), limit })
  if (typeof left === "string" || left === undefined) return left
  return nextFault(json as Json, kind, all[shown.length - 1]?.ordinal, left.length > 0)
}

/** The first `limit` since a time, or the latest; oldest first. */
const sinceVerdict = <A>(
  read: Read,
  made: ReadonlyArray<A>,
  timeOf: (one: A) => number,
  listing: Omit<Listing<A>, "all" | "limit">
): Verdict => {
  const { json, query: { query } } = read
  const since = query.get("since")
  const limit = Number(query.get("limit") ?? 100)
  const shown = idsOf(json, "id")
  const left = since === undefined
    ? walk(shown.toReversed(), { ...listing, all: made.toReversed(), limit })
    : walk(shown, { ...listing, all: made.filter((one) => timeOf(one) >= Number(since)), limit })
  return typeof left === "string" ? left : holds
}

const fillListing = { idOf: (fill: NaiveFill) => idOf("trd", fill.ordinal) }
const fillTime = (fill: NaiveFill): number => fill.atEpochMs

const ownFills = ({ call, market, model }: Read): ReadonlyArray<NaiveFill> =>
  model.fillsOf(call.account).filter((fill) => market === undefined || fill.market === market)

const positionsVerdict = ({ call, json, market, model, query: { family } }: Read): Verdict => {
  const held = model.markets.filter(({ index }) =>
    model.accounts[call.account]!.positions.has(index) && (market === undefined || index === market)
  )
  const [items, member] = family === "compat" ? [json, "symbol"] : [(json as Json)["positions"], "marketId"]
  const names = held.map(({ parameters: { baseAsset, marketId, quoteAsset, settlementAsset } }) =>
    family === "compat" ? `${baseAsset}/${quoteAsset}:${settlementAsset}` : marketId
  )
  const shown = idsOf(items, member)
  return shown.join() === names.join() ? holds : broken(`shows positions in ${shown.join()}, held are ${names.join()}`)
}

/** Listings of an account's entries, and of a market's. */
const own: Readonly<Record<string, (read: Read) => Verdict>> = {
  listOrders: nativeOrders,
  listPositions: positionsVerdict,
  listCompatPositions: positionsVerdict,
  listCompatOrders: (read) =>
    sinceVerdict(read, filtered(read), (order) => order.createdAtEpochMs, {
      idOf: (order) => idOf("ord", order.number)
    })
}
const traded: Readonly<Record<string, (read: Read) => Verdict>> = {
  listFills: (read) => fillPage(read, "fills", ownFills(read)),
  listTrades: (read) => fillPage(read, "trades", read.model.markets[read.market!]!.trades),
  listCompatOwnTrades: (read) => sinceVerdict(read, readable(read, ownFills(read)), fillTime, fillListing),
  listCompatTrades: (read) => sinceVerdict(read, readable(read, read.model.markets[read.market!]!.trades), fillTime, fillListing)
}

/** Checks a listing of trades against the moments at which it may have been read. */
const tradedVerdict = (read: Read, before: Before, verdictOf: (read: Read) => Verdict): Verdict => {
  let said: Verdict
  for (let trades = read.trades; trades >= before.trades; trades--) {
    const verdict = verdictOf({ ...read, trades })
    if (verdict === undefined) return holds
    said ??= verdict
  }
  return said
}

const contents = (read: Read, before: Before): Verdict => {
  const { call, model, query: { endpoint } } = read
  if (own[endpoint] !== undefined) {
    return model.accounts[call.account]?.lastSequence === before.lastSequence ? own[endpoint](read) : holds
  }
  return traded[endpoint] === undefined ? holds : tradedVerdict(read, before, traded[endpoint])
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer, attempt, call, model } = seen
  const before = state.asked.get(`${call.id}/${attempt}`)
  state.asked.delete(`${call.id}/${attempt}`)
  // A venue that is not ready answers only about its readiness, and a rate-limited client gets no other answer.
  if (before === undefined || answer.status === 503 || isLimited(answer)) return holds
  // Issued credentials that may have ended, and reads for owners only, are checked by other properties.
  if (call.credential === "issued" && (answer.status === 401 || answer.status === 403)) return holds
  if (Identity.read(call.method, call.target, call.body) !== undefined || Funds.isOfFunds(call.target)) return holds
  const reading = Queries.read(call.target)
  const query = reading._tag === "query" ? reading.query : undefined
  const meanings = query?.market === undefined ? [] : state.markets.meanings(query.market, query.family, before.markets)
  const expected = mayBe(call, reading, meanings, { affiliates: state.affiliates, model })
  const what = `${call.target} of ${call.client}`
  if (!expected.some((each) => isAnswered(seen, each))) {
    const said = expected.map(({ action = "", code = "", status }) => `${status} ${code} ${action}`.trim()).join(" or ")
    return broken(`${what} is answered ${answer.status}, must be ${said}: ${answer.text.slice(0, 400)}`)
  }
  if (query === undefined || answer.status !== 200 || query.access === "system") return holds
  const said = contents({ call, json: answer.json, query, model, market: marketIndex(state.markets, query), trades: model.trades.length },
    before)
  return said === undefined ? holds : broken(`${what} ${said}: ${answer.text.slice(0, 400)}`)
}

export const readsAreAsAsked: Property<State> = {
  name: "reads-are-as-asked",
  invariant: "contract",
  kind: "safety",
  initial: () => ({ markets: new Markets(), affiliates: false, model: undefined, asked: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.affiliates = seen.set.affiliates
        return holds
      case "Committed":
        state.model = seen.model
        if (seen.decision.outcomes[0]?.refusal === Refusal.none) state.markets.done(seen.record.command)
        return holds
      case "Asked": {
        if (seen.call.method !== "GET" || state.model === undefined) return holds
        const { accounts, trades } = state.model
        state.asked.set(`${seen.call.id}/${seen.attempt}`, {
          markets: state.markets.moment(),
          lastSequence: accounts[seen.call.account]?.lastSequence ?? 0,
          trades: trades.length
        })
        return holds
      }
      case "Unanswered":
        state.asked.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Answered":
        return seen.call.method === "GET" ? answered(state, seen) : holds
      default:
        return holds
    }
  }
}
