/** Auto-deleveragings with their rankings: `GET /v1/markets/{marketId}/deleveragings`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import type { RankingView, MarketView } from "../../engine/Reads.js"
import { inBoth, money } from "../accounts/Money.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { Side, sideOf } from "./Liquidation.js"
import { withMarket } from "./Listed.js"

/** Most rankings in one answer, since each may have a thousand positions. */
const mostTold = 10

const RankedPosition = Schema.Struct({
  rank: Fields.Count,
  ...Fields.pairedSigned("unrealizedPnl"),
  ...Fields.paired("entryNotional"),
  ...Fields.paired("notional"),
  ...Fields.pairedSigned("equity"),
  ...Fields.paired("closedQuantity")
}).annotations({
  identifier: "RankedPosition",
  description: "A position opposite to the one that was closed, under no name but its place. In profit it is ranked by "
    + "`unrealizedPnl x notional / (entryNotional x max(1, equity))`, behind those otherwise by "
    + "`unrealizedPnl x max(1, equity) / (entryNotional x notional)`, in atoms, the largest first; an entry notional of 0 counts as 1."
})

const Deleveraging = Schema.Struct({
  marketId: Fields.Text,
  side: Side,
  ...Fields.paired("markPrice"),
  ranked: Fields.Count,
  ranking: Schema.Array(RankedPosition),
  occurredAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({
  identifier: "Deleveraging",
  description:
    "A ranking, all of it at the mark of when it was begun: `side` is that of the positions in it, which were closed against those that "
    + "were liquidated. Of `ranked` positions the first 1,024 are told. The steps that closed them name it by its `sequence`."
})

const DeleveragingList = Schema.Struct({
  version: Schema.Literal("external-deleveraging-list/v1"),
  marketId: Fields.Text,
  deleveragings: Schema.Array(Deleveraging)
}).annotations({
  identifier: "DeleveragingList",
  description: `The venue keeps the latest 64 of all markets together and tells ${mostTold} at a time.`
})

const deleveraging = (
  { parameters: { marketId, priceScale, quantityScale } }: MarketView,
  view: RankingView
): typeof Deleveraging.Type => ({
  marketId,
  side: sideOf(view.direction),
  ...inBoth("markPrice", view.markAtoms, priceScale),
  ranked: view.ranked,
  ranking: view.entries.map((entry, at) => ({
    rank: at + 1,
    ...money("unrealizedPnl", entry.unrealizedPnlAtoms),
    ...money("entryNotional", entry.entryNotionalAtoms),
    ...money("notional", entry.notionalAtoms),
    ...money("equity", entry.equityAtoms),
    ...inBoth("closedQuantity", entry.closedAtoms, quantityScale)
  })),
  occurredAtEpochMs: view.atEpochMs,
  sequence: view.sequence
})

export const listDeleveragings = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("listDeleveragings", "/v1/markets/:marketId/deleveragings")
    .setPath(Fields.MarketPath)
    .setUrlParams(Schema.Struct({ ...Fields.latestSince }))
    .addSuccess(DeleveragingList)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary, "Auto-deleveragings with their rankings since a time, newest first"),
  example: { target: `/v1/markets/${Example.marketId}/deleveragings?limit=1` },
  handler: ({ state }) => ({ path, urlParams }) =>
    withMarket(state, { marketId: path.marketId }, (view) =>
      json({
        version: "external-deleveraging-list/v1",
        marketId: path.marketId,
        deleveragings: state.deleveragings(view.index, Number(urlParams.since ?? 0), Math.min(mostTold, pageLimit(urlParams.limit)))
          .map((each) => deleveraging(view, each))
      }))
})
