/**
 * Comparison of the venue's books with the ledger: `POST /v1/operator/reconciliation` runs it now, and `PUT
 * /v1/operator/withdrawals/stop` stops withdrawals.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { FundsView } from "../../engine/Reads.js"
import { Operation } from "../../operations/Operations.js"
import { failureOf } from "../funds/Troubles.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

export const Reconciliation = Schema.Struct({
  version: Schema.Literal("reconciliation/v1"),
  treasuryPartyId: Fields.Text,
  atLedgerOffset: Fields.Count,
  comparedAtEpochMs: Fields.EpochMs,
  heldAtoms: Fields.Atoms.annotations({ description: "What the treasury holds on the ledger at that offset." }),
  owedAtoms: Fields.SignedAtoms.annotations({ description: "What it should hold, as the journal says." }),
  confirmedDepositsAtoms: Fields.Atoms,
  confirmedWithdrawalsAtoms: Fields.Atoms,
  uncreditedDepositsAtoms: Fields.Atoms.annotations({
    description: "Of deposits that the ledger has confirmed and whose account has no room for the amount yet."
  }),
  unattributedAtoms: Fields.SignedAtoms.annotations({
    description:
      "Held less owed: what nothing in the journal accounts for. 0 where the books agree, below it where the treasury lacks something."
  }),
  withdrawalsStopped: Schema.Boolean,
  stop: Fields.optional(Schema.Struct({
    reason: Schema.Literal("operator", "reconciliation", "contradiction"),
    differenceAtoms: Fields.SignedAtoms.annotations({ description: "What it reported as lacking, below 0; 0 of an operator's own." })
  })).annotations({
    description: "The stop that stands, absent where withdrawals are open. Letting them go on accepts its difference where it is below 0; "
      + "an operator's own stop says nothing of the ledger, and letting them go on then revokes what was accepted before."
  }),
  acceptedAtoms: Fields.optional(Fields.SignedAtoms).annotations({
    description: "What is accepted as lacking, below 0; absent where nothing is. Only a difference below it stops withdrawals."
  })
}).annotations({ identifier: "Reconciliation" })
export type Reconciliation = typeof Reconciliation.Type

/** Why withdrawals are stopped, and what is accepted as lacking. */
const standing = ({ acceptedAtoms, stop }: FundsView): Pick<Reconciliation, "stop" | "acceptedAtoms"> => ({
  ...(stop === undefined ? undefined : { stop: { reason: stop.reason, differenceAtoms: String(stop.differenceAtoms) } }),
  ...(acceptedAtoms === 0 ? undefined : { acceptedAtoms: String(acceptedAtoms) })
})

export const reconcile = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("reconcile", "/v1/operator/reconciliation")
    .addSuccess(Reconciliation)
    .addError(Failures.native(Failures.operator))
    .annotate(OpenApi.Summary,
      "Compare what the treasury holds on the ledger with what the journal says; where it holds less, withdrawals stop"),
  example: { target: "/v1/operator/reconciliation" },
  handler: ({ funds, state }) => () =>
    Effect.mapBoth(funds.reconcile, {
      onFailure: (trouble) => failureOf(trouble, { kind: "deposit" }),
      onSuccess: (report): Reconciliation => ({
        version: "reconciliation/v1",
        treasuryPartyId: report.treasury,
        atLedgerOffset: report.atOffset,
        comparedAtEpochMs: report.atEpochMs,
        heldAtoms: String(report.heldAtoms),
        owedAtoms: String(report.owedAtoms),
        confirmedDepositsAtoms: String(report.depositedAtoms),
        confirmedWithdrawalsAtoms: String(report.withdrawnAtoms),
        uncreditedDepositsAtoms: String(report.uncreditedAtoms),
        unattributedAtoms: String(report.differenceAtoms),
        withdrawalsStopped: state.funds.stop !== undefined,
        ...standing(state.funds)
      })
    })
})

export const stopWithdrawals = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("stopWithdrawals", "/v1/operator/withdrawals/stop")
    .setHeaders(Fields.IdempotencyHeaders)
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommandWithoutBody))
    .annotate(OpenApi.Summary, "Take and approve no withdrawal until they are let go on: what was executed goes on")
    .annotate(OpenApi.Description,
      "Where the venue has stopped them itself before, that stop stands and this one only ends an attempt to let them go on: `stop` of a "
        + "reconciliation and `withdrawals` among the details of `/readyz` tell which stands."),
  example: { target: "/v1/operator/withdrawals/stop" },
  handler: (services) => ({ headers }) => {
    const stop = { reason: "operator", differenceAtoms: 0, atOffset: 0 } as const
    services.funds.stops.count++
    return operated(services, "stop_withdrawals", command("StopWithdrawals", Operation.stopWithdrawals, headers, {}, stop))
  }
})
