/** `POST /v1/operator/demo/ledger-funds`: mints USDC for an account's party, on a development ledger. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import * as Units from "../../domain/Units.js"
import { inBoth } from "../accounts/Money.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { accountNamed } from "./Named.js"

/** The faucet gives no more at once. */
const mostAtoms = 1_000_000_000_000_000

const Body = Schema.Struct({
  accountId: Fields.Name,
  amount: Fields.DecimalInput.annotations({ description: "USDC, positive." })
}).annotations({ identifier: "DemoLedgerFundsBody" })

const DemoLedgerFunds = Schema.Struct({
  version: Schema.Literal("demo-ledger-funds/v1"),
  accountId: Fields.Text,
  partyId: Fields.Text,
  ...Fields.paired("amount")
}).annotations({
  identifier: "DemoLedgerFunds",
  description: "The party holds so much more on the ledger. Asked again, it is given again."
})

export const fundLedgerParty = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("fundLedgerParty", "/v1/operator/demo/ledger-funds")
    .setPayload(Body)
    .addSuccess(DemoLedgerFunds)
    .addError(Failures.native(Failures.operatorWithBody, "Steps"))
    .annotate(OpenApi.Summary,
      "Development only: let the ledger give an account's party USDC that it can deposit; nothing of it is journaled"),
  example: { target: "/v1/operator/demo/ledger-funds", body: { accountId: Example.accountId, amount: "1000.0" } },
  handler: ({ funds: { give }, state }) => ({ payload: { accountId, amount } }) =>
    Effect.gen(function*() {
      if (give === undefined) return yield* fail(Errors.routeNotFound)
      const amountAtoms = Units.parseDecimal(amount, Units.moneyScale)
      if (typeof amountAtoms === "string" || amountAtoms < 1 || amountAtoms > mostAtoms) {
        return yield* fail(Errors.invalidRequest("amount: must be positive USDC with at most 6 decimals, and no more than a billion."))
      }
      const party = state.party(yield* accountNamed(state, accountId))
      if (party === undefined) return yield* fail(Errors.refused(Refusal.partyMissing))
      const { partyId } = party
      yield* Effect.mapError(give(partyId, amountAtoms), () => Errors.ledgerUnavailable)
      return { version: "demo-ledger-funds/v1" as const, accountId, partyId, ...inBoth("amount", amountAtoms, Units.moneyScale) }
    })
})
