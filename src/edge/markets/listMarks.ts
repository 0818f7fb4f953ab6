/** A market's latest marks with what each was made of, newest first: `GET /v1/markets/{marketId}/marks`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { none } from "../../domain/None.js"
import type { MarketView, MarkView } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import { inBoth } from "../accounts/Money.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { withMarket } from "./Listed.js"

const Mark = Schema.Struct({
  madeAtEpochMs: Fields.EpochMs,
  markPriceAtoms: Fields.Atoms,
  markPrice: Fields.Decimal,
  indexPriceAtoms: Fields.Atoms,
  indexPrice: Fields.Decimal,
  impactBidPriceAtoms: Fields.optional(Fields.Atoms),
  impactBidPrice: Fields.optional(Fields.Decimal),
  impactAskPriceAtoms: Fields.optional(Fields.Atoms),
  impactAskPrice: Fields.optional(Fields.Decimal),
  lastPriceAtoms: Fields.optional(Fields.Atoms),
  lastPrice: Fields.optional(Fields.Decimal),
  fundingRateE9: Schema.String,
  fundingIntervalMs: Fields.Count,
  basisSumTwiceAtoms: Schema.String,
  basisSamples: Fields.Count,
  fundedPriceAtoms: Fields.Atoms,
  basisPriceAtoms: Fields.SignedAtoms,
  bookPriceAtoms: Fields.Atoms,
  lowestPriceAtoms: Fields.Atoms,
  highestPriceAtoms: Fields.Atoms,
  sequence: Fields.Sequence
}).annotations({
  identifier: "Mark",
  description: "The mark is the median of three prices, held to `lowestPriceAtoms`..`highestPriceAtoms`. `fundedPriceAtoms`: the index "
    + "with the running rate (`fundingRateE9`, per interval) over the rest of the interval. `basisPriceAtoms`: the index with the average "
    + "of the last samples, `basisSumTwiceAtoms` / 2 / `basisSamples`. `bookPriceAtoms`: the median of `impactBidPrice`, `impactAskPrice` "
    + "and `lastPrice`. A side of the book that is too thin has no impact price, and it is the index then; so is a last trade where there "
    + "was none."
})

const MarkList = Schema.Struct({
  version: Schema.Literal("external-mark-list/v1"),
  marketId: Fields.Text,
  marks: Schema.Array(Mark)
}).annotations({
  identifier: "MarkList",
  description: "The venue keeps the latest 600 marks of each market, one a second while the market is live: ten minutes. "
    + "The newest 500 of them can be read."
})

const mark = ({ parameters: { priceScale } }: MarketView, view: MarkView) => ({
  madeAtEpochMs: view.atEpochMs,
  ...inBoth("markPrice", view.markAtoms, priceScale),
  ...inBoth("indexPrice", view.indexPriceAtoms, priceScale),
  ...(view.impactBidAtoms === none ? {} : inBoth("impactBidPrice", view.impactBidAtoms, priceScale)),
  ...(view.impactAskAtoms === none ? {} : inBoth("impactAskPrice", view.impactAskAtoms, priceScale)),
  ...(view.lastPriceAtoms === 0 ? {} : inBoth("lastPrice", view.lastPriceAtoms, priceScale)),
  fundingRateE9: String(view.fundingRateE9),
  fundingIntervalMs: view.fundingIntervalMs,
  basisSumTwiceAtoms: String(view.basisSumTwiceAtoms),
  basisSamples: view.basisSamples,
  fundedPriceAtoms: String(view.p1Atoms),
  basisPriceAtoms: String(view.p2Atoms),
  bookPriceAtoms: String(view.p3Atoms),
  lowestPriceAtoms: String(view.lowestAtoms),
  highestPriceAtoms: String(view.highestAtoms),
  sequence: view.sequence
})

export const listMarks = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listMarks", "/v1/markets/:marketId/marks")
    .setPath(Fields.MarketPath)
    .setUrlParams(Schema.Struct({ ...Fields.latestSince }))
    .addSuccess(MarkList)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "Marks since a time with what they were made of, newest first"),
  example: { target: `/v1/markets/${Example.marketId}/marks?limit=60` },
  handler: ({ state }) => ({ path, urlParams }) =>
    withMarket(state, { marketId: path.marketId }, (view) =>
      json({
        version: "external-mark-list/v1",
        marketId: path.marketId,
        marks: state.marks(view.index, Number(urlParams.since ?? 0), pageLimit(urlParams.limit)).map((each) => mark(view, each))
      }))
})
