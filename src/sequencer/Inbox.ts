/**
 * The bounded queue in front of the writer. A share is kept for commands that only take risk away and for
 * the operator, so that cancels are served when placements already are not.
 */
import { type Command, shareOf } from "../operations/Operations.js"
import type { Answer } from "./Submit.js"

export interface Bounds {
  /** Commands that may wait. */
  readonly capacity: number
  /** How many of them placements may not take. */
  readonly reserved: number
}

export const defaultBounds: Bounds = { capacity: 8192, reserved: 2048 }

export interface Waiting {
  readonly command: Command
  readonly answer: Answer
}

export class Inbox {
  private readonly ring: Array<Waiting | undefined>
  private head = 0
  private count = 0

  constructor(readonly bounds: Bounds) {
    this.ring = new Array<Waiting | undefined>(bounds.capacity).fill(undefined)
  }

  get depth(): number {
    return this.count
  }

  /** Takes a command in, unless its share of the queue is full. */
  offer(waiting: Waiting): boolean {
    const privileged = shareOf(waiting.command) !== "placement"
    if (this.count >= (privileged ? this.bounds.capacity : this.bounds.capacity - this.bounds.reserved)) return false
    this.ring[(this.head + this.count) % this.ring.length] = waiting
    this.count++
    return true
  }

  /** The command that has waited longest. */
  take(): Waiting | undefined {
    if (this.count === 0) return undefined
    const waiting = this.ring[this.head]
    this.ring[this.head] = undefined
    this.head = (this.head + 1) % this.ring.length
    this.count--
    return waiting
  }
}
