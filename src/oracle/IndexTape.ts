/**
 * An index played from a recorded file, for development, tests and rehearsals: one sample per line,
 *
 *   atMs,marketId,price
 *
 * in order of time. Times are whole milliseconds and are taken relative to the first line's, so that a recording with absolute times
 * plays like one that begins at 0. Empty lines and lines that begin with `#` are ignored. A line plays at its time by the venue's clock,
 * which becomes its source time; its price is rounded to the market's grid. Lines of markets that the venue does not have are skipped.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Ids from "../domain/Ids.js"
import { IndexFeed, type OffGrid, type Quoted, type Sample } from "./IndexFeed.js"
import { offGrid, toAtoms } from "./Price.js"

/** One line of a tape. */
export interface Line {
  /** Milliseconds since the first line. */
  readonly atMs: number
  readonly marketId: string
  readonly price: number
}

/** The pause between the last line of a looping tape and its first, in milliseconds. */
const loopPauseMs = 1_000

const timePattern = /^(?:0|[1-9][0-9]{0,14})$/
const pricePattern = /^(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?$/

/** A parsed line, or what is wrong with it. */
const lineOf = (text: string, earliestMs: number): Line | string => {
  const [time, marketId, price, ...more] = text.split(",").map((field) => field.trim())
  if (time === undefined || marketId === undefined || price === undefined || more.length > 0) return "is not atMs,marketId,price"
  if (!timePattern.test(time)) return "has a time that is no whole number of milliseconds"
  if (Number(time) < earliestMs) return "is earlier than the line before it"
  if (!Ids.marketIdPattern.test(marketId)) return "names no market"
  if (!pricePattern.test(price) || Number(price) === 0) return "has a price that is no positive decimal"
  return { atMs: Number(time), marketId, price: Number(price) }
}

/** The lines of a tape; or what is wrong with the first bad one, by its number. */
export const parse = (text: string): Either.Either<ReadonlyArray<Line>, string> => {
  const lines: Array<Line> = []
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim()
    if (line === "" || line.startsWith("#")) continue
    const found = lineOf(line, lines.at(-1)?.atMs ?? 0)
    if (typeof found === "string") return Either.left(`line ${index + 1} ${found}`)
    lines.push(found)
  }
  const [first] = lines
  if (first === undefined) return Either.left("has no line with a price")
  return Either.right(lines.map((line) => ({ ...line, atMs: line.atMs - first.atMs })))
}

/** Warns of lines for markets that the venue does not have. */
const warnOfUnknown = (lines: ReadonlyArray<Line>, markets: ReadonlyArray<Quoted>): Effect.Effect<void> => {
  const known = new Set(markets.map(({ marketId }) => marketId))
  const unknown = [...new Set(lines.map(({ marketId }) => marketId))].filter((marketId) => !known.has(marketId))
  return unknown.length === 0
    ? Effect.void
    : Effect.logWarning(`the index tape has prices of markets that are not here: ${unknown.join(", ")}`)
}

/** Warns of each market for which the tape has a price that is not on its grid, with the first such price. */
const warnOfOffGrid = (lines: ReadonlyArray<Line>, markets: ReadonlyArray<Quoted>): Effect.Effect<void> =>
  Effect.forEach(markets, ({ marketId, priceScale }) => {
    const line = lines.find((each) => each.marketId === marketId && toAtoms(each.price, priceScale) === undefined)
    return line === undefined ? Effect.void : Effect.logWarning(`the index tape: ${offGrid(marketId, line.price, priceScale)}`)
  }, { discard: true })

/** Plays the lines once, beginning with the first at a given time. */
const round = (
  lines: ReadonlyArray<Line>,
  beginsAtMs: number,
  markets: () => ReadonlyArray<Quoted>
): Stream.Stream<Sample | OffGrid> =>
  Stream.fromIterable(lines).pipe(
    Stream.rechunk(1),
    Stream.mapEffect((line) =>
      Effect.gen(function*() {
        const leftMs = beginsAtMs + line.atMs - (yield* Clock.currentTimeMillis)
        if (leftMs > 0) yield* Effect.sleep(leftMs)
        return { line, sourceEpochMs: yield* Clock.currentTimeMillis }
      })
    ),
    Stream.mapConcat(({ line: { marketId, price }, sourceEpochMs }): ReadonlyArray<Sample | OffGrid> => {
      const market = markets().find((each) => each.marketId === marketId)
      if (market === undefined) return []
      const priceAtoms = toAtoms(price, market.priceScale)
      return [priceAtoms === undefined ? { marketId, priceAtoms } : { marketId, priceAtoms, sourceEpochMs }]
    })
  )

const ended = Effect.logWarning("the index tape has ended: markets take only what reduces once their index is stale")

/** Plays a tape once the venue is ready; repeatedly where it loops. */
export const layer = (lines: ReadonlyArray<Line>, loops: boolean): Layer.Layer<IndexFeed> => {
  const periodMs = (lines.at(-1)?.atMs ?? 0) + loopPauseMs
  return Layer.succeed(IndexFeed, {
    samples: (markets) =>
      Stream.unwrap(Effect.gen(function*() {
        yield* warnOfUnknown(lines, markets())
        yield* warnOfOffGrid(lines, markets())
        const beginsAtMs = yield* Clock.currentTimeMillis
        if (!loops) return Stream.concat(round(lines, beginsAtMs, markets), Stream.execute(Effect.zipRight(ended, Effect.never)))
        return Stream.flatMap(Stream.iterate(0, (turn) => turn + 1), (turn) => round(lines, beginsAtMs + turn * periodMs, markets))
      }))
  })
}
