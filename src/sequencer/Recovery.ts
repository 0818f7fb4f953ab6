/**
 * Brings an engine to the end of the journal: from the newest snapshot that matches the journal, by replaying every record after it
 * and comparing the outcome with the digest in its block.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Branch, Branches } from "../domain/Branches.js"
import { Engine } from "../engine/Engine.js"
import { OutOfRoom } from "../engine/OutOfRoom.js"
import * as Snapshot from "../engine/Snapshot.js"
import type { Capacity } from "../engine/State.js"
import * as Block from "../journal/Block.js"
import type { Record } from "../journal/Record.js"
import type { Journal, JournalReading, Unknown, Unreadable } from "../journal/Journal.js"
import { keptBefore, type Kept, type SnapshotStore, type Stored } from "../journal/SnapshotStore.js"
import type { Outcome } from "../operations/Operations.js"
import type { DiskError } from "../journal/Disk.js"
import { stateDigest } from "./StateDigest.js"
import type { Versions } from "../operations/Versions.js"

/**
 * Replay decided otherwise than the journal records: another program wrote it, or a rule is not deterministic. Such a journal is
 * never served.
 */
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
 * A snapshot is ahead of the journal. It was saved only once its last record was durable, so acknowledged records are missing: the
 * venue does not continue without them by itself.
 */
export class JournalBehind extends Schema.TaggedError<JournalBehind>()("JournalBehind", {
  snapshotSequence: Schema.Number,
  lastSequence: Schema.Number
}) {
  override get message() {
    return `the journal ends at sequence ${this.lastSequence}, and a snapshot of sequence ${this.snapshotSequence} `
      + "shows that more was durable: put the segments that hold it back from a backup"
      // Before the first record there is nothing to continue from.
      + (this.lastSequence === 0 ? "" : `; only \`venue journal cut --at ${this.lastSequence + 1}\` goes on without it`)
  }
}

/**
 * A file is named like a snapshot of a sequence that the journal does not have, and it cannot be read. It may be a stray file, or
 * the last trace of missing records: the venue does not decide which.
 */
export class SnapshotUnexplained extends Schema.TaggedError<SnapshotUnexplained>()("SnapshotUnexplained", {
  snapshotSequence: Schema.Number,
  lastSequence: Schema.Number,
  reason: Schema.String
}) {
  override get message() {
    return `the journal ends at sequence ${this.lastSequence}, and a file in snapshots/ is named like a snapshot of sequence `
      + `${this.snapshotSequence} and cannot be read: ${this.reason}. If it is none of the venue's, move it away; if it is one, `
      + "records that were durable are gone. Nothing has been changed"
  }
}

/**
 * The journal remembers more than the settings have room for. Nothing is forgotten early, so the venue does not start with them.
 */
export class CapacityTooSmall extends Schema.TaggedError<CapacityTooSmall>()("CapacityTooSmall", {
  setting: Schema.Literal("ORDER_CAPACITY", "IDEMPOTENCY_CAPACITY"),
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** Runs something that may exceed a capacity, and fails with the setting that is too small. */
export const withinRoom = <A>(run: () => A): Effect.Effect<A, CapacityTooSmall> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (error) {
      if (error instanceof OutOfRoom) return new CapacityTooSmall({ setting: error.table, reason: error.message })
      throw error
    }
  })

/**
 * Records after the last usable state were decided by another version, which alone can replay them. It has to be started on the
 * directory and stopped gracefully.
 */
export class UndecidedByOther extends Schema.TaggedError<UndecidedByOther>()("UndecidedByOther", {
  fromSequence: Schema.Number,
  lastSequence: Schema.Number,
  program: Schema.String,
  rules: Schema.Number
}) {
  override get message() {
    return `the records ${this.fromSequence} to ${this.lastSequence} were written by version ${this.program} (rules ${this.rules}), `
      + "and no snapshot stands behind them: start that version on this directory, stop it gracefully, then start this one"
  }
}

/**
 * This version has taken the journal over from another one, and the state with which it did so is missing or damaged: without it
 * neither can replay the journal from its beginning.
 */
export class StepMissing extends Schema.TaggedError<StepMissing>()("StepMissing", {
  fromSequence: Schema.Number,
  /** The first record under this version's rules. */
  takenOverAt: Schema.Number,
  program: Schema.String,
  rules: Schema.Number
}) {
  override get message() {
    const last = this.takenOverAt - 1
    return `the records ${this.fromSequence} to ${last} were written by version ${this.program} (rules ${this.rules}), and this version `
      + `took over from there: the state at sequence ${last} with which it did (snapshots/${String(last).padStart(20, "0")}.step) is `
      + "missing or damaged. Put that file back from a copy of this directory; no version can do without it"
  }
}

