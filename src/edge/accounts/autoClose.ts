/**
 * What closes an account's positions by itself: `GET`, `PUT` and `DELETE /v1/accounts/{accountId}/positions/{marketId}/auto-close` of one
 * position, `GET` and `DELETE /v1/accounts/{accountId}/triggers` of all.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import type * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { BracketView, Trader } from "../../engine/Reads.js"
import { type AutoClose, noAutoClose } from "../../operations/accounts/AutoClose.js"
import type { AutoCloseSet } from "../../operations/accounts/SetAutoClose.js"
import { Canonical } from "../../operations/Fingerprint.js"
import { Operation, type Outcome } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Requests from "../http/Requests.js"
import * as Route from "../http/Route.js"
import { feeds } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import { withFilter, withMarket } from "../markets/Listed.js"
import * as AutoCloseBody from "../orders/AutoCloseBody.js"
import * as Grid from "../orders/Grid.js"
import { quantity } from "../orders/OrderText.js"
import { withPlainDecimals } from "../orders/PlainDecimals.js"
import { withAccount } from "./Own.js"

const Side = Schema.Literal("long", "short")

const bracketFields = {
  triggerId: Fields.Text,
  marketId: Fields.Text,
  side: Side.annotations({ description: "Of the position that it closes." }),
  ...Fields.paired("quantity"),
  ...AutoCloseBody.autoCloseFields
}

/** What closes a part of a position by itself. */
const BracketRecord = Schema.Struct({
  ...bracketFields,
  status: Schema.Literal("armed", "waiting", "pending").annotations({
    description:
      "`waiting`: its order left a rest, and it is armed again with the next second. `pending`: its order has yet to open anything."
  }),
  orderId: Fields.optional(Fields.Text).annotations({ description: "The order that it came with." }),
  createdAtEpochMs: Fields.EpochMs,
  lastSequence: Fields.Sequence
}).annotations({ identifier: "TriggerPair" })

const BracketList = Schema.Struct({
  version: Schema.Literal("external-trigger-list/v1"),
  accountId: Fields.Text,
  triggers: Schema.Array(BracketRecord),
  journalSequence: Fields.Sequence
}).annotations({ identifier: "TriggerList" })

const decided = { lastSequence: Fields.Sequence, idempotencyKey: Schema.String, decidedAtEpochMs: Fields.EpochMs }

/** What was set for a whole position. */
const AutoCloseResult = Schema.Struct({
  version: Schema.Literal("external-auto-close/v1"),
  accountId: Fields.Text,
  ...bracketFields,
  replacedTriggers: Fields.Count,
  ...decided
}).annotations({ identifier: "AutoCloseResult" })

/** How many were cancelled. */
const TriggersCanceled = Schema.Struct({
  version: Schema.Literal("external-triggers-canceled/v1"),
  accountId: Fields.Text,
  marketId: Fields.optional(Fields.Text),
  canceledTriggers: Fields.Count,
  ...decided
}).annotations({ identifier: "TriggersCanceled" })

/** What a bracket is and closes. */
const bracketText = (market: Market.Parameters, number: number, quantityAtoms: number, isLong: boolean, autoClose: AutoClose): string =>
  `"triggerId":"${Ids.triggerId(number)}","marketId":${quote(market.marketId)},"side":"${isLong ? "long" : "short"}"`
  + quantity("quantity", quantityAtoms, market.quantityScale)
  + `,${AutoCloseBody.membersText(autoClose, market.priceScale)}`

const statusOf = ({ againAtEpochMs, quantityAtoms }: BracketView): string =>
  quantityAtoms === 0 ? "pending" : againAtEpochMs === 0 ? "armed" : "waiting"

const recordText = (market: Market.Parameters, view: BracketView): string =>
  `{${bracketText(market, view.number, view.quantityAtoms, view.isLong, view.autoClose)},"status":"${statusOf(view)}"`
  + (view.cameWithOrder ? `,"orderId":"${Ids.orderId(view.number)}"` : "")
  + `,"createdAtEpochMs":${view.createdAtEpochMs},"lastSequence":${view.lastSequence}}`

const list = ({ state }: Services, account: number, market: number): Effect.Effect<Rendered> =>
  Effect.sync(() => {
    const texts = state.brackets(account, market).map((view) => recordText(state.market(view.market).parameters, view))
    return new Rendered(
      `{"version":"external-trigger-list/v1","accountId":"${state.accountId(account)}","triggers":[${texts.join(",")}]`
        + `,"journalSequence":${state.sequence}}`
    )
  })

const about = (outcome: Outcome, idempotencyKey: string): string =>
  `"lastSequence":${outcome.sequence},"idempotencyKey":${quote(idempotencyKey)},"decidedAtEpochMs":${outcome.atEpochMs}`

const outcomeOf = (outcome: Outcome): AutoCloseSet => {
  const entry = Submission.decidedEntry(outcome, 0)
  assert(entry._tag === "AutoCloseSet", "what closes by itself comes to its own outcome")
  return entry
}

const canonical = new Canonical()

/** Cancels brackets of an account's positions, in one market, or in all where none is named. */
const cancel = (
  services: Services,
  trader: Trader,
  operation: Operation,
  idempotencyKey: string,
  marketId: string | undefined
): Effect.Effect<Rendered, Errors.Failure> =>
  Effect.suspend(() => {
    const { state } = services
    const accountId = state.accountId(trader.account)
    canonical.begin()
    canonical.text(accountId)
    if (marketId !== undefined) canonical.text(marketId)
    return Submission.submitted(services, {
      kind: "SetAutoClose",
      principal: trader.principal,
      account: trader.account,
      credential: trader.credential,
      operation,
      idempotencyKey,
      fingerprint: canonical.end(),
      market: marketId === undefined ? anyMarket : state.findMarket(marketId),
      ...noAutoClose,
      fault: Refusal.none,
      raw: ""
    }).pipe(Effect.map((outcome) =>
      new Rendered(
        `{"version":"external-triggers-canceled/v1","accountId":"${accountId}"`
          + (marketId === undefined ? "" : `,"marketId":${quote(marketId)}`)
          + `,"canceledTriggers":${outcomeOf(outcome).canceled},${about(outcome, idempotencyKey)}}`
      )
    ))
  })

