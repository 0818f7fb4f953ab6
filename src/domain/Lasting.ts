/** Expiry by a clock that may be set back. */

/**
 * Whether something that lasts `lastsMs` and expires at `expiresAtEpochMs` is still open. If by these figures it began later than now, the
 * clock has been set back since: it counts as expired too, since it would otherwise stay open for longer by as much.
 */
export const isOpen = (expiresAtEpochMs: number, lastsMs: number, atEpochMs: number): boolean =>
  expiresAtEpochMs > atEpochMs && expiresAtEpochMs <= atEpochMs + lastsMs
