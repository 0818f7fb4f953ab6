/**
 * What of a data directory another version of the program decided: everything up to where this one took over. It is never decided again,
 * so that whatever runs records begins behind it.
 */
import * as Effect from "effect/Effect"
import * as Snapshot from "../engine/Snapshot.js"
import type { Capacity } from "../engine/State.js"
import * as Block from "../journal/Block.js"
import type { DiskError } from "../journal/Disk.js"
import { SnapshotStore, type Stored } from "../journal/SnapshotStore.js"
import { type CapacityTooSmall, engineOf } from "../sequencer/Recovery.js"
import { versions } from "../sequencer/Versions.js"
import { Ended, unreadableCode } from "./Exit.js"

export interface Others {
  /** The last record that was decided by it. */
  readonly lastSequence: number
  /** Whose it is, in words. */
  readonly text: string
}

/**
 * What is before the state that the last step began with; undefined where that cannot be read, where there is none, and where it was left
 * by a newer version that never took over: then it is of the very rules of this one.
 */
export const before = (step: Stored | string | undefined, capacity: Capacity): Effect.Effect<Others | undefined, CapacityTooSmall> =>
  Effect.gen(function*() {
    if (step === undefined || typeof step === "string" || !Snapshot.isKnown(step.schema)) return undefined
    const { rules, state: { program } } = yield* engineOf(step, capacity)
    if (rules === versions.rules) return undefined
    // The first version journaled neither its name nor its rules.
    const version = program === "" ? Block.writers.get(1)! : program
    return {
      lastSequence: step.sequence,
      text: `the records up to ${step.sequence} were decided by version ${version} (rules ${Math.max(1, rules)}), which alone runs them`
    }
  })

/** The same of the data directory that is looked into. */
export const found = (capacity: Capacity): Effect.Effect<Others | undefined, CapacityTooSmall | DiskError, SnapshotStore> =>
  Effect.flatMap(SnapshotStore, ({ latestStep }) => Effect.flatMap(latestStep, (step) => before(step, capacity)))

/** The first record that this version tells of. */
export const firstBehind = (others: Others | undefined): number => others === undefined ? 1 : others.lastSequence + 1

/** They were asked for by their sequences. */
export const refused = (others: Others): Ended =>
  new Ended({ code: unreadableCode, text: `${others.text}; --from begins at ${firstBehind(others)}` })
