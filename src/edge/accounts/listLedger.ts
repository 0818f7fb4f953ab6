/** Every change of an account's balance with its cause: `GET /v1/accounts/{accountId}/ledger`, newest first. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { none } from "../../domain/None.js"
import { type BalanceChangeView, balanceCauses, type Reads } from "../../engine/Reads.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageByPlace, pageLimit, withLedgerPlace } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import { withFilter } from "../markets/Listed.js"
import { money } from "./Money.js"
import { changesBefore } from "./MoneyHistory.js"
import { withAccount } from "./Own.js"

const LedgerEntry = Schema.Struct({
  cause: Schema.Literal(...balanceCauses),
  marketId: Schema.NullOr(Fields.Text),
  ...Fields.pairedSigned("amount"),
  ...Fields.pairedSigned("balance"),
  occurredAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({
  identifier: "LedgerEntry",
  description:
    "`amount` is what the balance (`collateral`) grew by, negative where it shrank, and `balance` what it came to. `realized_pnl` and "
    + "`fee` are a fill's, or of a position that was closed by the venue, and `takeover_difference` is paid beside one that the insurance "
    + "fund took over at a price below or above all prices of its market, at the nearest of which it passed; `funding` is settled "
    + "shortly behind the end of its interval. "
    + "`deposit` is one that the ledger has confirmed; `withdrawal_reserved` what a withdrawal took with its request, and "
    + "`withdrawal_returned` what came back of one that was rejected or expired."
})

const Ledger = Schema.Struct({
  version: Schema.Literal("external-ledger/v1"),
  accountId: Fields.Text,
  entries: Schema.Array(LedgerEntry),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({
  identifier: "Ledger",
  description: "Newest first, back to the account's first or `completeSinceEpochMs`."
})

const entry = (state: Reads, view: BalanceChangeView): typeof LedgerEntry.Type => ({
  cause: view.cause,
  marketId: view.market === none ? null : state.market(view.market).parameters.marketId,
  ...money("amount", view.amountAtoms),
  ...money("balance", view.balanceAtoms),
  occurredAtEpochMs: view.atEpochMs,
  sequence: view.sequence
})

export const listLedger = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listLedger", "/v1/accounts/:accountId/ledger")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({ marketId: Fields.optional(Fields.Name), ...Fields.page }))
    .addSuccess(Ledger)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Every change of the account's balance with its cause, newest first"),
  example: { target: `/v1/accounts/${Example.accountId}/ledger?limit=50` },
  handler: (services) => ({ trader, path: { accountId }, urlParams }) => {
    const { state } = services
    return withAccount(state, trader, accountId,
      (account) =>
        withFilter(state, { marketId: urlParams.marketId }, (market) =>
          withLedgerPlace(urlParams.cursor, (before) => {
            const limit = pageLimit(urlParams.limit)
            return Effect.flatten(changesBefore(services, { account, market, before, limit: limit + 1 }, (rows) =>
              json({
                version: "external-ledger/v1",
                accountId,
                ...pageByPlace("entries", limit, rows, (each) => entry(state, each)),
                ...completeSince(services)
              })))
          })))
  }
})
