/**
 * Rebuilds the histories from a journal that nobody is writing to. The existing database stays untouched until the new one is complete,
 * and is then set aside.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Schema from "effect/Schema"
import type * as Context from "effect/Context"
import type { SqlError } from "@effect/sql/SqlError"
import type { Feed, ReadError } from "../sequencer/Feed.js"
import { DatabaseUnusable, type HistoriesAnew } from "./HistoriesDatabase.js"
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
  /** Whether they may begin at that record, where those before it cannot be replayed. */
  readonly mayBeginAtStep: boolean
}

/** Only the version that decided a journal's first records can replay them: a new database would lack what they did. */
export class BeginsAtStep extends Schema.TaggedError<BeginsAtStep>()("HistoriesBeginAtStep", { stepSequence: Schema.Int }) {}

type Failure = DatabaseUnusable | SqlError | Tables.Overtaken | ReadError

/**
 * Makes a database from the journal's first record to its last and puts it in the place of the existing one. Where another version has
 * decided the first records, and this one cannot replay them, it begins with the step after them, if it may. `taken` is called with the
 * progress. Returns where the new one begins.
 */
export const rebuild = (
  anew: Context.Tag.Service<typeof HistoriesAnew>,
  rebuilt: Rebuilt,
  taken: (sequence: number) => void
): Effect.Effect<Tables.Beginning | undefined, Failure | BeginsAtStep> => {
  const { mayBeginAtStep, stepSequence } = rebuilt
  const again = <E extends Failure>(error: E): Effect.Effect<Tables.Beginning | undefined, Failure | BeginsAtStep> => {
    if (stepSequence === undefined) return Effect.fail(error)
    return mayBeginAtStep ? takeIn(anew, rebuilt, stepSequence, taken) : new BeginsAtStep({ stepSequence })
  }
  const made = Effect.catchTags(takeIn(anew, rebuilt, undefined, taken), { ReplayDiverged: again, JournalOlderFormat: again })
  return anew.ready.pipe(
    Effect.zipRight(Effect.onError(made, () => Effect.ignore(anew.drop))),
    Effect.zipLeft(anew.adopt)
  )
}

/** Takes the journal in, all of it or from a step on. */
const takeIn = (
  anew: Context.Tag.Service<typeof HistoriesAnew>,
  { environment, feed, last }: Rebuilt,
  stepSequence: number | undefined,
  taken: (sequence: number) => void
): Effect.Effect<Tables.Beginning | undefined, Failure> =>
  Effect.scoped(Effect.gen(function*() {
    const sql = yield* anew.open
    const begun = yield* Tables.begin(sql, environment)
    if (typeof begun === "string") return yield* new DatabaseUnusable({ reason: `a new database is not empty: it is ${begun}` })
    const seed = stepSequence === undefined ? undefined : yield* seedBefore(feed, stepSequence)
    if (seed !== undefined) yield* Tables.write(sql, begun, seed.batch, seed.place, seed.place.sequence >= last)
    let written: Tables.Place = seed?.place ?? begun
    if (written.sequence >= last) return seed?.batch.beginning
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
    return seed?.batch.beginning
  }))
