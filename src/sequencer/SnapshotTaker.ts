/**
 * Takes snapshots while the venue runs: the state at a block's end, encoded in the writer's turn and saved once that block
 * is durable, so that no snapshot is ahead of the journal. One is on its way at a time.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Snapshot from "../engine/Snapshot.js"
import type { State } from "../engine/State.js"
import type { SnapshotStore, Taken } from "../journal/SnapshotStore.js"

/** A state at the end of the block with this digest. */
const of = (state: State, blockDigest: Uint8Array, sections: Taken["sections"]): Taken => ({
  sequence: state.sequence,
  blockDigest,
  schema: Snapshot.schema,
  sections
})

/** A copy of a state: whoever it is of may go on at once. */
const copied = (state: State, blockDigest: Uint8Array): Taken => of(state, blockDigest, Snapshot.encode(state))

/** A state that stands still until it is saved, without a second one in memory. */
export const standing = (state: State, blockDigest: Uint8Array): Taken => of(state, blockDigest, Snapshot.stream(state))

export interface SnapshotTaker {
  /** Is told of each block with its last sequence and digest, before it is written: takes the state when it is time to. */
  readonly built: (lastSequence: number, digest: Uint8Array) => void
  /** Is told how far the journal is durable: begins to save what was taken up to there. */
  readonly committed: (lastSequence: number) => void
  /** Takes the state as it is, which must be durable under this digest, and saves it. Fails, with why, where it was not saved. */
  readonly last: (blockDigest: Uint8Array) => Effect.Effect<void, string>
}

/** `every`: records between two snapshots, 0 for none but the last; `from`: the sequence of the newest that there is. */
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
  /** Taken and not yet on its way. */
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
      Effect.catchAllCause((cause) => Effect.fail(`the snapshot at sequence ${snapshot.sequence} was not saved: ${Cause.pretty(cause)}`))
    )
  }))

  /** A snapshot on the way only shortens a start. Without it the venue goes on, and says so. */
  const saveOrSay = Effect.catchAll(save, (reason) => Effect.logWarning(reason))

  return {
    built: (lastSequence, digest) => {
      if (every === 0 || saving || next !== undefined) return
      if (lastSequence - lastTaken >= every) take(digest)
    },
    committed: (lastSequence) => {
      if (saving || next === undefined || next.sequence > lastSequence) return
      saving = true
      Runtime.runFork(runtime)(Effect.ensuring(
        saveOrSay,
        Effect.sync(() => {
          saving = false
        })
      ))
    },
    last: (blockDigest) =>
      Effect.suspend(() => {
        take(blockDigest)
        return save
      })
  }
}
