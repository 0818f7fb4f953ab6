/** An account's leverage in a market: `GET` and `PUT /v1/accounts/{accountId}/markets/{marketId}/leverage`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Operation, type Outcome } from "../../operations/Operations.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { feeds, plain, shape, whole } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import { withMarket } from "../markets/Listed.js"
import { withAccount } from "./Own.js"

const LeverageBody = Schema.Struct({
  leverageX: Schema.Int.pipe(Schema.positive()).annotations({ description: "1 to the market's `maxLeverageX`." })
}).annotations({ identifier: "LeverageBody" })
type LeverageBody = typeof LeverageBody.Type

const leverageShape = shape({
  leverageX: whole((value) =>
    typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? undefined : "must be a positive whole number"
  )
})

/** What an account takes at most in a market. */
const Leverage = Schema.Struct({
  version: Schema.Literal("external-leverage/v1"),
  accountId: Fields.Text,
  marketId: Fields.Text,
  leverageX: Fields.Count.annotations({ description: "What counts: what was set, or the market's `maxLeverageX` where that is lower." }),
  setLeverageX: Schema.NullOr(Fields.Count).annotations({ description: "Null until one is set: then the market's margins alone count." }),
  maxLeverageX: Fields.Count,
  journalSequence: Fields.Sequence
}).annotations({ identifier: "Leverage" })

/** What was set, under the request's own key. */
const LeverageResult = Schema.Struct({
  version: Schema.Literal("external-leverage-set/v1"),
  accountId: Fields.Text,
  marketId: Fields.Text,
  leverageX: Fields.Count,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "LeverageResult" })

const path = "/v1/accounts/:accountId/markets/:marketId/leverage"
const target = `/v1/accounts/${Example.accountId}/markets/${Example.marketId}/leverage`

/** `external-leverage-set/v1`. */
const leverageSet = (accountId: string, marketId: string, leverageX: number, outcome: Outcome, idempotencyKey: string): string =>
  `{"version":"external-leverage-set/v1","accountId":"${accountId}","marketId":"${marketId}","leverageX":${leverageX}`
  + `,"lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)},"decidedAtEpochMs":${outcome.atEpochMs}}`

export const getLeverage = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getLeverage", path)
    .setPath(Fields.AccountMarketPath)
    .addSuccess(Leverage)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "The most leverage that the account takes in a market"),
  example: { target },
  handler: ({ state }) => ({ trader, path: { accountId, marketId } }) =>
    withAccount(state, trader, accountId, (account) =>
      withMarket(state, { marketId: marketId }, ({ index, parameters: { maxLeverageX } }) => {
        const setLeverageX = state.leverage(account, index)
        return json({
          version: "external-leverage/v1",
          accountId,
          marketId,
          leverageX: setLeverageX === 0 ? maxLeverageX : Math.min(setLeverageX, maxLeverageX),
          setLeverageX: setLeverageX === 0 ? null : setLeverageX,
          maxLeverageX,
          journalSequence: state.sequence
        })
      }))
})

export const setLeverage = Route.hot({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.put("setLeverage", path)
    .setPath(Fields.AccountMarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(LeverageBody)
    .addSuccess(LeverageResult)
    .addError(Failures.native(Failures.command, 404, 422))
    .annotate(OpenApi.Summary, "Set the most leverage that the account takes in a market"),
  example: { target, body: { leverageX: 5 } },
  decode: (body) => plain<LeverageBody>(body, leverageShape),
  feed: feeds(leverageShape),
  run: (call, admitted) => {
    const { accountId, body: { leverageX }, idempotencyKey } = admitted
    if (call.params["accountId"] !== accountId) return call.failDurably(Errors.accountNotFound)
    const marketId = call.params["marketId"] ?? ""
    const market = call.services.state.findMarket(marketId)
    Submission.submit(call, admitted, { kind: "SetLeverage", operation: Operation.setLeverageV1, market, leverageX }, (outcome) => {
      const decided = Submission.decidedEntry(outcome, 0)
      if (Submission.isRefused(decided))
        return Submission.failEntry(call, decided, outcome, Errors.comparisonOf(decided, undefined), marketId)
      call.succeed(leverageSet(accountId, marketId, leverageX, outcome, idempotencyKey))
    })
  }
})
