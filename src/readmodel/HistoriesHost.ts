/**
 * The service that builds the histories away from the writer: in a venue in a thread of its own. Without it they are built in the
 * writer's thread, between its turns.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Run } from "../sequencer/Feed.js"
import type { Histories, Options } from "./Histories.js"

/** The source of histories that are built elsewhere, where the journal itself can be read. */
export interface Source {
  readonly environment: string
  readonly options: Options
  readonly durableSequence: () => number
  /** Waits until a sequence is durable. */
  readonly reached: (sequence: number) => Effect.Effect<void>
  /**
   * Durable blocks in memory from the one that contains a sequence on, of about `records` records; undefined where that one is not
   * in memory.
   */
  readonly run: (sequence: number, records: number) => Run | undefined
  /** Registers a callback for the durable end of the journal whenever that changes. */
  readonly listen: (committed: (lastSequence: number) => void) => void
}

export interface Host {
  /** Follows the journal with the scope that this is made in. */
  readonly make: (source: Source) => Effect.Effect<Histories["Type"], never, Scope.Scope>
}

export class HistoriesHost extends Context.Reference<HistoriesHost>()("venue/readmodel/HistoriesHost", {
  defaultValue: (): Host | undefined => undefined
}) {}
