/** `GET /v1/operator/markets/{marketId}/announced`: what is announced of a market, and whom it would touch by now. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { AnnouncedTerms, announcedTerms } from "../markets/Snapshot.js"

const AnnouncedMarket = Schema.Struct({
  version: Schema.Literal("operator-announced/v1"),
  marketId: Fields.Text,
  announced: Schema.NullOr(Schema.Struct({
    ...AnnouncedTerms.fields,
    underInitialMargin: Fields.Count,
    underMaintenanceMargin: Fields.Count
  })),
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "AnnouncedMarket",
  description: "`underInitialMargin` and `underMaintenanceMargin` count the accounts with a position that would be under theirs, if the "
    + "announced parameters held now, at present marks; the insurance fund is left out."
})

export const getAnnounced = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.get("getAnnounced", "/v1/operator/markets/:marketId/announced")
    .setPath(Fields.MarketPath)
    .addSuccess(AnnouncedMarket)
    .addError(Failures.native(Failures.operator))
    .annotate(OpenApi.Summary, "What is announced of a market, and how many accounts it would put under their margins by now"),
  example: { target: `/v1/operator/markets/${Example.marketId}/announced` },
  handler: ({ state }) => ({ path: { marketId } }) => {
    const market = state.findMarket(marketId)
    if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
    const terms = announcedTerms(state.market(market))
    const touched = state.touched(market)
    return Effect.succeed({
      version: "operator-announced/v1" as const,
      marketId,
      announced: terms === undefined || touched === undefined ? null : { ...terms, ...touched },
      journalSequence: state.sequence
    })
  }
})
