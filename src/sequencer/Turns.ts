/**
 * The leaf that says when the writer's next turn begins: after the input at hand has been taken in, so that
 * what arrived together is decided together and made durable by one sync.
 */
import * as Context from "effect/Context"

export class Turns extends Context.Tag("venue/sequencer/Turns")<Turns, {
  /** Runs a turn soon, never before this returns. */
  readonly schedule: (turn: () => void) => void
}>() {}
