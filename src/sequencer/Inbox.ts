/**
 * The bounded queue in front of the writer. A share is kept for commands that only take risk away and for the operator,
 * so that they are served when placements already are not, and they are taken first: a cancel does not wait behind
 * what others want to place.
 *
 * An account's own commands keep their order. What takes risk away therefore waits in the line of the placements as long
 * as a command of its account does; so it cannot cancel an order that its account asked for before and that is not there yet.
 *
 * What ends a key, a session or a ticket is the exception: it waits for no placement at all, its own account's neither, since those
 * may be by just what is to end. Cancels that came before it are taken before it, but for those that wait behind a placement of their
 * account: who may act no more is not to place first what he would cancel then.
 *
 * The order in which commands are taken is the order in which they are decided and journaled.
 */
import type { Reached } from "../domain/Marks.js"
import { none } from "../domain/None.js"
import type { ShownTicket } from "../engine/Reads.js"
import { type Command, shareOf } from "../operations/Operations.js"
import type { Answer } from "./Submit.js"

export interface Bounds {
  /** Commands that may wait. */
  readonly capacity: number
  /** How many of them placements may not take. */
  readonly reserved: number
}

export const defaultBounds: Bounds = { capacity: 8192, reserved: 2048 }

/** How many may be taken out of the first line in a row while others wait: so many cancels hold placements up, and never stop them. */
export const firstInARow = 15

export interface Waiting {
  readonly command: Command
  readonly answer: Answer
  /** The ticket that it came by; undefined where it came by none. */
  readonly shown?: ShownTicket | undefined
  /** When it came, by the clock that its turn is told by. */
  readonly offeredAtNanos: number
}

/** First in, first out, in a ring of fixed size. */
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
  /** What only takes risk away, what ends authority, the operator's and the venue's own commands. */
  private readonly first: Line
  /** Placements, and what their accounts sent behind them. */
  private readonly rest: Line
  /** How many commands of an account wait in `rest`; accounts without any are left out. */
  private readonly behind = new Map<number, number>()
  /** How many were taken out of `first` since one was taken out of `rest`. */
  private inARow = 0
  /** How many that end authority wait in `first`: as long as any does, nothing is taken out of `rest`. */
  private revocations = 0

  constructor(readonly bounds: Bounds, private readonly reached?: Reached) {
    this.first = new Line(bounds.capacity, reached)
    this.rest = new Line(bounds.capacity, reached)
  }

  get depth(): number {
    return this.first.count + this.rest.count
  }

  /** Takes a command in, unless its share of the queue is full. */
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

  /** The command whose turn it is: the one that has waited longest in its line. */
  take(): Waiting | undefined {
    const isTurnOfRest = this.first.count === 0 || (this.inARow >= firstInARow && this.revocations === 0)
    if (this.rest.count > 0 && isTurnOfRest) return this.takeRest()
    // Nobody was held up while nobody waited.
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
