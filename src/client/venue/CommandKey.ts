/** The key that a command is sent under, and what its age says of a venue that remembers nothing under it. */

export interface CommandKey {
  readonly idempotencyKey: string
  /** When it was made for this one call; undefined where the caller may have sent it before. */
  readonly madeAtEpochMs: number | undefined
}

/** What was decided is remembered for so long at least: the shortest retention that the venue can be set to. */
const shortestRetentionMs = 600_000

/**
 * Whether nothing that was decided under a key can be forgotten yet: what the venue does not remember was not decided then. An account
 * of which anything was ever forgotten has no other answer (`unknown_expired`) for what was never seen.
 */
export const isTooNewToForget = (madeAtEpochMs: number | undefined, nowEpochMs: number): boolean => {
  if (madeAtEpochMs === undefined) return false
  const ageMs = nowEpochMs - madeAtEpochMs
  return ageMs >= 0 && ageMs < shortestRetentionMs
}
