/** Withdrawals: `POST` and `GET /v1/accounts/{accountId}/withdrawals`, `GET` and `DELETE .../{withdrawalId}`, and `POST .../confirm`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import { partyIdPattern } from "../../ledger/Planned.js"
import { Operation } from "../../operations/Operations.js"
import { withAccount } from "../accounts/Own.js"
import type { Services } from "../http/Call.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { page, pageLimit, withCursor } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { keyed } from "../identity/Sent.js"
import * as Confirming from "./Confirming.js"
import { created } from "./Created.js"
import * as Factor from "./Factor.js"
import { amountBody, amountOf } from "./Requesting.js"
import * as Samples from "./Samples.js"
import { shownOf, transfersBefore } from "./TransferHistory.js"
import { SigningStep, statuses, Withdrawal, withdrawal } from "./TransferRecord.js"

const path = "/v1/accounts/:accountId/withdrawals"
const target = `/v1/accounts/${Example.accountId}/withdrawals`
const WithdrawalPath = Schema.Struct({ accountId: Fields.Name, withdrawalId: Fields.Name })

const WithdrawalBody = Schema.Struct({
  ...amountBody,
  destinationPartyId: Schema.String.pipe(Schema.pattern(partyIdPattern)).annotations({
    identifier: "PartyId",
    description: "The party on the ledger that receives: a name, `::`, and the fingerprint of its key. Not the venue's own treasury."
  })
}).annotations({ identifier: "WithdrawalBody" })

export const createWithdrawal = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("createWithdrawal", path)
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(WithdrawalBody)
    .addSuccess(Withdrawal)
    .addError(Failures.native(Failures.ownedCommand, 404, "Standing", "Steps", "Withdrawals"))
    .annotate(OpenApi.Summary, "Ask for a withdrawal: its amount is held from here on, and given back should it come to nothing"),
  example: { target, body: { asset: "USDC", amountAtoms: "250000000", destinationPartyId: Samples.partyId } },
  handler: (services) => ({ headers, path: { accountId }, payload, remoteAddress, trader }) =>
    withAccount(services.state, trader, accountId, () => {
      const { destinationPartyId } = payload
      const amount = amountOf(payload)
      const sent = { accountId, ...payload }
      // The engine refuses this under the request's key, so that a repetition gets the same answer.
      const isTreasury = services.funds.standing().treasury === destinationPartyId
      const values = { ...amount, destinationPartyId: isTreasury ? "" : destinationPartyId, remoteAddress }
      return Effect.map(
        Submission.submitted(services, keyed("RequestWithdrawal", trader, Operation.requestWithdrawal, headers, sent, values)),
        (outcome) => withdrawal(services, created(outcome, { amountAtoms: amount.amountAtoms, partyId: destinationPartyId }))
      )
    })
})

const WithdrawalList = Schema.Struct({
  version: Schema.Literal("external-withdrawal-list/v1"),
  accountId: Fields.Text,
  withdrawals: Schema.Array(Withdrawal),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({ identifier: "WithdrawalList", description: "Newest first, back to the account's first or `completeSinceEpochMs`." })

export const listWithdrawals = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listWithdrawals", path)
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct(Fields.page))
    .addSuccess(WithdrawalList)
    .addError(Failures.native(Failures.owned, 404))
    .annotate(OpenApi.Summary, "Withdrawals of the account, newest first"),
  example: { target: `${target}?limit=50` },
  handler: (services) => ({ path: { accountId }, trader, urlParams }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withCursor("withdrawals", urlParams.cursor, (before) => {
        const limit = pageLimit(urlParams.limit)
        return Effect.flatten(transfersBefore(services, { account, kind: "withdrawal", before, limit: limit + 1 }, (found) => {
          const rows = found.map(shownOf).map((transfer) => ({ ordinal: transfer.number, transfer }))
          return json({
            version: "external-withdrawal-list/v1",
            accountId,
            ...page("withdrawals", limit, rows, ({ transfer }) => withdrawal(services, transfer)),
            ...completeSince(services, services.state.forgottenTransfers(account).knownFrom > 0)
          })
        }))
      }))
})

export const getWithdrawal = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getWithdrawal", `${path}/:withdrawalId`)
    .setPath(WithdrawalPath)
    .addSuccess(Withdrawal)
    .addError(Failures.native(Failures.owned, 404))
    .annotate(OpenApi.Summary, "A withdrawal: where it stands, and what the ledger last said"),
  example: { target: `${target}/${Samples.withdrawalId}` },
  handler: (services) => ({ path: { accountId, withdrawalId }, trader }) =>
    withAccount(services.state, trader, accountId, () =>
      Confirming.withTransfer(services, trader, "withdrawal", Ids.parseWithdrawalId(withdrawalId), (found) =>
        Effect.succeed(withdrawal(services, shownOf(found)))))
})

export const cancelWithdrawal = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.del("cancelWithdrawal", `${path}/:withdrawalId`)
    .setPath(WithdrawalPath)
    .addSuccess(Withdrawal)
    .addError(Failures.native(Failures.owned, 404, "Steps"))
    .annotate(OpenApi.Summary, "Give a withdrawal up that is not approved: its amount is given back"),
  example: { target: `${target}/${Samples.withdrawalId}` },
  handler: (services) => ({ path: { accountId, withdrawalId }, trader }) =>
    withAccount(services.state, trader, accountId, () =>
      Confirming.withTransfer(services, trader, "withdrawal", Ids.parseWithdrawalId(withdrawalId), (found) =>
        Effect.map(Confirming.giveUp(services, trader, found), (transfer) =>
          withdrawal(services, transfer))))
})

const named = { withdrawalId: Fields.Name }
const ConfirmBody = Schema.Union(
  Schema.Struct({ ...named, ...Confirming.initiation }).annotations({ identifier: "WithdrawalInitiation" }),
  Schema.Struct({ ...named, ...Confirming.completion }).annotations({ identifier: "WithdrawalCompletion" })
).annotations({ identifier: "WithdrawalConfirmBody" })

const Confirmed = Schema.Struct({
  version: Schema.Literal("local-signing/v2"),
  status: Schema.Literal("approval_required", ...statuses.withdrawal),
  signingStep: Fields.optional(SigningStep),
  challenge: Fields.optional(Factor.Challenge),
  withdrawal: Withdrawal
}).annotations({ identifier: "WithdrawalConfirmed" })

const confirmed = (services: Services, { due, transfer }: Confirming.Confirmed): typeof Confirmed.Type => {
  const told = withdrawal(services, transfer)
  return { version: "local-signing/v2", status: due === undefined ? told.status : "approval_required", ...due, withdrawal: told }
}

export const confirmWithdrawal = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("confirmWithdrawal", `${path}/confirm`)
    .setPath(Fields.AccountPath)
    .setPayload(ConfirmBody)
    .addSuccess(Confirmed)
    .addError(Failures.native(Failures.ownedWithBody, 404, "Passkeys", "Standing", "Steps", "Withdrawals"))
    .annotate(OpenApi.Summary, "Drive a withdrawal to its approval and through it, as a deposit's steps are"),
  example: { target: `${target}/confirm`, body: { action: "initiate", withdrawalId: Samples.withdrawalId } },
  handler: (services) => ({ path: { accountId }, payload, remoteAddress, trader }) =>
    withAccount(services.state, trader, accountId, () =>
      Confirming.withTransfer(services, trader, "withdrawal", Ids.parseWithdrawalId(payload.withdrawalId), (found) =>
        Effect.map(
          payload.action === "initiate"
            ? Confirming.initiate(services, found, payload.signingStep)
            : Confirming.complete(services, trader, found, payload, remoteAddress),
          (came) =>
            confirmed(services, came)
        )))
})
