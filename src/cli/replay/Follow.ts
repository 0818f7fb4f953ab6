/**
 * Runs a journal's records again, one by one, and shows each with what it decided. What a block decided is
 * compared with its digest, so that nothing is told that did not happen.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Context from "effect/Context"
import { Engine } from "../../engine/Engine.js"
import { type DecodedEvent, decode } from "../../engine/EventLog.js"
import type { Capacity } from "../../engine/State.js"
import type * as Block from "../../journal/Block.js"
import type { Journal, Unknown, Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import type { Outcome } from "../../operations/Operations.js"
import { type Diverged, divergence } from "../../sequencer/Recovery.js"

export type JournalService = Context.Tag.Service<typeof Journal>

/** A journal to run again. One that begins behind a state of its own has an engine with that state. */
export interface Source extends JournalService {
  readonly base?: Effect.Effect<Engine, Unreadable>
}

/** The engine that a source's first record belongs to. */
export const begin = (source: Source, capacity: Capacity): Effect.Effect<Engine, Unreadable> =>
  source.base ?? Effect.sync(() => Engine.make(capacity))

/** Whoever looks on. */
export interface Visitor {
  /** Whether the record is still to be applied; the first that is not ends it. */
  readonly wants: (record: Record) => boolean
  /** Before a record is applied, with the engine as it was then. */
  readonly before?: (engine: Engine, record: Record) => void
  /** After a record was applied, with what it came to and its events. */
  readonly applied: (engine: Engine, record: Record, outcome: Outcome, events: () => ReadonlyArray<DecodedEvent>) => void
  /** After each whole block. */
  readonly block: (block: Block.Block) => void
}

/** Wants everything and looks at nothing. */
export const passive: Visitor = { wants: () => true, applied: () => {}, block: () => {} }

/** An engine that has applied every record the visitor wanted, from the first on. */
export const follow = (
  journal: Source,
  capacity: Capacity,
  visitor: Visitor
): Effect.Effect<Engine, Unreadable | Unknown | Diverged> =>
  Effect.gen(function*() {
    const engine = yield* begin(journal, capacity)
    if (journal.opened.nextSequence === 1) return engine
    yield* journal.replay(engine.sequence + 1).pipe(
      Stream.mapEffect((block) => {
        const whole = applyRecords(engine, block, visitor)
        if (!whole) return Effect.succeed(false)
        const diverged = divergence(engine, block)
        if (diverged !== undefined) return Effect.fail(diverged)
        visitor.block(block)
        return Effect.succeed(true)
      }),
      Stream.takeWhile((more) => more),
      Stream.runDrain
    )
    engine.state.events.clear()
    return engine
  })

/** Whether all of the block was wanted. */
const applyRecords = (engine: Engine, block: Block.Block, visitor: Visitor): boolean => {
  const { events } = engine.state
  events.clear()
  for (const record of block.records) {
    if (!visitor.wants(record)) return false
    visitor.before?.(engine, record)
    const from = events.length
    const outcome = engine.apply(record.command, record.sequence, record.atEpochMs)
    const to = events.length
    visitor.applied(engine, record, outcome, () => decode(events.words, from, to))
  }
  return true
}
