/** Rebuilds the histories from a journal that nobody is writing to. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Context from "effect/Context"
import type { SqlError } from "@effect/sql/SqlError"
import type { Feed, ReadError } from "../sequencer/Feed.js"
import { DatabaseUnusable, type HistoriesDatabase } from "./HistoriesDatabase.js"
import { nothingKept, Projection } from "./Projection.js"
import { keptOf, seedBefore } from "./Seed.js"
import * as Tables from "./Tables.js"

/** Records of a batch, without its last block. */
const batchRecords = 8_192
/** The number of rows from which on a batch is written early. */
const batchRows = 16_384

/** What is taken in. */
export interface Rebuilt {
  readonly feed: Feed["Type"]
  /** The last record there is. */
  readonly last: number
  /** The record by which this version of the rules took over; undefined where it has decided the whole journal. */
  readonly stepSequence: number | undefined
  readonly environment: string
}

type Failure = DatabaseUnusable | SqlError | Tables.Overtaken | ReadError

/**
 * Sets the existing database aside, and applies the journal from its first record to its last or, where another version has decided
 * the first ones, from the step after them; `taken` is called with the progress.
 */
export const rebuild = (
  database: Context.Tag.Service<typeof HistoriesDatabase>,
  rebuilt: Rebuilt,
  taken: (sequence: number) => void
): Effect.Effect<void, Failure> => {
  const attempt = (fromStep: boolean): Effect.Effect<void, Failure> =>
    Effect.zipRight(database.setAside, takeIn(database, rebuilt, fromStep, taken))
  const again = <E extends Failure>(error: E): Effect.Effect<void, Failure> =>
    rebuilt.stepSequence === undefined ? Effect.fail(error) : attempt(true)
  return Effect.catchTags(attempt(false), { ReplayDiverged: again, JournalOlderFormat: again })
}

const takeIn = (
  database: Context.Tag.Service<typeof HistoriesDatabase>,
  { environment, feed, last, stepSequence }: Rebuilt,
  fromStep: boolean,
  taken: (sequence: number) => void
): Effect.Effect<void, Failure> =>
  Effect.scoped(Effect.gen(function*() {
    const sql = yield* database.open
    const begun = yield* Tables.begin(sql, environment)
    if (typeof begun === "string") return yield* new DatabaseUnusable({ reason: `what was set aside is there again: it is ${begun}` })
    const seed = fromStep && stepSequence !== undefined ? yield* seedBefore(feed, stepSequence) : undefined
    if (seed !== undefined) yield* Tables.write(sql, begun, seed.batch, seed.place, seed.place.sequence >= last)
    let written: Tables.Place = seed?.place ?? begun
    if (written.sequence >= last) return
    const projection = new Projection(seed === undefined ? nothingKept : { ...nothingKept, ...keptOf(seed) })
    const blocks = Stream.takeUntil(feed.from(written.sequence + 1), ({ block }) => block.lastSequence >= last)
    yield* Stream.runForEach(blocks, (committed) =>
      Effect.suspend(() => {
        const { lastSequence } = committed.block
        projection.apply(committed)
        const isFull = lastSequence - written.sequence >= batchRecords || projection.waiting >= batchRows
        if (lastSequence < last && !isFull) return Effect.void
        const from = written
        written = Tables.placeBehind(committed.block)
        taken(lastSequence)
        return Tables.write(sql, from, projection.take(), written, lastSequence >= last)
      }))
  }))
