/**
 * Reads by the contract: the route of a target, its parameters and their valid values, and where a page continues. It is written from the
 * contract and shares nothing with the venue's edge.
 */
import { name } from "./Bodies.js"
import type { Family } from "./Asked.js"

/** Who may read: anyone, a key of any kind, a key that may read, or the operator. `system`: anyone, at any time. */
export type Access = "public" | "key" | "operator" | "system"

/** The kinds of listings paged by number, as named in their cursors. */
export type Kind = "orders" | "fills" | "trades"

/** The kinds of listings paged by place: an account's ledger, and its funding payments. */
export type Placed = "entries" | "payments"

/** All kinds of listings: episodes of positions are paged by their closing. */
export type Listed = Kind | Placed | "episodes" | "board"

/** A place among an account's episodes: `closeSequence` is null for an open one. */
export interface EpisodePlace {
  readonly closeSequence: number | null
  readonly openedAtEpochMs: number
  readonly ordinal: number
}

/** A place in a listing of rows: a record, and how many of the account's rows in it are newer. */
export interface Place {
  readonly sequence: number
  readonly place: number
}

interface Route {
  readonly endpoint: string
  readonly access: Access
  /** Segments of the path; one with a colon stands for any. */
  readonly path: ReadonlyArray<string>
  readonly query: Readonly<Record<string, (value: string) => boolean>>
  /** Required parameters. */
  readonly needed: ReadonlyArray<string>
  /** The kind in its cursors. */
  readonly kind?: Listed
}

const wholeUpTo = (most: number) => (value: string): boolean => /^[1-9]\d{0,3}$/.test(value) && Number(value) <= most
const since = (value: string): boolean => /^(0|[1-9]\d{0,14})$/.test(value)
/** Of candles: any integer that is exact. */
const anySince = (value: string): boolean => /^(0|[1-9]\d{0,15})$/.test(value) && Number.isSafeInteger(Number(value))
const waitMs = (value: string): boolean => /^(0|[1-9]\d{0,4})$/.test(value) && Number(value) <= 30_000
export const timeframes = ["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d", "3d", "1w", "1M"]
const windows = ["daily", "weekly", "monthly", "all_time"]
const window = (value: string): boolean => windows.includes(value)
const timeframe = (value: string): boolean => timeframes.includes(value)
const series = (value: string): boolean => ["trade", "index", "mark"].includes(value)
const episodeStatus = (value: string): boolean => ["open", "closed", "liquidated"].includes(value)
const status = (value: string): boolean => ["open", "closed", "canceled"].includes(value)
const cursor = (value: string): boolean => value.length >= 1 && value.length <= 512
const visible = (value: string): boolean => /^[!-~]{1,255}$/.test(value)
const clientOrderId = (value: string): boolean => /^[A-Za-z0-9._:-]{1,64}$/.test(value)

const page = { limit: wholeUpTo(100), cursor }
const sinceAndLimit = { since, limit: wholeUpTo(500) }

const candles = { timeframe, since: anySince, limit: wholeUpTo(100), series }

const route = (
  endpoint: string,
  access: Access,
  path: string,
  query: Route["query"] = {},
  kind?: Listed,
  needed: ReadonlyArray<string> = []
): Route => ({
  endpoint,
  access,
  path: path.split("/"),
  query,
  needed,
  ...(kind === undefined ? {} : { kind })
})

