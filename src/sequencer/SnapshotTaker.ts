/**
 * Takes snapshots while the venue runs: the state at a block's end, encoded in the writer's turn and saved once that block is
 * durable, so that no snapshot is ahead of the journal. At most one is being saved at a time.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Snapshot from "../engine/Snapshot.js"
import type { State } from "../engine/State.js"
import { type DiskError, isLockLost } from "../journal/Disk.js"
import type { SnapshotStore, Taken } from "../journal/SnapshotStore.js"

/** Why a snapshot was not saved. */
export interface Unsaved {
  readonly reason: string
  /** Whether the directory may be another process's by now. */
  readonly isLockLost: boolean
}

/** The reason in a sentence; only of a bug of ours, where it came from as well. */
const unsaved = (sequence: number, cause: Cause.Cause<DiskError>): Unsaved => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  const reason = `the snapshot at sequence ${sequence} was not saved: ${error === undefined ? Cause.pretty(cause) : error.message}`
  return { reason, isLockLost: isLockLost(error) }
}

/** A state at the end of the block with this digest. */
const of = (state: State, blockDigest: Uint8Array, sections: Taken["sections"]): Taken => ({
  sequence: state.sequence,
  blockDigest,
  schema: Snapshot.schema,
  sections
})

/** A copy of a state, whose engine may continue at once. */
const copied = (state: State, blockDigest: Uint8Array): Taken => of(state, blockDigest, Snapshot.encode(state))

/** A state that does not change until it is saved, without a second copy in memory. */
export const standing = (state: State, blockDigest: Uint8Array): Taken => of(state, blockDigest, Snapshot.stream(state))

export interface SnapshotTaker {
  /** Called for each block before it is written, with its last sequence and digest: takes the state when a snapshot is due. */
  readonly built: (lastSequence: number, digest: Uint8Array) => void
  /** Called with the last durable sequence: begins to save what was taken up to there. */
  readonly committed: (lastSequence: number) => void
  /** Takes and saves the present state, which must be durable under this digest. */
  readonly last: (blockDigest: Uint8Array) => Effect.Effect<void, Unsaved>
  /** Whether the last one that was taken while the venue ran could not be saved. */
  readonly isUnsaved: () => boolean
}

/** `every`: records between two snapshots, 0 for none but the last; `from`: the sequence of the newest existing one. */
export const make = (
  snapshots: Context.Tag.Service<typeof SnapshotStore>,
  { every, from, runtime, state }: {
    readonly state: State
    readonly from: number
    readonly every: number
    readonly runtime: Runtime.Runtime<never>
  }
): SnapshotTaker => {
  const oneAtATime = Effect.unsafeMakeSemaphore(1)
  let lastTaken = from
  let saving = false
  let isUnsaved = false
  /** Taken but not being saved yet. */
  let next: Taken | undefined

  const take = (blockDigest: Uint8Array): void => {
    next = copied(state, blockDigest)
    lastTaken = state.sequence
  }

  const save = oneAtATime.withPermits(1)(Effect.suspend(() => {
    const snapshot = next
    if (snapshot === undefined) return Effect.void
    next = undefined
    return snapshots.save(snapshot).pipe(
      Effect.catchAllCause((cause) => Effect.fail(unsaved(snapshot.sequence, cause)))
    )
  }))

  /** A snapshot during operation only makes the next start shorter: without it the venue goes on, and logs a warning. */
  const saveOrSay = Effect.catchAll(
    Effect.onExit(save, (exit) =>
      Effect.sync(() => {
        saving = false
        isUnsaved = Exit.isFailure(exit)
      })),
    ({ reason }) => Effect.logWarning(reason)
  )

  return {
    built: (lastSequence, digest) => {
      if (every === 0 || saving || next !== undefined) return
      if (lastSequence - lastTaken >= every) take(digest)
    },
    committed: (lastSequence) => {
      if (saving || next === undefined || next.sequence > lastSequence) return
      saving = true
      Runtime.runFork(runtime)(saveOrSay)
    },
    last: (blockDigest) =>
      Effect.suspend(() => {
        take(blockDigest)
        return save
      }),
    isUnsaved: () => isUnsaved
  }
}