/** The journal continues under rules that this program does not know, written by a newer version. */
export class NewerRules extends Schema.TaggedError<NewerRules>()("NewerRules", {
  rules: Schema.Number,
  program: Schema.String,
  /** The rules of this program. */
  known: Schema.Number
}) {
  override get message() {
    return `this journal is under rules ${this.rules}, as version ${this.program} decides, and this program knows up to `
      + `${this.known}: start it with that version or a later one`
  }
}

/** The migrated state differs from what the step in the journal records. Never served. */
export class MigrationDiffers extends Schema.TaggedError<MigrationDiffers>()("MigrationDiffers", {
  sequence: Schema.Number,
  expectedDigest: Schema.String,
  actualDigest: Schema.String
}) {
  override get message() {
    return `the step at sequence ${this.sequence} began with the state ${this.expectedDigest}, and the snapshot before it is `
      + `migrated to ${this.actualDigest}`
  }
}

/** The state before a step could not be saved. Nothing of the step was journaled, so the start may be tried again. */
export class StepNotKept extends Schema.TaggedError<StepNotKept>()("StepNotKept", {
  sequence: Schema.Number,
  /** The failed disk operation and its error code. */
  reason: Schema.String
}) {
  override get message() {
    return `the state at sequence ${this.sequence} is to be taken over from another version and could not be kept: ${this.reason}. `
      + "Nothing has been changed; with room on the disk the start may be tried again, by this version or the one before"
  }
}

/** A step from other rules: digests of the state before and after the migration, lowercase hex. */
export interface Step {
  readonly before: string
  readonly after: string
}

/** Where recovery started, and its result. */
export interface Recovered {
  readonly engine: Engine
  /** The snapshot's sequence, 0 without one. */
  readonly fromSequence: number
  readonly records: number
  /** Set where the first record must be the step to this version's rules. */
  readonly step: Step | undefined
  /** The sequences of the states that had been saved for steps. */
  readonly steps: ReadonlyArray<number>
}

/** Compares the digest of the engine's events, which must be those of the block, with the recorded one. */
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

/** Replays a record. Its events are appended to the log, and `each` is called with the index where they begin. */
export const runRecord = (engine: Engine, record: Record, each?: (engine: Engine, from: number) => void): Outcome => {
  const from = engine.state.events.length
  const outcome = engine.apply(record.command, record.sequence, record.atEpochMs)
  each?.(engine, from)
  return outcome
}

/**
 * Replays a block's records and returns their outcomes. The engine's log holds the block's events until the next call; `each` is
 * called after every record with the index where its events begin.
 */
export const runBlock = (
  engine: Engine,
  block: Block.Block,
  each?: (engine: Engine, from: number) => void
): ReadonlyArray<Outcome> => {
  engine.state.events.clear()
  return block.records.map((record) => runRecord(engine, record, each))
}

/** Like `runBlock`, and compares the digest of the events. */
export const applyBlock = (engine: Engine, block: Block.Block, each?: (engine: Engine, from: number) => void): Diverged | undefined => {
  runBlock(engine, block, each)
  return divergence(engine, block)
}

type JournalService = Context.Tag.Service<typeof Journal>
type SnapshotsService = Context.Tag.Service<typeof SnapshotStore>

/** A state to start from. */
interface Beginning {
  readonly engine: Engine
  /** Set where the state was decided under other rules. */
  readonly step: Step | undefined
  readonly steps: ReadonlyArray<number>
}

/** Whether a block of the journal ends at the snapshot's sequence with the digest that it names. */
const isVouched = (journal: JournalReading, snapshot: Stored): Effect.Effect<boolean, Unreadable | Unknown> =>
  journal.links(snapshot.sequence).pipe(
    Stream.take(1),
    Stream.runHead,
    Effect.map(
      Option.exists(({ digest, lastSequence }) => lastSequence === snapshot.sequence && Buffer.from(digest).equals(snapshot.blockDigest))
    )
  )

/** The engine of a snapshot, migrated where its schema is older. */
export const engineOf = (stored: Stored, capacity: Capacity): Effect.Effect<Engine, CapacityTooSmall> =>
  withinRoom(() => new Engine(Snapshot.unsafeDecode(Snapshot.migrate(stored.sections, stored.schema), capacity)))

/** Why a stored state cannot be used; undefined where it can. */
const objection = (journal: JournalReading, stored: Stored): Effect.Effect<string | undefined, Unreadable | Unknown> =>
  Snapshot.isKnown(stored.schema)
    ? Effect.map(isVouched(journal, stored), (vouched) => vouched ? undefined : "it does not belong to this journal")
    : Effect.succeed(
      stored.schema > Snapshot.schema
        ? `a newer version wrote it (schema ${stored.schema}, and this program reads up to ${Snapshot.schema})`
        : `it is of schema ${stored.schema}, which this program does not read any more`
    )

