/** `POST /v1/operator/demo/accounts`: opens and funds accounts, each with a key, in development only. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { type EntryOutcome, Operation } from "../../operations/Operations.js"
import { command } from "./Sent.js"
import * as Units from "../../domain/Units.js"
import * as ApiKeys from "../../identity/ApiKeys.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { maxDemoAccounts } from "../../operations/accounts/OpenDemoAccounts.js"
import { scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"

const DemoAccountsBody = Schema.Struct({
  accounts: Fields.optional(Schema.Int.pipe(Schema.between(1, maxDemoAccounts))).annotations({
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

const defaultDemoAccounts = 2
const defaultDemoCollateralAtoms = 1_000_000 * 10 ** Units.moneyScale

const openedBy = (decided: EntryOutcome): number => {
  assert(decided._tag === "AccountOpened", "opening accounts comes to accounts")
  return decided.account
}

export const openDemoAccounts = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("openDemoAccounts", "/v1/operator/demo/accounts")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(DemoAccountsBody)
    .addSuccess(DemoAccounts)
    .addError(Failures.native(Failures.operatorWithBody))
    .annotate(OpenApi.Summary, "Development only: open and fund accounts, each with a key"),
  example: { target: "/v1/operator/demo/accounts", body: { accounts: 2, collateral: "100000" } },
  handler: (services) => ({ headers, payload }) => {
    if (services.environment !== "development") return fail(Errors.routeNotFound)
    const collateralAtoms = payload.collateral === undefined
      ? defaultDemoCollateralAtoms
      : Units.parseDecimal(payload.collateral, Units.moneyScale)
    if (typeof collateralAtoms === "string") {
      return fail(Errors.invalidRequest("collateral: must be USDC with at most 6 decimals."))
    }
    const idempotencyKey = headers["idempotency-key"]
    const keys = Array.from(
      { length: payload.accounts ?? defaultDemoAccounts },
      (_, index) =>
        ApiKeys.deriveDemoKey(
          services.signerSecret,
          services.environment,
          idempotencyKey,
          index,
          scopeRead | scopeTrade
        )
    )
    const grants = keys.map((key) => key.grant)
    // Keys are derived from the key of the request and expire by the time: the number of them is all that is asked.
    const asked = { accounts: grants.length, collateralAtoms }
    const opening = command("OpenDemoAccounts", Operation.openDemoAccounts, headers, asked, { collateralAtoms, keys: grants })
    return Effect.map(Submission.submitted(services, opening), (outcome) => {
      assert(outcome.entries.length === keys.length, "every demo account has an outcome")
      return {
        version: "demo-accounts/v1" as const,
        accounts: keys.map((key, index) => ({
          accountId: services.state.accountId(openedBy(outcome.entries[index]!)),
          apiKey: key.text
        })),
        sequence: outcome.sequence,
        decidedAtEpochMs: outcome.atEpochMs
      }
    })
  }
})
