/**
 * A market's book: `GET /v1/markets/{marketId}/book` and `GET /v2/markets/{symbol}/book`. Books are cached as text for as long as
 * their sequence is the present one: making one costs a millisecond, sending it again nothing.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import * as Units from "../../domain/Units.js"
import type { BookView, MarketView, Reads } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import { Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import { compatLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { sha256 } from "./Digest.js"
import { withMarket } from "./Listed.js"

/** Most levels a side in a book. */
export const maxDepth = 500
/** Levels a side that a checksum covers. */
export const checksumDepth = 25

const Level = Schema.Struct({
  ...Fields.paired("price"),
  ...Fields.paired("size")
}).annotations({ identifier: "BookLevel" })

const BookSnapshot = Schema.Struct({
  version: Schema.Literal("external-book-snapshot/v1"),
  marketId: Fields.Text,
  snapshotSequence: Fields.Sequence.annotations({
    description: "The last record that changed the market's book, levels included that are not shown."
  }),
  readModelDigest: Fields.Digest.annotations({
    description: "SHA-256 over the RFC 8785 canonical JSON of {marketId, snapshotSequence, bids, asks} as sent."
  }),
  bids: Schema.Array(Level).pipe(Schema.maxItems(maxDepth)),
  asks: Schema.Array(Level).pipe(Schema.maxItems(maxDepth)),
  checksum: Fields.Digest.annotations({
    description: "SHA-256 over the best 25 levels a side as lines `b|priceAtoms|sizeAtoms` then `a|...`, "
      + "best first, joined by a newline."
  }),
  resync: Fields.resync("market.book").annotations({
    description: "From where the stream goes on behind this snapshot. `fromSequence` is 0 where a side has more levels than are shown: a "
      + "`subscribe` with it gets the whole book, since nothing told later would bring the levels that are missing here."
  })
}).annotations({ identifier: "BookSnapshot" })
type BookSnapshot = typeof BookSnapshot.Type

const Pair = Schema.Tuple(Fields.Amount, Fields.Amount)

const CompatBook = Schema.Struct({
  symbol: Fields.Text,
  bids: Schema.Array(Pair),
  asks: Schema.Array(Pair),
  nonce: Fields.Sequence,
  info: BookSnapshot
}).annotations({
  identifier: "CompatBook",
  description: "Levels are [price, amount], best first; `info` is the whole native snapshot."
})

/** One side of a book as JSON. Members are in canonical order, so that the text is also what the digest covers. */
const levelsText = (
  levels: ReadonlyArray<readonly [number, number]>,
  market: Pick<Market.Parameters, "priceScale" | "quantityScale">
): string => {
  let text = "["
  for (let index = 0; index < levels.length; index++) {
    const [priceAtoms, sizeAtoms] = levels[index]!
    text += (index === 0 ? "" : ",")
      + `{"price":"${Units.formatDecimal(priceAtoms, market.priceScale)}","priceAtoms":"${priceAtoms}"`
      + `,"size":"${Units.formatDecimal(sizeAtoms, market.quantityScale)}","sizeAtoms":"${sizeAtoms}"}`
  }
  return `${text}]`
}

/** SHA-256 over the best 25 levels a side: `b|priceAtoms|sizeAtoms` lines, then `a|...`, best first, joined by a newline. */
export const bookChecksum = (book: BookView): string => {
  const lines: Array<string> = []
  for (const [price, size] of book.bids.slice(0, checksumDepth)) lines.push(`b|${price}|${size}`)
  for (const [price, size] of book.asks.slice(0, checksumDepth)) lines.push(`a|${price}|${size}`)
  return sha256(lines.join("\n"))
}

/** `external-book-snapshot/v1` as JSON. `fromSequence`: from where whoever has only these levels can go on with the stream. */
export const bookText = (
  market: Pick<Market.Parameters, "marketId" | "priceScale" | "quantityScale">,
  sequence: number,
  book: BookView,
  fromSequence = sequence
): string => {
  const bids = levelsText(book.bids, market)
  const asks = levelsText(book.asks, market)
  const marketId = quote(market.marketId)
  const digest = sha256(`{"asks":${asks},"bids":${bids},"marketId":${marketId},"snapshotSequence":${sequence}}`)
  return `{"version":"external-book-snapshot/v1","marketId":${marketId},"snapshotSequence":${sequence}`
    + `,"readModelDigest":"${digest}","bids":${bids},"asks":${asks},"checksum":"${bookChecksum(book)}"`
    + `,"resync":{"stream":"market.book","fromSequence":${fromSequence}}}`
}

