/**
 * Reads of everything that can be read, with every parameter of a route, alone and together: valid values, values at their limits, and
 * invalid ones; of the trader's own data, of other accounts' and of things that do not exist.
 */
import { accountId, orderId } from "../../src/domain/Ids.js"
import { isListed, symbol } from "../../src/domain/Market.js"
import type { NaiveMarket } from "../model/NaiveState.js"
import * as Queries from "../reading/Queries.js"
import * as Calls from "./Calls.js"
import type { Draft, Identity } from "./Calls.js"
import type { Seat } from "./Seat.js"

/** How often a parameter is present, and how often its value is drawn from those that few parameters accept. */
const presentShare = 0.45
const oddShare = 0.08

/** Share of reads of published liquidations and funding, once there are any. */
const publishedShare = 0.35

/** Values that no parameter accepts, or few. */
const odd: ReadonlyArray<string> = ["", "0", "00", "01", "-1", "1.0", "1e1", " 1", "NaN", "OPEN", "open,closed", "undefined",
  "x".repeat(129), "9007199254740993", "1000000000000000", "999999999999999", "501", "500", "101", "100"]

const base64 = (text: string): string => Buffer.from(text).toString("base64url")

/** Texts that are not cursors of a listing, though most have a cursor's content. */
const noCursors = (kind: Queries.Kind, before: number): ReadonlyArray<string> => [
  "x",
  "e30",
  "bnVsbA",
  "W10",
  base64(`{"kind":"${kind}"}`),
  base64(`{"before":${before}}`),
  base64(`{"before":${before},"kind":"${kind}"}`),
  base64(`{"kind":"${kind}","before":-1}`),
  base64(`{"kind":"${kind}","before":${before}.5}`),
  base64(`{"kind":"${kind}","before":"${before}"}`),
  base64(`{"kind":"${kind}","before":${before} }`),
  base64(`{"kind":"${kind}","before":9007199254740993}`),
  base64(`{"kind":"${kind}","before":${before},"limit":1}`),
  base64(`["${kind}",${before}]`),
  `${Queries.cursorOf(kind, before)}=`,
  ` ${Queries.cursorOf(kind, before)}`
]

/** A place in a listing: of its own kind or of another, at an entry that exists or not. */
const cursor = ({ model, random, wishes }: Seat, of: Queries.Kind): string => {
  const ordinals = [0, 1, model.trades.length, random.below(model.trades.length + 2), 1_000_000]
  const mine = wishes.ofMine(() => true)?.number ?? 0
  const orders = [mine, mine, mine + 1, random.pick([...model.orders.keys()].slice(-40).concat(7)), 0]
  const kind = random.chance(0.85) ? of : random.pick(["orders", "fills", "trades"] as const)
  const before = random.pick(random.chance(0.9) ? kind === "orders" ? orders : ordinals : [...orders, ...ordinals])
  return random.chance(0.3) ? random.pick(noCursors(kind, before)) : Queries.cursorOf(kind, before)
}

/** A place in the account's ledger, or among its payments: after a row, at no row, or in a former form of cursors. */
const placeCursor = ({ model, random, who }: Seat, kind: Queries.Placed): string => {
  const own: ReadonlyArray<{ readonly sequence: number }> = kind === "entries"
    ? model.accounts[who.account]!.ledger
    : model.published.payments.filter(({ account }) => account === who.account)
  const sequence = own.length === 0 || random.chance(0.2) ? random.pick([0, 1, model.sequence, 1_000_000]) : random.pick(own).sequence
  const text = random.pick([
    `{"kind":"${kind}","before":${own.length}}`,
    `{"kind":"fills","sequence":${sequence},"place":0}`,
    `{"kind":"${kind}","place":0,"sequence":${sequence}}`,
    `{"kind":"${kind}","sequence":${sequence},"place":-1}`,
    `{"kind":"${kind}","sequence":${sequence}.5,"place":0}`
  ])
  return random.chance(0.3) ? base64(text) : Queries.placeCursorOf(kind, { sequence, place: random.pick([0, 0, 1, 2, 40]) })
}

/** A place among the account's episodes: after one, at none, or in the former form of cursors, without the closing. */
const episodeCursor = ({ model, random, who }: Seat): string => {
  const mine = model.history.changes.filter((each) => each._tag === "Changed" && each.account === who.account)
  const any = mine.length === 0 ? { sequence: 1, atEpochMs: 0 } : random.pick(mine)
  const ordinal = random.below(model.episodes + 2)
  const text = random.pick([
    `{"openedAtEpochMs":${any.atEpochMs},"positionId":"pos_${ordinal.toString(36)}"}`,
    `{"closeSequence":"${any.sequence}","openedAtEpochMs":${any.atEpochMs},"positionId":"pos_1"}`,
    `{"closeSequence":${any.sequence},"openedAtEpochMs":${any.atEpochMs},"positionId":"ord_1"}`,
    `{"positionId":"pos_1","openedAtEpochMs":${any.atEpochMs},"closeSequence":${any.sequence}}`
  ])
  const closeSequence = random.chance(0.3) ? null : any.sequence
  return random.chance(0.3) ? base64(text) : Queries.episodeCursorOf({ closeSequence, openedAtEpochMs: any.atEpochMs, ordinal })
}

