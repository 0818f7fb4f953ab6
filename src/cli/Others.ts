/**
 * What of a data directory another version of the program decided: everything up to where this one took over, or all of it where this one
 * never did. It is never decided again, so that whatever runs records begins behind it.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Snapshot from "../engine/Snapshot.js"
import type { Capacity } from "../engine/State.js"
import * as Block from "../journal/Block.js"
import type { DiskError } from "../journal/Disk.js"
import type { Journal, Unknown, Unreadable } from "../journal/Journal.js"
import { SnapshotStore, type Stored } from "../journal/SnapshotStore.js"
import { type CapacityTooSmall, engineOf } from "../sequencer/Recovery.js"
import { versions } from "../sequencer/Versions.js"
import { Ended, unreadableCode } from "./Exit.js"

export interface Others {
  /** The last record that was decided by it. */
  readonly lastSequence: number
  /** Whose it is, in words. */
  readonly text: string
  /** Whether there is nothing behind it. */
  readonly isAll: boolean
}

/** What decided records. */
interface Decider {
  readonly program: string
  readonly rules: number
}

const othersOf = (lastSequence: number, { program, rules }: Decider, isAll: boolean): Others => ({
  lastSequence,
  text: `the records up to ${lastSequence} were decided by version ${program} (rules ${rules}), which alone runs them`,
  isAll
})

/** What decided a state. */
const deciderOf = (stored: Stored, capacity: Capacity): Effect.Effect<Decider, CapacityTooSmall> =>
  Effect.map(engineOf(stored, capacity), ({ rules, state: { program } }) => ({
    // The first version journaled neither its name nor its rules.
    program: program === "" ? Block.writers.get(1)! : program,
    rules: Math.max(1, rules)
  }))

type Snapshots = Context.Tag.Service<typeof SnapshotStore>
type Read = Pick<Context.Tag.Service<typeof Journal>, "opened" | "replay">

/** What a record says decides from it on; undefined where it is no start, or is of a format that whoever reads it says so of. */
const startedAt = (journal: Read, sequence: number): Effect.Effect<Decider | undefined, Unreadable | Unknown> =>
  journal.replay(sequence).pipe(
    Stream.take(1),
    Stream.runHead,
    Effect.catchTag("JournalOlderFormat", () => Effect.succeed(Option.none())),
    Effect.map((block) => {
      const command = Option.getOrUndefined(block)?.records.find((record) => record.sequence === sequence)?.command
      return command?.kind === "OpenVenue" || command?.kind === "StartVenue" ? command : undefined
    })
  )

/** All of a journal, as what another version decided; undefined where a state that this one has come to is kept of it. */
const allOf = (journal: Read, decider: Decider, latest: Stored | undefined, capacity: Capacity) =>
  Effect.gen(function*() {
    const isOurs = latest !== undefined && Snapshot.isKnown(latest.schema)
      && (yield* deciderOf(latest, capacity)).rules === versions.rules
    return isOurs ? undefined : othersOf(journal.opened.nextSequence - 1, decider, true)
  })

/**
 * What another version decided: up to the state that the last step began with, where that step is journaled; all there is, where this
 * version has not taken over what the journal was begun with, or the version before went on behind a step that was not finished.
 * Undefined where it cannot be told for want of what is damaged, where there is none, and where the state was left by a newer version that
 * never took over: then it is of the very rules of this one.
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
      return opened === undefined || opened.rules === versions.rules ? undefined : yield* allOf(journal, opened, yield* latest, capacity)
    }
    if (typeof step === "string" || !Snapshot.isKnown(step.schema)) return undefined
    const before = yield* deciderOf(step, capacity)
    if (before.rules === versions.rules) return undefined
    const behind = yield* startedAt(journal, step.sequence + 1)
    const stepped = othersOf(step.sequence, before, false)
    if (behind?.rules === versions.rules) return stepped
    return (yield* allOf(journal, behind ?? before, yield* latest, capacity)) ?? stepped
  })

/** The same of the data directory that is looked into. */
export const found = (journal: Read, capacity: Capacity) =>
  Effect.flatMap(SnapshotStore, ({ latest, latestStep }) => Effect.flatMap(latestStep, (step) => at(journal, step, latest, capacity)))

/** The first record that this version tells of. */
export const firstBehind = (others: Others | undefined): number => others === undefined ? 1 : others.lastSequence + 1

/** They were asked for by their sequences, or are all there is. */
export const refused = (others: Others): Ended =>
  new Ended({ code: unreadableCode, text: others.isAll ? others.text : `${others.text}; --from begins at ${firstBehind(others)}` })
