/**
 * A second engine beside the writer. It reads the journal as far as the writer reports it durable, replays every record, compares
 * each block's digest with the journal's, and takes the snapshots, so that the writer never pauses for one. It takes no lock, and
 * writes nothing but snapshots.
 *
 * At the end of a block that the writer names, it reports a sample of its state (`StateSample`) and continues. Snapshots are only
 * taken there, and are saved once the writer has confirmed that its own sample is the same. A state that only one of the two has
 * reached is therefore never saved.
 */
import * as Effect from "effect/Effect"
import { type Disk, type DiskError, isLockLost } from "../journal/Disk.js"
import * as Following from "../journal/Following.js"
import type { Unreadable } from "../journal/Journal.js"
import * as Segment from "../journal/Segment.js"
import { SnapshotStore } from "../journal/SnapshotStore.js"
import * as Feed from "./Feed.js"
import type { Ended, Said, Setting, Told } from "./FollowerHost.js"
import { standing } from "./SnapshotTaker.js"
import { stateSample } from "./StateSample.js"

/** Intervals at which it polls for durable blocks, and for the writer's answer. */
const lookEvery = "20 millis"
const answerEvery = "5 millis"

/** Why it cannot continue. It may be restarted. */
export type FollowError = Feed.ReadError | Unreadable | DiskError

/** The failure as it is reported to others. */
export const endedBy = (error: FollowError): Ended =>
  error._tag === "ReplayDiverged"
    ? {
      reason: error.message,
      diverged: { lastSequence: error.lastSequence, expectedDigest: error.expectedDigest, actualDigest: error.actualDigest }
    }
    : { reason: error.message, ...isMissing(error) ? { isMissing: true } : undefined }

/** Whether a name of the journal is gone: a follower reads only what the writer has told durable, and no segment is ever removed. */
const isMissing = (error: FollowError): boolean =>
  error._tag === "JournalCorrupt" && error.missing !== undefined
  || (error._tag === "DiskError" && error.code === "ENOENT" && error.path.startsWith(Segment.directory))

/** The journal's head for the follower: as far as the writer reports it durable. */
const headOf = ({ blockAt, durableSequence, look }: Following.Following, told: Told): Feed.Head => {
  const later = Effect.sleep(lookEvery)
  const reached = (sequence: number): Effect.Effect<void, Feed.ReadError> =>
    Effect.suspend(() => {
      if (durableSequence() >= sequence) return Effect.void
      // What is not reported durable is not read, since it may still be in the process of being written.
      if (told.durable < sequence) return Effect.zipRight(later, reached(sequence))
      return Effect.zipRight(look,
        Effect.suspend(() => durableSequence() >= sequence ? Effect.void : Effect.zipRight(later, reached(sequence))))
    })
  return { durableSequence, at: () => undefined, read: blockAt, reached }
}

/** Waits until the writer has confirmed the same state. */
const agreedAt = (told: Told, sequence: number): Effect.Effect<void> =>
  Effect.suspend(() => told.agreed >= sequence ? Effect.void : Effect.zipRight(Effect.sleep(answerEvery), agreedAt(told, sequence)))

/** Follows the writer until it fails; `pause` runs after every block. */
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
    const save = ({ block: { digest }, engine }: Feed.Standing): Effect.Effect<void, DiskError> =>
      Effect.suspend(() => {
        savedSequence = engine.sequence
        return Effect.matchEffect(snapshots.save(standing(engine.state, digest)), {
          onSuccess: () => Effect.sync(() => say({ _tag: "Saved", sequence: savedSequence })),
          // A missing snapshot only makes a start longer; the next one is taken when it is due. Once the lock is lost, the files
          // read here may be another journal's.
          onFailure: (error) =>
            isLockLost(error)
              ? Effect.fail(error)
              : Effect.sync(() =>
                say({ _tag: "Unsaved", text: `the snapshot at sequence ${savedSequence} was not saved: ${error.message}` })
              )
        })
      })
    const isDue = (sequence: number): boolean => snapshotEveryRecords > 0 && sequence - savedSequence >= snapshotEveryRecords
    const came = (standing: Feed.Standing): Effect.Effect<void, DiskError> => {
      const { sequence, state } = standing.engine
      told.standing = sequence
      if (told.asked !== sequence) return Effect.void
      say({ _tag: "Sampled", sequence, digest: stateSample(state) })
      return isDue(sequence) ? Effect.zipRight(agreedAt(told, sequence), save(standing)) : Effect.void
    }
    return yield* Effect.acquireUseRelease(
      Feed.standing(source, fromSequence + 1),
      // A stream of blocks would cost several times as much per block as the replay itself.
      ({ next }) => {
        const goOn: Effect.Effect<never, Feed.ReadError | DiskError> = Effect.flatMap(Effect.flatMap(next, came), () => goOn)
        return goOn
      },
      ({ close }) => close
    )
  })
