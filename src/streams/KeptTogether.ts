/**
 * The common limit on what all account streams keep. Each has its own limit, but there may be very many of them: when the total is
 * exceeded, the streams that keep most drop their oldest updates, so that a few busy accounts take nothing from the many that keep
 * little. The choice depends only on what was appended, and needs no search.
 */
import type { Frame } from "./Frame.js"

/** What keeps updates, and can let go of the oldest of them. */
export interface Keeper {
  readonly forgetOldest: () => void
}

/** Streams are grouped by the bytes they keep, in classes of this size; the last class has no upper limit. */
const classBytes = 4 * 1024
const classes = 256

const classOf = (bytes: number): number => Math.min(classes - 1, Math.floor(bytes / classBytes))

/** An update's frame for recipients that have the previous update. */
interface Made {
  readonly update: object
  readonly previousSequence: number
  readonly frame: Frame
}

export class KeptTogether {
  private sum = 0
  /** Streams that keep anything, by class; within a class in the order in which they reached it. */
  private readonly byClass = Array.from({ length: classes }, () => new Set<Keeper>())
  /** The highest class that may have members. */
  private fullest = 0
  private made: Made | undefined = undefined

  /** @param most limit in bytes for all streams together */
  constructor(private readonly most: number) {}

  /** Bytes that all of them keep. */
  get bytes(): number {
    return this.sum
  }

  /** Notes that a stream keeps more or less than before. */
  changed(keeper: Keeper, before: number, after: number): void {
    this.sum += after - before
    if (before > 0 && after > 0 && classOf(before) === classOf(after)) return
    if (before > 0) this.byClass[classOf(before)]!.delete(keeper)
    if (after === 0) return
    this.byClass[classOf(after)]!.add(keeper)
    this.fullest = Math.max(this.fullest, classOf(after))
  }

  /** Drops the oldest updates of the largest streams until the total is within the limit. */
  makeRoom(): void {
    while (this.sum > this.most) {
      while (this.byClass[this.fullest]!.size === 0) this.fullest--
      this.byClass[this.fullest]!.values().next().value!.forgetOldest()
    }
  }

  /**
   * An update's frame, shared by all recipients in a row. Only the latest one is cached: account updates go to few recipients, and
   * a frame kept with every update would hold its text twice more, plain and encoded.
   */
  frame(update: object, previousSequence: number, make: () => Frame): Frame {
    const { made } = this
    if (made?.update === update && made.previousSequence === previousSequence) return made.frame
    const frame = make()
    this.made = { update, previousSequence, frame }
    return frame
  }
}
