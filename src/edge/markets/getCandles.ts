/**
 * Candles of trades and of the index, from the histories: `GET /v1/markets/{marketId}/candles`, and the same as tuples of numbers,
 * `GET /v2/markets/{symbol}/candles`.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Market from "../../domain/Market.js"
import * as Units from "../../domain/Units.js"
import type { MarketView } from "../../engine/Reads.js"
import type { Candle } from "../../readmodel/Candles.js"
import type { Read } from "../../readmodel/Histories.js"
import { timeframes } from "../../readmodel/Timeframes.js"
import { inBoth } from "../accounts/Money.js"
import type { Services } from "../http/Call.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { Freshness, freshness } from "../http/Freshness.js"
import * as Route from "../http/Route.js"
import { withMarket } from "./Listed.js"

const Timeframe = Schema.Literal(...timeframes)

/** What a good query asks for; `mark` is declared and not served. */
const Query = Schema.Struct({
  timeframe: Fields.optional(Timeframe).annotations({
    description: "`1m` when absent. Buckets begin in UTC: weeks on Monday, months on their first day, `3d` counts from the epoch."
  }),
  since: Fields.since,
  limit: Fields.candleLimit,
  series: Fields.optional(Schema.Literal("trade", "index", "mark")).annotations({
    description: "`index` when absent. `mark` is not served: 400 `operation_not_available`."
  })
})

const CandleRecord = Schema.Struct({
  openTimeEpochMs: Fields.EpochMs,
  ...Fields.paired("open"),
  ...Fields.paired("high"),
  ...Fields.paired("low"),
  ...Fields.paired("close"),
  ...Fields.paired("volume")
}).annotations({ identifier: "Candle" })

const CandleList = Schema.Struct({
  version: Schema.Literal("external-candle-list/v1"),
  marketId: Fields.Text,
  timeframe: Timeframe,
  series: Schema.Literal("trade", "index"),
  candles: Schema.Array(CandleRecord),
  freshness: Freshness,
  ...CompleteSince
}).annotations({
  identifier: "CandleList",
  description: "Oldest first. The latest candle is still open and changes. Candles without a trade, or without a sample of the index, are "
    + "left out. `volume` is of the underlying; 0 for `index`. A candle that began before `completeSinceEpochMs` is missing, or lacks what "
    + "was before then."
})

const CompatCandle = Schema.Tuple(Fields.EpochMs, Fields.Amount, Fields.Amount, Fields.Amount, Fields.Amount, Fields.Amount).annotations({
  identifier: "CompatCandle",
  description: "`[openTimeMs, open, high, low, close, volume]`; the volume is of the underlying, 0 for `index`."
})

/** Candles that a query asks for, of a market that it names. */
const withCandles = <A>(
  { histories, state }: Services,
  named: Parameters<typeof withMarket>[1],
  { limit, series = "index", since, timeframe = "1m" }: typeof Query.Type,
  then: (view: MarketView, read: Read<ReadonlyArray<Candle>>) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  if (series === "mark") return fail(Errors.markCandles)
  return withMarket(state, named, (view) =>
    histories.candles({
      series,
      market: view.index,
      timeframe,
      sinceEpochMs: since === undefined ? undefined : Number(since),
      limit: limit === undefined ? Fields.maxPage : Number(limit)
    }).pipe(
      Effect.mapError(() => Errors.historiesUnavailable),
      Effect.flatMap((read) => then(view, read))
    ))
}

/** A candle as it is told. */
export const candleRecord = ({ priceScale, quantityScale }: Market.Parameters, candle: Candle): typeof CandleRecord.Type => ({
  openTimeEpochMs: candle.openTimeEpochMs,
  ...inBoth("open", candle.openAtoms, priceScale),
  ...inBoth("high", candle.highAtoms, priceScale),
  ...inBoth("low", candle.lowAtoms, priceScale),
  ...inBoth("close", candle.closeAtoms, priceScale),
  ...inBoth("volume", candle.volumeAtoms, quantityScale)
})

const tuple = ({ priceScale, quantityScale }: Market.Parameters, candle: Candle): typeof CompatCandle.Type => [
  candle.openTimeEpochMs,
  Units.toNumber(candle.openAtoms, priceScale),
  Units.toNumber(candle.highAtoms, priceScale),
  Units.toNumber(candle.lowAtoms, priceScale),
  Units.toNumber(candle.closeAtoms, priceScale),
  Number(Units.formatDecimal(candle.volumeAtoms, quantityScale))
]

export const getCandles = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getCandles", "/v1/markets/:marketId/candles")
    .setPath(Fields.MarketPath)
    .setUrlParams(Query)
    .addSuccess(CandleList)
    .addError(Failures.native(Failures.publicRead, 404, "Unavailable"))
    .annotate(OpenApi.Summary, "Candles of the index or of trades"),
  example: { target: `/v1/markets/${Example.marketId}/candles?timeframe=1h&limit=24` },
  handler: (services) => ({ path: { marketId }, urlParams }) =>
    withCandles(services, { marketId }, urlParams, ({ parameters }, { found, standing }) =>
      json({
        version: "external-candle-list/v1",
        marketId,
        timeframe: urlParams.timeframe ?? "1m",
        series: urlParams.series ?? "index",
        candles: found.map((candle) => candleRecord(parameters, candle)),
        freshness: freshness(standing),
        ...completeSince(services)
      }))
})

export const getCompatCandles = Route.effect({
  tag: "compatMarkets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getCompatCandles", "/v2/markets/:symbol/candles")
    .setPath(Fields.SymbolPath)
    .setUrlParams(Query)
    .addSuccess(Schema.Array(CompatCandle))
    .addError(Failures.compat(Failures.publicRead, 404, "Unavailable"))
    .annotate(OpenApi.Summary, "Candles of the index or of trades")
    .annotate(
      OpenApi.Description,
      "503 while the histories are stale or take in what they lack after a start: `/v1` has what there is, with its `freshness`."
    ),
  example: { target: `/v2/markets/${Example.encodedSymbol}/candles?timeframe=1h&limit=24` },
  handler: (services) => ({ path: { symbol }, urlParams }) =>
    withCandles(services, { symbol }, urlParams, ({ parameters }, { found, standing }) =>
      // Nothing in an array tells that the latest candle is half of one, or is long over.
      standing.isReplaying || freshness(standing).status === "stale"
        ? fail(Errors.historiesUnavailable)
        : json(found.map((candle) => tuple(parameters, candle))))
})
