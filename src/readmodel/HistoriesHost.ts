/**
 * The leaf that makes the histories somewhere else than beside the writer: in a venue in a thread of its own. Without one they are
 * made in the writer's thread, in between its turns.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Run } from "../sequencer/Feed.js"
import type { Histories, Options } from "./Histories.js"

/** What histories are made of, where that is done elsewhere: the journal itself is read there. */
export interface Source {
  readonly environment: string
  readonly options: Options
  readonly durableSequence: () => number
  /** Until a sequence is durable. */
  readonly reached: (sequence: number) => Effect.Effect<void>
  /** Durable blocks from the one that holds a sequence on, of about so many records, as they lie in memory; undefined where they do not. */
  readonly run: (sequence: number, records: number) => Run | undefined
  /** Is to be told how far the journal is durable, whenever that changes. */
  readonly listen: (committed: (lastSequence: number) => void) => void
}

export interface Host {
  /** Follows the journal with the scope that this is made in. */
  readonly make: (source: Source) => Effect.Effect<Histories["Type"], never, Scope.Scope>
}

export class HistoriesHost extends Context.Reference<HistoriesHost>()("venue/readmodel/HistoriesHost", {
  defaultValue: (): Host | undefined => undefined
}) {}
