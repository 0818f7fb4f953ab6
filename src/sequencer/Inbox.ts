/**
 * The bounded queue in front of the writer. A share of it is reserved for commands that only reduce risk and for the operator. They
 * are also taken first, so that they are served when placements are refused, and a cancellation does not wait behind other clients'
 * placements.
 *
 * Commands of one account keep their order. A command that reduces risk therefore waits in the queue of placements as long as its
 * account has a command there; otherwise it could cancel an order that was requested earlier and does not exist yet.
 *
 * Commands that end a key, a session or a ticket are the exception: they wait for no placement, not even of their own account,
 * since those may be authorised by the very credential that is to end. Earlier cancellations are taken before them, except those
 * that wait behind a placement of their account: somebody who loses access shall not be able to place first what would be cancelled
 * afterwards.
 *
 * The order in which commands are taken is the order in which they are decided and journaled.
 */
import type { Reached } from "../domain/Branches.js"
import { none } from "../domain/None.js"
import type { ShownTicket } from "../engine/Reads.js"
import { type Command, shareOf } from "../operations/Operations.js"
import type { Answer } from "./Submit.js"

export interface Bounds {
  /** Most commands that may wait. */
  readonly capacity: number
  /** How many of these places are not available to placements. */
  readonly reserved: number
}

export const defaultBounds: Bounds = { capacity: 8192, reserved: 2048 }

/**
 * Most commands taken from the first queue in a row while placements wait: many cancellations delay placements but never stop them.
 */
export const firstInARow = 15

export interface Waiting {
  readonly command: Command
  readonly answer: Answer
  /** The ticket that authorised the command; undefined where there was none. */
  readonly shown?: ShownTicket | undefined
  /** When it arrived, by the monotonic clock that measures waiting times. */
  readonly offeredAtNanos: number
}

/** A FIFO queue in a ring of fixed size. */
class Line {
  private readonly ring: Array<Waiting | undefined>
  private head = 0
  count = 0

  constructor(capacity: number, private readonly reached?: Reached) {
    this.ring = new Array<Waiting | undefined>(capacity).fill(undefined)
  }

  push(waiting: Waiting): void {
    this.ring[(this.head + this.count) % this.ring.length] = waiting
    this.count++
  }

  shift(): Waiting | undefined {
    const waiting = this.ring[this.head]
    if (waiting === undefined) return undefined
    this.ring[this.head] = undefined
    this.head = (this.head + 1) % this.ring.length
    if (this.head === 0) this.reached?.("the inbox wrapped")
    this.count--
    return waiting
  }
}

export class Inbox {
  /** Commands that reduce risk or end authority, and those of the operator and the venue. */
  private readonly first: Line
  /** Placements, and commands that their accounts sent after them. */
  private readonly rest: Line
  /** The number of commands of an account in `rest`; only accounts that have any. */
  private readonly behind = new Map<number, number>()
  /** Commands taken from `first` since the last one from `rest`. */
  private inARow = 0
  /** Commands in `first` that end authority: while there are any, nothing is taken from `rest`. */
  private revocations = 0

  constructor(readonly bounds: Bounds, private readonly reached?: Reached) {
    this.first = new Line(bounds.capacity, reached)
    this.rest = new Line(bounds.capacity, reached)
  }

  get depth(): number {
    return this.first.count + this.rest.count
  }

  /** Adds a command, unless its share of the queue is full. Returns whether it was added. */
  offer(waiting: Waiting): boolean {
    const { account } = waiting.command
    const share = shareOf(waiting.command)
    const privileged = share !== "placement"
    if (this.depth >= (privileged ? this.bounds.capacity : this.bounds.capacity - this.bounds.reserved)) {
      this.reached?.(privileged ? "the inbox was full" : "a placement found the inbox kept for others")
      return false
    }
    if (share === "revocation") {
      if (this.behind.has(account)) this.reached?.("a revocation went ahead of what its account had asked for")
      this.revocations++
      this.first.push(waiting)
      return true
    }
    if (privileged && !this.behind.has(account)) {
      this.first.push(waiting)
      return true
    }
    this.rest.push(waiting)
    if (account !== none) this.behind.set(account, (this.behind.get(account) ?? 0) + 1)
    return true
  }

  /** Takes the next command: the one that has waited longest in the queue whose turn it is. */
  take(): Waiting | undefined {
    const isTurnOfRest = this.first.count === 0 || (this.inARow >= firstInARow && this.revocations === 0)
    if (this.rest.count > 0 && isTurnOfRest) return this.takeRest()
    // Only turns in which a placement waited count.
    this.inARow = this.rest.count === 0 ? 0 : this.inARow + 1
    const waiting = this.first.shift()
    if (waiting !== undefined && shareOf(waiting.command) === "revocation") this.revocations--
    return waiting
  }

  private takeRest(): Waiting | undefined {
    this.inARow = 0
    const waiting = this.rest.shift()
    if (waiting === undefined) return undefined
    const { account } = waiting.command
    const left = (this.behind.get(account) ?? 0) - 1
    if (left > 0) this.behind.set(account, left)
    else this.behind.delete(account)
    return waiting
  }
}
