/** What an operator's command answers. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Command } from "../../operations/Operations.js"
import type * as Market from "../../domain/Market.js"
import type { Services } from "../http/Call.js"
import type * as Errors from "../http/Errors.js"
import * as Fields from "../http/Fields.js"
import * as Submission from "../http/Submission.js"

export const OperatorResult = Schema.Struct({
  version: Schema.Literal("operator-result/v1"),
  operation: Schema.Literal("put_market", "set_market_status", "set_index_price", "halt_engine", "resume_engine"),
  idempotencyKey: Schema.String,
  marketId: Fields.optional(Fields.Text),
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "OperatorResult" })
export type OperatorResult = typeof OperatorResult.Type

/** Submits a command and tells of its decision. */
export const operated = (
  services: Services,
  operation: OperatorResult["operation"],
  command: Command,
  /** The market that the path names. */
  marketId?: string,
  /** The one that a refusal's prices speak of. */
  market?: Market.Parameters
): Effect.Effect<OperatorResult, Errors.Failure> =>
  Effect.map(Submission.submitted(services, command, market), (outcome) => ({
    version: "operator-result/v1" as const,
    operation,
    idempotencyKey: command.idempotencyKey,
    ...(marketId === undefined ? undefined : { marketId }),
    sequence: outcome.sequence,
    decidedAtEpochMs: outcome.atEpochMs
  }))
