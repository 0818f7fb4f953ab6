/**
 * Reads of the past once all is quiet: a listing from its first page to its last, rows since the exact times of rows, and single orders
 * that the engine has forgotten and the histories still have. Nothing happens meanwhile, so each answer is known to the last row and does
 * not depend on who read it before.
 */
import { orderId, sequenceOf } from "../../src/domain/Ids.js"
import { isListed, symbol } from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { isKept, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { Draft, Identity } from "./Calls.js"

/** From how many times a list is read, in addition to one that several rows share. */
const timesAsked = 2
/** How many of the published lists are read from exact times on. */
const sharePublished = 0.2
/** The latest rows, among which one is sought that shares its time with another: the venue's short memory may end between the two. */
const latest = 120

/** Times of rows: some at random, and one that several rows share, if there is any. */
const timesOf = (made: ReadonlyArray<number>, random: SimRandom): ReadonlySet<number> => {
  if (made.length === 0) return new Set()
  const near = made.slice(-latest)
  const shared = near.filter((time, at) => at > 0 && near[at - 1] === time)
  const some = Array.from({ length: timesAsked }, () => random.pick(random.chance(0.5) ? near : made))
  return new Set([...some, ...shared.length === 0 ? [] : [random.pick(shared)]])
}

/** Orders of an account that are certainly forgotten, one that was filled and one that was not, by id and by clientOrderId. */
const forgotten = (model: NaiveVenue, who: Identity, random: SimRandom): ReadonlyArray<Draft> => {
  const gone = model.accounts[who.account]!.placed.filter((order) => !isKept(order, model.atEpochMs))
  const [filled, others] = [true, false].map((isFilled) => gone.filter(({ status }) => (status === Order.closed) === isFilled))
  return [filled!, others!].flatMap((orders) => {
    if (orders.length === 0) return []
    const { clientOrderId, number } = random.pick(orders)
    return [
      Calls.read(who, "getOrder", `/v1/orders/${orderId(number)}`, "trader"),
      ...clientOrderId === "" ? [] : [Calls.lookUp(who, "clientOrderId", clientOrderId)]
    ]
  })
}

const ofAccount = (model: NaiveVenue, who: Identity, random: SimRandom): ReadonlyArray<Draft> => {
  const account = model.accounts[who.account]!
  const own = (endpoint: string, target: string): Draft => Calls.read(who, endpoint, target, "trader")
  const path = `/v1/accounts/${who.accountId}`
  const placed = timesOf(account.placed.map(({ createdAtEpochMs }) => createdAtEpochMs), random)
  const filled = timesOf(model.fillsOf(who.account).map(({ atEpochMs }) => atEpochMs), random)
  return [
    own("listPositionHistory", `${path}/positions/history?limit=${random.pick([1, 2, 3, 100])}`),
    own("listOrders", `${path}/orders?limit=100`),
    own("listFills", `${path}/fills?limit=${random.pick([9, 100])}`),
    own("listLedger", `${path}/ledger?limit=${random.pick([11, 40])}`),
    ...[...placed].map((time) => own("listCompatOrders", `/v2/orders?since=${time}&limit=500`)),
    ...[...filled].map((time) => own("listCompatOwnTrades", `/v2/trades?since=${time}&limit=500`))
  ]
}

/** The changes of one account from one of its orders on, on pages of one record, two, three, and so on: small ones end within a block. */
const changes = ({ accounts }: NaiveVenue, everybody: ReadonlyArray<Identity>, random: SimRandom): ReadonlyArray<Draft> => {
  const traders = everybody.filter(({ account }) => accounts[account]!.placed.length > 0)
  if (traders.length === 0) return []
  const who = random.pick(traders)
  const behind = sequenceOf(random.pick(accounts[who.account]!.placed).number) - 1
  return [Calls.read(who, "listChanges", `/v1/accounts/${who.accountId}/changes?fromSequence=${behind}&limit=1`, "trader")]
}

/** Candles of a market from the exact opening of one of them on. */
const candlesSince = ({ history: { prices } }: NaiveVenue, { index, parameters }: NaiveMarket, random: SimRandom): ReadonlyArray<Draft> => {
  const told = prices.filter(({ market }) => market === index)
  if (told.length === 0) return []
  const { atEpochMs, series } = random.pick(told)
  const [timeframe, lengthMs] = random.pick([["1m", 60_000], ["1m", 60_000], ["1h", 3_600_000]] as const)
  const asked = `timeframe=${timeframe}&series=${series}&since=${Math.floor(atEpochMs / lengthMs) * lengthMs}`
  return [Calls.read(Calls.passerBy, "getCandles", `/v1/markets/${parameters.marketId}/candles?${asked}`, "none")]
}

const ofMarkets = (model: NaiveVenue, random: SimRandom): ReadonlyArray<Draft> => {
  const anybodys = (endpoint: string, target: string): Draft => Calls.read(Calls.passerBy, endpoint, target, "none")
  return model.markets.filter(({ status }) => isListed(status)).flatMap((market) => {
    const { parameters, trades } = market
    const v2 = `/v2/markets/${encodeURIComponent(symbol(parameters))}`
    const candles = ["trade", "index", "mark"].map((series) =>
      anybodys("getCandles",
        `/v1/markets/${parameters.marketId}/candles?timeframe=${random.pick(["1m", "1m", "3m", "1h", "1d"])}&series=${series}`)
    )
    const since = [...timesOf(trades.map(({ atEpochMs }) => atEpochMs), random)]
    return [
      ...candles,
      ...candlesSince(model, market, random.split(`candles of ${parameters.marketId}`)),
      ...since.map((time) => anybodys("listCompatTrades", `${v2}/trades?since=${time}&limit=500`))
    ]
  })
}

/** What is published of liquidations, funding, marks and the insurance fund, from the exact times of rows on. */
const publishedSince = (
  { accounts, markets, published: { movements, payments, rankings, steps } }: NaiveVenue,
  everybody: ReadonlyArray<Identity>,
  random: SimRandom
): ReadonlyArray<Draft> => {
  const since = (rows: ReadonlyArray<{ readonly atEpochMs: number }>, read: (query: string) => Draft, share = sharePublished) =>
    random.chance(share) ? [...timesOf(rows.map(({ atEpochMs }) => atEpochMs), random)].map((time) => read(`?since=${time}&limit=500`)) : []
  const anybodys = (endpoint: string, target: string) => (query: string): Draft =>
    Calls.read(Calls.passerBy, endpoint, `${target}${query}`, "none")
  const own = (who: Identity, endpoint: string, path: string) => (query: string): Draft =>
    Calls.read(who, endpoint, `/v1/accounts/${who.accountId}/${path}${query}`, "trader")
  return [
    // It is one for all, and most runs change it seldom.
    ...since(movements, anybodys("getInsuranceFund", "/v1/insurance-fund"), 1),
    ...markets.filter(({ status }) => isListed(status)).flatMap(({ index, parameters, risk }) => {
      const path = `/v1/markets/${parameters.marketId}`
      return [
        ...since(risk.fundings, anybodys("listFundings", `${path}/funding`)),
        ...since(risk.marks, anybodys("listMarks", `${path}/marks`)),
        ...since(steps.filter(({ market }) => market === index), anybodys("listLiquidations", `${path}/liquidations`)),
        ...since(rankings.filter(({ market }) => market === index), anybodys("listDeleveragings", `${path}/deleveragings`))
      ]
    }),
    ...everybody.filter(({ account }) => accounts[account]!.placed.length > 0).flatMap((who) => [
      ...since(steps.filter(({ account, counterparty }) => account === who.account || counterparty === who.account),
        own(who, "listAccountLiquidations", "liquidations")),
      ...since(payments.filter(({ account }) => account === who.account), own(who, "listFundingPayments", "funding-payments"))
    ])
  ]
}

/** First pages, and lists without pages. */
export const everythingPast = (model: NaiveVenue, everybody: ReadonlyArray<Identity>, random: SimRandom): ReadonlyArray<Draft> => [
  ...ofMarkets(model, random),
  ...publishedSince(model, everybody, random.split("what is published")),
  ...everybody.flatMap((who) => ofAccount(model, who, random)),
  ...everybody.flatMap((who) => forgotten(model, who, random.split(`forgotten by ${who.client}`))),
  ...changes(model, everybody, random.split("changes"))
]

/**
 * What is read twice, with a while in between: the leaderboard's windows and the solvency report, which may not be there at first; how the
 * venue says that it stands, when the books have been compared for that report; and candles as tuples, which name no record, after
 * others have named one.
 */
export const readTwice = ({ markets }: NaiveVenue): ReadonlyArray<Draft> => {
  const anybodys = (endpoint: string, target: string): Draft => Calls.read(Calls.passerBy, endpoint, target, "none")
  return [
    ...["daily", "weekly", "monthly", "all_time"].map((window) => anybodys("getLeaderboard", `/v1/leaderboard?window=${window}&limit=5`)),
    anybodys("getSolvency", "/v1/solvency"),
    anybodys("getReadiness", "/readyz"),
    ...markets.filter(({ status }) => isListed(status)).map(({ parameters }) =>
      anybodys("getCompatCandles", `/v2/markets/${encodeURIComponent(symbol(parameters))}/candles?timeframe=1m&series=trade`)
    )
  ]
}

/** Most pages of changes that are read: with blocks on the disk each page may have less than was requested, down to one record. */
const mostPages = 24

/**
 * The next page of changes after one that was answered, one record longer; where the sequence is no longer kept, it continues at the
 * oldest that is. Undefined where there is none.
 */
const nextChanges = (draft: Draft, answer: Answer | undefined): Draft | undefined => {
  const { hasMore, limit: oldest, rejectionGuard, throughSequence } = (answer?.json ?? {}) as Partial<Record<string, unknown>>
  const [path, search] = draft.target.split("?")
  const limit = Number(new URLSearchParams(search).get("limit"))
  // Where few are kept, the oldest may be gone by the time it is requested: it is skipped to only once.
  const isPassedOver = limit === 1 && rejectionGuard === "sequence_not_retained"
  const behind = hasMore === true && limit < mostPages ? throughSequence : isPassedOver ? oldest : undefined
  return behind === undefined ? undefined : { ...draft, target: `${path}?fromSequence=${String(behind)}&limit=${limit + 1}` }
}

/** The page after one that was answered; undefined where there is none. */
export const nextPage = (draft: Draft, answer: Answer | undefined): Draft | undefined => {
  if (draft.endpoint === "listChanges") return nextChanges(draft, answer)
  const cursor = answer?.status === 200 ? (answer.json as { readonly nextCursor?: unknown } | undefined)?.nextCursor : undefined
  if (typeof cursor !== "string") return undefined
  const [path, search = ""] = draft.target.split("?")
  const kept = search.split("&").filter((part) => part !== "" && !part.startsWith("cursor="))
  return { ...draft, target: `${path}?${[...kept, `cursor=${cursor}`].join("&")}` }
}
