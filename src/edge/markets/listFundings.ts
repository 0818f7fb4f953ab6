/** A market's ended funding intervals, newest first: `GET /v1/markets/{marketId}/funding`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Units from "../../domain/Units.js"
import type { FundingView, MarketView } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { withMarket } from "./Listed.js"

const FundingInterval = Schema.Struct({
  endedAtEpochMs: Fields.EpochMs,
  intervalMs: Fields.Count,
  fundingRateE9: Schema.String,
  fundingRate8hE9: Schema.String,
  averagePremiumE9: Schema.String,
  indexPriceAtoms: Fields.Atoms,
  indexPrice: Fields.Decimal,
  samples: Fields.Count,
  sequence: Fields.Sequence
}).annotations({
  identifier: "FundingInterval",
  description: "`fundingRateE9` is what a position paid of its notional at the index, in 10^-9 (positive: longs paid shorts); "
    + "`fundingRate8hE9` the same per 8 hours. 0 where fewer than half of the samples were taken, the market did not live to the end, or "
    + "another `fundingIntervalMs` cut the interval off, whose `intervalMs` is how long it was to be, or began it behind its beginning."
})

const FundingHistory = Schema.Struct({
  version: Schema.Literal("external-funding-history/v1"),
  marketId: Fields.Text,
  intervals: Schema.Array(FundingInterval)
}).annotations({
  identifier: "FundingHistory",
  description: "The venue keeps the latest 720 intervals of each market, of which the newest 500 can be read."
})

export const interval = ({ parameters: { priceScale } }: MarketView, funding: FundingView) => ({
  endedAtEpochMs: funding.atEpochMs,
  intervalMs: funding.intervalMs,
  fundingRateE9: String(funding.rateE9),
  fundingRate8hE9: String(funding.rate8hE9),
  averagePremiumE9: String(funding.premiumE9),
  indexPriceAtoms: String(funding.indexPriceAtoms),
  indexPrice: Units.formatDecimal(funding.indexPriceAtoms, priceScale),
  samples: funding.samples,
  sequence: funding.sequence
})

export const listFundings = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listFundings", "/v1/markets/:marketId/funding")
    .setPath(Fields.MarketPath)
    .setUrlParams(Schema.Struct({ ...Fields.latestSince }))
    .addSuccess(FundingHistory)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "Ended funding intervals since a time, newest first"),
  example: { target: `/v1/markets/${Example.marketId}/funding?limit=24` },
  handler: ({ state }) => ({ path, urlParams }) =>
    withMarket(state, { marketId: path.marketId }, (view) =>
      json({
        version: "external-funding-history/v1",
        marketId: path.marketId,
        intervals: state.fundings(view.index, Number(urlParams.since ?? 0), pageLimit(urlParams.limit)).map((each) => interval(view, each))
      }))
})
