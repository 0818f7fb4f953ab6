/** `GET /v1/operator/markets`: every market with all of its parameters, drafts too, in the form in which they are put. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import type { Reads } from "../../engine/Reads.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { AnnouncedTerms, announcedTerms, Delisting, delistingOf, MarketStatus } from "../markets/Snapshot.js"
import { bodyOf, PutMarketBody } from "./MarketBody.js"

const OperatorMarket = Schema.Struct({
  marketId: Fields.Text,
  status: MarketStatus,
  parameters: PutMarketBody.annotations({
    identifier: "OperatorMarketParameters",
    description: "What `PUT /v1/operator/markets/{marketId}` takes: put as it is, it changes no parameter, and withdraws "
      + "what is `announced`."
  }),
  announced: Fields.optional(AnnouncedTerms),
  delisting: Fields.optional(Delisting)
}).annotations({ identifier: "OperatorMarket" })

export const OperatorMarkets = Schema.Struct({
  version: Schema.Literal("operator-markets/v1"),
  markets: Schema.Array(OperatorMarket).annotations({ description: "In the order in which they were made, at most 1,024." }),
  journalSequence: Fields.Sequence
}).annotations({ identifier: "OperatorMarkets" })

const marketOf = (state: Reads, index: number): typeof OperatorMarket.Type => {
  const view = state.market(index)
  const announced = announcedTerms(view)
  const delisting = delistingOf(view)
  return {
    marketId: view.parameters.marketId,
    status: view.status,
    parameters: bodyOf(view.parameters),
    ...(announced === undefined ? undefined : { announced }),
    ...(delisting === undefined ? undefined : { delisting })
  }
}

export const listOperatorMarkets = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.get("listOperatorMarkets", "/v1/operator/markets")
    .addSuccess(OperatorMarkets)
    .addError(Failures.native(Failures.operator))
    .annotate(OpenApi.Summary, "Every market with all of its parameters, drafts too, in the form in which they are put"),
  example: { target: "/v1/operator/markets" },
  handler: ({ state }) => () =>
    json({
      version: "operator-markets/v1" as const,
      markets: Array.from({ length: state.marketCount }, (_, index) => marketOf(state, index)),
      journalSequence: state.sequence
    })
})
