/**
 * The process that polls exchanges, through the package `ccxt`. Requests for tickers come as messages, and each is answered with tickers or
 * a reason. Its first argument is its start parameters, as JSON. It ends with the venue's process.
 */
import ccxt, { AuthenticationError, BaseError, DDoSProtection, type Exchange, ExchangeError, RateLimitExceeded } from "ccxt"
import { Gathered } from "../domain/Gathered.js"
import { type Answered, Batches, type Fault, reasonOf } from "./Batches.js"
import type { Answer, Asking, Begun, Question } from "./NodeCcxt.js"
import type { Ticker } from "./Ticker.js"

/** The package's classes by the exchanges' names. */
const classes = ccxt as unknown as Readonly<Record<string, new(config: object) => Exchange>>

/** The time limit for an exchange's answer, in milliseconds, and its size limit in bytes: the list of markets is the longest. */
const timeoutMs = 10_000
const longestAnswer = 32 * 2 ** 20

/** Fetches a whole answer, until the signal aborts it: the package itself reads a body without a time or size limit. */
const boundedFetch = async (url: string, { body, headers, method, signal }: RequestInit): Promise<Response> => {
  const asked: RequestInit = { method: method!, headers: headers!, body: body ?? null, signal: signal!, redirect: "error" }
  const response = await fetch(url, asked)
  const read = new Gathered(longestAnswer)
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    if (!read.take(part)) throw new Error(`an answer has more than ${longestAnswer} bytes`)
  }
  const { status, statusText } = response
  const whole = read.whole()
  return new Response(whole.length === 0 ? null : whole, { status, statusText, headers: response.headers })
}

/** An exchange's address moved to another origin, with the same path. */
const moved = (address: unknown, origin: string): unknown => {
  if (typeof address === "string") return address.replace(/^https?:\/\/[^/]+/, origin)
  return typeof address === "object" && address !== null
    ? Object.fromEntries(Object.entries(address).map(([name, each]) => [name, moved(each, origin)]))
    : address
}

const made = ({ id, url }: Asking["exchanges"][number], { requestEveryMs }: Asking): Exchange => {
  const limit = requestEveryMs === undefined ? {} : { rateLimit: requestEveryMs }
  const exchange = new classes[id]!({ timeout: timeoutMs, fetchImplementation: boundedFetch, options: { defaultType: "spot" }, ...limit })
  // Only spot prices are needed: where the package lists the market types to load, all others are removed.
  const loaded = exchange.options["fetchMarkets"] as { types?: unknown } | string | undefined
  if (typeof loaded === "object" && Array.isArray(loaded.types) && loaded.types.includes("spot")) loaded.types = ["spot"]
  if (url !== undefined) exchange.urls["api"] = moved(exchange.urls["api"], url) as typeof exchange.urls["api"]
  return exchange
}

type Tickers = ReadonlyArray<readonly [symbol: string, ticker: Ticker]>

/** The members of the package's ticker that are sent to the venue. */
const entry = (symbol: string, ticker: Ticker | undefined): Tickers =>
  ticker === undefined ? [] : [[symbol, { bid: ticker.bid, ask: ticker.ask, last: ticker.last, timestamp: ticker.timestamp }]]

/** Fetches each symbol separately; fails, with the first error, only where no symbol has a ticker. */
const oneByOne = async (exchange: Exchange, symbols: ReadonlyArray<string>): Promise<Tickers> => {
  const settled = await Promise.allSettled(symbols.map((symbol) => exchange.fetchTicker(symbol)))
  const [first] = settled
  if (first?.status === "rejected" && settled.every(({ status }) => status === "rejected")) throw first.reason
  return symbols.flatMap((symbol, index) => {
    const each = settled[index]
    return each?.status === "fulfilled" ? entry(symbol, each.value) : []
  })
}

/**
 * Fetches all symbols at once. Where the package cannot parse the answer, each is fetched separately, so that one bad ticker does not cost
 * the others.
 */
