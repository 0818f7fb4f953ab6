/** Whether the state of the journal's last step to other rules can still be read. Without it no version can replay the journal. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Disk, DiskError } from "../journal/Disk.js"
import type { JournalReading, Unknown, Unreadable } from "../journal/Journal.js"
import * as LastStep from "../journal/LastStep.js"
import { SnapshotStore, stepCondition } from "../journal/SnapshotStore.js"
import { versions } from "./Versions.js"

type Reading = Pick<JournalReading, "replay">

/** Whether the journal began under other rules than this program's. */
const beganUnderOthers = (journal: Reading): Effect.Effect<boolean, Unreadable | Unknown> =>
  journal.replay(1).pipe(
    Stream.take(1),
    Stream.runHead,
    Effect.map(Option.exists(({ records: [first] }) => first?.command.kind === "OpenVenue" && first.command.rules !== versions.rules)),
    Effect.catchTag("JournalOlderFormat", () => Effect.succeed(true))
  )

/**
 * The state with which this program's rules took the journal over, or are about to: of the states that were saved for steps, the newest
 * behind which the journal has that step or nothing. Others are of earlier steps, or of such as were never made.
 */
const ownStep = Effect.fnUntraced(function*(journal: Reading) {
  const { steps } = yield* Effect.flatMap(SnapshotStore, ({ names }) => names)
  for (const sequence of steps.toReversed()) {
    const behind = yield* LastStep.behind(journal, sequence)
    if (behind._tag === "Nothing" || behind._tag === "Step" && behind.rules === versions.rules) return sequence
  }
  return undefined
})

/** What has to be put back of a directory under this program's rules, in a sentence; undefined where nothing is missing. */
export const stepLost = (
  journal: Reading
): Effect.Effect<string | undefined, Unreadable | Unknown | DiskError, Disk | SnapshotStore> =>
  Effect.gen(function*() {
    const step = yield* ownStep(journal)
    const condition = step === undefined ? "missing" : yield* stepCondition(step)
    if (condition === "whole" || step === undefined && !(yield* beganUnderOthers(journal))) return undefined
    return `the state that the last step began with (snapshots/*.step) is ${condition}: put it back from a copy, since no version can `
      + "replay this journal from its beginning without it"
  })

/** Logs what has to be put back, or why that is not known. */
export const tellStepLost = (journal: Reading): Effect.Effect<void, never, Disk | SnapshotStore> =>
  stepLost(journal).pipe(
    Effect.flatMap((text) => text === undefined ? Effect.void : Effect.logWarning(text)),
    Effect.catchAllCause((cause) =>
      Effect.logWarning(`it is not known whether the state that the last step began with can be read: ${Cause.pretty(cause)}`)
    )
  )
