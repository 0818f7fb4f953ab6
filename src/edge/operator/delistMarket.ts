/** Delisting a market: `PUT`, `GET` and `DELETE /v1/operator/markets/{marketId}/delisting`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import { Operation } from "../../operations/Operations.js"
import { inBoth } from "../accounts/Money.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { Delisting, delistingOf } from "../markets/Snapshot.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

const path = "/v1/operator/markets/:marketId/delisting"
const target = `/v1/operator/markets/${Example.marketId}/delisting`

const OperatorDelisting = Schema.Struct({
  version: Schema.Literal("operator-delisting/v1"),
  marketId: Fields.Text,
  delisting: Schema.NullOr(Delisting),
  presentPrice: Schema.NullOr(Fields.Decimal),
  presentPriceAtoms: Schema.NullOr(Fields.Atoms),
  ...Fields.paired("openInterest"),
  openOrders: Fields.Count,
  againAtEpochMs: Fields.optional(Fields.EpochMs),
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "OperatorDelisting",
  description: "`presentPrice` is what the final price would be by now, or is; null where the market has no index. Compare it with the "
    + "market's index where the market has made no marks for half an hour: it is then the price of before. `openInterest` and "
    + "`openOrders` are what is yet to be closed and cancelled. `againAtEpochMs` is there where a position has a deficit that nobody "
    + "can bear: the settlement waits, and is gone through again then."
})

export const delistMarket = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("delistMarket", path)
    .setPath(Fields.MarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(Schema.Struct({
      effectiveAtEpochMs: Fields.optional(Fields.FutureEpochMs.annotations({
        description: "Announces the delisting for this time, at least 24 hours ahead, in place of one that was announced before."
      }))
    }))
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Delist a market for good, at once or at a time that is announced")
    .annotate(OpenApi.Description, "Once it has taken effect nothing brings the market back: it is `halted`, its orders are cancelled, "
      + "and its positions closed at the average of its index over the last half hour. A market that stood still all that time (halted, "
      + "closed, stale, or under a halt of the engine) is closed at the half hour up to its last mark, however long ago that was and "
      + "wherever its index is now: `paused` lets it make marks first. Without `effectiveAtEpochMs` that is at once. An announced "
      + "delisting whose time the venue missed by a minute or more, down or halted, is announced anew for half an hour after the "
      + "next record. "
      + "400 `notice_required` tells the earliest time as `nearest`; 400 `market_delisted`: it is delisted already."),
  example: { target, body: { effectiveAtEpochMs: 1_767_571_200_000 } },
  handler: (services) => ({ headers, path: { marketId }, payload: { effectiveAtEpochMs = 0 } }) => {
    const market = services.state.findMarket(marketId)
    if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
    const sent = { marketId, effectiveAtEpochMs }
    const values = { market, action: "delist", effectiveAtEpochMs } as const
    return operated(services, "delist_market", command("DelistMarket", Operation.delistMarket, headers, sent, values), marketId)
  }
})

export const withdrawDelisting = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.del("withdrawDelisting", path)
    .setPath(Fields.MarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommandWithoutBody))
    .annotate(OpenApi.Summary, "Withdraw the delisting that is announced of a market, if any is"),
  example: { target },
  handler: (services) => ({ headers, path: { marketId } }) => {
    const market = services.state.findMarket(marketId)
    if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
    const values = { market, action: "withdraw", effectiveAtEpochMs: 0 } as const
    const withdrawing = command("DelistMarket", Operation.withdrawDelisting, headers, { marketId }, values)
    return operated(services, "withdraw_delisting", withdrawing, marketId)
  }
})

export const getDelisting = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.get("getDelisting", path)
    .setPath(Fields.MarketPath)
    .addSuccess(OperatorDelisting)
    .addError(Failures.native(Failures.operator))
    .annotate(OpenApi.Summary, "How far the delisting of a market has come, and what it has before it"),
  example: { target },
  handler: ({ state }) => ({ path: { marketId } }) => {
    const index = state.findMarket(marketId)
    if (index < 0) return fail(Errors.refused(Refusal.marketUnknown))
    const view = state.market(index)
    const { againAtEpochMs, finalPriceAtoms, openInterestAtoms, openOrders } = state.delistingOutlook(index)
    const { priceScale, quantityScale } = view.parameters
    return Effect.succeed({
      version: "operator-delisting/v1" as const,
      marketId,
      delisting: delistingOf(view) ?? null,
      ...(finalPriceAtoms === 0
        ? { presentPrice: null, presentPriceAtoms: null }
        : inBoth("presentPrice", finalPriceAtoms, priceScale)),
      ...inBoth("openInterest", openInterestAtoms, quantityScale),
      openOrders,
      ...(againAtEpochMs === 0 ? {} : { againAtEpochMs }),
      journalSequence: state.sequence
    })
  }
})
