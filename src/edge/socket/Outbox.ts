/**
 * Frames waiting for one client, in order. Answers and stream updates leave together while the client keeps up; for a slow client,
 * stream updates wait here rather than in the connection, so that they can still be withdrawn and answers can overtake them.
 */
import type { Frame } from "../../streams/Frame.js"
import type { Peer } from "../http/Listener.js"

/** A stream whose frames are sent to the client. */
export interface Teller {
  readonly isOfAccount: boolean
  /** Whether it has been unsubscribed: its waiting frames are dropped. */
  readonly isEnded: boolean
  /** A frame has been sent, after which the client has the stream up to a sequence; undefined: what it had before is invalid. */
  readonly gave: (through: number | undefined) => void
}

/** Frames, each with its stream, and the sequence up to which the client then has that stream. */
class Run {
  frames: Array<Frame> = []
  tellers: Array<Teller | undefined> = []
  throughs: Array<number | undefined> = []
  /** Total size in characters. */
  size = 0

  add(frame: Frame, teller: Teller | undefined, through: number | undefined): void {
    this.frames.push(frame)
    this.tellers.push(teller)
    this.throughs.push(through)
    this.size += frame.text.length
  }

  /** Removes frames of about the given size from the front, at least one. */
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

  /** The frames for whose streams `holds` is true. */
  filtered(holds: (teller: Teller | undefined) => boolean): Run {
    const some = new Run()
    for (let at = 0; at < this.frames.length; at++) {
      if (holds(this.tellers[at])) some.add(this.frames[at]!, this.tellers[at], this.throughs[at])
    }
    return some
  }

  /** Hands all frames to the connection. */
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
  /** Frames added since anything was last sent. */
  private fresh = new Run()
  /** Earlier stream updates that are held back because the client is slow. */
  private held = new Run()

  /** Characters waiting. */
  get size(): number {
    return this.fresh.size + this.held.size
  }

  /** Adds a frame; without a teller it is an answer. */
  add(frame: Frame, teller?: Teller, through?: number): void {
    this.fresh.add(frame, teller, through)
  }

  /** Drops the updates of account streams. */
  dropAccounts(): void {
    this.fresh = this.fresh.filtered(isPublic)
    this.held = this.held.filtered(isPublic)
  }

  /**
   * Sends what waits, normally in one write. While more than the given size is in the connection, only answers are sent; held
   * updates then follow piece by piece.
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
