/** Reads a journal beside its writer, for `Readings`: it takes no lock, writes nothing, and reads no further than it is told is durable. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import { payloads } from "../edge/socket/Payloads.js"
import type { Capacity } from "../engine/State.js"
import { Disk } from "../journal/Disk.js"
import * as JournalReading from "../journal/Reading.js"
import { SnapshotStore } from "../journal/SnapshotStore.js"
import * as Feed from "../sequencer/Feed.js"
import { Turns } from "../sequencer/Turns.js"
import { pauseOf } from "../sequencer/Writer.js"
import { type Bounds, Replays, usualBounds } from "../streams/Replay.js"
import type { Asked, Found, Said, Wanted } from "./Protocol.js"

/** How often to check what has become durable, where a reading has reached the end. */
const lookEvery = "20 millis"

/**
 * Waits until interrupted. `Effect.never` would keep a timer, and an effect that ignores `resume` would create an abort signal each time.
 */
const taken = Effect.async<never>((resume) => void resume)

interface Parts extends Pick<Feed.Source, "snapshots" | "capacity" | "pause"> {
  readonly bounds: Bounds
  readonly disk: Context.Tag.Service<typeof Disk>
}

class Serving {
  /** The last sequence that may be read. */
  private durable = 0
  /** What is being read, or its result held, by the number of the request. */
  private readonly underway = new Map<number, Fiber.RuntimeFiber<void>>()
  private readonly replays: Replays

  constructor(
    { bounds, disk, ...parts }: Parts,
    private readonly say: (said: Said) => void,
    private readonly runtime: Runtime.Runtime<never>
  ) {
    const durableSequence = (): number => this.durable
    const journal = JournalReading.reading(disk, () => [], durableSequence)
    const reached = (sequence: number): Effect.Effect<void> =>
      Effect.suspend(() => this.durable >= sequence ? Effect.void : Effect.zipRight(Effect.sleep(lookEvery), reached(sequence)))
    const source = { ...parts, journal, head: { durableSequence, at: () => undefined, read: () => undefined, reached } }
    this.replays = new Replays(Feed.make(source), payloads, durableSequence, bounds, (count) => say({ _tag: "Engines", count }))
  }

  readonly hear = (asked: Asked): void => {
    switch (asked._tag) {
      case "Wanted": {
        const { id, wanted } = asked
        this.durable = Math.max(this.durable, wanted.upTo)
        const read = Effect.catchAllCause(this.read(id, wanted), (cause) => Effect.sync(() => this.failed(id, cause)))
        this.underway.set(id, Runtime.runFork(this.runtime)(read))
        return
      }
      case "Over": {
        const fiber = this.underway.get(asked.id)
        this.underway.delete(asked.id)
        fiber?.unsafeInterruptAsFork(FiberId.none)
      }
    }
  }

  /** Reads something and sends it; a piece counts as held until the requester is done with it. */
  private read(id: number, wanted: Wanted): Effect.Effect<void, Feed.ReadError> {
    const found = (what: Found): Effect.Effect<void> => Effect.sync(() => this.say({ _tag: "Found", id, found: what }))
    switch (wanted._tag) {
      case "Piece": {
        const { account, after, channel, upTo } = wanted
        const read = this.replays.missed(channel, account, after, upTo, (piece) => Effect.zipRight(found(piece), taken))
        return Effect.flatMap(read, found)
      }
      case "Page":
        return Effect.flatMap(this.replays.page(wanted.account, wanted.after, wanted.upTo, wanted.mostRecords), found)
    }
  }

  private failed(id: number, cause: Cause.Cause<Feed.ReadError>): void {
    if (Cause.isInterruptedOnly(cause)) return
    const error = Cause.squash(cause)
    const why = Option.match(Cause.failureOption(cause), { onNone: () => "other" as const, onSome: Feed.whyOf })
    this.say({ _tag: "Failed", id, reason: error instanceof Error ? error.message : String(error), why })
  }
}

/** Begins to serve a venue: the returned function takes its messages. */
export const serve = (
  capacity: Capacity,
  say: (said: Said) => void,
  bounds: Bounds = usualBounds
): Effect.Effect<(asked: Asked) => void, never, Disk | SnapshotStore | Turns> =>
  Effect.gen(function*() {
    const parts = {
      disk: yield* Disk,
      snapshots: yield* SnapshotStore,
      capacity,
      bounds,
      pause: pauseOf(yield* Turns)
    }
    return new Serving(parts, say, yield* Effect.runtime<never>()).hear
  })
