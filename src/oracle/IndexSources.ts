/**
 * The index made of several sources that are asked again and again: each by itself, so that a slow one holds none up. Once in
 * a while every market's price is made of what they last said (see `Aggregate.ts`), and told where it is newer than the last one.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { aggregate, type Aggregated, type Quote, type Rules } from "./Aggregate.js"
import { IndexFeed, type Quoted, type Sample, type SourceView } from "./IndexFeed.js"
import { toAtoms } from "./Price.js"
import { priceOf, seenOf, type Ticker } from "./Ticker.js"

/** A source did not answer, or not with tickers. */
export class SourceFailed extends Schema.TaggedError<SourceFailed>()("SourceFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

export interface Source {
  readonly name: string
  readonly weight: number
  /** What the source calls an underlying. */
  readonly symbolOf: (underlyingSymbol: string) => string
  /** The tickers of those symbols that the source has. */
  readonly fetch: (symbols: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Ticker>, SourceFailed>
}

export interface Options extends Rules {
  /** Between two questions to a source, and between two prices of a market. */
  readonly pollMs: number
}

/** The longest rest of a source that does not answer. */
const longestRestMs = 15_000

/** A source and what it last said. */
interface Asked {
  readonly source: Source
  /** By symbol. */
  readonly quotes: Map<string, Quote>
  /** How many of its tickers were no price, by symbol. */
  readonly refused: Map<string, number>
  /** Failures in a row. */
  failures: number
  /** Symbols that it was found to know nothing of. */
  readonly unknown: Set<string>
}

/** Asks a source once, and keeps what it says. What is no price leaves the one before, until that is stale. */
const ask = (asked: Asked, markets: ReadonlyArray<Quoted>, staleMs: number): Effect.Effect<void, SourceFailed> =>
  Effect.gen(function*() {
    const { quotes, source } = asked
    const symbols = [...new Set(markets.map(({ underlyingSymbol }) => source.symbolOf(underlyingSymbol)))]
    if (symbols.length === 0) return
    const tickers = yield* source.fetch(symbols).pipe(
      Effect.timeoutFail({ duration: staleMs, onTimeout: () => new SourceFailed({ reason: `no answer in ${staleMs} ms` }) })
    )
    const gotEpochMs = yield* Clock.currentTimeMillis
    for (const [symbol, ticker] of tickers) {
      const price = priceOf(ticker, gotEpochMs)
      if (price === undefined) asked.refused.set(symbol, (asked.refused.get(symbol) ?? 0) + 1)
      else quotes.set(symbol, { price, weight: source.weight, seenEpochMs: seenOf(ticker, gotEpochMs) })
    }
    const unknown = symbols.filter((symbol) => !tickers.has(symbol) && !asked.unknown.has(symbol))
    for (const symbol of unknown) asked.unknown.add(symbol)
    if (unknown.length > 0) yield* Effect.logWarning(`index source ${source.name} tells nothing of ${unknown.join(", ")}`)
  })

/** Asks a source for ever. The first failure in a row is told, and its end. */
const poll = (asked: Asked, markets: () => ReadonlyArray<Quoted>, { pollMs, staleMs }: Options): Effect.Effect<never> => {
  const { source: { name } } = asked
  const once = Effect.suspend(() => ask(asked, markets(), staleMs)).pipe(
    // What a source throws is a failure of its own, and not the end of its being asked.
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

/** What was last told of a market. */
interface Told {
  sourceEpochMs: number
  /** Undefined while nothing was said of it. */
  hasPrice: boolean | undefined
}

/** Says why a market has no price, or that it has one. */
const tellOf = (marketId: string, asked: ReadonlyArray<Asked>, { price, verdicts }: Aggregated): Effect.Effect<void> =>
  price !== undefined
    ? Effect.logInfo(`enough index sources agree on ${marketId}`)
    : Effect.logWarning(
      `too few index sources agree on ${marketId}: ${asked.map(({ source }, index) => `${source.name} ${verdicts[index]!}`).join(", ")}`
    )

const neverSeen: Quote = { price: 1, weight: 1, seenEpochMs: Number.NEGATIVE_INFINITY }

/** What each source last said of a market. */
const quotesOf = (asked: ReadonlyArray<Asked>, { underlyingSymbol }: Quoted): ReadonlyArray<Quote> =>
  asked.map(({ quotes, source }) => quotes.get(source.symbolOf(underlyingSymbol)) ?? neverSeen)

/** What each source is worth to a market. */
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

/** What the sources come to, market by market. */
const samplesOf = (
  asked: ReadonlyArray<Asked>,
  told: Map<string, Told>,
  markets: ReadonlyArray<Quoted>,
  rules: Rules,
  beganMs: number
): Effect.Effect<ReadonlyArray<Sample>> =>
  Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const samples: Array<Sample> = []
    for (const market of markets) {
      const { marketId, priceScale } = market
      const aggregated = aggregate(quotesOf(asked, market), rules, now)
      const { price, sourceEpochMs } = aggregated
      const last = told.get(marketId) ?? { sourceEpochMs: 0, hasPrice: undefined }
      told.set(marketId, last)
      // Sources that have only just been asked are given the time to answer.
      const isEarly = price === undefined && last.hasPrice === undefined && now - beganMs <= rules.staleMs
      if (!isEarly && last.hasPrice !== (price !== undefined)) {
        last.hasPrice = price !== undefined
        yield* tellOf(marketId, asked, aggregated)
      }
      const priceAtoms = price === undefined ? undefined : toAtoms(price, priceScale)
      if (priceAtoms === undefined || sourceEpochMs <= last.sourceEpochMs) continue
      last.sourceEpochMs = sourceEpochMs
      samples.push({ marketId, priceAtoms, sourceEpochMs })
    }
    return samples
  })

/** The feed over these sources. They are asked from when it is listened to until it no longer is. */
export const layer = (sources: ReadonlyArray<Source>, options: Options): Layer.Layer<IndexFeed> =>
  Layer.sync(IndexFeed, () => {
    const asked: ReadonlyArray<Asked> = sources.map((source) => ({
      source,
      quotes: new Map(),
      refused: new Map(),
      failures: 0,
      unknown: new Set()
    }))
    return {
      samples: (markets) =>
        Stream.unwrapScoped(Effect.gen(function*() {
          const told = new Map<string, Told>()
          const beganMs = yield* Clock.currentTimeMillis
          yield* Effect.forEach(asked, (each) => Effect.forkScoped(poll(each, markets, options)))
          return Stream.repeatEffect(
            Effect.zipRight(Effect.sleep(options.pollMs), Effect.suspend(() => samplesOf(asked, told, markets(), options, beganMs)))
          ).pipe(Stream.mapConcat((samples) => samples))
        })),
      sources: (markets, nowEpochMs) => markets.flatMap((market) => viewsOf(asked, market, options, nowEpochMs))
    }
  })
