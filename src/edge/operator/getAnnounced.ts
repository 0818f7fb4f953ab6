/**
 * `GET /v1/operator/markets/{marketId}/announced`: a market's announced parameters, and how many accounts they would affect now.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import type { TouchedPart } from "../../engine/Reads.js"
import type { Services } from "../http/Call.js"
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
    + "announced parameters held now, at present marks; the insurance fund is left out. They are counted part by part, and "
    + "`journalSequence` is the record at which that began."
})

/** Announced parameters with the number of affected accounts, counted in slices between which the venue does other work. */
const announcedOf = (
  { slices, state }: Pick<Services, "slices" | "state">,
  market: number
): Effect.Effect<(typeof AnnouncedMarket.Type)["announced"]> =>
  Effect.gen(function*() {
    let view = state.market(market)
    let [underInitialMargin, underMaintenanceMargin] = [0, 0]
    for (let at: number | undefined = 0; at !== undefined;) {
      const part: TouchedPart | undefined = state.touched(market, at)
      const terms = announcedTerms(view)
      if (part === undefined || terms === undefined) return null
      underInitialMargin += part.underInitialMargin
      underMaintenanceMargin += part.underMaintenanceMargin
      if (part.next === undefined) return { ...terms, underInitialMargin, underMaintenanceMargin }
      at = part.next
      yield* slices.nextOf("operator")
      const now = state.market(market)
      if (now.announced === view.announced) continue
      // Another announcement has been made meanwhile, to which the count so far does not apply.
      view = now
      ;[underInitialMargin, underMaintenanceMargin, at] = [0, 0, 0]
    }
    return null
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
  handler: (services) => ({ path: { marketId } }) => {
    const { sequence: journalSequence } = services.state
    const market = services.state.findMarket(marketId)
    if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
    return Effect.map(announcedOf(services, market), (announced) => ({
      version: "operator-announced/v1" as const,
      marketId,
      announced,
      journalSequence
    }))
  }
})
