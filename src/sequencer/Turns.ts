/**
 * The service that schedules the writer's next turn: after the pending input has been read, so that commands that arrive together
 * are decided together and made durable by one sync.
 */
import * as Context from "effect/Context"

export class Turns extends Context.Tag("venue/sequencer/Turns")<Turns, {
  /** Runs a turn soon, never before this returns. */
  readonly schedule: (turn: () => void) => void
}>() {}