const routes: ReadonlyArray<Route> = [
  route("getOrder", "key", "/v1/orders/:order"),
  route("getBalance", "key", "/v1/accounts/:account/balance"),
  route("listPositions", "key", "/v1/accounts/:account/positions"),
  route("listPositionHistory", "key", "/v1/accounts/:account/positions/history", { marketId: name, status: episodeStatus, ...page },
    "episodes"),
  route("listOrders", "key", "/v1/accounts/:account/orders", { marketId: name, status, ...page }, "orders"),
  route("listFills", "key", "/v1/accounts/:account/fills", { marketId: name, ...page }, "fills"),
  route("listChanges", "key", "/v1/accounts/:account/changes", { fromSequence: since, limit: wholeUpTo(500), waitMs }, undefined, [
    "fromSequence"
  ]),
  route("listLedger", "key", "/v1/accounts/:account/ledger", { marketId: name, ...page }, "entries"),
  route("getProfile", "key", "/v1/accounts/:account/profile"),
  route("getLeverage", "key", "/v1/accounts/:account/markets/:market/leverage"),
  route("getAutoClose", "key", "/v1/accounts/:account/positions/:market/auto-close"),
  route("listTriggers", "key", "/v1/accounts/:account/triggers", { marketId: name }),
  route("listAccountLiquidations", "key", "/v1/accounts/:account/liquidations", sinceAndLimit),
  route("listFundingPayments", "key", "/v1/accounts/:account/funding-payments", { ...sinceAndLimit, cursor }, "payments"),
  route("lookUpOutcome", "key", "/v1/accounts/:account/outcomes", { idempotencyKey: visible, clientOrderId }),
  route("getCancelAllAfter", "key", "/v1/accounts/:account/orders/cancel-all-after"),
  route("getAffiliate", "key", "/v1/accounts/:account/affiliate/registration"),
  route("getCurrentApiKey", "key", "/v1/api-keys/current"),
  route("listMarkets", "public", "/v1/markets"),
  route("getMarket", "public", "/v1/markets/:market"),
  route("getLimits", "public", "/v1/limits"),
  route("getBook", "public", "/v1/markets/:market/book"),
  route("listTrades", "public", "/v1/markets/:market/trades", page, "trades"),
  route("getStats", "public", "/v1/markets/:market/stats"),
  route("getCandles", "public", "/v1/markets/:market/candles", candles),
  route("getCompatCandles", "public", "/v2/markets/:market/candles", candles),
  route("listFundings", "public", "/v1/markets/:market/funding", sinceAndLimit),
  route("listMarks", "public", "/v1/markets/:market/marks", sinceAndLimit),
  route("listLiquidations", "public", "/v1/markets/:market/liquidations", sinceAndLimit),
  route("listDeleveragings", "public", "/v1/markets/:market/deleveragings", sinceAndLimit),
  route("getLeaderboard", "public", "/v1/leaderboard", { window, metric: (value) => value === "projected_realized_pnl", ...page }, "board"),
  route("getInsuranceFund", "public", "/v1/insurance-fund", sinceAndLimit),
  route("getSolvency", "public", "/v1/solvency", { sequence: since }),
  route("getSolvencyProof", "key", "/v1/accounts/:account/solvency-proof", { sequence: since }),
  route("getIndexStream", "operator", "/v1/operator/index-stream"),
  route("listOperatorMarkets", "operator", "/v1/operator/markets"),
  route("getDelisting", "operator", "/v1/operator/markets/:market/delisting"),
  route("getAnnounced", "operator", "/v1/operator/markets/:market/announced"),
  route("listCompatOrders", "key", "/v2/orders", { symbol: name, status, ...sinceAndLimit }),
  route("getCompatOrder", "key", "/v2/orders/:order", { symbol: name }),
  route("listCompatOwnTrades", "key", "/v2/trades", { symbol: name, ...sinceAndLimit }),
  route("listCompatPositions", "key", "/v2/positions", { symbol: name }),
  route("getCompatBalance", "key", "/v2/balance"),
  route("listCompatMarkets", "public", "/v2/markets"),
  route("getCompatBook", "public", "/v2/markets/:market/book", { limit: wholeUpTo(500) }),
  route("getCompatStats", "public", "/v2/markets/:market/stats"),
  route("getCompatTicker", "public", "/v2/markets/:market/ticker"),
  route("listCompatTrades", "public", "/v2/markets/:market/trades", sinceAndLimit),
  route("getCompatTime", "public", "/v2/time"),
  route("getHealth", "system", "/healthz"),
  route("getReadiness", "system", "/readyz"),
  route("getMetrics", "system", "/metrics"),
  route("getOpenApi", "system", "/openapi.json"),
  route("getDocs", "system", "/docs")
]

/** The content of a valid read. */
export interface Query {
  readonly endpoint: string
  readonly access: Access
  readonly family: Family
  readonly kind: Listed | undefined
  /** The account in its path; undefined where there is none. */
  readonly account: string | undefined
  readonly order: string | undefined
  /** The market in its path or query, by id or symbol. */
  readonly market: string | undefined
  readonly query: ReadonlyMap<string, string>
}

/** What a read is. `malformed`: 400. `nowhere`: there is no such route. */
export type Reading =
  | { readonly _tag: "query"; readonly query: Query }
  /** The credential is checked before the content. */
  | { readonly _tag: "malformed"; readonly access: Access; readonly endpoint: string }
  | { readonly _tag: "nowhere" }

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The parameters of a query; undefined where one is given twice or is not valid text. */
const parameters = (search: string): ReadonlyMap<string, string> | undefined => {
  const found = new Map<string, string>()
  for (const part of search.split("&").filter((each) => each !== "")) {
    const [first = "", ...rest] = part.split("=")
    const [key, value] = [first, rest.join("=")].map((text) => decoded(text.split("+").join(" ")))
    if (key === undefined || value === undefined || found.has(key)) return undefined
    found.set(key, value)
  }
  return found
}

const named = ({ path }: Route, segments: ReadonlyArray<string>): Readonly<Record<string, string>> | undefined => {
  if (path.length !== segments.length) return undefined
  const names: Record<string, string> = {}
  for (let at = 0; at < path.length; at++) {
    const expected = path[at]!
    if (expected.startsWith(":")) names[expected.slice(1)] = segments[at]!
    else if (expected !== segments[at]) return undefined
  }
  return names
}

