/** How a question gets to a ledger that speaks JSON, and its answer back. */
import type * as Effect from "effect/Effect"

export interface Question {
  readonly method: "GET" | "POST"
  readonly path: string
  /** What stands behind the path, by name. */
  readonly query?: Readonly<Record<string, string>>
  /** JSON. */
  readonly body?: unknown
}

export interface Reply {
  readonly status: number
  /** JSON, or the text where it is none. */
  readonly body: unknown
}

/** The question certainly never left. */
export class Unsent {
  readonly _tag = "Unsent"
  constructor(readonly cause: string) {}
}

/** The question may have arrived; there is no answer, or none that could be read. */
export class Lost {
  readonly _tag = "Lost"
  constructor(readonly cause: string) {}
}

export type Transport = (question: Question) => Effect.Effect<Reply, Unsent | Lost>
