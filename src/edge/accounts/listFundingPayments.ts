/** What an account paid and received of funding: `GET /v1/accounts/{accountId}/funding-payments`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Units from "../../domain/Units.js"
import type { FundingPayment as FundingPaymentView, MarketView } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { inBoth, money } from "./Money.js"
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
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "FundingPaymentList",
  description: "The venue keeps the latest 32,768 payments of all accounts together."
})

const payment = (
  { parameters: { marketId, priceScale, quantityScale } }: MarketView,
  view: FundingPaymentView
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
    .setUrlParams(Schema.Struct({ ...Fields.latestSince }))
    .addSuccess(FundingPaymentList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "The account's payments of funding since a time, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/funding-payments?limit=24` },
  handler: ({ state }) => ({ trader, path: { accountId }, urlParams }) =>
    withAccount(state, trader, accountId, (account) =>
      json({
        version: "external-funding-payment-list/v1",
        accountId,
        payments: state.fundingPayments(account, Number(urlParams.since ?? 0), pageLimit(urlParams.limit))
          .map((each) => payment(state.market(each.market), each)),
        journalSequence: state.sequence
      }))
})