/** The first candidate that matches the journal and that this program can read; each one skipped is named in a warning. */
const firstVouched = Effect.fnUntraced(function*(journal: JournalReading, candidates: ReadonlyArray<Kept>) {
  for (const { load, name } of candidates) {
    const stored = yield* load
    const objected = typeof stored === "string" ? stored : yield* objection(journal, stored)
    if (typeof stored !== "string" && objected === undefined) return stored
    ;(yield* Branches)?.("a snapshot was not vouched for")
    yield* Effect.logWarning(`${name} is passed over: ${objected}`)
  }
  return undefined
})

/** The newest stored state that matches the journal and that this program can read. */
const vouched = Effect.fnUntraced(function*(journal: JournalReading, snapshots: SnapshotsService, kept: ReadonlyArray<Kept>) {
  const latest = yield* snapshots.latest
  // Newer snapshots are damaged, and a warning has been given.
  const candidates = kept.filter(({ isStep, sequence }) => isStep || latest !== undefined && sequence <= latest.sequence)
  return yield* firstVouched(
    journal,
    candidates.map((each) => each.isStep || each.sequence !== latest?.sequence ? each : { ...each, load: Effect.succeed(latest) })
  )
})

/**
 * An engine at the end of a block before a sequence: from the newest earlier snapshot that matches the journal, the state before
 * the last step, or a new one.
 */
export const engineBefore = (
  journal: JournalReading,
  snapshots: SnapshotsService,
  capacity: Capacity,
  sequence: number
): Effect.Effect<Engine, Unreadable | Unknown | DiskError | CapacityTooSmall> =>
  keptBefore(snapshots, sequence).pipe(
    Effect.flatMap((kept) => firstVouched(journal, kept)),
    Effect.flatMap((stored) => stored === undefined ? Effect.sync(() => Engine.make(capacity)) : engineOf(stored, capacity))
  )

/**
 * What the newest stored state shows about the end of a journal whose last record is `lastSequence`; undefined where the journal
 * reaches it. The states must have been listed before the journal was read.
 */
export const shownBehind = (
  [newest]: ReadonlyArray<Kept>,
  lastSequence: number
): Effect.Effect<JournalBehind | SnapshotUnexplained | undefined, Unreadable | DiskError> => {
  if (newest === undefined || newest.sequence <= lastSequence) return Effect.succeed(undefined)
  const evidence = { snapshotSequence: newest.sequence, lastSequence }
  return Effect.map(newest.load,
    (found) => typeof found === "string" ? new SnapshotUnexplained({ ...evidence, reason: found }) : new JournalBehind(evidence))
}

/** The engine of the newest snapshot that matches the journal, or a new one. */
const begin = Effect.fnUntraced(function*(
  journal: JournalService,
  snapshots: SnapshotsService,
  capacity: Capacity,
  versions: Versions
) {
  const kept = yield* keptBefore(snapshots, Number.POSITIVE_INFINITY)
  const ahead = kept[0]?.sequence
  if (ahead !== undefined && ahead >= journal.opened.nextSequence) {
    ;(yield* Branches)?.("the journal was behind its snapshot")
    const behind = yield* shownBehind(kept, journal.opened.nextSequence - 1)
    if (behind !== undefined) return yield* behind
  }
  const steps = kept.filter(({ isStep }) => isStep).map(({ sequence }) => sequence)
  const snapshot = yield* vouched(journal, snapshots, kept)
  if (snapshot === undefined) return { engine: Engine.make(capacity), step: undefined, steps } satisfies Beginning
  ;(yield* Branches)?.("a snapshot was begun with")
  const engine = yield* engineOf(snapshot, capacity)
  if (engine.rules > versions.rules) {
    return yield* new NewerRules({ rules: engine.rules, program: engine.state.program, known: versions.rules })
  }
  if (engine.rules === versions.rules) return { engine, step: undefined, steps } satisfies Beginning
  ;(yield* Branches)?.("another version's state was taken over")
  const step = { before: Buffer.from(snapshot.digest).toString("hex"), after: stateDigest(engine.state) }
  return { engine, step, steps } satisfies Beginning
})

/** The first record after a sequence under which this version took the journal over; undefined where it never did. */
export const takenOverAt = (
  journal: Pick<JournalService, "links" | "replay">,
  fromSequence: number,
  versions: Versions
): Effect.Effect<number | undefined, Unreadable | Unknown> =>
  journal.links(fromSequence).pipe(
    Stream.filter(({ codec }) => codec >= versions.codec),
    Stream.runHead,
    Effect.flatMap(Option.match({
      onNone: () => Effect.succeed(undefined),
      onSome: ({ firstSequence }) =>
        journal.replay(firstSequence).pipe(
          Stream.filterMap(({ records: [first] }) =>
            first?.command.kind === "StartVenue" && first.command.rules === versions.rules ? Option.some(first.sequence) : Option.none()
          ),
          Stream.runHead,
          Effect.map(Option.getOrUndefined)
        )
    }))
  )

