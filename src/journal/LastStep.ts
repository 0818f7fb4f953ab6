/**
 * Which of the states that were saved for steps to other rules the journal goes on from. A version that ended before it journaled its step
 * leaves such a state too, and the version before it may go on: that state is then no part of the journal's history.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Corrupt, JournalReading, Unknown, Unreadable } from "./Journal.js"
import type { DiskError } from "./Disk.js"
import type { SnapshotStore, Stored } from "./SnapshotStore.js"

type Reading = Pick<JournalReading, "replay">
type Store = SnapshotStore["Type"]

/**
 * What the journal has behind the state that was saved for a step: the step, to rules whose number is undefined where this program does not
 * read the record's format; nothing that is durable; or another record, where the step was never made.
 */
export type Behind =
  | { readonly _tag: "Step"; readonly rules: number | undefined }
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Other" }

/** What comes behind the state at a sequence. Of an older format every record counts as a step: a later one has to be the last. */
export const behind = (journal: Reading, sequence: number): Effect.Effect<Behind, Unreadable | Unknown> =>
  journal.replay(sequence + 1).pipe(
    Stream.take(1),
    Stream.runHead,
    Effect.map(Option.match({
      onNone: (): Behind => ({ _tag: "Nothing" }),
      onSome: ({ records: [first] }): Behind =>
        first?.sequence === sequence + 1 && first.command.kind === "StartVenue" && first.command.stateAfter !== ""
          ? { _tag: "Step", rules: first.command.rules }
          : { _tag: "Other" }
    })),
    Effect.catchTag("JournalOlderFormat", () => Effect.succeed<Behind>({ _tag: "Step", rules: undefined }))
  )

const firstOf = Effect.fnUntraced(function*(journal: Reading, sequences: ReadonlyArray<number>) {
  for (const sequence of sequences) if ((yield* behind(journal, sequence))._tag === "Step") return sequence
  return undefined
})

/** The sequence of the record of the first step; undefined where there is none. */
export const firstSequence = (journal: Reading, { names }: Store): Effect.Effect<number | undefined, Unreadable | Unknown | DiskError> =>
  Effect.flatMap(names, ({ steps }) => Effect.map(firstOf(journal, steps), (found) => found === undefined ? undefined : found + 1))

/** The state before the last step; undefined where there is none, or the reason where it cannot be trusted. */
const load = (journal: Reading, store: Store): Effect.Effect<Stored | string | undefined, Unreadable | Unknown | DiskError> =>
  Effect.gen(function*() {
    const { steps } = yield* store.names
    const sequence = yield* firstOf(journal, steps.toReversed())
    return sequence === undefined ? undefined : yield* store.loadStep(sequence)
  })

/** The sequence of the record of the last step, whose state is stored; undefined where there is none or it cannot be read. */
export const lastSequence = (journal: Reading, store: Store): Effect.Effect<number | undefined, Unreadable | Unknown | DiskError> =>
  Effect.map(load(journal, store), (step) => step === undefined || typeof step === "string" ? undefined : step.sequence + 1)

/** Removes those of the states at the given sequences behind which a durable journal goes on without the step. */
export const removeAbandoned = (
  journal: Reading,
  store: Store,
  sequences: ReadonlyArray<number>
): Effect.Effect<void, Unreadable | Unknown | DiskError | Corrupt> =>
  Effect.forEach(sequences, (sequence) =>
    Effect.flatMap(behind(journal, sequence), ({ _tag }) => _tag === "Other" ? store.removeStep(sequence) : Effect.void), { discard: true })
