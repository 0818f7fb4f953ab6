/**
 * `POST /v1/operator/markets/{marketId}/preview`: the result of putting a market, and the accounts it would affect. It writes
 * nothing.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Market from "../../domain/Market.js"
import * as Refusal from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import type { Refused } from "../../operations/Outcome.js"
import type { Services } from "../http/Call.js"
import * as Envelopes from "../http/Envelopes.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { bodyOf, parameters, PutMarketBody, refusalOfAssets } from "./MarketBody.js"

const RefusedPut = Schema.Struct({ ...Envelopes.Refused, safeMessage: Fields.Text, ...Envelopes.Comparison }).annotations({
  identifier: "RefusedMarketPreview"
})

/** One parameter, as JSON has it. */
const Value = Schema.Unknown.annotations({ description: "As the body has it; null where there is no market yet." })

export const MarketPreview = Schema.Struct({
  version: Schema.Literal("operator-market-preview/v1"),
  marketId: Fields.Text,
  outcome: Schema.Literal("created", "at_once", "announced", "refused").annotations({
    description: "Whether it would make a market in draft, hold at once, be announced for its time, or be refused."
  }),
  refusal: Schema.NullOr(RefusedPut),
  differences: Schema.Array(
    Schema.Struct({ parameter: Fields.Text.annotations({ description: "Its name in the body." }), from: Value, to: Value })
  ).annotations({
    description: "Parameters that are others than the market has now."
  }),
  withdrawsAnnounced: Schema.Boolean.annotations({ description: "Whether it would take the place of what is announced." }),
  openInterest: Fields.Decimal.annotations({ description: "All long positions in the market together." }),
  openOrders: Fields.Count,
  underInitialMargin: Fields.Count.annotations({
    description: "Accounts with a position that would be under their initial margin by these parameters, at present marks."
  }),
  underMaintenanceMargin: Fields.Count.annotations({ description: "Accounts with a position that would be liquidated by them." }),
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "MarketPreview",
  description: "The decision is the one of `PUT` at `journalSequence`. Accounts are counted part by part from there on, the insurance fund "
    + "left out."
})

const refusalOf = (refused: Refused, market: Market.Parameters): typeof RefusedPut.Type => {
  const { code, guard, safeMessage } = Refusal.describe(refused.refusal)
  const { actual, limit, nearest } = Errors.comparisonOf(refused, market) ?? {}
  return {
    code,
    safeMessage,
    ...(guard === undefined ? undefined : { rejectionGuard: guard as typeof Envelopes.Guard.Type }),
    ...(limit === undefined ? undefined : { limit }),
    ...(actual === undefined ? undefined : { actual }),
    ...(nearest === undefined ? undefined : { nearest })
  }
}

/** The differences, by member names of the body. */
const differencesOf = (now: Market.Parameters | undefined, next: Market.Parameters): (typeof MarketPreview.Type)["differences"] => {
  const before: Readonly<Record<string, unknown>> = now === undefined ? {} : bodyOf(now)
  return Object.entries(bodyOf(next)).flatMap(([parameter, to]) => {
    const from = before[parameter] ?? null
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ parameter, from, to }]
  })
}

/** How many accounts parameters would affect, counted in slices between which the venue does other work. */
const touchedBy = ({ slices, state }: Services, market: number, next: Market.Parameters) =>
  Effect.gen(function*() {
    let [underInitialMargin, underMaintenanceMargin] = [0, 0]
    for (let at: number | undefined = 0; at !== undefined;) {
      const part = state.touchedBy(market, next, at)
      underInitialMargin += part.underInitialMargin
      underMaintenanceMargin += part.underMaintenanceMargin
      at = part.next
      if (at !== undefined) yield* slices.nextOf("operator")
    }
    return { underInitialMargin, underMaintenanceMargin }
  })

const outcomes = { created: "created", "at once": "at_once", announced: "announced" } as const

export const previewMarket = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("previewMarket", "/v1/operator/markets/:marketId/preview")
    .setPath(Fields.MarketPath)
    .setPayload(PutMarketBody)
    .addSuccess(MarketPreview)
    .addError(Failures.native(Failures.operatorWithBody))
    .annotate(OpenApi.Summary, "What a market's parameters would come to, and whom they would touch; nothing is changed"),
  example: { target: `/v1/operator/markets/${Example.marketId}/preview`, body: Example.market },
  handler: (services) => ({ path: { marketId }, payload: { effectiveAtEpochMs = 0, ...payload } }) => {
    const next = parameters(marketId, payload)
    if (typeof next === "string") return fail(Errors.invalidRequest(`${next}.`))
    const { state } = services
    const oddAssets = refusalOfAssets(state, next)
    if (oddAssets !== undefined) return fail(oddAssets)
    const index = state.findMarket(marketId)
    const view = index < 0 ? undefined : state.market(index)
    const comesTo = state.putComesTo(next, effectiveAtEpochMs)
    const { openInterestAtoms, openOrders } = index < 0 ? { openInterestAtoms: 0, openOrders: 0 } : state.delistingOutlook(index)
    const preview = {
      version: "operator-market-preview/v1" as const,
      marketId,
      outcome: typeof comesTo === "string" ? outcomes[comesTo] : "refused" as const,
      refusal: typeof comesTo === "string" ? null : refusalOf(comesTo, next),
      differences: differencesOf(view?.parameters, next),
      withdrawsAnnounced: typeof comesTo === "string" && view?.announced !== undefined,
      openInterest: Units.formatDecimal(openInterestAtoms, view?.parameters.quantityScale ?? next.quantityScale),
      openOrders,
      journalSequence: state.sequence
    }
    const touched = index < 0 ? Effect.succeed({ underInitialMargin: 0, underMaintenanceMargin: 0 }) : touchedBy(services, index, next)
    return Effect.map(touched, (counts) => ({ ...preview, ...counts }))
  }
})
