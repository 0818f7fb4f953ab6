/** How many frames may be sent in a second, over one connection or several. */
import type { Platform } from "./Platform.js"

const secondMs = 1_000
/** Frames sent per second where the venue announces no limit. */
const modestPace = 10

export class Pace {
  private perSecond = modestPace
  /** When the frames of the last second were sent. */
  private sentAtEpochMs: Array<number> = []

  constructor(private readonly platform: Platform) {}

  /** Keeps to half of the venue's limit, since the venue's one-second windows may each overlap two of these. */
  keepTo(messagesPerSecond = 2 * modestPace): void {
    this.perSecond = Math.max(1, Math.floor(messagesPerSecond / 2))
  }

  hasTurn(): boolean {
    const nowEpochMs = this.platform.nowEpochMs()
    // After the clock was set back, counting starts anew.
    this.sentAtEpochMs = this.sentAtEpochMs.filter((atEpochMs) => atEpochMs <= nowEpochMs && nowEpochMs - atEpochMs < secondMs)
    return this.sentAtEpochMs.length < this.perSecond
  }

  /** Notes that a frame is sent. */
  sends(): void {
    this.sentAtEpochMs.push(this.platform.nowEpochMs())
  }

  /** How long to wait for a turn where there is none, in milliseconds. */
  get waitMs(): number {
    return Math.max(1, secondMs - (this.platform.nowEpochMs() - this.sentAtEpochMs[0]!))
  }
}
