/** What an account paid and received of funding: `GET /v1/accounts/{accountId}/funding-payments`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Units from "../../domain/Units.js"
import type { MarketView, PlacedPayment } from "../../engine/Reads.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageByPlace, pageLimit, withPaymentPlace } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { inBoth, money } from "./Money.js"
import { paymentsBefore } from "./MoneyHistory.js"
import { withAccount } from "./Own.js"

const FundingPayment = Schema.Struct({
  marketId: Fields.Text,
  endedAtEpochMs: Fields.EpochMs,
  intervalMs: Fields.Count,
  side: Schema.Literal("long", "short"),
  ...Fields.paired("quantity"),
  ...Fields.paired("indexPrice"),
  fundingRate8hE9: Schema.String,
  ...Fields.pairedSigned("paid"),
  occurredAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({
  identifier: "FundingPayment",
  description:
    "`paid` is negative where it was received: `quantity` x `indexPrice` x `fundingRate8hE9` / 10^9 x `intervalMs` / 8 hours, of what was "
    + "held when the interval ended; paid rounded up, received rounded down. It is settled at `occurredAtEpochMs`, shortly after that."
})

const FundingPaymentList = Schema.Struct({
  version: Schema.Literal("external-funding-payment-list/v1"),
  accountId: Fields.Text,
  payments: Schema.Array(FundingPayment),
  nextCursor: Fields.NextCursor,
  ...CompleteSince,
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "FundingPaymentList",
  description:
    "Newest first, back to the account's first or `completeSinceEpochMs`, or with `since` to the first at or after that time: where a page "
    + "goes on, `since` is to be given again."
})

const payment = (
  { parameters: { marketId, priceScale, quantityScale } }: MarketView,
  view: PlacedPayment
): typeof FundingPayment.Type => ({
  marketId,
  endedAtEpochMs: view.endedAtEpochMs,
  intervalMs: view.intervalMs,
  side: view.quantityAtoms > 0 ? "long" : "short",
  ...inBoth("quantity", Math.abs(view.quantityAtoms), quantityScale),
  indexPrice: Units.formatDecimal(view.indexPriceAtoms, priceScale),
  indexPriceAtoms: String(view.indexPriceAtoms),
  fundingRate8hE9: String(view.rate8hE9),
  ...money("paid", view.paidAtoms),
  occurredAtEpochMs: view.atEpochMs,
  sequence: view.sequence
})

export const listFundingPayments = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listFundingPayments", "/v1/accounts/:accountId/funding-payments")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({ ...Fields.latestSince, ...Fields.cursor }))
    .addSuccess(FundingPaymentList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "The account's payments of funding since a time, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/funding-payments?limit=24` },
  handler: (services) => ({ trader, path: { accountId }, urlParams }) => {
    const { state } = services
    return withAccount(state, trader, accountId, (account) =>
      withPaymentPlace(urlParams.cursor, (before) => {
        const limit = pageLimit(urlParams.limit)
        const sinceEpochMs = Number(urlParams.since ?? 0)
        return Effect.flatten(paymentsBefore(services, { account, before, limit: limit + 1, sinceEpochMs }, (rows) =>
          json({
            version: "external-funding-payment-list/v1",
            accountId,
            ...pageByPlace("payments", limit, rows, (each) => payment(state.market(each.market), each)),
            ...completeSince(services),
            journalSequence: state.sequence
          })))
      }))
  }
})
