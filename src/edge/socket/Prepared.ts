/**
 * How much snapshots take that were made and wait to be durable, over all connections. One that many wait for is the same frame for all of
 * them, and counts once. Beyond the bound no more are made until the disk answers. Nobody is closed for it: it is the disk that is slow.
 */
import type { Frame } from "../../streams/Frame.js"

export class Prepared {
  /** By frame, how many subscriptions wait with it. */
  private readonly waiting = new Map<Frame, number>()
  private sum = 0

  /** @param mostCharacters of frames that wait, after which no more are begun */
  constructor(private readonly mostCharacters: number) {}

  /** Characters of all that wait. */
  get characters(): number {
    return this.sum
  }

  /** Whether no more may be made now. */
  get isFull(): boolean {
    return this.sum > this.mostCharacters
  }

  /** One subscription more waits with a frame. */
  add(frame: Frame): void {
    const before = this.waiting.get(frame) ?? 0
    if (before === 0) this.sum += frame.text.length
    this.waiting.set(frame, before + 1)
  }

  /** One that waited with a frame does no longer. */
  remove(frame: Frame): void {
    const left = this.waiting.get(frame)! - 1
    if (left > 0) return void this.waiting.set(frame, left)
    this.waiting.delete(frame)
    this.sum -= frame.text.length
  }
}