/** Records of another version that cannot be decided again: it goes on with them, unless this version has already taken over. */
const unlessTakenOver = (
  journal: JournalService,
  undecided: UndecidedByOther,
  versions: Versions
): Effect.Effect<never, Unreadable | Unknown | UndecidedByOther | StepMissing> =>
  Effect.flatMap(takenOverAt(journal, undecided.fromSequence, versions), (at): Effect.Effect<never, UndecidedByOther | StepMissing> => {
    const { fromSequence, program, rules } = undecided
    return at === undefined ? Effect.fail(undecided) : new StepMissing({ fromSequence, takenOverAt: at, program, rules })
  })

/** Why the first block after a state may not be replayed: another version decided it. */
const undecided = (
  journal: JournalService,
  engine: Engine,
  versions: Versions
): Effect.Effect<void, Unreadable | Unknown | UndecidedByOther> =>
  journal.links(engine.sequence + 1).pipe(
    Stream.take(1),
    Stream.runHead,
    Effect.flatMap((next) =>
      Option.isSome(next) && next.value.codec < versions.codec
        ? new UndecidedByOther({
          fromSequence: next.value.firstSequence,
          lastSequence: journal.opened.nextSequence - 1,
          program: Block.writers.get(next.value.codec) ?? "unknown",
          rules: engine.rules === 0 ? 1 : engine.rules
        })
        : Effect.void
    )
  )

/** Whether a block may be replayed on a state: its rules are this program's, or it begins with the step to them. */
const refusal = (
  journal: JournalService,
  { engine, step }: Beginning,
  block: Block.Block,
  versions: Versions
): UndecidedByOther | NewerRules | MigrationDiffers | undefined => {
  const { command } = block.records[0]!
  const starts = command.kind === "StartVenue" || command.kind === "OpenVenue" ? command : undefined
  if (starts !== undefined && starts.rules > versions.rules) {
    return new NewerRules({ rules: starts.rules, program: starts.program, known: versions.rules })
  }
  const rules = starts?.rules ?? engine.rules
  if (rules !== versions.rules) {
    return new UndecidedByOther({
      fromSequence: block.firstSequence,
      lastSequence: journal.opened.nextSequence - 1,
      program: starts?.program ?? engine.state.program,
      rules
    })
  }
  if (step !== undefined && starts?.kind === "StartVenue" && engine.rules !== versions.rules && starts.stateAfter !== step.after) {
    return new MigrationDiffers({ sequence: block.firstSequence, expectedDigest: starts.stateAfter, actualDigest: step.after })
  }
  return undefined
}

/** Why an engine could not be brought to the end of the journal. */
export type RecoveryError =
  | Unreadable
  | Unknown
  | DiskError
  | Diverged
  | JournalBehind
  | SnapshotUnexplained
  | CapacityTooSmall
  | UndecidedByOther
  | StepMissing
  | NewerRules
  | MigrationDiffers
  | StepNotKept

const marked = (branch: Branch): Effect.Effect<void> => Effect.map(Branches, (reached) => reached?.(branch))

/** An engine that has applied the whole journal, ready for a program of these versions to continue. */
export const recover = (
  journal: JournalService,
  snapshots: SnapshotsService,
  capacity: Capacity,
  versions: Versions
): Effect.Effect<Recovered, RecoveryError> =>
  Effect.gen(function*() {
    const beginning = yield* begin(journal, snapshots, capacity, versions)
    const { engine, step } = beginning
    const fromSequence = engine.sequence
    const replays = fromSequence + 1 < journal.opened.nextSequence
    if (replays) {
      yield* Effect.catchTag(undecided(journal, engine, versions), "UndecidedByOther", (other) => unlessTakenOver(journal, other, versions))
      yield* journal.replay(fromSequence + 1).pipe(
        Stream.runForEach((block) =>
          Effect.suspend((): Effect.Effect<void, RecoveryError> => {
            const refused = refusal(journal, beginning, block, versions)
            if (refused !== undefined) {
              const why: Effect.Effect<never, RecoveryError> = refused instanceof UndecidedByOther
                ? unlessTakenOver(journal, refused, versions)
                : Effect.fail(refused)
              return Effect.zipRight(marked("another version's records were undecided"), why)
            }
            return Effect.flatMap(
              withinRoom(() => applyBlock(engine, block)),
              (diverged) => diverged === undefined ? Effect.void : Effect.zipRight(marked("a replay diverged"), Effect.fail(diverged))
            )
          })
        )
      )
    }
    engine.state.events.clear()
    return { engine, fromSequence, records: engine.sequence - fromSequence, step: replays ? undefined : step, steps: beginning.steps }
  })