/** A book with at most `maxDepth` levels a side, and whether it had more. */
const cutBook = (state: Reads, view: MarketView): { readonly book: BookView; readonly isCut: boolean } => {
  // One level more than is shown tells whether any is missing.
  const { asks, bids } = state.book(view.index, maxDepth + 1)
  return {
    book: { bids: bids.slice(0, maxDepth), asks: asks.slice(0, maxDepth) },
    isCut: bids.length > maxDepth || asks.length > maxDepth
  }
}

const pairs = (
  levels: ReadonlyArray<readonly [number, number]>,
  market: Pick<Market.Parameters, "priceScale" | "quantityScale">
): ReadonlyArray<string> =>
  levels.map(([price, size]) => `[${Units.toNumber(price, market.priceScale)},${Units.toNumber(size, market.quantityScale)}]`)

interface CachedBook {
  readonly sequence: number
  readonly text: string
  /** One level per entry for the compatibility layer, made on first use. */
  readonly pairs: () => { readonly bids: ReadonlyArray<string>; readonly asks: ReadonlyArray<string> }
}

/** Books of one venue as text, each made once for a sequence. */
const makeBooks = (state: Reads): (view: MarketView) => CachedBook => {
  const books = new Map<number, CachedBook>()
  return (view) => {
    const known = books.get(view.index)
    if (known !== undefined && known.sequence === view.bookSequence) return known
    const { book, isCut } = cutBook(state, view)
    let both: ReturnType<CachedBook["pairs"]> | undefined
    const made: CachedBook = {
      sequence: view.bookSequence,
      pairs: () => both ??= { bids: pairs(book.bids, view.parameters), asks: pairs(book.asks, view.parameters) },
      // Levels behind the last one shown would never be told to whoever goes on from here: 0 makes the stream send all of them.
      text: bookText(view.parameters, view.bookSequence, book, isCut ? 0 : view.bookSequence)
    }
    books.set(view.index, made)
    return made
  }
}

/** The compatibility book as JSON, with at most `depth` levels a side and the whole native snapshot in `info`. */
const compatBookText = ({ parameters }: MarketView, { pairs, sequence, text }: CachedBook, depth: number): string => {
  const { asks, bids } = pairs()
  return `{"symbol":${quote(Market.symbol(parameters))},"bids":[${bids.slice(0, depth).join(",")}]`
    + `,"asks":[${asks.slice(0, depth).join(",")}],"nonce":${sequence},"info":${text}}`
}

export const getBook = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getBook", "/v1/markets/:marketId/book")
    .setPath(Fields.MarketPath)
    .addSuccess(BookSnapshot)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, `The aggregated book, at most ${maxDepth} levels a side`),
  example: { target: `/v1/markets/${Example.marketId}/book` },
  handler: ({ shared, state }) => {
    const books = shared(makeBooks)
    return ({ path }) => withMarket(state, { marketId: path.marketId }, (view) => Effect.succeed(new Rendered(books(view).text)))
  }
})

export const getCompatBook = Route.effect({
  tag: "compatMarkets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getCompatBook", "/v2/markets/:symbol/book")
    .setPath(Fields.SymbolPath)
    .setUrlParams(Schema.Struct({ limit: Fields.optional(Fields.CompatLimitText) }))
    .addSuccess(CompatBook)
    .addError(Failures.compat(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "The book; the symbol in the path is URL-encoded"),
  example: { target: `/v2/markets/${Example.encodedSymbol}/book?limit=20` },
  handler: ({ shared, state }) => {
    const books = shared(makeBooks)
    return ({ path, urlParams }) =>
      withMarket(state, { symbol: path.symbol }, (view) =>
        Effect.succeed(new Rendered(compatBookText(view, books(view), compatLimit(urlParams.limit)))))
  }
})
