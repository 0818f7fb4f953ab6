/**
 * The range of a journal that is reported. Sequences are inclusive at both ends. A start time is inclusive and an end time exclusive, so
 * that consecutive ranges by time do not overlap.
 */
import * as Either from "effect/Either"
import type { Record } from "../../journal/Record.js"
import type { Ended } from "../Exit.js"
import * as StateAt from "./StateAt.js"

export interface Stretch {
  /** Sequences, inclusive. */
  readonly from: number
  readonly to: number
  /** Records before this time are left out. */
  readonly fromEpochMs?: number
  /** Records at this time or later are left out. */
  readonly untilEpochMs?: number
}

/** Everything. */
export const whole: Stretch = { from: 1, to: Number.MAX_SAFE_INTEGER }

/**
 * The range that `--from` and `--to` give, as sequences, ISO times or milliseconds since 1970; fails where one of them is none.
 */
export const parse = (from: string | undefined, to: string | undefined): Either.Either<Stretch, Ended> =>
  Either.gen(function*() {
    const [begins, ends] = [yield* momentOf("--from", from), yield* momentOf("--to", to)]
    return {
      ...whole,
      ...(begins === undefined ? {} : begins._tag === "Sequence" ? { from: begins.sequence } : { fromEpochMs: begins.atEpochMs }),
      ...(ends === undefined ? {} : ends._tag === "Sequence" ? { to: ends.sequence } : { untilEpochMs: ends.atEpochMs })
    }
  })

const momentOf = (option: string, text: string | undefined): Either.Either<StateAt.Moment | undefined, Ended> =>
  text === undefined
    ? Either.right(undefined)
    : Either.mapLeft(StateAt.parseMoment(text), (why) => StateAt.notTaken(option, why))

/** Whether a range ends before it begins. A sequence and a time cannot be compared without the journal. */
export const isBackward = ({ from, fromEpochMs = 0, to, untilEpochMs = Number.POSITIVE_INFINITY }: Stretch): boolean =>
  to < from || untilEpochMs < fromEpochMs

type Placed = Pick<Record, "sequence" | "atEpochMs">

/** Whether a record comes before a range. */
export const isBefore = ({ from, fromEpochMs = 0 }: Stretch, { atEpochMs, sequence }: Placed): boolean =>
  sequence < from || atEpochMs < fromEpochMs

/** Whether a record and all that follow come after a range. */
export const isBehind = ({ to, untilEpochMs = Number.POSITIVE_INFINITY }: Stretch, { atEpochMs, sequence }: Placed): boolean =>
  sequence > to || atEpochMs >= untilEpochMs
