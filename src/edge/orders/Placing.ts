/** Orders on their way to the engine, native and of the compatibility layer, alone and in batches. */
import { assert } from "../../domain/Assert.js"
import type * as Market from "../../domain/Market.js"
import { none } from "../../domain/None.js"
import type { EntryOutcome, Operation, Outcome } from "../../operations/Operations.js"
import { Refusal } from "../../domain/Refusal.js"
import type { Refused } from "../../operations/Outcome.js"
import type { Call } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import type { Admitted } from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import type { PlaceEntry } from "../../operations/orders/PlaceOrders.js"

/** The market that an answer may mention. */
export const told = (market: Market.Parameters | undefined, decided: EntryOutcome): Market.Parameters | undefined =>
  decided._tag === "Refused" && decided.refusal === Refusal.marketNotFound ? undefined : market

/** One order on its way to the engine, with the market in whose units it is answered. */
export interface Prepared {
  readonly entry: PlaceEntry
  readonly market: Market.Parameters | undefined
  /** The name by which the request says its market. */
  readonly marketName: string
  /** What a fault of the entry compared. */
  readonly comparison: Errors.Comparison | undefined
}

/** The values that a refusal compared, whether at the edge or in the engine. */
export const compared = (prepared: Prepared, decided: Refused): Errors.Comparison | undefined =>
  prepared.entry.fault !== Refusal.none && decided.refusal === prepared.entry.fault
    ? prepared.comparison
    : Errors.comparisonOf(decided, told(prepared.market, decided))

/** Places prepared orders in one writer turn; `answer` is called with their decision. */
export const submit = (
  call: Call,
  admitted: Admitted<object>,
  operation: Operation,
  prepared: ReadonlyArray<Prepared>,
  answer: (outcome: Outcome) => void
): void => {
  const { connection = none } = call.request
  Submission.submit(call, admitted, { kind: "PlaceOrders", operation, entries: prepared.map(({ entry }) => entry), connection }, answer)
}

/** What a batch's description says of the one refusal of a market that is no entry's own. */
export const batchWaits = "While a market's mark is behind (`mark_behind`), or what its band has left behind is being cancelled "
  + "(`overloaded`), nothing is decided of a batch with an order there: the whole is answered 503 without a record, and `safeMessage` "
  + "names those markets. Repeat it with the same key, or send the others' orders apart under another one."

/** The answer to an order that was accepted. */
type Accepted = (market: Market.Parameters, decided: OrderDecided, outcome: Outcome) => string

/** Places one prepared order, and answers with `accepted` applied to its decision, or with its refusal. */
export const submitOne = (
  call: Call,
  admitted: Admitted<object>,
  operation: Operation,
  prepared: Prepared,
  accepted: Accepted
): void => submit(call, admitted, operation, [prepared], answering(call, prepared, accepted))

/** Answers with what was decided on a prepared order. */
const answering = (call: Call, prepared: Prepared, accepted: Accepted) => (outcome: Outcome): void => {
  const decided = Submission.decidedEntry(outcome, 0)
  if (Submission.isRefused(decided)) return refused(call, prepared, decided, outcome)
  assert(prepared.market !== undefined, "an order without a market is refused")
  call.succeed(accepted(prepared.market, Submission.asOrder(decided), outcome))
}

const refused = (call: Call, prepared: Prepared, decided: Refused, outcome: Outcome): void =>
  Submission.failEntry(call, decided, outcome, compared(prepared, decided), prepared.marketName)

/**
 * Answers an order with too many decimals: with the decision, if it was decided earlier in one of the forms that it may have had
 * then, or else with the failure.
 */
export const failOne = (
  call: Call,
  admitted: Admitted<object>,
  operation: Operation,
  failure: Errors.Failure,
  prepared: Prepared,
  accepted: Accepted
): void => Submission.failUndecided(call, admitted, operation, failure, answering(call, prepared, accepted))
