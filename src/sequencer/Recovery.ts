/**
 * Brings an engine to where the journal ends: from the newest snapshot that the journal vouches for, then by
 * running every record behind it again and comparing what it decides with what the block says was decided.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Engine } from "../engine/Engine.js"
import { OutOfRoom } from "../engine/OutOfRoom.js"
import * as Snapshot from "../engine/Snapshot.js"
import type { Capacity } from "../engine/State.js"
import * as Block from "../journal/Block.js"
import type { Corrupt, Journal, Unknown } from "../journal/Journal.js"
import type { Snapshot as Stored, SnapshotStore } from "../journal/SnapshotStore.js"
import type { DiskError } from "../journal/Disk.js"

/** Replay decided otherwise than the journal says: another program wrote it, or a rule is not deterministic. Never served. */
export class Diverged extends Schema.TaggedError<Diverged>()("ReplayDiverged", {
  firstSequence: Schema.Number,
  lastSequence: Schema.Number,
  expectedDigest: Schema.String,
  actualDigest: Schema.String
}) {
  override get message() {
    return `replaying sequences ${this.firstSequence} to ${this.lastSequence} decides ${this.actualDigest} `
      + `where the journal says ${this.expectedDigest}`
  }
}

/**
 * A snapshot is ahead of the journal. It was saved only once its last record was durable, so records that had been
 * acknowledged are gone: the venue does not go on without them by itself.
 */
export class JournalBehind extends Schema.TaggedError<JournalBehind>()("JournalBehind", {
  snapshotSequence: Schema.Number,
  lastSequence: Schema.Number
}) {
  override get message() {
    return `the journal ends at sequence ${this.lastSequence}, and a snapshot of sequence ${this.snapshotSequence} `
      + "shows that more was durable; "
      + `only \`venue journal cut --at ${this.lastSequence + 1}\` goes on without it`
  }
}

/** The journal remembers more than the settings have room for: nothing is forgotten early, so the venue does not start under them. */
export class CapacityTooSmall extends Schema.TaggedError<CapacityTooSmall>()("CapacityTooSmall", {
  setting: Schema.Literal("ORDER_CAPACITY", "IDEMPOTENCY_CAPACITY"),
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** Runs what may be out of room, and fails with the setting that is too small. */
export const withinRoom = <A>(run: () => A): Effect.Effect<A, CapacityTooSmall> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (error) {
      if (error instanceof OutOfRoom) return new CapacityTooSmall({ setting: error.table, reason: error.message })
      throw error
    }
  })

/** Where recovery started and what it did. */
export interface Recovered {
  readonly engine: Engine
  /** The snapshot's sequence, 0 without one. */
  readonly fromSequence: number
  readonly records: number
}

/** Compares the digest of the engine's events, which are those of the block, with the one it was written with. */
export const divergence = (engine: Engine, block: Block.Block): Diverged | undefined => {
  const digest = Block.sha256(engine.state.events.bytes())
  if (digest.equals(block.outcomeDigest)) return undefined
  return new Diverged({
    firstSequence: block.firstSequence,
    lastSequence: block.lastSequence,
    expectedDigest: Buffer.from(block.outcomeDigest).toString("hex"),
    actualDigest: digest.toString("hex")
  })
}

/** Runs a block's records and compares the digest of what they decided. The engine's events are those of the block, until the next. */
export const applyBlock = (engine: Engine, block: Block.Block): Diverged | undefined => {
  engine.state.events.clear()
  for (const record of block.records) engine.apply(record.command, record.sequence, record.atEpochMs)
  return divergence(engine, block)
}

type JournalService = Context.Tag.Service<typeof Journal>
type SnapshotsService = Context.Tag.Service<typeof SnapshotStore>

/** The engine of a snapshot that the journal vouches for: it names the block that ends there. Otherwise undefined, and that is said. */
const restore = Effect.fnUntraced(function*(journal: JournalService, snapshot: Stored, capacity: Capacity) {
  const vouched = yield* journal.replay(snapshot.sequence).pipe(Stream.take(1), Stream.runCollect)
  for (const block of vouched) {
    if (block.lastSequence === snapshot.sequence && Buffer.from(block.digest).equals(snapshot.blockDigest)) {
      return yield* withinRoom(() => new Engine(Snapshot.unsafeDecode(snapshot.sections, capacity)))
    }
  }
  yield* Effect.logWarning(`the snapshot at sequence ${snapshot.sequence} does not belong to this journal and is passed over`)
  return undefined
})

/**
 * An engine that stands before a sequence, at a block's end: as of the newest snapshot there that the journal vouches
 * for, or a new one.
 */
export const engineBefore = (
  journal: JournalService,
  snapshots: SnapshotsService,
  capacity: Capacity,
  sequence: number
): Effect.Effect<Engine, Corrupt | Unknown | DiskError | CapacityTooSmall> =>
  Effect.gen(function*() {
    for (const at of (yield* snapshots.list).toReversed()) {
      if (at >= sequence) continue
      const stored = yield* snapshots.load(at).pipe(
        // The writer removes old ones while this reads.
        Effect.catchIf((error) => error.code === "ENOENT", () => Effect.succeed("it is gone"))
      )
      if (typeof stored === "string") {
        yield* Effect.logWarning(`the snapshot at sequence ${at} is passed over: ${stored}`)
        continue
      }
      const engine = yield* restore(journal, stored, capacity)
      if (engine !== undefined) return engine
    }
    return Engine.make(capacity)
  })

/** The engine as of the newest snapshot the journal vouches for, or a new one. */
const start = Effect.fnUntraced(function*(journal: JournalService, snapshots: SnapshotsService, capacity: Capacity) {
  const ahead = (yield* snapshots.list).at(-1)
  if (ahead !== undefined && ahead >= journal.opened.nextSequence) {
    return yield* new JournalBehind({ snapshotSequence: ahead, lastSequence: journal.opened.nextSequence - 1 })
  }
  const snapshot = yield* snapshots.latest
  const restored = snapshot === undefined ? undefined : yield* restore(journal, snapshot, capacity)
  return restored ?? Engine.make(capacity)
})

/** An engine that has applied the whole journal. */
export const recover = (
  journal: JournalService,
  snapshots: SnapshotsService,
  capacity: Capacity
): Effect.Effect<Recovered, Corrupt | Unknown | DiskError | Diverged | JournalBehind | CapacityTooSmall> =>
  Effect.gen(function*() {
    const engine = yield* start(journal, snapshots, capacity)
    const fromSequence = engine.sequence
    if (fromSequence + 1 < journal.opened.nextSequence) {
      yield* journal.replay(fromSequence + 1).pipe(
        Stream.runForEach((block) =>
          Effect.flatMap(
            withinRoom(() => applyBlock(engine, block)),
            (diverged) => diverged === undefined ? Effect.void : Effect.fail(diverged)
          )
        )
      )
    }
    engine.state.events.clear()
    return { engine, fromSequence, records: engine.sequence - fromSequence }
  })

