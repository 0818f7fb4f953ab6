/**
 * Replays a journal's records one by one, and shows each with its decision. Each block's decisions are compared with its digest, so that
 * nothing is reported that did not happen.
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

/** A journal to replay. One that begins after a state of its own provides an engine with that state. */
export interface Source extends JournalService {
  readonly base?: Effect.Effect<Engine, Unreadable>
}

/** The engine to which a source's first record applies. */
export const begin = (source: Source, capacity: Capacity): Effect.Effect<Engine, Unreadable> =>
  source.base ?? Effect.sync(() => Engine.make(capacity))

/** Called during a replay. */
export interface Visitor {
  /** Whether the record is to be applied; the first one that is not ends the replay. */
  readonly wants: (record: Record) => boolean
  /** Called before a record is applied, with the engine as it is then. */
  readonly before?: (engine: Engine, record: Record) => void
  /** Called after a record was applied, with its outcome and its events. */
  readonly applied: (engine: Engine, record: Record, outcome: Outcome, events: () => ReadonlyArray<DecodedEvent>) => void
  /** Called after each complete block. */
  readonly block: (block: Block.Block) => void
}

/** Applies everything and reports nothing. */
export const passive: Visitor = { wants: () => true, applied: () => {}, block: () => {} }

/** An engine that has applied every record that the visitor wanted, from the first. */
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

/** Applies a block's records. Returns whether all of them were wanted. */
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
