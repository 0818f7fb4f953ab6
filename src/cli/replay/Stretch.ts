/**
 * The part of a journal that is told of. Sequences count on both sides. Of times the first counts and the last does not, so that
 * stretches by time that follow each other have nothing in common.
 */
import type { Record } from "../../journal/Record.js"
import * as StateAt from "./StateAt.js"

export interface Stretch {
  /** Sequences, inclusive. */
  readonly from: number
  readonly to: number
  /** No record before it. */
  readonly fromEpochMs?: number
  /** No record of it or later. */
  readonly untilEpochMs?: number
}

/** All there is. */
export const whole: Stretch = { from: 1, to: Number.MAX_SAFE_INTEGER }

/** What `--from` and `--to` name: sequences, ISO times or epoch milliseconds; the option that names none of them. */
export const parse = (from: string | undefined, to: string | undefined): Stretch | "--from" | "--to" => {
  const [begins, ends] = [from, to].map((text) => text === undefined ? undefined : StateAt.parseMoment(text))
  if (from !== undefined && begins === undefined) return "--from"
  if (to !== undefined && ends === undefined) return "--to"
  return {
    ...whole,
    ...(begins === undefined ? {} : begins._tag === "Sequence" ? { from: begins.sequence } : { fromEpochMs: begins.atEpochMs }),
    ...(ends === undefined ? {} : ends._tag === "Sequence" ? { to: ends.sequence } : { untilEpochMs: ends.atEpochMs })
  }
}

/** Whether a stretch ends before it begins. Of a sequence and a time nobody can say without the journal. */
export const isBackward = ({ from, fromEpochMs = 0, to, untilEpochMs = Number.POSITIVE_INFINITY }: Stretch): boolean =>
  to < from || untilEpochMs < fromEpochMs

type Placed = Pick<Record, "sequence" | "atEpochMs">

/** Whether a record lies before a stretch. */
export const isBefore = ({ from, fromEpochMs = 0 }: Stretch, { atEpochMs, sequence }: Placed): boolean =>
  sequence < from || atEpochMs < fromEpochMs

/** Whether a record and all that follow lie behind a stretch. */
export const isBehind = ({ to, untilEpochMs = Number.POSITIVE_INFINITY }: Stretch, { atEpochMs, sequence }: Placed): boolean =>
  sequence > to || atEpochMs >= untilEpochMs
