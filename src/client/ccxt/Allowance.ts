/**
 * How many requests the venue still accepts from one credential or address, according to its answers. A request waits only where nothing is
 * left until the window ends: everything that the venue allows is sent at once.
 */
import type { Dict } from "ccxt"

/** The length of the rate limit's window, in milliseconds: it begins with the first request, and does not slide. */
const windowMs = 60_000

/** Window ends further apart than this belong to different windows: answers give the end in whole seconds, and take time to arrive. */
const sameWindowMs = 5_000

/** A number from a header, whose name is matched without regard to case. */
const numberOf = (headers: Dict, wanted: string): number | undefined => {
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
  const value = Number(found)
  return found === undefined || !Number.isFinite(value) || value < 0 ? undefined : value
}

export class Allowance {
  private limit: number | undefined = undefined
  private remaining = 0
  private endsAtEpochMs = 0
  /** Whether the window's end is only estimated, from the time at which its first request was sent. */
  private isExpected = false

  /** Milliseconds between two requests where they are spread evenly over a window; undefined before the first answer. */
  get intervalMs(): number | undefined {
    return this.limit === undefined || this.limit === 0 ? undefined : windowMs / this.limit
  }

  /**
   * Takes over the rate limit headers of an answer. Within a window the smallest remainder counts, since answers may arrive out of order;
   * so does the earliest end, since whole seconds are rounded up and therefore never too early.
   */
  hear(headers: Dict, nowEpochMs: number): void {
    const limit = numberOf(headers, "ratelimit-limit")
    const remaining = numberOf(headers, "ratelimit-remaining")
    const resetSeconds = numberOf(headers, "ratelimit-reset")
    if (limit === undefined || remaining === undefined || resetSeconds === undefined) return
    this.forgetIfSetBack(nowEpochMs)
    const endsAtEpochMs = nowEpochMs + resetSeconds * 1000
    const isSameWindow = this.limit !== undefined && Math.abs(endsAtEpochMs - this.endsAtEpochMs) < sameWindowMs
    // A delayed answer that refers to a window that is over.
    if (!isSameWindow && endsAtEpochMs < this.endsAtEpochMs) return
    this.remaining = isSameWindow ? Math.min(this.remaining, remaining) : remaining
    this.endsAtEpochMs = isSameWindow && !this.isExpected ? Math.min(this.endsAtEpochMs, endsAtEpochMs) : endsAtEpochMs
    this.isExpected = false
    this.limit = limit
  }

  /** Counts a request that is about to be sent and returns 0; or returns how long to wait before trying again, in milliseconds. */
  take(nowEpochMs: number): number {
    if (this.limit === undefined) return 0
    const waitMs = this.waitMs(nowEpochMs)
    if (waitMs > 0) return waitMs
    if (nowEpochMs >= this.endsAtEpochMs) {
      this.remaining = this.limit
      this.endsAtEpochMs = nowEpochMs + windowMs
      this.isExpected = true
    }
    this.remaining--
    return 0
  }

  /** How long the next request would have to wait, in milliseconds. */
  waitMs(nowEpochMs: number): number {
    this.forgetIfSetBack(nowEpochMs)
    return this.limit !== undefined && this.limit > 0 && this.remaining <= 0 ? Math.max(0, this.endsAtEpochMs - nowEpochMs) : 0
  }

  /** No window can end this late, so the clock was set back and the end is no longer known. */
  private forgetIfSetBack(nowEpochMs: number): void {
    if (this.endsAtEpochMs - nowEpochMs > windowMs + sameWindowMs) this.endsAtEpochMs = nowEpochMs
  }

  /** Counts a request that is sent regardless of the limit. */
  pass(): void {
    this.remaining = Math.max(0, this.remaining - 1)
  }
}
