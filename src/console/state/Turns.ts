/**
 * Whether whoever asked is still there for the answer. What is asked takes its time, and meanwhile somebody may have signed out, another
 * have signed in, or the same have been asked again: an answer to what was asked before that is for nobody.
 */
import * as Failure from "./Failure.js"
import { hasFailed, type Result } from "./Failure.js"

/** Whether the turn in which something was asked still goes on; to be asked behind every wait. */
export type GoesOn = () => boolean

export class Turns {
  private turn = 0

  /** Whether the turn of this moment goes on. */
  get now(): GoesOn {
    const { turn } = this
    return () => turn === this.turn
  }

  /** Begins another turn, and so ends the one before. */
  next(): GoesOn {
    this.turn++
    return this.now
  }
}

/** What has come of a step, while somebody waits for it; otherwise a failure that nobody is told, so that no further step follows. */
export const heard = <A>(goesOn: GoesOn, result: Result<A>): Result<A> => hasFailed(result) || goesOn() ? result : { failure: Failure.left }
