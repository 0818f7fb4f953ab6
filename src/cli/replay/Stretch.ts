/**
 * The range of a journal that is reported. Sequences are inclusive at both ends. A start time is inclusive and an end time exclusive, so
 * that consecutive ranges by time do not overlap.
 */
import * as Either from "effect/Either"
import { type Ended, usage } from "../Exit.js"
import * as StateAt from "./StateAt.js"

export interface Stretch {
  /** Sequences, inclusive; `from` is 0 where no beginning was asked for, unless by time. */
  readonly from: number
  readonly to: number
  /** Records before this time are left out. */
  readonly fromEpochMs?: number
  /** Records at this time or later are left out. */
  readonly untilEpochMs?: number
}

/** Everything. */
export const whole: Stretch = { from: 0, to: Number.MAX_SAFE_INTEGER }

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

/** The refusal of such a range. */
export const backward: Ended = usage("--to is before --from: there is nothing between them")

/** Whether a record comes before a range. */
export const isBefore = ({ from, fromEpochMs = 0 }: Stretch, { atEpochMs, sequence }: StateAt.Placed): boolean =>
  sequence < from || atEpochMs < fromEpochMs

/** Whether a record and all that follow come after a range. */
export const isBehind = ({ to, untilEpochMs = Number.POSITIVE_INFINITY }: Stretch, { atEpochMs, sequence }: StateAt.Placed): boolean =>
  sequence > to || atEpochMs >= untilEpochMs

/** Whether a range was asked to begin somewhere, and not with the first record there is. */
export const isBegun = ({ from, fromEpochMs }: Stretch): boolean => from > 0 || fromEpochMs !== undefined

/** Whether a range asks for what ends with a record: it was asked to begin there or before, or has nothing that follows. */
export const asksBefore = (stretch: Stretch, last: StateAt.Placed): boolean =>
  isBehind(stretch, { ...last, sequence: last.sequence + 1 }) || (isBegun(stretch) && !isBefore(stretch, last))
