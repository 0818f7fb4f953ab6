/**
 * Whether a caller is still waiting for an answer. By the time it arrives, the user may have signed out, another may have signed in, or the
 * same request may have been made again: answers to earlier requests are then ignored.
 */
import * as Failure from "./Failure.js"
import { hasFailed, type Result } from "./Failure.js"

/** Whether the turn in which a request was made is still current; to be checked after every wait. */
export type GoesOn = () => boolean

export class Turns {
  private turn = 0

  /** A check whether the present turn is still current. */
  get now(): GoesOn {
    const { turn } = this
    return () => turn === this.turn
  }

  /** Starts a new turn, which ends the previous one. */
  next(): GoesOn {
    this.turn++
    return this.now
  }
}

/** A step's result while somebody waits for it; otherwise a failure that is not shown, so that no further step follows. */
export const heard = <A>(goesOn: GoesOn, result: Result<A>): Result<A> => hasFailed(result) || goesOn() ? result : { failure: Failure.left }
