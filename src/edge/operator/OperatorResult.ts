/** What an operator's command answers. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { none } from "../../domain/None.js"
import type { Command, Outcome } from "../../operations/Operations.js"
import type * as Market from "../../domain/Market.js"
import type { Services } from "../http/Call.js"
import type * as Errors from "../http/Errors.js"
import * as Fields from "../http/Fields.js"
import * as Submission from "../http/Submission.js"

/** When announced parameters take effect, and how many accounts they would have affected at the marks of the announcing record. */
const Announced = Schema.Struct({
  effectiveAtEpochMs: Fields.EpochMs,
  underInitialMargin: Fields.optional(Fields.Count).annotations({
    description: "Accounts with a position that would be under their initial margin."
  }),
  underMaintenanceMargin: Fields.optional(Fields.Count).annotations({ description: "Accounts with a position that would be liquidated." })
}).annotations({
  identifier: "AnnouncedMarketResult",
  description: "Whom it would touch is left out where more than 256 accounts ever came to the market: `GET .../announced` counts them."
})

export const OperatorResult = Schema.Struct({
  version: Schema.Literal("operator-result/v1"),
  operation: Schema.Literal(
    "put_market",
    "set_market_status",
    "set_index_price",
    "delist_market",
    "withdraw_delisting",
    "add_to_insurance_fund",
    "halt_engine",
    "resume_engine",
    "set_limits",
    "stop_withdrawals",
    "allow_withdrawals"
  ),
  idempotencyKey: Schema.String,
  marketId: Fields.optional(Fields.Text),
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs,
  announced: Fields.optional(Announced),
  delistedAtEpochMs: Fields.optional(Fields.EpochMs).annotations({
    description: "When an announced delisting takes effect."
  })
}).annotations({ identifier: "OperatorResult" })
export type OperatorResult = typeof OperatorResult.Type

/** Submits a command and returns its decision. */
export const operated = (
  services: Services,
  operation: OperatorResult["operation"],
  command: Command,
  /** The market that the path names. */
  marketId?: string,
  /** The market that a refusal's prices refer to. */
  market?: Market.Parameters
): Effect.Effect<OperatorResult, Errors.Failure> =>
  Effect.map(Submission.submitted(services, command, market), (outcome) => ({
    version: "operator-result/v1" as const,
    operation,
    idempotencyKey: command.idempotencyKey,
    ...(marketId === undefined ? undefined : { marketId }),
    sequence: outcome.sequence,
    decidedAtEpochMs: outcome.atEpochMs,
    ...announcedBy(operation, outcome)
  }))

/** What a command announced, if anything. */
const announcedBy = (
  operation: OperatorResult["operation"],
  outcome: Outcome
): Pick<OperatorResult, "announced" | "delistedAtEpochMs"> => {
  const decided = Submission.decidedEntry(outcome, 0)
  if (decided._tag !== "MarketChanged" || decided.effectiveAtEpochMs === 0) return {}
  const { effectiveAtEpochMs, underInitialMargin, underMaintenanceMargin } = decided
  if (operation === "delist_market") return { delistedAtEpochMs: effectiveAtEpochMs }
  const isCounted = underInitialMargin !== none
  return { announced: { effectiveAtEpochMs, ...(isCounted ? { underInitialMargin, underMaintenanceMargin } : {}) } }
}
