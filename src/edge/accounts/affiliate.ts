/** The account as an affiliate: `POST` and `GET /v1/accounts/{accountId}/affiliate/registration`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { referralCode } from "../../domain/ReferralCode.js"
import { Operation } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import * as Example from "../http/Example.js"
import { Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import { Feature } from "../http/Features.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { withAccount, withContractAccount } from "./Own.js"
import { owned } from "../identity/Sent.js"

const AffiliateProfile = Schema.Struct({
  version: Schema.Literal("external-affiliate-profile/v1"),
  accountId: Fields.Text,
  registered: Schema.Boolean,
  affiliateId: Schema.NullOr(Fields.Text),
  referralCode: Schema.NullOr(Fields.Text),
  registeredAtEpochMs: Schema.NullOr(Fields.EpochMs)
}).annotations({
  identifier: "AffiliateProfile",
  description: "Every answer of the route carries `x-service-runtime-policy-version`, also the 404 (`route_not_found`) of a venue "
    + "without affiliates, which every one is whose operator has not set `AFFILIATE_ENABLED`."
})

const accountPrefix = "acc_"

/** The account as an affiliate, as the state has it. */
const profile = ({ state }: Services, account: number): Rendered => {
  const accountId = state.accountId(account)
  const registeredAtEpochMs = state.affiliateSince(account)
  const registered = registeredAtEpochMs !== 0
  const told: typeof AffiliateProfile.Type = {
    version: "external-affiliate-profile/v1",
    accountId,
    registered,
    affiliateId: registered ? `aff_${accountId.slice(accountPrefix.length)}` : null,
    referralCode: registered ? referralCode(account) : null,
    registeredAtEpochMs: registered ? registeredAtEpochMs : null
  }
  return new Rendered(JSON.stringify(told))
}

const path = "/v1/accounts/:accountId/affiliate/registration"
const target = `/v1/accounts/${Example.accountId}/affiliate/registration`

export const registerAffiliate = Route.effect({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.post("registerAffiliate", path)
    .setPath(Fields.AccountPath)
    .addSuccess(AffiliateProfile)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(Feature, "affiliate")
    .annotate(OpenApi.Summary, "Register as an affiliate, with a referral code that never changes; repeating keeps the first time"),
  example: { target },
  handler: (services) => ({ path: { accountId }, trader }) =>
    withContractAccount(services.state, trader, accountId, (account) =>
      services.state.affiliateSince(account) !== 0
        ? Effect.succeed(profile(services, account))
        : Effect.map(
          Submission.submitted(services, owned("RegisterAffiliate", trader, Operation.registerAffiliate, {})),
          () => profile(services, account)
        ))
})

export const getAffiliate = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getAffiliate", path)
    .setPath(Fields.AccountPath)
    .addSuccess(AffiliateProfile)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(Feature, "affiliate")
    .annotate(OpenApi.Summary, "The account as an affiliate"),
  example: { target },
  handler: (services) => ({ path: { accountId }, trader }) =>
    withAccount(services.state, trader, accountId, (account) => Effect.succeed(profile(services, account)))
})
