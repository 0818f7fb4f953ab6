/** `GET /v1/accounts/{accountId}/orders/cancel-all-after`: how the dead-man switch stands. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { withAccount } from "../accounts/Own.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"

/** How the dead-man switch stands. */
const CancelAllAfterState = Schema.Struct({
  version: Schema.Literal("external-cancel-all-after-state/v1"),
  accountId: Fields.Text,
  armed: Schema.Boolean,
  cancelAtEpochMs: Schema.NullOr(Fields.EpochMs),
  journalSequence: Fields.Sequence
}).annotations({ identifier: "CancelAllAfterState" })

export const getCancelAllAfter = Route.effect({
  tag: "safety",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getCancelAllAfter", "/v1/accounts/:accountId/orders/cancel-all-after")
    .setPath(Fields.AccountPath)
    .addSuccess(CancelAllAfterState)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "How the dead-man switch stands"),
  example: { target: `/v1/accounts/${Example.accountId}/orders/cancel-all-after` },
  handler: ({ state }) => ({ trader, path: { accountId } }) =>
    withAccount(state, trader, accountId, (account) => {
      const cancelAtEpochMs = state.cancelAllAtEpochMs(account)
      return json({
        version: "external-cancel-all-after-state/v1",
        accountId,
        armed: cancelAtEpochMs !== 0,
        cancelAtEpochMs: cancelAtEpochMs === 0 ? null : cancelAtEpochMs,
        journalSequence: state.sequence
      })
    })
})
