/** Deposits: `POST` and `GET /v1/accounts/{accountId}/deposits`, `GET` and `DELETE .../{depositId}`, and `POST .../confirm`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import { Operation } from "../../operations/Operations.js"
import { withAccount, withContractAccount } from "../accounts/Own.js"
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
import * as Factor from "./Factor.js"
import { amountBody, amountOf } from "./Requesting.js"
import * as Samples from "./Samples.js"
import { shownOf, transfersBefore } from "./TransferHistory.js"
import { Deposit, deposit, type Shown, SigningStep } from "./TransferRecord.js"
import { created } from "./Created.js"

const path = "/v1/accounts/:accountId/deposits"
const target = `/v1/accounts/${Example.accountId}/deposits`
const DepositPath = Schema.Struct({ accountId: Fields.Name, depositId: Fields.Name })

const DepositBody = Schema.Struct(amountBody).annotations({ identifier: "DepositBody" })

export const createDeposit = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("createDeposit", path)
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(DepositBody)
    .addSuccess(Deposit)
    .addError(Failures.native(Failures.ownedCommand, 404, "Standing", "Steps", "Deposits"))
    .annotate(OpenApi.Summary, "Ask for a deposit: nothing moves before its steps are approved"),
  example: { target, body: { asset: "USDC", amountAtoms: "250000000" } },
  handler: (services) => ({ headers, path: { accountId }, payload, trader }) =>
    withAccount(services.state, trader, accountId, () =>
      Effect.map(
        Submission.submitted(
          services,
          keyed("RequestDeposit", trader, Operation.requestDeposit, headers, { accountId, ...payload }, amountOf(payload))
        ),
        (outcome) => deposit(services, created(outcome, { amountAtoms: amountOf(payload).amountAtoms, partyId: "" }))
      ))
})

const DepositList = Schema.Struct({
  version: Schema.Literal("external-deposit-list/v1"),
  accountId: Fields.Text,
  deposits: Schema.Array(Deposit),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({ identifier: "DepositList", description: "Newest first, back to the account's first or `completeSinceEpochMs`." })

export const listDeposits = Route.effect({
  tag: "funds",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listDeposits", path)
    .setPath(Fields.AccountPath)
    .setUrlParams(Schema.Struct(Fields.page))
    .addSuccess(DepositList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Deposits of the account, newest first"),
  example: { target: `${target}?limit=50` },
  handler: (services) => ({ path: { accountId }, trader, urlParams }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withCursor("deposits", urlParams.cursor, (before) => {
        const limit = pageLimit(urlParams.limit)
        return Effect.flatten(transfersBefore(services, { account, kind: "deposit", before, limit: limit + 1 }, (found) => {
          const rows = found.map(shownOf).map((transfer) => ({ ordinal: transfer.number, transfer }))
          return json({
            version: "external-deposit-list/v1",
            accountId,
            ...page("deposits", limit, rows, ({ transfer }) => deposit(services, transfer)),
            ...completeSince(services, services.state.forgottenTransfers(account).knownFrom > 0)
          })
        }))
      }))
})

export const getDeposit = Route.effect({
  tag: "funds",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getDeposit", `${path}/:depositId`)
    .setPath(DepositPath)
    .addSuccess(Deposit)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "A deposit: where it stands, and what the ledger last said"),
  example: { target: `${target}/${Samples.depositId}` },
  handler: (services) => ({ path: { accountId, depositId }, trader }) =>
    withAccount(services.state, trader, accountId, () =>
      Confirming.withTransfer(services, trader, "deposit", Ids.parseDepositId(depositId), (found) =>
        Effect.succeed(deposit(services, shownOf(found)))))
})

export const cancelDeposit = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.del("cancelDeposit", `${path}/:depositId`)
    .setPath(DepositPath)
    .addSuccess(Deposit)
    .addError(Failures.native(Failures.owned, 404, "Steps"))
    .annotate(OpenApi.Summary, "Give a deposit up whose step at hand is not approved: an offer that stands is withdrawn"),
  example: { target: `${target}/${Samples.depositId}` },
  handler: (services) => ({ path: { accountId, depositId }, trader }) =>
    withAccount(services.state, trader, accountId, () =>
      Confirming.withTransfer(services, trader, "deposit", Ids.parseDepositId(depositId), (found) =>
        Effect.map(Confirming.giveUp(services, trader, found), (transfer) =>
          deposit(services, transfer))))
})

const named = { depositId: Fields.Name }
const ConfirmBody = Schema.Union(
  Schema.Struct({ ...named, ...Confirming.initiation }).annotations({ identifier: "DepositInitiation" }),
  Schema.Struct({ ...named, ...Confirming.completion }).annotations({ identifier: "DepositCompletion" })
).annotations({ identifier: "DepositConfirmBody" })

const Confirmed = Schema.Struct({
  version: Schema.Literal("local-signing/v2"),
  status: Schema.Literal("approval_required", "submitted", "submitted_unknown", "ledger_confirmed", "rejected", "expired").annotations({
    description: "`approval_required`: sign `challenge` and send `complete`. `submitted` and `submitted_unknown`: send `initiate` again "
      + "after a while; this is also said while the venue gets the next step ready, and `deposit` says `bound`. Otherwise it is over: "
      + "`ledger_confirmed`, or `rejected` or `expired` where it came to nothing."
  }),
  signingStep: Fields.optional(SigningStep).annotations({
    description:
      "The step at hand: the one that `challenge` is about, or else the one that is under way or comes next. Absent once it is over."
  }),
  challenge: Fields.optional(Factor.Challenge),
  deposit: Deposit
}).annotations({ identifier: "DepositConfirmed" })

/** The step at hand, where it is one that an owner approves. */
const stepOf = ({ stepAtHand }: Shown): { readonly signingStep?: typeof SigningStep.Type } =>
  stepAtHand === undefined || stepAtHand.name === "treasury_offer_withdrawal" ? {} : { signingStep: stepAtHand.name }

const confirmed = (services: Services, { due, transfer }: Confirming.Confirmed): typeof Confirmed.Type => {
  const told = deposit(services, transfer)
  // A deposit between two steps is bound. Its owner has to ask again, as the contract says of `submitted` and of no other status.
  const stands = told.status === "bound" ? "submitted" : told.status
  const status = due === undefined ? stands : "approval_required"
  return { version: "local-signing/v2", status, ...stepOf(transfer), ...due, deposit: told }
}

export const confirmDeposit = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("confirmDeposit", `${path}/confirm`)
    .setPath(Fields.AccountPath)
    .setPayload(ConfirmBody)
    .addSuccess(Confirmed)
    .addError(Failures.native(Failures.ownedWithBody, 404, "Passkeys", "Standing", "Steps", "Deposits"))
    .annotate(OpenApi.Summary, "Drive the next step of a deposit that its owner has to approve"),
  example: { target: `${target}/confirm`, body: { action: "initiate", depositId: Samples.depositId } },
  handler: (services) => ({ path: { accountId }, payload, remoteAddress, trader }) =>
    withContractAccount(services.state, trader, accountId, () =>
      Confirming.withTransfer(services, trader, "deposit", Ids.parseDepositId(payload.depositId), (found) =>
        Effect.map(
          payload.action === "initiate"
            ? Confirming.initiate(services, found, payload.signingStep)
            : Confirming.complete(services, trader, found, payload, remoteAddress),
          (came) =>
            confirmed(services, came)
        )))
})