const path = "/v1/accounts/:accountId/positions/:marketId/auto-close"
const target = `/v1/accounts/${Example.accountId}/positions/${Example.marketId}/auto-close`

export const getAutoClose = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getAutoClose", path)
    .setPath(Fields.AccountMarketPath)
    .addSuccess(BracketList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Take-profits and stop-losses of a position"),
  example: { target },
  handler: (services) => ({ trader, path: { accountId, marketId } }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withMarket(services.state, { marketId: marketId }, ({ index }) => list(services, account, index)))
})

export const setAutoClose = Route.hot({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.put("setAutoClose", path)
    .setPath(Fields.AccountMarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(AutoCloseBody.AutoCloseBody)
    .addSuccess(AutoCloseResult)
    .addError(Failures.native(Failures.command, 404, 422))
    .annotate(OpenApi.Summary, "Set the take-profit and the stop-loss of a whole position, in the place of all that is armed for it"),
  example: { target, body: { takeProfit: { triggerPrice: "66000.0" }, stopLoss: { triggerPrice: "57000.0", triggerBy: "last" } } },
  decode: (body) => AutoCloseBody.fault(body, "") ?? (body as AutoCloseBody.AutoCloseBody),
  feed: feeds(AutoCloseBody.autoCloseShape),
  run: (call, admitted) => {
    const { accountId, body, idempotencyKey } = admitted
    if (call.params["accountId"] !== accountId) return call.failDurably(Errors.accountNotFound)
    const { state } = call.services
    const marketId = call.params["marketId"] ?? ""
    const market = state.findMarket(marketId)
    const view = Grid.known(state, market)
    const grid = AutoCloseBody.onGrid(view, body, "")
    const answer = ({ autoClose, comparison, fault }: AutoCloseBody.OnGrid) => (outcome: Outcome): void => {
      const entry = Submission.decidedEntry(outcome, 0)
      if (Submission.isRefused(entry)) {
        const isOurs = fault !== Refusal.none && entry.refusal === fault
        const told = entry.refusal === Refusal.marketNotFound ? undefined : view?.parameters
        return Submission.failEntry(call, entry, outcome, isOurs ? comparison : Errors.comparisonOf(entry, told), marketId)
      }
      assert(view !== undefined, "what closes a position is of a market")
      const { bracketNumber, canceled, quantityAtoms } = outcomeOf(outcome)
      call.succeed(
        `{"version":"external-auto-close/v1","accountId":"${accountId}"`
          + `,${bracketText(view.parameters, bracketNumber, Math.abs(quantityAtoms), quantityAtoms > 0, autoClose)}`
          + `,"replacedTriggers":${canceled},${about(outcome, idempotencyKey)}}`
      )
    }
    if (Requests.isFailure(grid)) {
      // The request may have been decided before with its trailing zeros removed, or before its market became visible.
      const before = AutoCloseBody.onGrid(view, withPlainDecimals(body), "")
      return Submission.failUndecided(call, admitted, Operation.setAutoCloseV1, grid,
        answer(Requests.isFailure(before) ? AutoCloseBody.none : before))
    }
    const raw = grid.fault === Refusal.none ? "" : JSON.stringify([marketId, body])
    const command = {
      kind: "SetAutoClose",
      operation: Operation.setAutoCloseV1,
      market,
      ...grid.autoClose,
      fault: grid.fault,
      raw
    } as const
    Submission.submit(call, admitted, command, answer(grid))
  }
})

export const cancelAutoClose = Route.effect({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.del("cancelAutoClose", path)
    .setPath(Fields.AccountMarketPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(TriggersCanceled)
    .addError(Failures.native(Failures.commandWithoutBody, 404))
    .annotate(OpenApi.Summary, "Cancel the take-profits and stop-losses of a position, those of its open orders among them"),
  example: { target },
  handler: (services) => ({ headers, trader, path: { accountId, marketId } }) =>
    withAccount(services.state, trader, accountId, () =>
      cancel(services, trader, Operation.cancelAutoCloseV1, headers["idempotency-key"], marketId))
})

export const listTriggers = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listTriggers", "/v1/accounts/:accountId/triggers")
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct({ marketId: Fields.optional(Fields.Name) }))
    .addSuccess(BracketList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Take-profits and stop-losses of the account"),
  example: { target: `/v1/accounts/${Example.accountId}/triggers` },
  handler: (services) => ({ trader, path: { accountId }, urlParams }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withFilter(services.state, { marketId: urlParams.marketId }, (market) => list(services, account, market)))
})

export const cancelTriggers = Route.effect({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.del("cancelTriggers", "/v1/accounts/:accountId/triggers")
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(TriggersCanceled)
    .addError(Failures.native(Failures.commandWithoutBody, 404))
    .annotate(OpenApi.Summary, "Cancel all take-profits and stop-losses of the account, those of its open orders among them"),
  example: { target: `/v1/accounts/${Example.accountId}/triggers` },
  handler: (services) => ({ headers, trader, path: { accountId } }) =>
    withAccount(services.state, trader, accountId, () =>
      cancel(services, trader, Operation.cancelTriggersV1, headers["idempotency-key"], undefined))
})
