/** Episodes of an account's positions, from the histories: `GET /v1/accounts/{accountId}/positions/history`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import { closeReasons, type Episode } from "../../readmodel/Episodes.js"
import { episodeStatuses } from "../../readmodel/Tables.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { Freshness, freshness } from "../http/Freshness.js"
import { pageLimit, pageOfEpisodes, withEpisode } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { withFilter } from "../markets/Listed.js"
import { inBoth, money } from "./Money.js"
import { withContractAccount } from "./Own.js"

const Status = Schema.Literal(...episodeStatuses)

const PositionEpisode = Schema.Struct({
  positionId: Fields.Text,
  accountId: Fields.Text,
  marketId: Fields.Text,
  side: Schema.Literal("long", "short"),
  status: Status,
  openedAtEpochMs: Fields.EpochMs,
  closedAtEpochMs: Schema.NullOr(Fields.EpochMs).annotations({ description: "Null while it is open." }),
  ...Fields.paired("maxQuantity"),
  ...Fields.paired("currentQuantity"),
  ...Fields.paired("avgEntryPrice"),
  avgExitPrice: Schema.NullOr(Fields.Decimal).annotations({
    description: "Of all that closed it; null before anything did. Less than zero where a deleveraging closed it beyond what it was worth."
  }),
  avgExitPriceAtoms: Schema.NullOr(Fields.SignedAtoms),
  ...Fields.pairedSigned("realizedPnl"),
  ...Fields.pairedSigned("feesPaid"),
  ...Fields.pairedSigned("fundingPaid"),
  closeReason: Schema.NullOr(Schema.Literal(...closeReasons)).annotations({ description: "Null while it is open." }),
  lastSequence: Fields.Sequence
}).annotations({
  identifier: "PositionEpisode",
  description: "A position from its first fill until it is flat again; a flip ends one and begins the next. `avgEntryPrice` is of all that "
    + "opened and grew it, rounded half up to the market's grid. The fee of a liquidation is no part of `feesPaid`, and a "
    + "`takeover_difference` none of `realizedPnl`: the ledger has both. "
    + "Of one that was open at `completeSinceEpochMs`, what had happened to it by then is in `realizedPnl`, `feesPaid` and `fundingPaid` "
    + "alone: the averages and `maxQuantity` begin with the position as it stood then."
})

const PositionHistory = Schema.Struct({
  version: Schema.Literal("external-position-history/v1"),
  accountId: Fields.Text,
  marketId: Schema.NullOr(Fields.Text).annotations({ description: "The market that was asked for; null for all." }),
  status: Schema.NullOr(Status).annotations({ description: "The status that was asked for; null for all." }),
  episodes: Schema.Array(PositionEpisode),
  nextCursor: Fields.NextCursor,
  ...CompleteSince,
  freshness: Freshness
}).annotations({
  identifier: "PositionHistory",
  description: "Open episodes first, newest opened first; then newest ended first, of one record newest opened first."
})

const episodeAs = (accountId: string, market: Market.Parameters, episode: Episode): typeof PositionEpisode.Type => {
  const { close } = episode
  const exit = episode.exitQuantityAtoms === 0n
    ? { avgExitPrice: null, avgExitPriceAtoms: null }
    : inBoth("avgExitPrice", Market.averagePriceAtoms(market, episode.exitNotionalAtoms, episode.exitQuantityAtoms), market.priceScale)
  return {
    positionId: Ids.positionId(episode.born),
    accountId,
    marketId: market.marketId,
    side: episode.isLong ? "long" : "short",
    status: close === undefined ? "open" : close.reason === "liquidation" ? "liquidated" : "closed",
    openedAtEpochMs: episode.openedAtEpochMs,
    closedAtEpochMs: close?.atEpochMs ?? null,
    ...inBoth("maxQuantity", episode.maxQuantityAtoms, market.quantityScale),
    ...inBoth("currentQuantity", episode.quantityAtoms, market.quantityScale),
    ...inBoth("avgEntryPrice", Market.averagePriceAtoms(market, episode.entryNotionalAtoms, episode.entryQuantityAtoms), market.priceScale),
    ...exit,
    ...money("realizedPnl", episode.realizedPnlAtoms),
    ...money("feesPaid", episode.feesPaidAtoms),
    ...money("fundingPaid", episode.fundingPaidAtoms),
    closeReason: close?.reason ?? null,
    lastSequence: episode.lastSequence
  }
}

export const listPositionHistory = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listPositionHistory", "/v1/accounts/:accountId/positions/history")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({ marketId: Fields.optional(Fields.Name), status: Fields.optional(Status), ...Fields.page }))
    .addSuccess(PositionHistory)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Positions from their first fill until they were flat again"),
  example: { target: `/v1/accounts/${Example.accountId}/positions/history?status=closed&limit=20` },
  handler: (services) => ({ trader, path: { accountId }, urlParams: { cursor, limit, marketId, status } }) => {
    const { histories, state } = services
    return withContractAccount(state, trader, accountId,
      (account) =>
        withFilter(state, { marketId }, (market) =>
          withEpisode(cursor, (after) =>
            histories.episodes({
              account,
              market: market === anyMarket ? undefined : market,
              status,
              after,
              limit: pageLimit(limit) + 1
            }).pipe(
              Effect.mapError(() => Errors.historiesUnavailable),
              Effect.flatMap(({ found, standing }) =>
                json({
                  version: "external-position-history/v1",
                  accountId,
                  marketId: marketId ?? null,
                  status: status ?? null,
                  ...pageOfEpisodes(pageLimit(limit), found,
                    (episode) => episodeAs(accountId, state.market(episode.market).parameters, episode)),
                  ...completeSince(services),
                  freshness: freshness(standing)
                })
              )
            ))))
  }
})
