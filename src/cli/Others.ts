/**
 * The part of a data directory that another version of the program decided: everything up to the point where this version took over, or all
 * of it where it never did. That part is never decided again, so any replay begins after it.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Snapshot from "../engine/Snapshot.js"
import type { Capacity } from "../engine/State.js"
import type { Disk, DiskError } from "../journal/Disk.js"
import type { Journal, Unknown, Unreadable } from "../journal/Journal.js"
import * as LastStep from "../journal/LastStep.js"
import * as SnapshotStores from "../journal/SnapshotStore.js"
import { SnapshotStore, type Stored } from "../journal/SnapshotStore.js"
import { decidedBy, type DecidingVersion } from "../operations/Versions.js"
import * as Deciding from "../sequencer/DecidingVersion.js"
import { type CapacityTooSmall, engineOf, StepMissing, takenOverAt } from "../sequencer/Recovery.js"
import { stepLost } from "../sequencer/StepLost.js"
import { versions } from "../sequencer/Versions.js"
import { Ended, unreadableCode } from "./Exit.js"

export interface Others {
  /** The last record that the other version decided. */
  readonly lastSequence: number
  /** A message that names that version. */
  readonly text: string
  /** Whether nothing comes after it. */
  readonly isAll: boolean
}

const othersOf = (lastSequence: number, version: DecidingVersion, isAll: boolean): Others => ({
  lastSequence,
  text: decidedBy(lastSequence, version),
  isAll
})

const versionOf = (stored: Stored, capacity: Capacity): Effect.Effect<DecidingVersion, CapacityTooSmall> =>
  Effect.map(engineOf(stored, capacity), Deciding.versionOf)

type Snapshots = Context.Tag.Service<typeof SnapshotStore>
type Read = Pick<Context.Tag.Service<typeof Journal>, "opened" | "replay" | "links">

/**
 * The version that a start record announces for what follows; undefined where the record is not a start, or its format is older than this
 * program reads.
 */
const startedAt = (journal: Read, sequence: number): Effect.Effect<DecidingVersion | undefined, Unreadable | Unknown> =>
  journal.replay(sequence).pipe(
    Stream.take(1),
    Stream.runHead,
    Effect.catchTag("JournalOlderFormat", () => Effect.succeed(Option.none())),
    Effect.map((block) => {
      const command = Option.getOrUndefined(block)?.records.find((record) => record.sequence === sequence)?.command
      return command?.kind === "OpenVenue" || command?.kind === "StartVenue" ? command : undefined
    })
  )

/**
 * The whole journal from a sequence on as another version's; undefined where there is a snapshot of a state that this version reached.
 * Where this version has taken over and the state with which it did is not kept, that is missing, and no other version is to be started.
 */
const allOf = (journal: Read, fromSequence: number, version: DecidingVersion, latest: Stored | undefined, capacity: Capacity) =>
  Effect.gen(function*() {
    const isOurs = latest !== undefined && Snapshot.isKnown(latest.schema)
      && (yield* versionOf(latest, capacity)).rules === versions.rules
    if (isOurs) return undefined
    const takenOver = yield* takenOverAt(journal, fromSequence, versions)
    const all = othersOf(journal.opened.nextSequence - 1, version, true)
    if (takenOver === undefined) return all
    const { program, rules } = version
    return { ...all, text: new StepMissing({ fromSequence, takenOverAt: takenOver, program, rules }).message }
  })

/**
 * The part that another version decided. Where the last step to new rules is journaled as this version's, it reaches up to the state with
 * which that step began. It is the whole journal where this version has not taken over, or where the previous version continued after an
 * unfinished step. Undefined where there is none, where damage prevents telling, and where a newer version left the state without taking
 * over, so that it follows this version's rules.
 */
export const at = (
  journal: Read,
  step: Stored | string | undefined,
  latest: Snapshots["latest"],
  capacity: Capacity
): Effect.Effect<Others | undefined, CapacityTooSmall | DiskError | Unreadable | Unknown> =>
  Effect.gen(function*() {
    if (step === undefined) {
      const opened = yield* startedAt(journal, 1)
      return opened === undefined || opened.rules === versions.rules ? undefined : yield* allOf(journal, 1, opened, yield* latest, capacity)
    }
    if (typeof step === "string" || !Snapshot.isKnown(step.schema)) return undefined
    const before = yield* versionOf(step, capacity)
    if (before.rules === versions.rules) return undefined
    const behind = yield* startedAt(journal, step.sequence + 1)
    const stepped = othersOf(step.sequence, before, false)
    if (behind?.rules === versions.rules) return stepped
    return (yield* allOf(journal, step.sequence + 1, behind ?? before, yield* latest, capacity)) ?? stepped
  })

/** Whether a state that nothing follows is another version's, which this one was about to take over. */
const isToBeTakenOver = (stored: Stored | string, capacity: Capacity): Effect.Effect<boolean, CapacityTooSmall> =>
  typeof stored === "string" || !Snapshot.isKnown(stored.schema)
    ? Effect.succeed(false)
    : Effect.map(versionOf(stored, capacity), ({ rules }) => rules !== versions.rules)

/**
 * The state before the last step, or the reason where it cannot be trusted: also where this version has saved it and not made the step yet.
 * Undefined where there is none.
 */
export const lastStep = (
  journal: Read,
  { loadStep, names }: Snapshots,
  capacity: Capacity
): Effect.Effect<Stored | string | undefined, CapacityTooSmall | DiskError | Unreadable | Unknown> =>
  Effect.gen(function*() {
    const { steps } = yield* names
    for (const sequence of steps.toReversed()) {
      const { _tag } = yield* LastStep.behind(journal, sequence)
      if (_tag === "Other") continue
      const stored = yield* loadStep(sequence)
      if (_tag === "Step" || (yield* isToBeTakenOver(stored, capacity))) return stored
    }
    return undefined
  })

/** Who else decided records of the data directory at hand; undefined where nobody did. */
export const found = (journal: Read, capacity: Capacity) =>
  Effect.flatMap(SnapshotStore, (store) =>
    Effect.flatMap(lastStep(journal, store, capacity), (step) => at(journal, step, store.latest, capacity)))

/**
 * What has to be put back of a journal with records that this version has taken over, in a sentence: the state with which it did. Undefined
 * where nothing is missing.
 */
export const lostStep = (
  journal: Pick<Read, "replay" | "links">
): Effect.Effect<string | undefined, DiskError | Unreadable | Unknown, Disk> =>
  Effect.gen(function*() {
    const lost = yield* Effect.provide(stepLost(journal), SnapshotStores.layerReadOnly)
    return lost === undefined || (yield* takenOverAt(journal, 1, versions)) === undefined ? undefined : lost
  })

/** The first record that this version can tell about. */
export const firstBehind = (others: Others | undefined): number => others === undefined ? 1 : others.lastSequence + 1

/** The error where records of another version were asked for by sequence, or there are no others. */
export const refused = (others: Others): Ended =>
  new Ended({ code: unreadableCode, text: others.isAll ? others.text : `${others.text}; --from begins at ${firstBehind(others)}` })
