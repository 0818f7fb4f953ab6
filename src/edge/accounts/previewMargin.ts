/** `POST /v1/accounts/{accountId}/margin/preview`: the result of a placement that is not made. It writes nothing. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Market from "../../domain/Market.js"
import * as Order from "../../domain/Order.js"
import * as Refusal from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import type { MarginView, PreviewView } from "../../engine/Reads.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import type { Refused } from "../../operations/Outcome.js"
import * as Envelopes from "../http/Envelopes.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Requests from "../http/Requests.js"
import * as Route from "../http/Route.js"
import * as Underway from "../http/Underway.js"
import { withMarket } from "../markets/Listed.js"
import * as NewOrder from "../orders/NewOrder.js"
import { averagePriceAtoms } from "../orders/OrderText.js"
import * as Placing from "../orders/Placing.js"
import { liquidation } from "./listPositions.js"
import { inBoth, money } from "./Money.js"
import { withAccount } from "./Own.js"

/** The account's margin, and its position in the market of the order, negative for a short. */
const AccountMargin = Schema.Struct({
  ...Fields.pairedSigned("equity"),
  ...Fields.pairedSigned("marginEquity"),
  ...Fields.paired("initialMargin"),
  ...Fields.paired("maintenanceMargin"),
  ...Fields.paired("orderLoss"),
  ...Fields.paired("available"),
  ...Fields.pairedSigned("positionQuantity"),
  liquidationPrice: Schema.NullOr(Fields.Decimal).annotations({ description: "Of that position, with all other marks held still." }),
  liquidationPriceAtoms: Schema.NullOr(Fields.Atoms)
}).annotations({ identifier: "AccountMargin" })
type AccountMargin = typeof AccountMargin.Type

/** Why the order would be refused, in the form of a placement's refusal. */
const RefusedPreview = Schema.Struct({ ...Envelopes.Refused, safeMessage: Fields.Text, ...Envelopes.Comparison }).annotations({
  identifier: "RefusedPreview"
})

/** What the decision would leave of the order. */
const PreviewedOrder = Schema.Struct({
  status: Fields.OrderStatus,
  cancelReason: Schema.NullOr(Fields.CancelReason),
  ...Fields.paired("filledQuantity"),
  ...Fields.paired("remainingQuantity"),
  ...Fields.paired("canceledQuantity"),
  averageFillPrice: Schema.NullOr(Fields.Decimal),
  averageFillPriceAtoms: Schema.NullOr(Fields.Atoms),
  ...Fields.paired("fees")
}).annotations({ identifier: "PreviewedOrder" })
type PreviewedOrder = typeof PreviewedOrder.Type

const MarginPreview = Schema.Struct({
  version: Schema.Literal("external-margin-preview/v1"),
  accountId: Fields.Text,
  marketId: Fields.Text,
  accepted: Schema.Boolean,
  refusal: Schema.NullOr(RefusedPreview),
  order: Schema.NullOr(PreviewedOrder),
  before: AccountMargin,
  after: Schema.NullOr(AccountMargin),
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "MarginPreview",
  description: "Of a refused order `refusal` says why, and `order` and `after` are null. It holds at `journalSequence`: "
    + "a placement that is the next record comes to the same, unless something else falls due with it."
})

type Scales = Pick<Market.Parameters, "marketId" | "priceScale" | "quantityScale">

const marginOf = (market: Scales, view: MarginView): AccountMargin => ({
  ...money("equity", view.equityAtoms),
  ...money("marginEquity", view.marginEquityAtoms),
  ...money("initialMargin", view.initialMarginAtoms),
  ...money("maintenanceMargin", view.maintenanceMarginAtoms),
  ...money("orderLoss", view.orderLossAtoms),
  ...money("available", view.availableAtoms),
  ...inBoth("positionQuantity", view.quantityAtoms, market.quantityScale),
  ...liquidation(market, view.liquidationPriceAtoms)
})

const refusalOf = (prepared: Placing.Prepared, refused: Refused): typeof RefusedPreview.Type => {
  const comparison = Placing.compared(prepared, refused)
  const { description: { code, guard, safeMessage }, message } = Errors.refused(refused.refusal, comparison)
  const { actual, limit, nearest } = comparison ?? {}
  return {
    code,
    safeMessage: message ?? safeMessage,
    ...(guard === undefined ? undefined : { rejectionGuard: guard as typeof Envelopes.Guard.Type }),
    ...(limit === undefined ? undefined : { limit }),
    ...(actual === undefined ? undefined : { actual }),
    ...(nearest === undefined ? undefined : { nearest })
  }
}

const orderOf = (market: Scales, decided: OrderDecided, feesAtoms: number): PreviewedOrder => {
  const { canceledAtoms, cancelReason, filledAtoms, filledNotionalAtoms, quantityAtoms, status } = decided
  const average = filledAtoms === 0 ? undefined : averagePriceAtoms(filledNotionalAtoms, filledAtoms, market)
  return {
    status: Order.statuses[status],
    cancelReason: cancelReason === Order.CancelReason.none ? null : Order.cancelReasons[cancelReason] as Order.CancelReasonName,
    ...inBoth("filledQuantity", filledAtoms, market.quantityScale),
    ...inBoth("remainingQuantity", quantityAtoms - filledAtoms - canceledAtoms, market.quantityScale),
    ...inBoth("canceledQuantity", canceledAtoms, market.quantityScale),
    averageFillPrice: average === undefined ? null : Units.formatDecimal(average, market.priceScale),
    averageFillPriceAtoms: average === undefined ? null : String(average),
    ...money("fees", feesAtoms)
  }
}

/** The answer to a preview, except for the fields that name the order. */
const told = (market: Scales, prepared: Placing.Prepared, { after, before, feesAtoms, outcome }: PreviewView) => ({
  accepted: outcome._tag === "OrderDecided",
  refusal: outcome._tag === "Refused" ? refusalOf(prepared, outcome) : null,
  order: outcome._tag === "OrderDecided" ? orderOf(market, outcome, feesAtoms) : null,
  before: marginOf(market, before),
  after: after === undefined ? null : marginOf(market, after)
})

export const previewMargin = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.post("previewMargin", "/v1/accounts/:accountId/margin/preview")
    .setPath(Fields.AccountPath)
    .setPayload(NewOrder.PlaceOrderBody)
    .addSuccess(MarginPreview)
    .addError(Failures.native(Failures.keyedReadWithBody, 404))
    .annotate(OpenApi.Summary, "What a placement would come to, and the account's margin after it; nothing is placed"),
  example: { target: `/v1/accounts/${Example.accountId}/margin/preview`, body: NewOrder.example("grid-42") },
  handler: ({ now, slices, state }) => ({ trader, path: { accountId }, payload }) =>
    withAccount(state, trader, accountId, (account) => {
      if (payload.accountId !== accountId) return fail(Errors.refused(Refusal.Refusal.keyAccountMismatch))
      const preview = Effect.suspend(() =>
        withMarket(state, { marketId: payload.marketId }, ({ parameters }) => {
          const prepared = NewOrder.prepare(state, payload, "")
          if (Requests.isFailure(prepared)) return fail(prepared)
          return json({
            version: "external-margin-preview/v1",
            accountId,
            marketId: parameters.marketId,
            ...told(parameters, prepared, state.preview(account, prepared.entry, now())),
            journalSequence: state.sequence
          })
        })
      )
      // A placement may meet a whole book, and takes as long as one that is made, of which the writer takes some at a time.
      return Underway.inTurns(slices, account, (nextSlice) => Effect.zipRight(nextSlice, preview))
    })
})
