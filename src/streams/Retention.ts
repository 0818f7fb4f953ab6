/**
 * How far back an account's channels can be resumed: at least a number of the latest records, and at least a period of time. Time
 * is the journal's own, so that setting the clock takes nothing away.
 */
import * as Effect from "effect/Effect"
import type { ToldAgain } from "../domain/Retention.js"
import type { Reads } from "../engine/Reads.js"
import type { Feed, ReadError } from "../sequencer/Feed.js"

/** The beginning of the period is looked up again after this fraction of it; until then slightly more is retained. */
const lookedAgainAfter = 1 / 1_024

export class Retention {
  /** The beginning found by the last lookup, and the time that it was for. */
  private known: { readonly sequence: number; readonly sinceEpochMs: number } | undefined

  constructor(
    private readonly reads: Pick<Reads, "sequence" | "atEpochMs">,
    private readonly feed: Pick<Feed["Type"], "before">,
    private readonly toldAgain: ToldAgain
  ) {}

  /** Whether a sequence is retained by its number alone, which needs no lookup in the journal. */
  isNear(after: number): boolean {
    return this.reads.sequence - after <= this.toldAgain.records
  }

  /** The oldest sequence after which everything can be given. */
  readonly oldest: Effect.Effect<number, ReadError> = Effect.suspend(() => {
    const { reads, toldAgain: { ms, records } } = this
    const sinceEpochMs = reads.atEpochMs - ms
    const further = (sequence: number): number => Math.min(sequence, Math.max(0, reads.sequence - records))
    if (this.known !== undefined && sinceEpochMs - this.known.sinceEpochMs <= ms * lookedAgainAfter) {
      return Effect.succeed(further(this.known.sequence))
    }
    return Effect.map(this.feed.before(sinceEpochMs), (sequence) => {
      this.known = { sequence, sinceEpochMs }
      return further(sequence)
    })
  })

  /** Whether everything after a sequence can be given. */
  isTold(after: number): Effect.Effect<boolean, ReadError> {
    return Effect.suspend(() => this.isNear(after) ? Effect.succeed(true) : Effect.map(this.oldest, (sequence) => after >= sequence))
  }
}
