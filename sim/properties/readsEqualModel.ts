/**
 * Safety (I3, I4 as readers see them). A read shows what the reference model has at the sequence that the answer names: orders at their
 * last record, balances, positions, switches and markets at the journal's. An answer without a sequence is compared where no record became
 * durable between the question and the answer: it was read at the last one. A list that only grows is always compared in full, at one of
 * the records at which it may have been read. The venue's clock is reported as it reads.
 */
import * as Market from "../../src/domain/Market.js"
import { parseOrderId } from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import type { NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Shown from "../model/Shown.js"
import * as Published from "../model/ShownPublished.js"
import * as MarketRules from "../reading/MarketRules.js"
import * as Queries from "../reading/Queries.js"
import { difference, without } from "./Difference.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

interface State {
  /** The last durable record observed. */
  sequence: number
  /** The record at which the engine stands, as far as commands were taken. */
  engineAt: number
  /** The value of `sequence` when an attempt of a call was sent. */
  readonly asked: Map<string, number>
}

/** One answer, and whether it was certainly read at the model's present record. */
interface Reading {
  readonly call: Call
  readonly json: Json
  readonly model: NaiveVenue
  readonly stands: boolean
  /** The earliest and the latest record at which it may have been read. */
  readonly from: number
  readonly to: number
  /** The last durable record when it was requested. */
  readonly asked: number
  /** The process's clock, as in `Answered`. */
  readonly clock: readonly [number, number] | undefined
  /** The market in the path. */
  readonly market: NaiveMarket | undefined
  readonly query: URLSearchParams
}

/**
 * Checks a native order record; one that has changed since it may have been read is not compared. The order's triggers may end without a
 * change of the order: if there were records between question and answer, the answer may precede that end, so only triggers that still
 * exist can contradict it.
 */
const orderVerdict = (json: Json, { call: { account }, from, model, stands }: Reading): Verdict => {
  const number = parseOrderId(String(json["orderId"]))
  const order = number === undefined ? undefined : model.orders.get(number)
  if (order === undefined || order.account !== account)
    return broken(`account ${account} was shown ${String(json["orderId"])}, which is not its order`)
  const told = json["lastSequence"]
  if (told !== order.lastSequence) {
    return typeof told === "number" && told < order.lastSequence && order.lastSequence > from
      ? holds
      : broken(`${String(json["orderId"])} is told as of record ${String(told)}, and last changed in ${order.lastSequence}`)
  }
  const expected = Shown.order(model, order)
  const mayHaveEnded = expected["autoClose"] === undefined && !stands
  return difference(String(json["orderId"]), mayHaveEnded ? without(json, ["autoClose"]) : json, expected)
}

/** Checks an order of the compatibility layer in the same way. */
const compatOrderVerdict = (json: Json, reading: Reading): Verdict => {
  const { model } = reading
  const info = json["info"]
  if (!isObject(info)) return broken(`account ${reading.call.account} was shown an order without its record: ${JSON.stringify(json)}`)
  const verdict = orderVerdict(info, reading)
  const order = model.orders.get(parseOrderId(String(info["orderId"])) ?? -1)
  if (verdict !== undefined || order === undefined || info["lastSequence"] !== order.lastSequence) return verdict
  const { info: _, ...expected } = Shown.compatOrder(model, order)
  return difference(String(info["orderId"]), without(json, ["info"]), expected)
}

const each = (items: unknown, verdictOf: (item: Json) => Verdict): Verdict => {
  for (const item of items as ReadonlyArray<Json>) {
    const verdict = verdictOf(item)
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** The first since a time, or the last ones; oldest first. */
const sinceAndLimit = <A>(all: ReadonlyArray<A>, query: URLSearchParams, timeOf: (one: A) => number): ReadonlyArray<A> => {
  const limit = Number(query.get("limit") ?? 100)
  const since = query.get("since")
  return since === null ? all.slice(-limit) : all.filter((one) => timeOf(one) >= Number(since)).slice(0, limit)
}

const isOf = (model: NaiveVenue, symbol: string | null, market: number): boolean =>
  symbol === null || Market.symbol(model.markets[market]!.parameters) === symbol

/** Checks orders of the compatibility layer: each in its present state, and none left out. */
const compatOrdersVerdict = (reading: Reading): Verdict => {
  const { call, json, model, query, stands } = reading
  const verdict = each(json, (item) => compatOrderVerdict(item, reading))
  if (verdict !== undefined || !stands) return verdict
  const status = query.get("status")
  const shown = (json as unknown as ReadonlyArray<Json>).map((item) => item["id"])
  const placed = model.accounts[call.account]!.placed.filter((order) =>
    isOf(model, query.get("symbol"), order.market) && (status === null || Order.statuses[order.status] === status)
  )
  const listed = sinceAndLimit(placed, query, (order) => order.createdAtEpochMs)
  return difference(call.target, shown, listed.map((order) => Shown.compatOrder(model, order)["id"]))
}

/** Checks markets in their present state; values that change with time alone are compared where that time is known. */
const marketVerdict = (json: Json, { model, stands }: Reading): Verdict => {
  const market = model.markets.find(({ parameters }) => parameters.marketId === json["marketId"])
  if (market === undefined) return broken(`market ${String(json["marketId"])} is shown and was never put`)
  if (json["snapshotSequence"] !== market.sequence && !stands) return holds
  // Whether it is a favorite depends on the reader, and is checked by another property.
  const moving = ["favorite", ...(stands ? [] : ["change24hBps"])]
  const clear = (value: unknown): unknown => {
    const body = without(value, stands ? [] : ["readModelDigest", "marketSession"]) as Json
    return { ...body, market: without(body["market"], moving) }
  }
  const expected = { ...Shown.market(model, market), readModelDigest: Shown.registryDigest(model) }
  return difference(market.parameters.marketId, clear(json), clear(expected))
}

/** Checks that all listed markets are there, and nothing else. */
const marketsVerdict = (items: unknown, reading: Reading): Verdict => {
  const { model, stands } = reading
  const verdict = each(items, (item) => marketVerdict(item, reading))
  if (verdict !== undefined || !stands) return verdict
  const listed = model.markets.filter((market) => MarketRules.isListed(market.status)).map((market) => market.parameters.marketId)
  return difference("the markets", (items as ReadonlyArray<Json>).map((item) => item["marketId"]), listed)
}

const compatMarketsVerdict = (reading: Reading): Verdict => {
  const { json, model, stands } = reading
  const infos = (json as unknown as ReadonlyArray<Json>).map((item) => item["info"])
  const verdict = marketsVerdict(infos, reading)
  if (verdict !== undefined || !stands) return verdict
  return each(json, (item) => {
    const expected = Shown.compatMarket(model.markets.find(({ parameters }) => parameters.marketId === item["id"])!)
    return difference(String(item["id"]), without(item, ["info"]), expected)
  })
}

/** Request limits are not part of the venue's state: `nobody-does-more-than-his-limit` checks them against the process's settings. */
const limitsTold = (
  { maxCancelsBeyondPerKey, maxRequestsPerAddress, maxRequestsPerKey, maxSignInsPerAddress, rateWindowMs }: Json
): Json => ({
  maxCancelsBeyondPerKey,
  maxRequestsPerAddress,
  maxRequestsPerKey,
  maxSignInsPerAddress,
  rateWindowMs
})

/** Checks the venue's clock, reported twice: both are one time, and within its readings between question and answer. */
const timeVerdict = ({ clock, json }: Reading): Verdict => {
  const told = Number(json["timestamp"])
  const verdict = difference("the venue's clock", json, { timestamp: told, datetime: new Date(told).toISOString() })
  if (verdict !== undefined || clock === undefined) return verdict
  const [asked, by] = clock
  return told >= Math.floor(asked) && told <= by
    ? holds
    : broken(`the venue's clock is told as ${told}, and read ${asked} to ${by} meanwhile`)
}

/** Checks an immediate report of the clock against its reading. */
const atOnceVerdict = ({ answer, atEpochMs, call }: Extract<Observation, { _tag: "Handled" }>): Verdict => {
  if (call.endpoint !== "getCompatTime" || answer?.status !== 200) return holds
  const { timestamp } = JSON.parse(answer.text) as { readonly timestamp: number }
  return timestamp === atEpochMs ? holds : broken(`the venue's clock is told as ${timestamp}, and reads ${atEpochMs}`)
}

/** Answers that are compared in full where it is known at which record they were read. */
const whole: Readonly<Record<string, (reading: Reading) => unknown>> = {
  listPositions: ({ call, model }) => Shown.positions(model, call.account),
  listCompatPositions: ({ call, model, query }) => Shown.compatPositions(model, call.account, query.get("symbol")),
  getAutoClose: ({ call, model }) => Shown.triggers(model, call.account, decodeURIComponent(call.target.split("?")[0]!.split("/")[5]!)),
  listTriggers: ({ call, model, query }) => Shown.triggers(model, call.account, query.get("marketId")),
  getLimits: ({ json, model }) => ({ ...Shown.limits(model), ...limitsTold(json) }),
  getAnnounced: ({ json, model }) =>
    Published.announced(model, model.markets.find(({ parameters }) => parameters.marketId === json["marketId"])!),
  getDelisting: ({ json, model }) =>
    Published.delisting(model, model.markets.find(({ parameters }) => parameters.marketId === json["marketId"])!),
  listOperatorMarkets: ({ model }) => Published.operatorMarkets(model),
  getInsuranceFund: (reading) => Published.insuranceFund(reading.model, askedOf(reading)),
  listCompatTrades: ({ market, model, query }) =>
    sinceAndLimit(market!.trades, query, (fill) => fill.atEpochMs).map((fill) => Shown.compatTrade(model, fill)),
  listCompatOwnTrades: ({ call, model, query }) => {
    const own = model.fillsOf(call.account).filter((fill) => isOf(model, query.get("symbol"), fill.market))
    return sinceAndLimit(own, query, (fill) => fill.atEpochMs).map((fill) => Shown.compatOwnTrade(model, fill, call.account))
  }
}

/** The request for a list without pages. */
const askedOf = ({ query }: Reading): Published.Asked => ({
  sinceEpochMs: Number(query.get("since") ?? 0),
  limit: Number(query.get("limit") ?? 50)
})

/** The place at which a page of a listing by places begins. */
const placeOf = (kind: Queries.Placed, { query }: Reading): Queries.Place | undefined => {
  const cursor = query.get("cursor")
  return cursor === null ? undefined : Queries.placeOf(kind, cursor)
}

/** The request for an account's ledger. */
const askedOfLedger = (reading: Reading): Published.AskedOfLedger => ({
  marketId: reading.query.get("marketId"),
  before: placeOf("entries", reading),
  limit: Number(reading.query.get("limit") ?? 50)
})

/** Lists that only grow, as of a record. */
const growing: Readonly<Record<string, (reading: Reading, sequence: number) => unknown>> = {
  listLiquidations: (reading, sequence) => Published.liquidations(reading.model, reading.market!, sequence, askedOf(reading)),
  listDeleveragings: (reading, sequence) => Published.deleveragings(reading.model, reading.market!, sequence, askedOf(reading)),
  listFundings: (reading, sequence) => Published.fundings(reading.model, reading.market!, sequence, askedOf(reading)),
  listMarks: (reading, sequence) => Published.marks(reading.model, reading.market!, sequence, askedOf(reading)),
  listAccountLiquidations: (reading, sequence) =>
    Published.accountLiquidations(reading.model, reading.call.account, sequence, askedOf(reading)),
  listFundingPayments: (reading, sequence) =>
    Published.fundingPayments(reading.model, reading.call.account, sequence, { ...askedOf(reading), before: placeOf("payments", reading) }),
  listLedger: (reading, sequence) => Published.ledger(reading.model, reading.call.account, sequence, askedOfLedger(reading)),
  getInsuranceFund: (reading, sequence) => Published.movements(reading.model, sequence, askedOf(reading))
}

/** Compares a list with those at the records between question and answer, latest first: only records that added to any list are tried. */
const growingVerdict = (what: string, reading: Reading, expected: (reading: Reading, sequence: number) => unknown): Verdict => {
  const { call, from, json, model: { accounts, markets, published: { rankings, steps } }, to } = reading
  const shown = call.endpoint === "getInsuranceFund" ? json["movements"] : json
  const own = accounts[call.account]?.ledger ?? []
  const between = [...steps, ...rankings, ...own, ...markets.flatMap(({ risk }) => [...risk.fundings, ...risk.marks.slice(-20)])]
    .map((row) => ("madeAt" in row ? row.madeAt : row.sequence))
    .filter((sequence) => sequence > from && sequence <= to)
  let said: Verdict
  for (const sequence of new Set([to, ...between.sort((one, other) => other - one), from])) {
    const verdict = difference(what, shown, expected(reading, sequence))
    if (verdict === undefined) return holds
    said ??= verdict
  }
  return said
}

/** Answers that depend on the time: on whether an index is fresh now, and on how far the running funding interval is. */
const timed: Readonly<Record<string, (reading: Reading, now: number) => unknown>> = {
  getBalance: ({ call, model }, now) => Shown.balanceRead(model, call.account, now),
  getCompatBalance: ({ call, model }, now) => Shown.compatBalance(model, call.account, now),
  getStats: ({ market, model }, now) => Shown.stats(model, market!, now),
  getCompatStats: ({ market, model }, now) => Shown.compatStats(model, market!, now),
  getCompatTicker: ({ market, model }, now) => Shown.ticker(model, market!, now)
}

/** Times at which it may have been answered, as far as they make a difference. */
const momentsOf = ({ clock, json, market, model }: Reading): ReadonlyArray<number> => {
  // If the clock was set meanwhile, its reading is unknown: any time is possible.
  if (market === undefined) return clock ?? [model.atEpochMs, Number.MAX_SAFE_INTEGER]
  const { info = json } = json
  const told = isObject(info) ? info["nextFundingTimeEpochMs"] : undefined
  return Shown.moments(model, market, told, clock ?? Shown.anyTime)
}

const timedVerdict = (what: string, reading: Reading): Verdict => {
  const { call, json } = reading
  const verdicts = momentsOf(reading).map((now) => difference(what, json, timed[call.endpoint]!(reading, now)))
  return verdicts.includes(undefined) ? holds : verdicts.at(-1)
}

/** Digits of a key's id, as shown in its token. */
const keyIdDigits = 20

/** The account's own key, as it was created with it. */
const currentKey = ({ call, json, model }: Reading): Json => {
  const keyId = `key_${call.token.slice("pk_development_".length).slice(0, keyIdDigits)}`
  const { openedAtEpochMs } = model.accounts[call.account]!
  return {
    version: "api-key-current/v1",
    key: {
      keyId,
      accountId: call.accountId,
      principalKind: "agent",
      displayPrefix: call.token.slice(0, "pk_development_".length + keyIdDigits),
      clientName: "demo",
      scopes: ["read", "trade"],
      state: "active",
      createdAtEpochMs: openedAtEpochMs,
      expiresAtEpochMs: model.identity.keys.find((key) => key.keyId === keyId)!.expiresAtEpochMs,
      revokedAtEpochMs: null,
      // Known to the process: this request is a use.
      lastUsedAtEpochMs: (json["key"] as Json)["lastUsedAtEpochMs"]
    },
    rateLimit: json["rateLimit"]
  }
}

/** Some members of further answers about an account. */
const ofAccount: Readonly<Record<string, (reading: Reading) => Json>> = {
  getProfile: ({ call, model }) => {
    const { displayHandle } = model.accounts[call.account]!
    return { displayHandle: displayHandle === "" ? null : displayHandle }
  },
  previewMargin: ({ call, model }) => ({ before: Shown.accountMargin(model, call.account, call.body) }),
  getLeverage: ({ call, model }) => {
    const named = decodeURIComponent(call.target.split("?")[0]!.split("/")[5]!)
    const { index, parameters: { maxLeverageX } } = model.markets.find(({ parameters }) => parameters.marketId === named)!
    const set = model.accounts[call.account]!.leverage.get(index)
    return { leverageX: Math.min(set ?? maxLeverageX, maxLeverageX), setLeverageX: set ?? null, maxLeverageX }
  },
  getCancelAllAfter: ({ call, model }) => {
    const at = model.accounts[call.account]!.cancelAllAtEpochMs
    return { armed: at !== 0, cancelAtEpochMs: at === 0 ? null : at }
  }
}

const verdictOf = (reading: Reading): Verdict => {
  const { call, json, stands } = reading
  switch (call.endpoint) {
    case "getOrder":
      return orderVerdict(json, reading)
    case "getCompatOrder":
      return compatOrderVerdict(json, reading)
    case "listOrders":
      return each(json["orders"], (item) => orderVerdict(item, reading))
    case "listCompatOrders":
      return compatOrdersVerdict(reading)
    case "lookUpOutcome":
      return isObject(json["order"]) ? orderVerdict(json["order"], reading) : holds
    case "getMarket":
      return marketVerdict(json, reading)
    case "getCurrentApiKey":
      // An agent's balance is checked together with who may act.
      if (call.credential === "issued") return holds
      return difference(`the key of ${call.client}`, json, currentKey(reading))
    case "listMarkets":
      return marketsVerdict(json["markets"], reading)
    case "listCompatMarkets":
      return compatMarketsVerdict(reading)
    case "getCompatTime":
      return timeVerdict(reading)
    default:
  }
  const what = `${call.target} for ${call.client}`
  const grows = growing[call.endpoint]
  const verdict = grows === undefined ? holds : growingVerdict(what, reading, grows)
  if (verdict !== undefined || !stands) return verdict
  if (timed[call.endpoint] !== undefined) return timedVerdict(what, reading)
  const expected = ofAccount[call.endpoint]?.(reading)
  if (expected !== undefined) {
    return difference(what, Object.fromEntries(Object.keys(expected).map((name) => [name, json[name]])), expected)
  }
  const all = whole[call.endpoint]
  return all === undefined ? holds : difference(what, json, all(reading))
}

/** The market in a path, by its id or its symbol. */
const marketOf = (model: NaiveVenue, path: string): NaiveMarket | undefined => {
  const name = decodeURIComponent(path.split("/")[3] ?? "")
  return model.markets.find(({ parameters }) => parameters.marketId === name || Market.symbol(parameters) === name)
}

const readingOf = (
  state: State,
  { answer: { json }, attempt, call, clock, model }: Extract<Observation, { _tag: "Answered" }>
): Reading | undefined => {
  if (!isObject(json)) return undefined
  const [path = "", search = ""] = call.target.split("?")
  const info = json["info"]
  const named = json["journalSequence"] ?? (isObject(info) ? info["journalSequence"] : undefined)
  const asked = state.asked.get(`${call.id}/${attempt}`) ?? 0
  const [from, to] = typeof named === "number" ? [named, named] : [asked, model.sequence]
  // The accounts affected by an announcement are counted part by part, from the named record on.
  const isWhole = call.endpoint !== "getAnnounced" || state.engineAt <= model.sequence
  const stands = from === model.sequence && isWhole
  return { call, json, model, stands, from, to, asked, clock, market: marketOf(model, path), query: new URLSearchParams(search) }
}

/** Reports of the venue's own books are of a requested record, or of when they were last made. */
const isOfPast = ({ endpoint }: Call): boolean => endpoint.startsWith("getSolvency")

/** Checks that a reader who has seen a change is not shown the earlier state. */
const isOfNow = ({ asked, call, from }: Reading): Verdict =>
  from >= asked || isOfPast(call)
    ? holds
    : broken(`${call.target} for ${call.client} is told as of record ${from}, and ${asked} was durable when it was asked for`)

/** Whether a call only reads: a preview is a POST like a placement. */
const isRead = ({ endpoint, method }: Call): boolean => method === "GET" || endpoint === "previewMargin"

export const readsEqualModel: Property<State> = {
  name: "reads-equal-model",
  invariant: "I4",
  kind: "safety",
  initial: () => ({ sequence: 0, engineAt: 0, asked: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed":
        state.sequence = seen.record.sequence
        return holds
      case "Started":
        state.engineAt = 0
        return holds
      case "Taken":
        if (seen.answered === undefined) state.engineAt = seen.sequence + 1
        return holds
      case "Asked":
        if (isRead(seen.call)) state.asked.set(`${seen.call.id}/${seen.attempt}`, state.sequence)
        return holds
      case "Handled":
        return atOnceVerdict(seen)
      case "Answered": {
        if (seen.answer.status !== 200 || !isRead(seen.call)) return holds
        const reading = readingOf(state, seen)
        return reading === undefined ? holds : isOfNow(reading) ?? verdictOf(reading)
      }
      default:
        return holds
    }
  }
}
