/**
 * Safety (I9). A start never has to replay much of the journal: however often a writer is restarted, its newest snapshot is recent. A
 * graceful stop leaves one of its last record, so that another version may be started then. None is removed unless two others are there: a
 * start that finds the newest damaged uses the one before, and has little more to replay. And where the writer takes them itself, none is
 * taken sooner than it is due, except the one that a stop ends with: each is a copy of the whole state. When a follower takes them is not
 * checked: it copies nothing. But it takes none unless its state is compared with the writer's, so each follower is compared, whatever
 * became of what was asked of the one before.
 */
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Most records decided while a snapshot is saved. */
const decidedMeanwhile = 400
/** Records behind the last comparison that was asked for, after which the end of a block asks for the next one. */
const sampledEvery = 16
/** Least number of snapshots left when one is removed. */
const leastKept = 2

interface State {
  /** Records between two snapshots that the process takes itself; 0 where it takes only its last. */
  every: number
  /** The last snapshot that it has begun since it was ready; undefined before the first. */
  last: number | undefined
  /** Whether that came sooner than after so many records, as the last one of a stop may. */
  isEarly: boolean
  /** The record that the engine is to decide next. */
  next: number
  /** The first record behind the start of the present follower, and the first end of a block that has to ask for a comparison with it. */
  followedFrom: number
  asksAt: number | undefined
}

/** Checks that so many records lie between two snapshots: only the one that a stop ends with comes sooner, and no other follows it. */
const begun = (state: State, sequence: number): Verdict => {
  const { every, isEarly, last } = state
  state.last = sequence
  if (every === 0 || last === undefined) return holds
  if (isEarly) return broken(`a snapshot of record ${sequence} is begun behind that of record ${last}, which had come too early`)
  state.isEarly = sequence - last < every
  return holds
}

/** Notes that a follower begins, which is asked for nothing yet. */
const followed = (state: State): void => {
  state.followedFrom = state.next
  state.asksAt = undefined
}

export const snapshotsKeepUp: Property<State> = {
  name: "snapshots-keep-up",
  invariant: "I9",
  kind: "safety",
  initial: () => ({ every: 0, last: undefined, isEarly: false, next: 1, followedFrom: 0, asksAt: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.every = seen.snapshotEvery
        state.last = undefined
        state.isEarly = false
        return holds
      case "Ready":
        state.last = undefined
        state.isEarly = false
        // What a process had decided before may be lost.
        state.next = seen.sequence + 1
        followed(state)
        return holds
      case "Taken":
        if (seen.answered === undefined) state.next = seen.sequence + 2
        return holds
      case "FollowerStarted":
        followed(state)
        return holds
      case "Committed": {
        const { block: { count, firstSequence } } = seen
        const end = firstSequence + count - 1
        if (end >= state.followedFrom + sampledEvery) state.asksAt ??= end
        return holds
      }
      case "FollowerRests": {
        const { asksAt, followedFrom } = state
        return asksAt === undefined || seen.agreed >= followedFrom
          ? holds
          : broken(
            `the follower of record ${followedFrom} has run ${seen.sequence}, and was last compared at ${seen.agreed}: it had to be at ${asksAt}`
          )
      }
      case "SnapshotBegun":
        return begun(state, seen.sequence)
      case "SnapshotRemoved":
        return seen.left >= leastKept
          ? holds
          : broken(`the snapshot of record ${seen.sequence} is removed, and of the others there are only ${seen.left}`)
      case "Ended": {
        const { left, newest } = seen
        return left === undefined || left.sequence === newest
          ? holds
          : broken(`the process stopped in good order at record ${left.sequence}, and the newest snapshot is of record ${newest}`)
      }
      case "SnapshotsCounted": {
        const { every, newest, sequence } = seen
        // The previous snapshot may still have been in progress when the next was due.
        return sequence - newest <= 2 * every + decidedMeanwhile
          ? holds
          : broken(`the newest snapshot is of record ${newest}, the journal ends at ${sequence}, and one is taken every ${every}`)
      }
      default:
        return holds
    }
  }
}
