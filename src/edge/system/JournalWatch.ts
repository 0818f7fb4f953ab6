/**
 * Warns operators of a journal that cannot take everything: the disk is full, or does not answer. `/readyz` and `/metrics` show this while
 * it lasts, the log its beginning, each time that it takes less, and its end.
 */
import type * as Context from "effect/Context"
import type { Writer } from "../../sequencer/Writer.js"
import type { Notice } from "./Notices.js"

type Watched = Pick<Context.Tag.Service<typeof Writer>, "journalSpace" | "trouble">

/** How little the journal takes, from a block that waits for the disk up to nothing; 0 where it takes everything. */
const severityOf = ({ journalSpace, trouble }: Watched): number =>
  trouble() === undefined ? 0 : 1 + Math.max(0, ["reductions", "marks", "requests", "nothing"].indexOf(journalSpace().room) + 1)

/** How late a check may be, milliseconds, before it is taken for a sign that the process stood still. */
const lateMs = 1_000

/** What tells how late a check is: the time that has passed, in nanoseconds, and the pause between two checks, in milliseconds. */
export interface Pace {
  readonly nanos: () => number
  readonly pauseMs: number
}

/**
 * Checks the journal; each check returns what has got worse since the previous one, or is over. A check that comes late itself does not
 * blame the disk for a block that has waited: the process stood still, and the next check tells whether the block still waits.
 */
export const make = (writer: Watched, { nanos, pauseMs }: Pace): () => ReadonlyArray<Notice> => {
  let told = 0
  let checkedAtMs: number | undefined
  return () => {
    const severity = severityOf(writer)
    const nowMs = nanos() / 1e6
    const stoodMs = checkedAtMs === undefined ? 0 : Math.round(nowMs - checkedAtMs - pauseMs)
    checkedAtMs = nowMs
    if (severity === 1 && told === 0 && stoodMs >= lateMs) {
      return [{ text: `this process stood still for ${stoodMs} ms, and so did what it has on its way to the disk`, isWarning: true }]
    }
    if (severity === 0 && told > 0) {
      told = 0
      return [{ text: "the journal takes everything again", isWarning: false }]
    }
    if (severity <= told) return []
    told = severity
    return [{ text: `the journal does not take everything: ${writer.trouble()}`, isWarning: true }]
  }
}