const atOnce = async (exchange: Exchange, symbols: ReadonlyArray<string>): Promise<Tickers> => {
  try {
    const tickers = await exchange.fetchTickers([...symbols])
    return symbols.flatMap((symbol) => entry(symbol, tickers[symbol]))
  } catch (cause) {
    if (cause instanceof BaseError || symbols.length === 1) throw cause
    return oneByOne(exchange, symbols)
  }
}

/**
 * What a request failed for. The package has errors of its own for a refused request and for too many requests. For most HTTP statuses
 * without a text that it knows, among them 400, 403, 404, 409, 410 and 500, it says that the exchange is not available, which exchanges
 * also answer where they no longer have a pair. An answer to a request for one symbol that it cannot parse is about that symbol.
 */
const faultOf = (cause: unknown, symbols: number): Fault => {
  if (cause instanceof RateLimitExceeded || cause instanceof DDoSProtection) return "haste"
  if (!(cause instanceof BaseError)) return symbols === 1 ? "symbol" : "unclear"
  // An exchange may refuse a whole country or network so.
  return cause instanceof ExchangeError && !(cause instanceof AuthenticationError) ? "symbol" : "unclear"
}

/**
 * Most further requests of a poll in which the exchange refuses symbols: as many as the package sends it in a second where each counts as
 * one. At many exchanges a request for tickers counts as several, so that the time ends them earlier (see `Requests` in `Batches.ts`).
 */
const mostApart = ({ rateLimit = 1_000 }: Exchange): number => Math.max(2, Math.min(16, Math.floor(1_000 / rateLimit)))

/** How much of the time after which an answer is too late may go by until the last further request begins: its answer takes time too. */
const apartShare = 1 / 5

/** An exchange, and how its symbols are asked for together. */
interface Polled {
  readonly exchange: Exchange
  readonly batches: Batches<Ticker>
}

const polled = (exchange: Exchange, { answerWithinMs }: Asking): Polled => ({
  exchange,
  batches: new Batches({
    find: (symbols) => atOnce(exchange, symbols),
    findAlone: (symbol) => oneByOne(exchange, [symbol]),
    faultOf,
    mostApart: mostApart(exchange),
    apartMs: answerWithinMs * apartShare,
    after: (millis) => new Promise((resolve) => setTimeout(resolve, millis))
  })
})

/** The tickers for those of the symbols that the exchange has. */
const tickersOf = async ({ batches, exchange }: Polled, symbols: ReadonlyArray<string>, nowEpochMs: number): Promise<Answered<Ticker>> => {
  // Forces a reload until markets are loaded: otherwise the package would return a failed load for ever.
  const markets = (exchange.markets as Exchange["markets"] | undefined) ?? await exchange.loadMarkets(true)
  // Pairs that are listed and do not trade are asked for too: they may trade again, and the list is not read again.
  const known = symbols.filter((symbol) => Object.hasOwn(markets, symbol))
  if (known.length > 0 && exchange.has["fetchTickers"] === true) return batches.ask(known, nowEpochMs)
  return { found: await oneByOne(exchange, known), refused: [], open: [] }
}

const asking = JSON.parse(process.argv[2] ?? "") as Asking
const { exchanges } = asking
const unknown = exchanges.filter(({ id }) => !ccxt.exchanges.includes(id)).map(({ id }) => id)
const byId: ReadonlyMap<string, Polled> = new Map(
  unknown.length > 0 ? [] : exchanges.map((each) => [each.id, polled(made(each, asking), asking)])
)

/** Sends to the venue, which may have ended meanwhile. */
const tell = (message: Answer | Begun): void => {
  if (process.connected) process.send!(message)
}

process.on("message", ({ exchange, nowEpochMs, number, symbols }: Question) => {
  tickersOf(byId.get(exchange)!, symbols, nowEpochMs).then(
    (answered) => tell({ number, ...answered }),
    (cause: unknown) => tell({ number, reason: reasonOf(cause) })
  )
})
process.once("disconnect", () => process.exit())
// A terminal's interrupt goes to all its processes, but the venue decides when it no longer needs this one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {})
tell({ unknown })
