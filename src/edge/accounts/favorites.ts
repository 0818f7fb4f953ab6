/** An account's favorite markets: `PUT` and `DELETE /v1/accounts/{accountId}/favorites/{marketId}`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Trader } from "../../engine/Reads.js"
import { Operation } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import type * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { withAccount, withContractAccount } from "./Own.js"
import { owned } from "../identity/Sent.js"
import { withMarket } from "../markets/Listed.js"

const MarketFavorite = Schema.Struct({
  version: Schema.Literal("external-market-favorite/v1"),
  accountId: Fields.Text,
  marketId: Fields.Text,
  favorite: Schema.Boolean
}).annotations({ identifier: "MarketFavorite" })

const path = "/v1/accounts/:accountId/favorites/:marketId"
const target = `/v1/accounts/${Example.accountId}/favorites/${Example.marketId}`

/** Makes a market a favorite, or removes it; where it already is as requested, no record is needed. */
const set = (
  services: Services,
  trader: Trader,
  market: number,
  favorite: boolean,
  { accountId, marketId }: { readonly accountId: string; readonly marketId: string }
): Effect.Effect<typeof MarketFavorite.Type, Errors.Failure> => {
  const answer = { version: "external-market-favorite/v1" as const, accountId, marketId, favorite }
  if (services.state.isFavorite(trader.account, market) === favorite) return Effect.succeed(answer)
  const operation = favorite ? Operation.addFavorite : Operation.removeFavorite
  const setting = owned("SetFavorite", trader, operation, { market, isFavorite: favorite })
  return Effect.map(Submission.submitted(services, setting), () => answer)
}

export const addFavorite = Route.effect({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.put("addFavorite", path)
    .setPath(Fields.AccountMarketPath)
    .addSuccess(MarketFavorite)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Add a market to the account's favorites; repeating changes nothing"),
  example: { target },
  handler: (services) => ({ path, trader }) =>
    withContractAccount(services.state, trader, path.accountId, () =>
      withMarket(services.state, { marketId: path.marketId }, ({ index }) => set(services, trader, index, true, path)))
})

export const removeFavorite = Route.effect({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.del("removeFavorite", path)
    .setPath(Fields.AccountMarketPath)
    .addSuccess(MarketFavorite)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Take a market from the account's favorites; repeating changes nothing"),
  example: { target },
  handler: (services) => ({ path, trader }) =>
    withAccount(services.state, trader, path.accountId, (account) => {
      const market = services.state.findMarket(path.marketId)
      // A market that is not public (any more) is only acknowledged to an account that has it as a favorite.
      return market >= 0 && services.state.isFavorite(account, market)
        ? set(services, trader, market, false, path)
        : withMarket(services.state, path, ({ index }) => set(services, trader, index, false, path))
    })
})
