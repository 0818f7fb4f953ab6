/**
 * How many requests the venue still takes from one credential or address, by what its answers say of it. A request waits only
 * where nothing is left until the window ends: whatever the venue allows goes out at once.
 */
import type { Dict } from "ccxt"

/** How long a window of requests lasts: the venue begins it with the first request, and does not roll it. */
const windowMs = 60_000

/** Two ends further apart than this are those of two windows: answers tell theirs in whole seconds, and travel. */
const sameWindowMs = 5_000

/** A number from a header, whatever the case of its name. */
const numberOf = (headers: Dict, wanted: string): number | undefined => {
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
  const value = Number(found)
  return found === undefined || !Number.isFinite(value) || value < 0 ? undefined : value
}

export class Allowance {
  private limit: number | undefined = undefined
  private remaining = 0
  private endsAtEpochMs = 0
  /** Whether the window's end is only expected, by when its first request was sent. */
  private isExpected = false

  /** Milliseconds between two requests where they are spread evenly over a window; undefined before the first answer. */
  get intervalMs(): number | undefined {
    return this.limit === undefined || this.limit === 0 ? undefined : windowMs / this.limit
  }

  /**
   * Takes what an answer says. The least that was heard of one window holds, answers overtake one another; and so does the earliest
   * end, since what is told in whole seconds, upwards, is never too early.
   */
  hear(headers: Dict, nowEpochMs: number): void {
    const limit = numberOf(headers, "ratelimit-limit")
    const remaining = numberOf(headers, "ratelimit-remaining")
    const resetSeconds = numberOf(headers, "ratelimit-reset")
    if (limit === undefined || remaining === undefined || resetSeconds === undefined) return
    this.forgetIfSetBack(nowEpochMs)
    const endsAtEpochMs = nowEpochMs + resetSeconds * 1000
    const isSameWindow = this.limit !== undefined && Math.abs(endsAtEpochMs - this.endsAtEpochMs) < sameWindowMs
    // An answer that was long under way speaks of a window that is over.
    if (!isSameWindow && endsAtEpochMs < this.endsAtEpochMs) return
    this.remaining = isSameWindow ? Math.min(this.remaining, remaining) : remaining
    this.endsAtEpochMs = isSameWindow && !this.isExpected ? Math.min(this.endsAtEpochMs, endsAtEpochMs) : endsAtEpochMs
    this.isExpected = false
    this.limit = limit
  }

  /** Counts a request that is about to be sent, and tells 0; or tells how long it has to wait before it asks again. */
  take(nowEpochMs: number): number {
    if (this.limit === undefined) return 0
    this.forgetIfSetBack(nowEpochMs)
    if (nowEpochMs >= this.endsAtEpochMs) {
      this.remaining = this.limit
      this.endsAtEpochMs = nowEpochMs + windowMs
      this.isExpected = true
    }
    if (this.remaining <= 0 && this.limit > 0) return this.endsAtEpochMs - nowEpochMs
    this.remaining--
    return 0
  }

  /** No window ends so late: the clock was set back, and when this one ends is not known any more. */
  private forgetIfSetBack(nowEpochMs: number): void {
    if (this.endsAtEpochMs - nowEpochMs > windowMs + sameWindowMs) this.endsAtEpochMs = nowEpochMs
  }

  /** Counts a request that is sent whatever is left. */
  pass(): void {
    this.remaining = Math.max(0, this.remaining - 1)
  }
}
