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
  trouble() === undefined ? 0 : 1 + Math.max(0, ["reductions", "requests", "nothing"].indexOf(journalSpace().room) + 1)

/** Checks the journal; each check returns what has got worse since the previous one, or is over. */
export const make = (writer: Watched): () => ReadonlyArray<Notice> => {
  let told = 0
  return () => {
    const severity = severityOf(writer)
    if (severity === 0 && told > 0) {
      told = 0
      return [{ text: "the journal takes everything again", isWarning: false }]
    }
    if (severity <= told) return []
    told = severity
    return [{ text: `the journal does not take everything: ${writer.trouble()}`, isWarning: true }]
  }
}
