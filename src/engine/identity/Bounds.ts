/**
 * Limits on what is kept of passkeys, sessions, API keys, security events, pending grants and realtime tickets, and for how long.
 */

export interface IdentityBounds {
  /** Most passkeys of an account. */
  readonly passkeys: number
  /** Most sessions of an account: opening another one ends the oldest. */
  readonly sessions: number
  /** Most API keys of an account that may act at one time, including those of its bots. */
  readonly keys: number
  /** Most ended API keys kept for an account: the most recently issued ones stay. */
  readonly endedKeys: number
  /** How long a key is kept once it has ended, milliseconds. */
  readonly endedKeysMs: number
  /** Security events kept for an account: the latest. */
  readonly events: number
  /** Of these, most events of one frequent kind, so that such a kind cannot push out the others. */
  readonly frequentEvents: number
  /** Most security events kept in all. */
  readonly eventsInAll: number
  /** Most pending grants, in all and of one account. A grant lapses at the latest ten minutes after its agent asked. */
  readonly grants: number
  readonly grantsOfAccount: number
  /**
   * Most ticket families in all, and most live ones of one key. A family lapses at the latest five minutes after its last rotation.
   */
  readonly families: number
  readonly familiesOfKey: number
  /** An account may take at most one in this many of the free families; 0 for no limit of its own. */
  readonly familyParts: number
}

/** The defaults of a venue. */
export const bounds: IdentityBounds = {
  passkeys: 16,
  sessions: 32,
  keys: 64,
  endedKeys: 128,
  endedKeysMs: 30 * 24 * 60 * 60 * 1000,
  events: 256,
  frequentEvents: 16,
  eventsInAll: 262_144,
  grants: 65_536,
  grantsOfAccount: 16,
  families: 65_536,
  familiesOfKey: 64,
  familyParts: 64
}
