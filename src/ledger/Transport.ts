/** Carries requests to a ledger's JSON API, and its answers back. */
import type * as Effect from "effect/Effect"

export interface Question {
  readonly method: "GET" | "POST"
  readonly path: string
  /** Query parameters, by name. */
  readonly query?: Readonly<Record<string, string>>
  /** JSON. */
  readonly body?: unknown
}

export interface Reply {
  readonly status: number
  /** JSON, or the text where the answer is not JSON. */
  readonly body: unknown
}

/** The request was certainly not sent. */
export class Unsent {
  readonly _tag = "Unsent"
  constructor(readonly cause: string) {}
}

/** The request may have arrived; there was no answer, or none that could be read. */
export class Lost {
  readonly _tag = "Lost"
  constructor(readonly cause: string) {}
}

export type Transport = (question: Question) => Effect.Effect<Reply, Unsent | Lost>
