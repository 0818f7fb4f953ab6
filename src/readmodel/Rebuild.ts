/** Makes histories anew, from a journal that nobody writes to. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Context from "effect/Context"
import type { SqlError } from "@effect/sql/SqlError"
import type { Feed, ReadError } from "../sequencer/Feed.js"
import { DatabaseUnusable, type HistoriesDatabase } from "./HistoriesDatabase.js"
import { Projection } from "./Projection.js"
import * as Tables from "./Tables.js"

/** Records of a batch, but for the last block of it. */
const batchRecords = 2_048

/** What is taken in. */
export interface Rebuilt {
  readonly feed: Feed["Type"]
  /** The first record that this version can run again, and the last one there is. */
  readonly first: number
  readonly last: number
  readonly environment: string
}

/** Sets aside what is there, and takes in the journal from its first record to its last; `taken` is told how far it is. */
export const rebuild = (
  database: Context.Tag.Service<typeof HistoriesDatabase>,
  { environment, feed, first, last }: Rebuilt,
  taken: (sequence: number) => void
): Effect.Effect<void, DatabaseUnusable | SqlError | ReadError> =>
  Effect.scoped(Effect.gen(function*() {
    yield* database.setAside
    const sql = yield* database.open
    const begun = yield* Tables.begin(sql, environment)
    if (typeof begun === "string") return yield* new DatabaseUnusable({ reason: `what was set aside is there again: it is ${begun}` })
    if (first > last) return
    const projection = new Projection({ candles: [], scales: [], episodes: [], born: 0, scores: [] })
    let written = begun.sequence
    const blocks = Stream.takeUntil(feed.from(first), ({ block }) => block.lastSequence >= last)
    yield* Stream.runForEach(blocks, (committed) =>
      Effect.suspend(() => {
        const { digest, lastSequence, records } = committed.block
        projection.apply(committed)
        if (lastSequence < last && lastSequence - written < batchRecords) return Effect.void
        written = lastSequence
        taken(lastSequence)
        const place = { sequence: lastSequence, atEpochMs: records.at(-1)!.atEpochMs, digest: Buffer.from(digest).toString("hex") }
        return Tables.write(sql, projection.take(), place)
      }))
  }))
