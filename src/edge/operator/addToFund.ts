/** `POST /v1/operator/insurance-fund`: moves fees that the venue has collected into the insurance fund. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Units from "../../domain/Units.js"
import { plainDecimal } from "../../operations/Fingerprint.js"
import { Operation } from "../../operations/Operations.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { noAmount } from "./Amount.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

export const addToFund = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("addToFund", "/v1/operator/insurance-fund")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(Schema.Struct({
      amount: Fields.DecimalInput.annotations({ description: "USDC, positive, of the fees that the venue has collected." })
    }))
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Move collected fees into the insurance fund"),
  example: { target: "/v1/operator/insurance-fund", body: { amount: "1000.0" } },
  handler: (services) => ({ headers, payload }) => {
    const amountAtoms = Units.parseDecimal(payload.amount, Units.moneyScale)
    if (typeof amountAtoms === "string" || amountAtoms < 1)
      return fail(noAmount("amount", amountAtoms, "must be positive USDC with at most 6 decimals"))
    const sent = { amount: plainDecimal(payload.amount) }
    return operated(services, "add_to_insurance_fund", command("AddToFund", Operation.addToFund, headers, sent, { amountAtoms }))
  }
})
