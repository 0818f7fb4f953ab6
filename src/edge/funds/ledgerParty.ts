/** The account's party on the ledger: `GET`, `PUT` and `DELETE /v1/accounts/{accountId}/ledger-party`, and `POST .../confirm`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import { Operation } from "../../operations/Operations.js"
import { withAccount } from "../accounts/Own.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { keyed } from "../identity/Sent.js"
import * as Confirming from "./Confirming.js"
import { created } from "./Created.js"
import * as Factor from "./Factor.js"
import { type Found, shownOf, transfersBefore } from "./TransferHistory.js"
import { PartyChange, partyChange, SigningStep, statuses } from "./TransferRecord.js"

const path = "/v1/accounts/:accountId/ledger-party"
const target = `/v1/accounts/${Example.accountId}/ledger-party`

const LedgerParty = Schema.Struct({
  version: Schema.Literal("external-ledger-party/v1"),
  accountId: Fields.Text,
  partyId: Schema.NullOr(Fields.Text).annotations({ description: "Null before the account's first deposit." }),
  confirmed: Schema.Boolean.annotations({ description: "Whether the ledger has its contract with the venue." }),
  change: Schema.NullOr(PartyChange).annotations({ description: "The latest change that was asked for." })
}).annotations({ identifier: "LedgerParty" })

/** The account's unfinished change of party, or the latest one; undefined where it never requested any. */
const withLatest = <A>(
  services: Services,
  account: number,
  then: (change: Found | undefined) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> =>
  Effect.flatten(transfersBefore(services, { account, kind: "party_change", before: Infinity, limit: 1 }, ([change]) => then(change)))

export const getLedgerParty = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getLedgerParty", path)
    .setPath(Fields.AccountPath)
    .addSuccess(LedgerParty)
    .addError(Failures.native(Failures.owned, 404))
    .annotate(OpenApi.Summary, "The account's party on the ledger"),
  example: { target },
  handler: (services) => ({ path: { accountId }, trader }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withLatest(services, account, (change) => {
        const party = services.state.party(account)
        return Effect.succeed({
          version: "external-ledger-party/v1" as const,
          accountId,
          partyId: party?.partyId ?? null,
          confirmed: (party?.confirmedAtEpochMs ?? 0) !== 0,
          change: change === undefined ? null : partyChange(services, shownOf(change))
        })
      }))
})

export const changeLedgerParty = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.put("changeLedgerParty", path)
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(PartyChange)
    .addError(Failures.native(Failures.ownedCommandWithoutBody, 404, "Standing", "Steps"))
    .annotate(OpenApi.Summary, "Ask for another party with a new key: the present one stays until the new one is approved and confirmed"),
  example: { target },
  handler: (services) => ({ headers, path: { accountId }, remoteAddress, trader }) =>
    withAccount(services.state, trader, accountId, () =>
      Effect.map(
        Submission.submitted(
          services,
          keyed("RequestPartyChange", trader, Operation.requestPartyChange, headers, { accountId }, { remoteAddress })
        ),
        (outcome) => partyChange(services, created(outcome, { amountAtoms: 0, partyId: "" }))
      ))
})

/** Goes on with the latest change of an account's party; fails where it has none. */
const withChange = <A>(
  services: Services,
  account: number,
  then: (change: Found) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> =>
  withLatest(services, account, (change) => change === undefined ? fail(Errors.refused(Refusal.transferNotFound)) : then(change))

export const cancelLedgerPartyChange = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.del("cancelLedgerPartyChange", path)
    .setPath(Fields.AccountPath)
    .addSuccess(PartyChange)
    .addError(Failures.native(Failures.owned, 404, "Steps"))
    .annotate(OpenApi.Summary, "Give a change of the ledger party up that is not approved"),
  example: { target },
  handler: (services) => ({ path: { accountId }, trader }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withChange(services, account, (change) =>
        Effect.map(Confirming.giveUp(services, trader, change), (given) =>
          partyChange(services, given))))
})

const ConfirmBody = Schema.Union(
  Schema.Struct(Confirming.initiation).annotations({ identifier: "PartyChangeInitiation" }),
  Schema.Struct(Confirming.completion).annotations({ identifier: "PartyChangeCompletion" })
).annotations({ identifier: "PartyChangeConfirmBody" })

const Confirmed = Schema.Struct({
  version: Schema.Literal("local-signing/v2"),
  status: Schema.Literal("approval_required", ...statuses.other),
  signingStep: Fields.optional(SigningStep),
  challenge: Fields.optional(Factor.Challenge),
  partyChange: PartyChange
}).annotations({ identifier: "PartyChangeConfirmed" })

const confirmed = (services: Services, { due, transfer }: Confirming.Confirmed): typeof Confirmed.Type => {
  const told = partyChange(services, transfer)
  return { version: "local-signing/v2", status: due === undefined ? told.status : "approval_required", ...due, partyChange: told }
}

export const confirmLedgerPartyChange = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("confirmLedgerPartyChange", `${path}/confirm`)
    .setPath(Fields.AccountPath)
    .setPayload(ConfirmBody)
    .addSuccess(Confirmed)
    .addError(Failures.native(Failures.ownedWithBody, 404, "Passkeys", "Standing", "Steps", "Deposits"))
    .annotate(OpenApi.Summary, "Drive the latest change of the ledger party to its approval and through it"),
  example: { target: `${target}/confirm`, body: { action: "initiate" } },
  handler: (services) => ({ path: { accountId }, payload, remoteAddress, trader }) =>
    withAccount(services.state, trader, accountId, (account) =>
      withChange(services, account, (change) =>
        Effect.map(
          payload.action === "initiate"
            ? Confirming.initiate(services, change, payload.signingStep)
            : Confirming.complete(services, trader, change, payload, remoteAddress),
          (came) => confirmed(services, came)
        )))
})
