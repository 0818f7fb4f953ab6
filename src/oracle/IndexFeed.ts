/**
 * The index feed: prices of the underlyings from outside the venue. Every sample is submitted as a command and takes effect only through
 * its record.
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { internal, Principal } from "../operations/Header.js"
import { isDelisted, type Reads } from "../engine/Reads.js"
import type { Submit } from "../sequencer/Submit.js"

/** One price of one market's index. */
export interface Sample {
  readonly marketId: string
  readonly priceAtoms: number
  /** When the source observed it. */
  readonly sourceEpochMs: number
}

/** A price of which the nearest one on its market's grid is none: zero, or beyond what the grid can tell. */
export interface OffGrid {
  readonly marketId: string
  readonly priceAtoms: undefined
}

/** A market that needs an index: its underlying, its price grid, and for how long a price is fresh there, in milliseconds. */
export interface Quoted {
  readonly marketId: string
  readonly underlyingSymbol: string
  readonly priceScale: number
  readonly indexStaleMs: number
}

/** The present state of one of an index's sources, for monitoring. */
export interface SourceView {
  readonly marketId: string
  readonly source: string
  /** The age of its latest price, in milliseconds; undefined where it never gave one. */
  readonly ageMs: number | undefined
  /** Whether it is among the sources that make the price, or would if there were enough. */
  readonly agrees: boolean
  /** How many of its tickers since the start gave no usable price. */
  readonly refused: number
}

export class IndexFeed extends Context.Tag("venue/oracle/IndexFeed")<IndexFeed, {
  /** Samples as they arrive, for the markets that `markets` lists at each moment. The stream never ends; a lost source is simply silent. */
  readonly samples: (markets: () => ReadonlyArray<Quoted>) => Stream.Stream<Sample | OffGrid>
  /** Each source of each of these markets at a time; absent for feeds whose index does not have several sources. */
  readonly sources?: (markets: ReadonlyArray<Quoted>, nowEpochMs: number) => ReadonlyArray<SourceView>
}>() {}

/** Prices come only through the operator's routes. */
export const layerPush: Layer.Layer<IndexFeed> = Layer.succeed(IndexFeed, { samples: () => Stream.never })

/** A synthetic index: it moves around a price, step by step. */
export interface Walk {
  readonly marketId: string
  readonly aroundAtoms: number
}

/** Time between the steps of a synthetic index, in milliseconds. */
const stepMs = 1000

/**
 * For development: every second each index follows three slow waves around its starting price, within 2 % of it. A function of the second
 * alone, and therefore the same everywhere.
 */
export const layerSynthetic = (walks: ReadonlyArray<Walk>): Layer.Layer<IndexFeed> =>
  Layer.succeed(IndexFeed, {
    samples: () =>
      Stream.fromSchedule(Schedule.spaced(stepMs)).pipe(
        Stream.prepend(Chunk.of(0)),
        Stream.mapEffect(() => Clock.currentTimeMillis),
        Stream.mapConcat((now) =>
          walks.map((walk, index) => ({
            marketId: walk.marketId,
            priceAtoms: syntheticPrice(walk.aroundAtoms, index, now),
            sourceEpochMs: now
          }))
        )
      )
  })

/** Three slow waves around a price, within 2 % of it, with periods of a minute, seventeen minutes and four hours. */
const syntheticPrice = (aroundAtoms: number, phase: number, atEpochMs: number): number => {
  const seconds = Math.floor(atEpochMs / stepMs) % 1_000_000
  const wave = triangle(seconds + phase * 7, 61) * 10
    + triangle(seconds + phase * 131, 1021) * 60
    + triangle(seconds + phase * 977, 14_401) * 130
  return Math.max(1, aroundAtoms + Math.round((aroundAtoms * wave) / 10_000))
}

/** A triangle between -1 and 1 with a period in seconds. */
const triangle = (seconds: number, period: number): number => {
  const within = (seconds % period) / period
  return within < 0.5 ? 4 * within - 1 : 3 - 4 * within
}

const fromFeed = internal(Principal.feed)

/** Every market that may receive an index: a draft market does not show its price grid yet, and a delisted one takes no prices. */
export const quoted = (reads: Reads): ReadonlyArray<Quoted> => {
  const markets: Array<Quoted> = []
  for (let index = 0; index < reads.marketCount; index++) {
    const market = reads.market(index)
    const { indexStaleMs, marketId, priceScale, underlyingSymbol } = market.parameters
    if (market.status !== "draft" && !isDelisted(market)) markets.push({ marketId, underlyingSymbol, priceScale, indexStaleMs })
  }
  return markets
}

/** Submits the feed's samples for existing markets, for as long as it runs. `refuse` is told of each price that is not on the grid. */
export const drive = (
  feed: Context.Tag.Service<typeof IndexFeed>,
  reads: Reads,
  submit: Context.Tag.Service<typeof Submit>,
  refuse: (market: number, sender: "feed") => void
): Effect.Effect<void> =>
  feed.samples(() => quoted(reads)).pipe(
    Stream.runForEach((sample) =>
      Effect.sync(() => {
        const market = reads.findMarket(sample.marketId)
        if (market < 0 || isDelisted(reads.market(market))) return
        if (sample.priceAtoms === undefined) return refuse(market, "feed")
        const { priceAtoms, sourceEpochMs } = sample
        submit.submit({ kind: "SetIndexPrice", ...fromFeed, market, priceAtoms, sourceEpochMs }, () => {})
      })
    )
  )
