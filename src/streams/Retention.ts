/**
 * How far back an account's channels are told again: so many of the latest records, however fast they came, and so long, however
 * many that are. Time is the journal's own, so that a clock that is set takes nothing away.
 */
import * as Effect from "effect/Effect"
import type { ToldAgain } from "../domain/Retention.js"
import type { Reads } from "../engine/Reads.js"
import type { Feed, ReadError } from "../sequencer/Feed.js"

/** Where what is told begins is looked for again when this part of the time is over: until then a little more is told. */
const lookedAgainAfter = 1 / 1_024

export class Retention {
  /** Where it began when it was last looked for, and of which time that was. */
  private known: { readonly sequence: number; readonly sinceEpochMs: number } | undefined

  constructor(
    private readonly reads: Pick<Reads, "sequence" | "atEpochMs">,
    private readonly feed: Pick<Feed["Type"], "before">,
    private readonly toldAgain: ToldAgain
  ) {}

  /** Whether what is behind a sequence is told for its number alone, which takes no look at the journal. */
  isNear(after: number): boolean {
    return this.reads.sequence - after <= this.toldAgain.records
  }

  /** The oldest sequence behind which all is told. */
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

  /** Whether all behind a sequence is told. */
  isTold(after: number): Effect.Effect<boolean, ReadError> {
    return Effect.suspend(() => this.isNear(after) ? Effect.succeed(true) : Effect.map(this.oldest, (sequence) => after >= sequence))
  }
}
