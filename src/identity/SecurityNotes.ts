/** How often an account's failed sign-ins are journaled: whoever tries a passkey again and again fills nobody's journal. */

/** Notes of an account within a minute, at most. */
const mostNotes = 10
const windowMs = 60_000
/** Accounts that are counted at one time; beyond that the oldest count is dropped. */
const mostCounted = 16_384

export class SecurityNotes {
  private readonly counted = new Map<number, { sinceEpochMs: number; count: number }>()

  /** Counts a note of an account, and whether it may be journaled. */
  may(account: number, atEpochMs: number): boolean {
    const found = this.counted.get(account)
    if (found !== undefined && atEpochMs - found.sinceEpochMs < windowMs) return ++found.count <= mostNotes
    this.counted.delete(account)
    if (this.counted.size >= mostCounted) this.counted.delete(this.counted.keys().next().value!)
    this.counted.set(account, { sinceEpochMs: atEpochMs, count: 1 })
    return true
  }
}