/** A place on a board made a moment ago, or on one that never existed. */
const boardCursor = ({ random, time }: Seat): string => {
  const version = Math.floor(time.nowEpochMs() / 1_000) - random.below(80)
  const window = random.pick(["daily", "daily", "weekly", "all_time", "yearly"])
  const text = random.pick([
    `{"kind":"leaderboard","window":"${window}","boardVersion":${version},"rank":${random.below(4)}}`,
    `{"kind":"leaderboard","window":"${window}","boardVersion":"${version}","rank":1}`,
    `{"window":"${window}","boardVersion":${version},"rank":1}`
  ])
  return base64(text)
}

/** The times of a route's rows, oldest first; those of trades for routes without such a list here. */
const timesOf = ({ model, who }: Seat, endpoint: string): ReadonlyArray<number> => {
  const { accounts, markets, published, trades } = model
  const { movements, payments, rankings, steps } = published
  if (endpoint === "listCompatOrders") return accounts[who.account]!.placed.map(({ createdAtEpochMs }) => createdAtEpochMs)
  const lists: Readonly<Record<string, ReadonlyArray<{ readonly atEpochMs: number }>>> = {
    listFundings: markets.flatMap(({ risk }) => risk.fundings),
    listMarks: markets.flatMap(({ risk }) => risk.marks.slice(-60)),
    listLiquidations: steps,
    listAccountLiquidations: steps,
    listDeleveragings: rankings,
    listFundingPayments: payments,
    getInsuranceFund: movements
  }
  return (lists[endpoint] ?? trades).map(({ atEpochMs }) => atEpochMs)
}

/** A time near recent events, or long ago. */
const since = (seat: Seat, endpoint: string): string => {
  const { model: { atEpochMs }, random } = seat
  const rows = timesOf(seat, endpoint).slice(-60)
  const done = rows.length === 0 ? atEpochMs : random.pick(rows)
  return String(random.pick([0, done, done + 1, atEpochMs, Math.max(0, atEpochMs - random.below(5_000)), atEpochMs + 60_000]))
}

const limit = ({ random }: Seat): string => String(random.pick([1, 2, 3, 5, 9, 10, 40, 50, 51, 99, 100, 100, 101, 499, 500, 501]))

