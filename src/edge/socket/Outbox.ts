/**
 * What waits for one client, in order. Answers and what streams tell leave together while the client takes them; where it takes them
 * slowly, what streams tell waits here and not on the connection, so that it can still be taken back, and answers go past it.
 */
import type { Frame } from "../../streams/Frame.js"
import type { Peer } from "../http/Listener.js"

/** A stream as its frames leave for the client. */
export interface Teller {
  readonly isOfAccount: boolean
  /** Whether nobody wants any more of it: what still waits of it does not leave. */
  readonly isEnded: boolean
  /** A frame has left, by which the client has the stream up to a sequence; undefined: what it had before is no good any more. */
  readonly gave: (through: number | undefined) => void
}

/** Frames, each with the stream that it tells of, and the sequence up to which the client has that stream by it. */
class Run {
  frames: Array<Frame> = []
  tellers: Array<Teller | undefined> = []
  throughs: Array<number | undefined> = []
  /** Characters of all of them. */
  size = 0

  add(frame: Frame, teller: Teller | undefined, through: number | undefined): void {
    this.frames.push(frame)
    this.tellers.push(teller)
    this.throughs.push(through)
    this.size += frame.text.length
  }

  /** Takes out as many from the front as make up a size, at least one. */
  shift(size: number): Run {
    if (this.size <= size) {
      const all = new Run()
      ;[all.frames, this.frames] = [this.frames, all.frames]
      ;[all.tellers, this.tellers] = [this.tellers, all.tellers]
      ;[all.throughs, this.throughs] = [this.throughs, all.throughs]
      ;[all.size, this.size] = [this.size, all.size]
      return all
    }
    const front = new Run()
    let count = 0
    while (count < this.frames.length && front.size < size) front.size += this.frames[count++]!.text.length
    front.frames = this.frames.splice(0, count)
    front.tellers = this.tellers.splice(0, count)
    front.throughs = this.throughs.splice(0, count)
    this.size -= front.size
    return front
  }

  /** Those of which something holds. */
  filtered(holds: (teller: Teller | undefined) => boolean): Run {
    const some = new Run()
    for (let at = 0; at < this.frames.length; at++) {
      if (holds(this.tellers[at])) some.add(this.frames[at]!, this.tellers[at], this.throughs[at])
    }
    return some
  }

  /** Hands all of it to the connection. */
  leave(peer: Peer): void {
    if (this.frames.length === 0) return
    peer.send(this.frames)
    for (let at = 0; at < this.tellers.length; at++) this.tellers[at]?.gave(this.throughs[at])
  }
}

const isAnswer = (teller: Teller | undefined): boolean => teller === undefined
const isOfStream = (teller: Teller | undefined): boolean => teller !== undefined
const isWanted = (teller: Teller | undefined): boolean => teller?.isEnded !== true
const isPublic = (teller: Teller | undefined): boolean => teller?.isOfAccount !== true

export class Outbox {
  /** What came since anything left last. */
  private fresh = new Run()
  /** What streams told before, and the client was too slow for. */
  private held = new Run()

  /** Characters that wait. */
  get size(): number {
    return this.fresh.size + this.held.size
  }

  /** Takes a frame; without a teller it is an answer. */
  add(frame: Frame, teller?: Teller, through?: number): void {
    this.fresh.add(frame, teller, through)
  }

  /** Drops what accounts' streams told. */
  dropAccounts(): void {
    this.fresh = this.fresh.filtered(isPublic)
    this.held = this.held.filtered(isPublic)
  }

  /**
   * Hands over what waits: all of it in one write, as a rule. Where more than a size is on its way, only answers; what streams told is
   * then handed over piece by piece.
   */
  leave(peer: Peer, mostOnItsWay: number): void {
    const { fresh } = this
    if (this.held.size === 0) { while (fresh.size > 0 && peer.bufferedBytes() <= mostOnItsWay) fresh.shift(mostOnItsWay).leave(peer) }
    if (fresh.size > 0) {
      this.fresh = new Run()
      fresh.filtered(isAnswer).leave(peer)
      const { frames, tellers, throughs } = fresh.filtered(isOfStream)
      for (let at = 0; at < frames.length; at++) this.held.add(frames[at]!, tellers[at], throughs[at])
    }
    while (this.held.size > 0 && peer.bufferedBytes() <= mostOnItsWay) this.held.shift(mostOnItsWay).filtered(isWanted).leave(peer)
  }

  /** Drops all of it. */
  clear(): void {
    this.fresh = new Run()
    this.held = new Run()
  }
}
