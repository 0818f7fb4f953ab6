/** `POST /v1/operator/demo/credits`: money for an account, in development and on a testnet, where no ledger brings any. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Units from "../../domain/Units.js"
import { plainDecimal } from "../../operations/Fingerprint.js"
import { Operation } from "../../operations/Operations.js"
import { inBoth } from "../accounts/Money.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { noAmount } from "./Amount.js"
import { accountNamed } from "./Named.js"
import { command } from "./Sent.js"

const CreditBody = Schema.Struct({
  accountId: Fields.Name,
  amount: Fields.DecimalInput.annotations({ description: "USDC, positive." })
}).annotations({ identifier: "DemoCreditBody" })

export const DemoCredit = Schema.Struct({
  version: Schema.Literal("demo-credit/v1"),
  accountId: Fields.Text,
  ...Fields.paired("amount"),
  ...Fields.pairedSigned("balance"),
  idempotencyKey: Schema.String,
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "DemoCredit", description: "`balance` is the account's collateral from here on." })

export const creditAccount = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("creditAccount", "/v1/operator/demo/credits")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(CreditBody)
    .addSuccess(DemoCredit)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Development and testnet only: credit an account, and so enable it for trading"),
  example: { target: "/v1/operator/demo/credits", body: { accountId: Example.accountId, amount: "1000.0" } },
  handler: (services) => ({ headers, payload: { accountId, amount } }) =>
    Effect.gen(function*() {
      const { environment, state } = services
      if (environment !== "development" && environment !== "testnet") return yield* fail(Errors.routeNotFound)
      const amountAtoms = Units.parseDecimal(amount, Units.moneyScale)
      if (typeof amountAtoms === "string" || amountAtoms < 1) {
        return yield* fail(noAmount("amount", amountAtoms, "must be positive USDC with at most 6 decimals"))
      }
      const ofAccount = yield* accountNamed(state, accountId)
      const sent = { accountId, amount: plainDecimal(amount) }
      const crediting = command("CreditAccount", Operation.creditAccount, headers, sent, { ofAccount, amountAtoms, tellsOwner: true })
      const { atEpochMs, entries: [entry], sequence } = yield* Submission.submitted(services, crediting)
      assert(entry?._tag === "AccountCredited", "a credit comes to a balance")
      return {
        version: "demo-credit/v1" as const,
        accountId,
        ...inBoth("amount", amountAtoms, Units.moneyScale),
        ...inBoth("balance", entry.collateralAtoms, Units.moneyScale),
        idempotencyKey: crediting.idempotencyKey,
        sequence,
        decidedAtEpochMs: atEpochMs
      }
    })
})
