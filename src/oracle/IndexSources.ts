/**
 * An index from several sources that are polled independently, so that a slow one holds up no other. At regular intervals every market's
 * price is computed from their latest answers (see `Aggregate.ts`), and passed on where it is newer than the last one.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { aggregate, type Aggregated, type Quote, type Rules } from "./Aggregate.js"
import { IndexFeed, type OffGrid, type Quoted, type Sample, type SourceView } from "./IndexFeed.js"
import { offGrid, toAtoms } from "./Price.js"
import { priceOf, seenOf, type Ticker } from "./Ticker.js"

/** A source did not answer, or its answer was not tickers. */
export class SourceFailed extends Schema.TaggedError<SourceFailed>()("SourceFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** What a source answered. */
export interface Answered {
  readonly tickers: ReadonlyMap<string, Ticker>
  /** Why it refuses symbols that it was asked for alone, or fails for them while it answers others, by symbol. */
  readonly refused: ReadonlyMap<string, string>
  /** Symbols that it refused together with others: which of them it really refuses is not known yet. */
  readonly open: ReadonlySet<string>
}

export interface Source {
  readonly name: string
  readonly weight: number
  /** The source's symbol for an underlying. */
  readonly symbolOf: (underlyingSymbol: string) => string
  /** The tickers for those of the symbols that the source has. */
  readonly fetch: (symbols: ReadonlyArray<string>) => Effect.Effect<Answered, SourceFailed>
}

export interface Options extends Rules {
  /** The interval between polls of a source, and between prices of a market, in milliseconds. */
  readonly pollMs: number
}

/** The longest pause before a failing source is polled again, in milliseconds. */
const longestRestMs = 15_000

/** A source and its latest answers. */
interface Asked {
  readonly source: Source
  /** By symbol. */
  readonly quotes: Map<string, Quote>
  /** How many of its tickers gave no usable price, by symbol. */
  readonly refused: Map<string, number>
  /** Failures in a row. */
  failures: number
  /** Symbols that the source turned out not to have. */
  readonly unknown: Set<string>
  /** Symbols that the source refuses at present. */
  readonly refusing: Set<string>
}

/** Polls a source once, and keeps its answers. An unusable ticker leaves the previous quote in place until that is stale. */
const ask = (asked: Asked, markets: ReadonlyArray<Quoted>, staleMs: number): Effect.Effect<void, SourceFailed> =>
  Effect.gen(function*() {
    const { quotes, source } = asked
    const symbols = [...new Set(markets.map(({ underlyingSymbol }) => source.symbolOf(underlyingSymbol)))]
    if (symbols.length === 0) return
    const { open, refused, tickers } = yield* source.fetch(symbols).pipe(
      Effect.timeoutFail({ duration: staleMs, onTimeout: () => new SourceFailed({ reason: `no answer in ${staleMs} ms` }) })
    )
    const gotEpochMs = yield* Clock.currentTimeMillis
    for (const [symbol, ticker] of tickers) {
      const price = priceOf(ticker, gotEpochMs)
      if (price === undefined) asked.refused.set(symbol, (asked.refused.get(symbol) ?? 0) + 1)
      else quotes.set(symbol, { price, weight: source.weight, seenEpochMs: seenOf(ticker, gotEpochMs) })
    }
    const isSilent = (symbol: string): boolean => !tickers.has(symbol) && !refused.has(symbol) && !open.has(symbol)
    const unknown = symbols.filter((symbol) => isSilent(symbol) && !asked.unknown.has(symbol))
    for (const symbol of unknown) asked.unknown.add(symbol)
    if (unknown.length > 0) yield* Effect.logWarning(`index source ${source.name} tells nothing of ${unknown.join(", ")}`)
    yield* tellOfRefused(asked, refused, tickers)
  })

/** Logs which symbols a source has come to refuse, and which it answers again. */
const tellOfRefused = (
  { refusing, source: { name } }: Asked,
  refused: Answered["refused"],
  tickers: Answered["tickers"]
): Effect.Effect<void> => {
  const fresh = [...refused].filter(([symbol]) => !refusing.has(symbol))
  const again = [...refusing].filter((symbol) => tickers.has(symbol) && !refused.has(symbol))
  for (const [symbol] of fresh) refusing.add(symbol)
  for (const symbol of again) refusing.delete(symbol)
  const told = [
    ...fresh.map(([symbol, reason]) => Effect.logWarning(`index source ${name} refuses ${symbol}, which is left out there: ${reason}`)),
    ...again.map((symbol) => Effect.logInfo(`index source ${name} answers for ${symbol} again`))
  ]
  return Effect.all(told, { discard: true })
}

/** Polls a source for ever. Logs the first failure of a series, and the recovery. */
const poll = (asked: Asked, markets: () => ReadonlyArray<Quoted>, { pollMs, staleMs }: Options): Effect.Effect<never> => {
  const { source: { name } } = asked
  const once = Effect.suspend(() => ask(asked, markets(), staleMs)).pipe(
    // An exception from a source counts as a failure, and does not end the polling.
    Effect.catchAllDefect((defect) => new SourceFailed({ reason: String(defect) })),
    Effect.zipRight(Effect.suspend(() => asked.failures === 0 ? Effect.void : Effect.logInfo(`index source ${name} answers again`))),
    Effect.map(() => {
      asked.failures = 0
      return pollMs
    }),
    Effect.catchAll(({ reason }) =>
      Effect.suspend(() => asked.failures++ === 0 ? Effect.logWarning(`index source ${name} does not answer: ${reason}`) : Effect.void)
        .pipe(
          Effect.map(() => Math.max(pollMs, Math.min(longestRestMs, pollMs * 2 ** Math.min(asked.failures, 10))))
        )
    ),
    Effect.flatMap((restMs) => Effect.sleep(restMs))
  )
  return Effect.forever(once)
}

/** What was last reported for a market. */
interface Told {
  sourceEpochMs: number
  /** Undefined until something has been logged about it. */
  hasPrice: boolean | undefined
  /** Whether a price that is not on the market's grid has been logged. */
  isOffGrid: boolean
  /** For how long its prices are fresh, when that was last looked at, in milliseconds; 0 before. */
  indexStaleMs: number
}

/** Logs why a market has no price, or that it has one again. */
const tellOf = (marketId: string, asked: ReadonlyArray<Asked>, { price, verdicts }: Aggregated): Effect.Effect<void> =>
  price !== undefined
    ? Effect.logInfo(`enough index sources agree on ${marketId}`)
    : Effect.logWarning(
      `too few index sources agree on ${marketId}: ${asked.map(({ source }, index) => `${source.name} ${verdicts[index]!}`).join(", ")}`
    )

/** Logs that sources are polled so seldom that a single late or lost answer leaves one out. */
const tellOfRests = ({ pollMs, staleMs }: Options): Effect.Effect<void> =>
  2 * pollMs <= staleMs ? Effect.void : Effect.logWarning(
    `INDEX_POLL_MS (${pollMs}) is more than half of INDEX_SOURCE_STALE_MS (${staleMs}): one late answer leaves an exchange out`
  )

/** Logs that a market may get prices from sources so old that it takes them for stale at once. */
const tellOfAge = (told: Told, { indexStaleMs, marketId }: Quoted, { staleMs }: Rules): Effect.Effect<void> => {
  const isKnown = told.indexStaleMs === indexStaleMs
  told.indexStaleMs = indexStaleMs
  return isKnown || staleMs <= indexStaleMs ? Effect.void : Effect.logWarning(
    `INDEX_SOURCE_STALE_MS (${staleMs}) is more than the indexStaleMs of ${marketId} (${indexStaleMs}): `
      + "prices that slow exchanges make are stale there as they come"
  )
}

const neverSeen: Quote = { price: 1, weight: 1, seenEpochMs: Number.NEGATIVE_INFINITY }

/** The latest quote of each source for a market. */
const quotesOf = (asked: ReadonlyArray<Asked>, { underlyingSymbol }: Quoted): ReadonlyArray<Quote> =>
  asked.map(({ quotes, source }) => quotes.get(source.symbolOf(underlyingSymbol)) ?? neverSeen)

/** The monitoring view of each source for a market. */
const viewsOf = (asked: ReadonlyArray<Asked>, market: Quoted, rules: Rules, now: number): ReadonlyArray<SourceView> => {
  const quotes = quotesOf(asked, market)
  const { verdicts } = aggregate(quotes, rules, now)
  return asked.map(({ source }, index) => {
    const { seenEpochMs } = quotes[index]!
    return {
      marketId: market.marketId,
      source: source.name,
      ageMs: Number.isFinite(seenEpochMs) ? Math.max(0, now - seenEpochMs) : undefined,
      agrees: verdicts[index] === "used",
      refused: asked[index]!.refused.get(source.symbolOf(market.underlyingSymbol)) ?? 0
    }
  })
}

/** The sources' aggregated prices, market by market. */
const samplesOf = (
  asked: ReadonlyArray<Asked>,
  told: Map<string, Told>,
  markets: ReadonlyArray<Quoted>,
  rules: Rules,
  beganMs: number
): Effect.Effect<ReadonlyArray<Sample | OffGrid>> =>
  Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const samples: Array<Sample | OffGrid> = []
    for (const market of markets) {
      const { marketId, priceScale } = market
      const aggregated = aggregate(quotesOf(asked, market), rules, now)
      const { price, sourceEpochMs } = aggregated
      const last = told.get(marketId) ?? { sourceEpochMs: 0, hasPrice: undefined, isOffGrid: false, indexStaleMs: 0 }
      told.set(marketId, last)
      yield* tellOfAge(last, market, rules)
      // Sources that have only just been polled are given time to answer.
      const isEarly = price === undefined && last.hasPrice === undefined && now - beganMs <= rules.staleMs
      if (!isEarly && last.hasPrice !== (price !== undefined)) {
        last.hasPrice = price !== undefined
        yield* tellOf(marketId, asked, aggregated)
      }
      if (price === undefined || sourceEpochMs <= last.sourceEpochMs) continue
      last.sourceEpochMs = sourceEpochMs
      const priceAtoms = toAtoms(price, priceScale)
      if (priceAtoms === undefined && !last.isOffGrid) {
        last.isOffGrid = true
        yield* Effect.logWarning(offGrid(marketId, price, priceScale))
      }
      samples.push(priceAtoms === undefined ? { marketId, priceAtoms } : { marketId, priceAtoms, sourceEpochMs })
    }
    return samples
  })

/** The feed over these sources. They are polled while somebody consumes the feed. */
export const layer = (sources: ReadonlyArray<Source>, options: Options): Layer.Layer<IndexFeed> =>
  Layer.sync(IndexFeed, () => {
    const asked: ReadonlyArray<Asked> = sources.map((source) => ({
      source,
      quotes: new Map(),
      refused: new Map(),
      failures: 0,
      unknown: new Set(),
      refusing: new Set()
    }))
    return {
      samples: (markets) =>
        Stream.unwrapScoped(Effect.gen(function*() {
          const told = new Map<string, Told>()
          const beganMs = yield* Clock.currentTimeMillis
          yield* tellOfRests(options)
          yield* Effect.forEach(asked, (each) => Effect.forkScoped(poll(each, markets, options)))
          return Stream.repeatEffect(
            Effect.zipRight(Effect.sleep(options.pollMs), Effect.suspend(() => samplesOf(asked, told, markets(), options, beganMs)))
          ).pipe(Stream.mapConcat((samples) => samples))
        })),
      sources: (markets, nowEpochMs) => markets.flatMap((market) => viewsOf(asked, market, options, nowEpochMs))
    }
  })
