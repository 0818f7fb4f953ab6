/** Operator routes: journaled, idempotent by `Idempotency-Key`, hidden without an operator token. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Command from "../../operations/Operations.js"
import { Access, OperatorSecurity } from "./Access.js"
import * as Failures from "./Failures.js"
import * as Fields from "./Fields.js"
import { MarginTiers, MarketStatus } from "./Markets.js"

/** What an operator sets about a market, in the forms in which it is read. Assets follow from the path's `BASE-QUOTE-PERP`. */
export const PutMarketBody = Schema.Struct({
  underlyingSymbol: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(32)),
  marketType: Schema.Literal("crypto"),
  logoUrl: Fields.optional(Schema.String.pipe(Schema.maxLength(512))),
  priceScale: Schema.Int.pipe(Schema.between(0, 6)),
  quantityScale: Schema.Int.pipe(Schema.between(0, 6)),
  minPrice: Fields.DecimalInput,
  maxPrice: Fields.DecimalInput,
  minQuantity: Fields.DecimalInput,
  maxQuantity: Fields.DecimalInput,
  maxPositionQuantity: Fields.DecimalInput,
  initialMarginBps: Fields.Count,
  maintenanceMarginTiers: MarginTiers,
  maxLeverageX: Fields.Count,
  makerFeeBps: Fields.Count,
  takerFeeBps: Fields.Count,
  priceBandBps: Fields.optional(Fields.Count)
}).annotations({ identifier: "PutMarketBody" })
export type PutMarketBody = typeof PutMarketBody.Type

export const OperatorResult = Schema.Struct({
  version: Schema.Literal("operator-result/v1"),
  operation: Schema.Literal("put_market", "set_market_status", "set_index_price", "halt_engine", "resume_engine"),
  idempotencyKey: Schema.String,
  marketId: Fields.optional(Fields.Text),
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "OperatorResult" })
export type OperatorResult = typeof OperatorResult.Type

export const DemoAccountsBody = Schema.Struct({
  accounts: Fields.optional(Schema.Int.pipe(Schema.between(1, Command.maxDemoAccounts))).annotations({
    description: "2 when absent."
  }),
  collateral: Fields.optional(Fields.DecimalInput).annotations({ description: "USDC for each; 1000000 when absent." })
}).annotations({ identifier: "DemoAccountsBody" })

export const DemoAccounts = Schema.Struct({
  version: Schema.Literal("demo-accounts/v1"),
  accounts: Schema.Array(Schema.Struct({ accountId: Fields.Text, apiKey: Fields.Text })),
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "DemoAccounts" })

export const group = HttpApiGroup.make("operator", { topLevel: true })
  .add(
    HttpApiEndpoint.put("putMarket", "/v1/operator/markets/:marketId")
      .setPath(Fields.MarketPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(PutMarketBody)
      .addSuccess(OperatorResult)
      .addError(Failures.native(Failures.operatorWithBody))
      .annotate(Access, "operator")
      .annotate(OpenApi.Summary, "Create a market in draft, or update one")
  )
  .add(
    HttpApiEndpoint.put("setMarketStatus", "/v1/operator/markets/:marketId/status")
      .setPath(Fields.MarketPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(Schema.Struct({ status: MarketStatus }))
      .addSuccess(OperatorResult)
      .addError(Failures.native(Failures.operatorWithBody))
      .annotate(Access, "operator")
      .annotate(OpenApi.Summary, "Move a market to another status")
  )
  .add(
    HttpApiEndpoint.put("setIndexPrice", "/v1/operator/markets/:marketId/index-price")
      .setPath(Fields.MarketPath)
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(Schema.Struct({
        price: Fields.DecimalInput,
        sourceEpochMs: Fields.optional(Fields.EpochMs).annotations({
          description: "When the price was seen; absent: when it is journaled."
        })
      }))
      .addSuccess(OperatorResult)
      .addError(Failures.native(Failures.operatorWithBody))
      .annotate(Access, "operator")
      .annotate(OpenApi.Summary, "Publish an index price")
  )
  .add(
    HttpApiEndpoint.put("haltEngine", "/v1/operator/engine/halt")
      .setHeaders(Fields.IdempotencyHeaders)
      .addSuccess(OperatorResult)
      .addError(Failures.native(Failures.operator))
      .annotate(Access, "operator")
      .annotate(OpenApi.Summary, "Refuse every trading command until resumed")
  )
  .add(
    HttpApiEndpoint.del("resumeEngine", "/v1/operator/engine/halt")
      .setHeaders(Fields.IdempotencyHeaders)
      .addSuccess(OperatorResult)
      .addError(Failures.native(Failures.operator))
      .annotate(Access, "operator")
      .annotate(OpenApi.Summary, "Lift the halt")
  )
  .add(
    HttpApiEndpoint.post("openDemoAccounts", "/v1/operator/demo/accounts")
      .setHeaders(Fields.IdempotencyHeaders)
      .setPayload(DemoAccountsBody)
      .addSuccess(DemoAccounts)
      .addError(Failures.native(Failures.operatorWithBody))
      .annotate(Access, "operator")
      .annotate(OpenApi.Summary, "Development only: open and fund accounts, each with a key")
  )
  .middleware(OperatorSecurity)