/** The reading of a `GET` target. */
export const read = (target: string): Reading => {
  const [path = "", ...rest] = target.split("?")
  const segments = path.split("/").map(decoded)
  if (segments.some((segment) => segment === undefined)) return { _tag: "malformed", access: "system", endpoint: "" }
  const texts = segments as ReadonlyArray<string>
  if (texts.slice(1).includes("")) return { _tag: "nowhere" }
  for (const each of routes) {
    const names = named(each, texts)
    if (names === undefined) continue
    const { access, endpoint } = each
    const query = parameters(rest.join("?"))
    const isGood = query !== undefined && Object.values(names).every(name)
      && [...query].every(([key, value]) => Object.hasOwn(each.query, key) && each.query[key]!(value))
      && each.needed.every((key) => query.has(key))
    if (!isGood) return { _tag: "malformed", access, endpoint }
    const family = path.startsWith("/v2/") ? "compat" : "native"
    return {
      _tag: "query",
      query: {
        endpoint,
        access,
        family,
        kind: each.kind,
        account: names["account"],
        order: names["order"],
        market: names["market"] ?? query.get(family === "compat" ? "symbol" : "marketId"),
        query
      }
    }
  }
  return { _tag: "nowhere" }
}

/** The cursor for entries older than a number. */
export const cursorOf = (kind: Kind, before: number): string => Buffer.from(JSON.stringify({ kind, before })).toString("base64url")

/** The number in a listing's cursor; undefined for an invalid one, or one spelled otherwise than the venue does. */
export const numberOf = (kind: Kind, cursor: string): number | undefined => {
  const number = /^\{"kind":"[a-z]+","before":(0|[1-9]\d*)\}$/.exec(Buffer.from(cursor, "base64url").toString())?.[1]
  const before = Number(number)
  return number !== undefined && Number.isSafeInteger(before) && cursorOf(kind, before) === cursor ? before : undefined
}

/** The cursor for an account's rows older than a place. */
export const placeCursorOf = (kind: Placed, { place, sequence }: Place): string =>
  Buffer.from(`{"kind":"${kind}","sequence":${sequence},"place":${place}}`).toString("base64url")

/** The place in such a cursor; undefined for an invalid one. */
export const placeOf = (kind: Placed, cursor: string): Place | undefined => {
  const found = /^\{"kind":"[a-z]+","sequence":(0|[1-9]\d*),"place":(0|[1-9]\d*)\}$/.exec(Buffer.from(cursor, "base64url").toString())
  const [sequence, place] = [Number(found?.[1]), Number(found?.[2])]
  if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(place)) return undefined
  return placeCursorOf(kind, { sequence, place }) === cursor ? { sequence, place } : undefined
}

/** The cursor for episodes after a place. */
export const episodeCursorOf = ({ closeSequence, openedAtEpochMs, ordinal }: EpisodePlace): string =>
  Buffer.from(`{"closeSequence":${closeSequence},"openedAtEpochMs":${openedAtEpochMs},"positionId":"pos_${ordinal.toString(36)}"}`)
    .toString("base64url")

/** The place in such a cursor; undefined for an invalid one. */
export const episodeOf = (cursor: string): EpisodePlace | undefined => {
  const text = Buffer.from(cursor, "base64url").toString()
  const found = /^\{"closeSequence":(null|0|[1-9]\d*),"openedAtEpochMs":(0|[1-9]\d*),"positionId":"pos_([0-9a-z]+)"\}$/.exec(text)
  if (found === null) return undefined
  const closeSequence = found[1] === "null" ? null : Number(found[1])
  const place = { closeSequence, openedAtEpochMs: Number(found[2]), ordinal: Number.parseInt(found[3]!, 36) }
  const isCounted = [closeSequence ?? 0, place.openedAtEpochMs, place.ordinal].every(Number.isSafeInteger)
  return isCounted && episodeCursorOf(place) === cursor ? place : undefined
}

/** The window and the rank in a board's cursor; undefined for an invalid one. */
export const rankOf = (cursor: string): { readonly window: string; readonly version: number; readonly rank: number } | undefined => {
  const text = Buffer.from(cursor, "base64url").toString()
  const found = /^\{"kind":"leaderboard","window":"([a-z_]+)","boardVersion":(0|[1-9]\d*),"rank":(0|[1-9]\d*)\}$/.exec(text)
  if (found === null || !windows.includes(found[1]!) || Buffer.from(text).toString("base64url") !== cursor) return undefined
  const place = { window: found[1]!, version: Number(found[2]), rank: Number(found[3]) }
  return Number.isSafeInteger(place.version) && Number.isSafeInteger(place.rank) ? place : undefined
}
