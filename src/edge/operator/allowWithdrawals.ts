/**
 * `DELETE /v1/operator/withdrawals/stop` lets withdrawals go on, and by that accepts as lacking what the stop that stands says. The books
 * are compared first: otherwise whatever was approved would be paid, until the next comparison, from a treasury that is known to lack
 * more than that.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import { acceptedBy, stoppedAgain } from "../../domain/Shortfall.js"
import * as Units from "../../domain/Units.js"
import { lackingOf, stopOf } from "../../funds/Reconciliation.js"
import { plainDecimal } from "../../operations/Fingerprint.js"
import { internal, Principal } from "../../operations/Header.js"
import { type CommandOfKind, Operation, withFields } from "../../operations/Operations.js"
import { failureOf } from "../funds/Troubles.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { noAmount } from "./Amount.js"
import { operated, OperatorResult } from "./OperatorResult.js"
import { command } from "./Sent.js"

const Accepting = Schema.Struct({
  accept: Fields.optional(Fields.DecimalInput).annotations({
    description: "The most that the treasury may lack, USDC: what it lacks is accepted, or what was accepted before, where that is more. "
      + "What the stop that stands says, when absent."
  })
})

type Allow = CommandOfKind<"AllowWithdrawals">

/**
 * Has the stop that stands say what the books lack, since whoever lets withdrawals go on accepts what it says. They stay stopped
 * meanwhile, and behind it, too, if letting them go on then fails.
 */
const restopped = ({ submit }: Services, stop: ReturnType<typeof stopOf>): Effect.Effect<void, Errors.Failure> =>
  Effect.async<void, Errors.Failure>((resume) => {
    submit(withFields("StopWithdrawals", internal(Principal.ledger), stop), ({ refusal }) =>
      resume(refusal === Refusal.none ? Effect.void : fail(Errors.refused(refusal))))
  })

/**
 * Lets withdrawals go on if no more is lacking than was named, and accepts what is lacking. Where less is lacking than was named, it is
 * no refusal: anybody may send the treasury an atom, again and again.
 */
const allowed = (services: Services, named: number | undefined, allow: Allow) =>
  Effect.gen(function*() {
    const { funds, state } = services
    const stops = funds.stops.count
    // The last word of an operator counts, also of one who no longer waits for the answer to this.
    const isLast = Effect.suspend(() => funds.stops.count === stops ? Effect.void : fail(Errors.stoppedMeanwhile))
    const lacking = yield* Effect.mapError(lackingOf(state, funds.reconcile), (trouble) => failureOf(trouble, { kind: "deposit" }))
    yield* isLast
    const { acceptedAtoms, stop } = state.funds
    if (stop === undefined) return yield* operated(services, "allow_withdrawals", allow)
    // What the engine would accept by itself.
    const byStop = acceptedBy(stop, acceptedAtoms)
    const found = stopOf(lacking)
    const again = stoppedAgain(stop, found, acceptedAtoms)
    const needed = acceptedBy(again.stop, again.acceptedAtoms)
    const most = named ?? byStop
    if (needed < most) {
      const [limit, nearest] = [most, needed].map((atoms) => Units.formatDecimal(Math.abs(atoms), Units.moneyScale))
      return yield* fail(Errors.shortfallNotAccepted({ limit, actual: Units.formatDecimal(-lacking.atoms, Units.moneyScale), nearest }))
    }
    if (needed !== byStop) {
      yield* restopped(services, found)
      yield* isLast
    }
    return yield* operated(services, "allow_withdrawals", allow)
  })

export const allowWithdrawals = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.del("allowWithdrawals", "/v1/operator/withdrawals/stop")
    .setHeaders(Fields.IdempotencyHeaders)
    .setUrlParams(Accepting)
    .addSuccess(OperatorResult)
    .addError(Failures.native(Failures.operatorCommandWithoutBody))
    .annotate(OpenApi.Summary, "Let withdrawals go on: what the stop says that the treasury lacks is accepted, and less stops them again")
    .annotate(OpenApi.Description,
      "What is accepted is what the stop that stands says, so look first, at `stop` of a reconciliation or at `withdrawals` among the "
        + "details of `/readyz`. Only an operator's own stop revokes what was accepted before. The books are compared first, which takes "
        + "seconds: where the treasury lacks more than would be accepted, withdrawals stay stopped, and 400 "
        + "`shortfall_not_accepted` tells what it lacks; `accept` with its `nearest` then accepts that. Where the ledger does "
        + "not answer, they stay stopped (503), and where somebody stops them once more meanwhile (400 `stopped_meanwhile`). "
        + "`acceptedAtoms` tells afterwards what is accepted, in either place."),
  example: { target: "/v1/operator/withdrawals/stop" },
  handler: (services) => ({ headers, urlParams: { accept } }) => {
    const atoms = accept === undefined ? undefined : Units.parseDecimal(accept, Units.moneyScale)
    if (typeof atoms === "string") return fail(noAmount("accept", atoms, "must be USDC with at most 6 decimals"))
    const sent = accept === undefined ? {} : { accept: plainDecimal(accept) }
    const allow = command("AllowWithdrawals", Operation.allowWithdrawals, headers, sent, {})
    // What was asked under the key before is answered as then, or refused, whatever the books say by now.
    const isKnown = services.state.isRemembered(Operation.allowWithdrawals, allow.idempotencyKey, services.now())
    return services.state.funds.stop === undefined || isKnown
      ? operated(services, "allow_withdrawals", allow)
      : allowed(services, atoms === undefined ? undefined : -Number(atoms), allow)
  }
})
