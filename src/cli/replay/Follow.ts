/**
 * Replays a journal's records one by one, and shows each with its decision. Each block's decisions are compared with its digest, so that
 * nothing is reported that did not happen.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Context from "effect/Context"
import { Engine } from "../../engine/Engine.js"
import { type DecodedEvent, decode } from "../../engine/EventLog.js"
import type { Capacity } from "../../engine/State.js"
import type * as Block from "../../journal/Block.js"
import type { Journal, Unknown, Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import type { Outcome } from "../../operations/Operations.js"
import { type Diverged, divergence, runRecord } from "../../sequencer/Recovery.js"

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
  /** Whether the record is to be applied; the first one that is not ends what is shown. */
  readonly wants: (record: Record) => boolean
  /** Called before a record is applied, with the engine as it is then. */
  readonly before?: (engine: Engine, record: Record) => void
  /** Called after a record was applied, with its outcome and its events. */
  readonly applied: (engine: Engine, record: Record, outcome: Outcome, events: () => ReadonlyArray<DecodedEvent>) => void
  /** Called after each block whose records were all wanted. */
  readonly block: (block: Block.Block) => void
}

/** Applies everything and reports nothing. */
export const passive: Visitor = { wants: () => true, applied: () => {}, block: () => {} }

/**
 * What is drawn of the engine once it has applied every record that the visitor wanted, from the first. Where these end within a block, the
 * rest of that block is applied behind it, unseen, so that its decisions are compared, too.
 */
export const follow = <A>(
  journal: Source,
  capacity: Capacity,
  visitor: Visitor,
  draw: (engine: Engine) => A
): Effect.Effect<A, Unreadable | Unknown | Diverged> =>
  Effect.gen(function*() {
    const engine = yield* begin(journal, capacity)
    if (journal.opened.nextSequence === 1) return draw(engine)
    const ended = yield* journal.replay(engine.sequence + 1).pipe(
      Stream.mapEffect((block) => {
        const end = applyRecords(engine, block, visitor, draw)
        const diverged = end?.isBetween === true ? undefined : divergence(engine, block)
        if (diverged !== undefined) return Effect.fail(diverged)
        if (end === undefined) visitor.block(block)
        return Effect.succeed(end)
      }),
      Stream.filter((end) => end !== undefined),
      Stream.runHead
    )
    engine.state.events.clear()
    return Option.isSome(ended) ? ended.value.drawn : draw(engine)
  })

/** Where the records that were wanted end. */
interface End<A> {
  readonly drawn: A
  /** Whether that is between two blocks, and not within one. */
  readonly isBetween: boolean
}

/** Applies a block's records, unless none of them is wanted. Returns where the wanted ones end; undefined where all of them are wanted. */
const applyRecords = <A>(engine: Engine, block: Block.Block, visitor: Visitor, draw: (engine: Engine) => A): End<A> | undefined => {
  const { events } = engine.state
  events.clear()
  for (const [index, record] of block.records.entries()) {
    if (!visitor.wants(record)) {
      const drawn = draw(engine)
      if (index > 0) { for (const unseen of block.records.slice(index)) runRecord(engine, unseen) }
      return { drawn, isBetween: index === 0 }
    }
    visitor.before?.(engine, record)
    const from = events.length
    const outcome = engine.apply(record.command, record.sequence, record.atEpochMs)
    const to = events.length
    visitor.applied(engine, record, outcome, () => decode(events.words, from, to))
  }
  return undefined
}
