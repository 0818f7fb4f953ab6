/** The key of a command, and what its age implies where the venue remembers nothing under it. */

export interface CommandKey {
  readonly idempotencyKey: string
  /** When it was created for this one call; undefined where the caller may have used it before. */
  readonly madeAtEpochMs: number | undefined
}

/** The shortest retention that a venue can be set to, in milliseconds: decisions are remembered at least this long. */
const shortestRetentionMs = 600_000

/**
 * Whether no decision under the key can have been forgotten yet, so that what the venue does not remember was not decided. Once anything of
 * an account has been forgotten, the venue answers `unknown_expired` for keys that it has never seen, too.
 */
export const isTooNewToForget = (madeAtEpochMs: number | undefined, nowEpochMs: number): boolean => {
  if (madeAtEpochMs === undefined) return false
  const ageMs = nowEpochMs - madeAtEpochMs
  return ageMs >= 0 && ageMs < shortestRetentionMs
}

/** The longest retention that a venue can be set to, in milliseconds: a key of the caller's is taken to be no older. */
const longestRetentionMs = 30 * 86_400_000

/**
 * Whether an order under a key of the caller's may have been placed although the venue does not find it: where it says that its orders
 * are complete only since a time (`completeSinceEpochMs`) at which the key may have been in use already.
 */
export const mayBeMissing = (completeSinceEpochMs: number | undefined, nowEpochMs: number): boolean =>
  completeSinceEpochMs !== undefined && completeSinceEpochMs > nowEpochMs - longestRetentionMs
