/** How far behind the journal an answer from the histories is. */
import * as Schema from "effect/Schema"
import type { Standing } from "../../readmodel/Histories.js"
import * as Fields from "./Fields.js"

/** Behind by more than this, in milliseconds, an answer lags, or is stale. */
const lagsFromMs = 2_000
const staleFromMs = 30_000

export const Freshness = Schema.Struct({
  status: Schema.Literal("fresh", "lagging", "stale").annotations({
    description: "`lagging` where the histories are more than 2 s behind the journal, or are `replaying`; `stale` where more than 30 s."
  }),
  degradedState: Schema.Literal("none", "projector_behind", "rebuilding").annotations({
    description: "`rebuilding` while they are made anew from the journal's first record: what is later than `asOfEpochMs` is missing."
  }),
  journalSequence: Fields.Sequence.annotations({ description: "The last record that the answer has taken in." }),
  asOfEpochMs: Fields.EpochMs.annotations({ description: "That record's time." }),
  projectorLagMs: Fields.Count.annotations({ description: "For how long there has been a later record; 0 where there is none." }),
  dbReplicaLagMs: Fields.Count.annotations({ description: "Always 0: there are no replicas." }),
  backfillStatus: Schema.Literal("live", "replaying").annotations({
    description: "`replaying` until all that the journal had at the start was taken in."
  })
}).annotations({ identifier: "Freshness", description: "Answers from histories are a little behind the journal." })

export const freshness = ({ atEpochMs, isRebuilding, isReplaying, lagMs, sequence }: Standing): typeof Freshness.Type => {
  const status = lagMs > staleFromMs ? "stale" : lagMs > lagsFromMs || isReplaying ? "lagging" : "fresh"
  return {
    status,
    degradedState: isRebuilding ? "rebuilding" : status === "fresh" ? "none" : "projector_behind",
    journalSequence: sequence,
    asOfEpochMs: atEpochMs,
    projectorLagMs: lagMs,
    dbReplicaLagMs: 0,
    backfillStatus: isReplaying ? "replaying" : "live"
  }
}
