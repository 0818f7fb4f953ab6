/**
 * What all streams of accounts keep, together. Each has a bound of its own, and there may be very many of them: where all keep more
 * than there is room for, those that keep most let go of their oldest updates, so that a few busy accounts take nothing from the
 * many that keep little. Which one it is follows from what was appended alone, and costs no look at all of them.
 */
import type { Frame } from "./Frame.js"

/** What keeps updates, and can let go of the oldest of them. */
export interface Keeper {
  readonly forgetOldest: () => void
}

/** Streams that keep about as much stand in one class: so many bytes are a class, and what keeps more than the last one stands in it. */
const classBytes = 4 * 1024
const classes = 256

const classOf = (bytes: number): number => Math.min(classes - 1, Math.floor(bytes / classBytes))

/** An update as it is sent to whoever has had the one before. */
interface Made {
  readonly update: object
  readonly previousSequence: number
  readonly frame: Frame
}

export class KeptTogether {
  private sum = 0
  /** Those that keep anything, by how much that is; in a class in the order in which they came to it. */
  private readonly byClass = Array.from({ length: classes }, () => new Set<Keeper>())
  /** No class behind it has any. */
  private fullest = 0
  private made: Made | undefined = undefined

  /** @param most bytes that all of them keep at most */
  constructor(private readonly most: number) {}

  /** Bytes that all of them keep. */
  get bytes(): number {
    return this.sum
  }

  /** One of them keeps more or less than before. */
  changed(keeper: Keeper, before: number, after: number): void {
    this.sum += after - before
    if (before > 0 && after > 0 && classOf(before) === classOf(after)) return
    if (before > 0) this.byClass[classOf(before)]!.delete(keeper)
    if (after === 0) return
    this.byClass[classOf(after)]!.add(keeper)
    this.fullest = Math.max(this.fullest, classOf(after))
  }

  /** Has the oldest updates of those that keep most let go of, until there is room for what is left. */
  makeRoom(): void {
    while (this.sum > this.most) {
      while (this.byClass[this.fullest]!.size === 0) this.fullest--
      this.byClass[this.fullest]!.values().next().value!.forgetOldest()
    }
  }

  /**
   * An update's frame, the same for all who are given it one after another. It is kept until the next one is made: what an account is
   * told goes to few, and kept with each update it would be the same text twice more, as it is and as the wire has it.
   */
  frame(update: object, previousSequence: number, make: () => Frame): Frame {
    const { made } = this
    if (made?.update === update && made.previousSequence === previousSequence) return made.frame
    const frame = make()
    this.made = { update, previousSequence, frame }
    return frame
  }
}
