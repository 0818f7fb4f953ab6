/** The insurance fund with what moved it: `GET /v1/insurance-fund`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { fundMovementCauses, type InsuranceFundView, type Reads } from "../../engine/Reads.js"
import { inBoth, money } from "../accounts/Money.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { Side } from "./Liquidation.js"

const FundPosition = Schema.Struct({
  marketId: Fields.Text,
  side: Side,
  ...Fields.paired("quantity"),
  ...Fields.paired("entryNotional"),
  ...Fields.paired("markPrice"),
  ...Fields.pairedSigned("unrealizedPnl")
}).annotations({ identifier: "FundPosition" })

const FundMovement = Schema.Struct({
  cause: Schema.Literal(...fundMovementCauses),
  marketId: Schema.NullOr(Fields.Text),
  ...Fields.pairedSigned("amount"),
  quantityChange: Schema.String,
  quantityChangeAtoms: Schema.String,
  ...Fields.pairedSigned("collateral"),
  occurredAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({
  identifier: "FundMovement",
  description: "`amount` is what the fund's collateral grew by, `collateral` what it came to; `quantityChange` what its position in the "
    + "market changed by, long positive, in base units (0.0 where it concerns none). Together the amounts are all that the fund has: "
    + "`funding_rest` is what rounding left of an interval's funding in one market, without its name, `funding` what the fund paid or "
    + "received for a position of its own, `liquidation_fee` a part's fee, `takeover` a position taken over, with what was paid "
    + "beside it, `unwinding` what an order "
    + "of its own filled, `settlement` what was closed of its position in a delisted market, `collected_fees` fees that an operator "
    + "moved there, and `deleveraging` what was closed of its own position, for itself or for another."
})

const InsuranceFund = Schema.Struct({
  version: Schema.Literal("external-insurance-fund/v1"),
  accountId: Schema.Literal(Ids.insuranceFundId),
  asset: Schema.Literal("USDC"),
  ...Fields.pairedSigned("collateral"),
  ...Fields.pairedSigned("equity"),
  ...Fields.paired("initialMargin"),
  ...Fields.paired("maintenanceMargin"),
  positions: Schema.Array(FundPosition),
  movements: Schema.Array(FundMovement),
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "InsuranceFund",
  description: "The venue keeps the latest 16,384 movements, of which the newest 500 can be read."
})

const position = (state: Reads, view: InsuranceFundView["positions"][number]): typeof FundPosition.Type => {
  const { marketId, priceScale, quantityScale } = state.market(view.market).parameters
  return {
    marketId,
    side: view.quantityAtoms > 0 ? "long" : "short",
    ...inBoth("quantity", Math.abs(view.quantityAtoms), quantityScale),
    ...money("entryNotional", view.entryNotionalAtoms),
    ...inBoth("markPrice", view.markPriceAtoms, priceScale),
    ...money("unrealizedPnl", view.unrealizedPnlAtoms)
  }
}

const movement = (state: Reads, view: InsuranceFundView["movements"][number]): typeof FundMovement.Type => {
  const market = view.market === none ? undefined : state.market(view.market).parameters
  return {
    cause: view.movement,
    marketId: market?.marketId ?? null,
    ...money("amount", view.amountAtoms),
    ...inBoth("quantityChange", view.sizeAtoms, market?.quantityScale ?? 0),
    ...money("collateral", view.collateralAtoms),
    occurredAtEpochMs: view.atEpochMs,
    sequence: view.sequence
  }
}

export const getInsuranceFund = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getInsuranceFund", "/v1/insurance-fund")
    .setUrlParams(Schema.Struct({ ...Fields.latestSince }))
    .addSuccess(InsuranceFund)
    .addError(Failures.native(Failures.publicRead))
    .annotate(OpenApi.Summary, "The insurance fund, with its movements since a time, newest first"),
  example: { target: "/v1/insurance-fund?limit=50" },
  handler: ({ state }) => ({ urlParams }) => {
    const { balance, movements, positions } = state.insuranceFund(Number(urlParams.since ?? 0), pageLimit(urlParams.limit))
    return json({
      version: "external-insurance-fund/v1",
      accountId: Ids.insuranceFundId,
      asset: "USDC",
      ...money("collateral", balance?.collateralAtoms ?? 0),
      ...money("equity", balance?.equityAtoms ?? 0),
      ...money("initialMargin", balance?.initialMarginAtoms ?? 0),
      ...money("maintenanceMargin", balance?.maintenanceMarginAtoms ?? 0),
      positions: positions.map((each) => position(state, each)),
      movements: movements.map((each) => movement(state, each)),
      journalSequence: state.sequence
    })
  }
})
