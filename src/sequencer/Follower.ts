/**
 * A second engine beside the writer: it reads the journal as far as the writer says that it is durable, runs every record
 * again, compares what each block comes to with what the journal says, and takes the snapshots, so that the writer never
 * stops for one. It takes no lock, and writes nothing but snapshots.
 *
 * At the end of a block that the writer names it says the sample of its state (`StateSample`), and goes on. A snapshot is
 * taken at such a place alone, and saved once the writer has said that its own sample there is the same: of a state that
 * only one of the two has come to there is never one.
 */
import * as Effect from "effect/Effect"
import type { Disk, DiskError } from "../journal/Disk.js"
import * as Following from "../journal/Following.js"
import type { Unreadable } from "../journal/Journal.js"
import { SnapshotStore } from "../journal/SnapshotStore.js"
import * as Feed from "./Feed.js"
import type { Ended, Said, Setting, Told } from "./FollowerHost.js"
import { standing } from "./SnapshotTaker.js"
import { stateSample } from "./StateSample.js"

/** How often it looks for what has become durable, and for the writer's answer. */
const lookEvery = "20 millis"
const answerEvery = "5 millis"

/** Why it cannot go on. It may begin anew. */
export type FollowError = Feed.ReadError | Unreadable | DiskError

/** What others are told of that. */
export const endedBy = (error: FollowError): Ended =>
  error._tag === "ReplayDiverged"
    ? {
      reason: error.message,
      diverged: { lastSequence: error.lastSequence, expectedDigest: error.expectedDigest, actualDigest: error.actualDigest }
    }
    : { reason: error.message }

/** Where what the writer has told to be durable ends, as far as it has been read. */
const headOf = ({ blockAt, durableSequence, look }: Following.Following, told: Told): Feed.Head => {
  const later = Effect.sleep(lookEvery)
  const reached = (sequence: number): Effect.Effect<void, Feed.ReadError> =>
    Effect.suspend(() => {
      if (durableSequence() >= sequence) return Effect.void
      // Where nothing more is durable nothing is looked at: what stands there may still be on its way.
      if (told.durable < sequence) return Effect.zipRight(later, reached(sequence))
      return Effect.zipRight(look,
        Effect.suspend(() => durableSequence() >= sequence ? Effect.void : Effect.zipRight(later, reached(sequence))))
    })
  return { durableSequence, at: () => undefined, read: blockAt, reached }
}

/** Waits until the writer has said that it has come to the same state. */
const agreedAt = (told: Told, sequence: number): Effect.Effect<void> =>
  Effect.suspend(() => told.agreed >= sequence ? Effect.void : Effect.zipRight(Effect.sleep(answerEvery), agreedAt(told, sequence)))

/** Follows the writer until it cannot any more; `pause` is made behind every block. */
export const follow = (
  { capacity, fromSequence, snapshotEveryRecords }: Setting,
  told: Told,
  say: (said: Said) => void,
  pause: Effect.Effect<void> = Effect.void
): Effect.Effect<never, FollowError, Disk | SnapshotStore> =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore
    const following = yield* Following.openTold(() => told.durable)
    const head = headOf(following, told)
    const source: Feed.Source = { journal: following.journal, snapshots, capacity, head, pause }
    let savedSequence = fromSequence
    const save = ({ block: { digest }, engine }: Feed.Standing): Effect.Effect<void> =>
      Effect.suspend(() => {
        savedSequence = engine.sequence
        return Effect.matchEffect(snapshots.save(standing(engine.state, digest)), {
          onSuccess: () => Effect.sync(() => say({ _tag: "Saved", sequence: savedSequence })),
          // A snapshot only shortens a start: the next one is taken in its time.
          onFailure: ({ message }) =>
            Effect.sync(() => say({ _tag: "Warned", text: `the snapshot at sequence ${savedSequence} was not saved: ${message}` }))
        })
      })
    const isDue = (sequence: number): boolean => snapshotEveryRecords > 0 && sequence - savedSequence >= snapshotEveryRecords
    const came = (standing: Feed.Standing): Effect.Effect<void> => {
      const { sequence, state } = standing.engine
      told.standing = sequence
      if (told.asked !== sequence) return Effect.void
      say({ _tag: "Sampled", sequence, digest: stateSample(state) })
      return isDue(sequence) ? Effect.zipRight(agreedAt(told, sequence), save(standing)) : Effect.void
    }
    return yield* Effect.acquireUseRelease(
      Feed.standing(source, fromSequence + 1),
      // Not a stream of blocks: what one costs for each would be several times what the block does.
      ({ next }) => {
        const goOn: Effect.Effect<never, Feed.ReadError> = Effect.flatMap(Effect.flatMap(next, came), () => goOn)
        return goOn
      },
      ({ close }) => close
    )
  })
