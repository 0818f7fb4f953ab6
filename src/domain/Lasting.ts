/** What may be answered for a while, by a clock that may be set back. */

/**
 * Whether what lasts so long, until a time, may still be answered. What was asked for later than now is of before the clock was set back,
 * and is over as well: it would last longer by as much.
 */
export const isOpen = (expiresAtEpochMs: number, lastsMs: number, atEpochMs: number): boolean =>
  expiresAtEpochMs > atEpochMs && expiresAtEpochMs <= atEpochMs + lastsMs