/** A value for a parameter. */
const valueOf = (seat: Seat, endpoint: string, parameter: string): string => {
  const { model, past, random, wishes } = seat
  if (random.chance(oddShare)) return random.pick(odd)
  const { parameters } = random.pick(model.markets)
  switch (parameter) {
    case "marketId":
      return random.pick([parameters.marketId, parameters.marketId, parameters.marketId, "NONE-USDC-PERP", symbol(parameters)])
    case "symbol":
      return random.pick([symbol(parameters), symbol(parameters), symbol(parameters), "NONE/USDC:USDC", parameters.marketId])
    case "window":
      return random.pick(["daily", "daily", "weekly", "monthly", "all_time", "yearly"])
    case "metric":
      return random.pick(["projected_realized_pnl", "projected_realized_pnl", "volume"])
    case "timeframe":
      return random.pick(["1m", "1m", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d", "3d", "1w", "1M", "2m", "1y"])
    case "series":
      return random.pick(["trade", "trade", "trade", "index", "index", "mark", "last"])
    case "status":
      if (endpoint === "listPositionHistory") return random.pick(["open", "closed", "closed", "liquidated", "canceled"])
      return random.pick(["open", "open", "closed", "canceled"])
    case "cursor":
      if (endpoint === "listLedger") return placeCursor(seat, "entries")
      if (endpoint === "listFundingPayments") return placeCursor(seat, "payments")
      if (endpoint === "listPositionHistory") return episodeCursor(seat)
      if (endpoint === "getLeaderboard") return boardCursor(seat)
      return cursor(seat, endpoint === "listOrders" ? "orders" : endpoint === "listFills" ? "fills" : "trades")
    case "since":
      return since(seat, endpoint)
    case "limit":
      return limit(seat)
    case "idempotencyKey":
      return (past.length === 0 ? undefined : random.pick(past).idempotencyKey) ?? "never"
    default:
      return wishes.ofMine((order) => order.clientOrderId !== "")?.clientOrderId ?? "never"
  }
}

interface Target {
  readonly endpoint: string
  readonly path: (seat: Seat) => string
  readonly parameters?: ReadonlyArray<string>
  readonly credential: "trader" | "none"
}

const encoded = encodeURIComponent

const ownAccount = ({ model, random, who }: Seat): string =>
  random.chance(0.06) ? random.pick(["acc_0", "acc", accountId(random.pick(model.accounts).born)]) : who.accountId
const ofAccount = (rest: string) => (seat: Seat): string => `/v1/accounts/${encoded(ownAccount(seat))}/${rest}`
const ofMarket = (rest: string) => (seat: Seat): string =>
  `/v1/markets/${encoded(seat.random.chance(0.05) ? "NONE-USDC-PERP" : idOf(seat))}${rest}`
const ofSymbol = (rest: string) => (seat: Seat): string => {
  const { model, random } = seat
  const { parameters } = random.pick(model.markets)
  return `/v2/markets/${encoded(random.chance(0.05) ? parameters.marketId : symbol(parameters))}${rest}`
}
const idOf = ({ model, random }: Seat): string => random.pick(model.markets).parameters.marketId
const ofOrder = (family: "v1" | "v2") => ({ model, random, wishes }: Seat): string => {
  const mine = wishes.ofMine(() => true)?.number ?? 999_999
  const any = [...model.orders.keys()].at(-1) ?? 0
  const name = random.chance(0.2)
    ? random.pick(["ord_", "ord", "ORD_1", orderId(any), orderId(mine + 1), `${orderId(mine)}0`])
    : orderId(mine)
  return `/${family}/orders/${encoded(name)}`
}
const at = (path: string) => (): string => path

const target = (
  endpoint: string,
  credential: Target["credential"],
  path: Target["path"],
  parameters: ReadonlyArray<string> = []
): Target => ({ endpoint, credential, path, parameters })

const page = ["limit", "cursor"]
const sinceAndLimit = ["since", "limit"]

/** Reads of published liquidations and funding. */
const published: ReadonlyArray<Target> = [
  target("listFundings", "none", ofMarket("/funding"), sinceAndLimit),
  target("listMarks", "none", ofMarket("/marks"), sinceAndLimit),
  target("listLiquidations", "none", ofMarket("/liquidations"), sinceAndLimit),
  target("listDeleveragings", "none", ofMarket("/deleveragings"), sinceAndLimit),
  target("getInsuranceFund", "none", at("/v1/insurance-fund"), sinceAndLimit),
  target("listAccountLiquidations", "trader", ofAccount("liquidations"), sinceAndLimit),
  target("listFundingPayments", "trader", ofAccount("funding-payments"), [...sinceAndLimit, "cursor"]),
  target("listLedger", "trader", ofAccount("ledger"), ["marketId", ...page])
]

/** Reads of histories. */
const past: ReadonlyArray<Target> = [
  target("getCandles", "none", ofMarket("/candles"), ["timeframe", "series", ...sinceAndLimit]),
  target("getCompatCandles", "none", ofSymbol("/candles"), ["timeframe", "series", ...sinceAndLimit]),
  target("listPositionHistory", "trader", ofAccount("positions/history"), ["marketId", "status", ...page]),
  target("getLeaderboard", "none", at("/v1/leaderboard"), ["window", "metric", ...page])
]

const targets: ReadonlyArray<Target> = [
  ...published,
  ...past,
  ...past,
  target("getOrder", "trader", ofOrder("v1")),
  target("getCompatOrder", "trader", ofOrder("v2"), ["symbol"]),
  target("getBalance", "trader", ofAccount("balance")),
  target("getProfile", "trader", ofAccount("profile")),
  target("listPositions", "trader", ofAccount("positions")),
  target("getLeverage", "trader", (seat) => ofAccount(`markets/${encoded(idOf(seat))}/leverage`)(seat)),
  target("getAutoClose", "trader", (seat) => ofAccount(`positions/${encoded(idOf(seat))}/auto-close`)(seat)),
  target("listTriggers", "trader", ofAccount("triggers"), ["marketId"]),
  target("listOrders", "trader", ofAccount("orders"), ["marketId", "status", ...page]),
  target("listOrders", "trader", ofAccount("orders"), ["marketId", "status", ...page]),
  target("listFills", "trader", ofAccount("fills"), ["marketId", ...page]),
  target("lookUpOutcome", "trader", ofAccount("outcomes"), ["idempotencyKey", "clientOrderId"]),
  target("getCancelAllAfter", "trader", ofAccount("orders/cancel-all-after")),
  target("getCurrentApiKey", "trader", at("/v1/api-keys/current")),
  target("getLimits", "none", at("/v1/limits")),
  target("listMarkets", "none", at("/v1/markets")),
  target("getMarket", "none", ofMarket("")),
  target("getBook", "none", ofMarket("/book")),
  target("getStats", "none", ofMarket("/stats")),
  target("listTrades", "none", ofMarket("/trades"), page),
  target("listCompatOrders", "trader", at("/v2/orders"), ["symbol", "status", ...sinceAndLimit]),
  target("listCompatOrders", "trader", at("/v2/orders"), ["symbol", "status", ...sinceAndLimit]),
  target("listCompatOwnTrades", "trader", at("/v2/trades"), ["symbol", ...sinceAndLimit]),
  target("listCompatPositions", "trader", at("/v2/positions"), ["symbol"]),
  target("getCompatBalance", "trader", at("/v2/balance")),
  target("listCompatMarkets", "none", at("/v2/markets")),
  target("getCompatBook", "none", ofSymbol("/book"), ["limit"]),
  target("getCompatStats", "none", ofSymbol("/stats")),
  target("getCompatTicker", "none", ofSymbol("/ticker")),
  target("listCompatTrades", "none", ofSymbol("/trades"), sinceAndLimit),
  target("getCompatTime", "none", at("/v2/time")),
  // An operator's route, which refuses a trader's key.
  target("getAnnounced", "trader", (seat) => `/v1/operator/markets/${encoded(idOf(seat))}/announced`),
  target("getHealth", "none", at("/healthz")),
  target("getReadiness", "none", at("/readyz"))
]

/** A query as clients write it, now and then with an invalid addition. */
const search = (seat: Seat, endpoint: string, parameters: ReadonlyArray<string>): string => {
  const { random } = seat
  const parts = parameters.filter(() => random.chance(presentShare)).map((name) => `${name}=${encoded(valueOf(seat, endpoint, name))}`)
  if (random.chance(0.02)) parts.push(random.pick(["colour=blue", "limit=1&limit=1", "since=%zz", "%ff=1", "status", "Limit=1"]))
  if (random.chance(0.02)) parts.splice(random.below(parts.length + 1), 0, "")
  return parts.length === 0 ? random.chance(0.03) ? "?" : "" : `?${parts.join("&")}`
}

/** All published lists, as read by a client without an account, and by each account. */
export const everythingPublished = ({ markets }: Seat["model"], everybody: ReadonlyArray<Identity>): ReadonlyArray<Draft> => {
  const listed = markets.filter(({ status }) => isListed(status)).map(({ parameters }) => `/v1/markets/${parameters.marketId}`)
  const ofAll: ReadonlyArray<readonly [endpoint: string, target: string]> = [
    ["getInsuranceFund", "/v1/insurance-fund?limit=500"],
    ["getMetrics", "/metrics"],
    ...listed.flatMap((market) =>
      [
        ["getStats", `${market}/stats`],
        ["listFundings", `${market}/funding?limit=500`],
        ["listLiquidations", `${market}/liquidations?limit=500`],
        ["listDeleveragings", `${market}/deleveragings`]
      ] as const
    )
  ]
  return [
    ...ofAll.map(([endpoint, target]) => Calls.read(Calls.passerBy, endpoint, target, "none")),
    ...everybody.flatMap((who) => [
      Calls.read(who, "listAccountLiquidations", `/v1/accounts/${who.accountId}/liquidations?limit=500`, "trader"),
      Calls.read(who, "listFundingPayments", `/v1/accounts/${who.accountId}/funding-payments?limit=500`, "trader"),
      Calls.read(who, "listLedger", `/v1/accounts/${who.accountId}/ledger?limit=100`, "trader")
    ])
  ]
}

/** A market whose index has become stale since the last record: nothing but the time shows it. */
const silent = ({ model, time }: Seat): NaiveMarket | undefined =>
  model.markets.find(({ parameters: { indexStaleMs }, risk: { source }, status }) =>
    isListed(status) && source !== 0 && source + indexStaleMs > model.atEpochMs && source + indexStaleMs <= time.nowEpochMs()
  )

/** A random read. */
export const readAnything = (seat: Seat): Draft => {
  const { random, who } = seat
  const stale = silent(seat)
  if (stale !== undefined) return Calls.read(who, "getStats", `/v1/markets/${stale.parameters.marketId}/stats`, "none")
  // Where there are liquidations or funding payments, their lists are read more often than anything else.
  const isTold = seat.model.published.steps.length + seat.model.published.payments.length > 0
  const { credential, endpoint, parameters = [], path } = random.pick(isTold && random.chance(publishedShare) ? published : targets)
  const draft = Calls.read(who, endpoint, `${path(seat)}${search(seat, endpoint, parameters)}`, credential)
  if (credential === "none" || !random.chance(0.04)) return draft
  const wrong: ReadonlyArray<Partial<Draft>> = [
    { credential: "none", token: "" },
    { credential: "wrong", token: "pk_nonsense" },
    { credential: "wrong", token: `${who.apiKey.slice(0, -1)}${who.apiKey.endsWith("A") ? "B" : "A"}` }
  ]
  return { ...draft, ...random.pick(wrong) }
}
