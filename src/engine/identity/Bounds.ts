/** How much is kept of each account's passkeys, sessions, keys and security events, of what waits and of tickets, and for how long. */

export interface IdentityBounds {
  /** Most passkeys of an account. */
  readonly passkeys: number
  /** Most sessions of an account: with another one, the oldest ends. */
  readonly sessions: number
  /** Most API keys of an account that may act at one time, its bots' among them. */
  readonly keys: number
  /** API keys of an account that have ended and are kept, the latest that were issued. */
  readonly endedKeys: number
  /** How long a key is kept once it has ended, milliseconds. */
  readonly endedKeysMs: number
  /** Security events that are kept of an account, the latest. */
  readonly events: number
  /** Those of one kind that may come often: others are not pushed out by them. */
  readonly frequentEvents: number
  /** Most grants that wait, each until ten minutes after its agent asked at the latest: of all, and of one account. */
  readonly grants: number
  readonly grantsOfAccount: number
  /** Most families of tickets, each until five minutes after its last rotation at the latest: of all, and live ones of one key. */
  readonly families: number
  readonly familiesOfKey: number
  /** One account's families are at most one in so many of those that are free; 0: no bound of its own. */
  readonly familyParts: number
}

/** A venue's own. */
export const bounds: IdentityBounds = {
  passkeys: 16,
  sessions: 32,
  keys: 64,
  endedKeys: 128,
  endedKeysMs: 30 * 24 * 60 * 60 * 1000,
  events: 256,
  frequentEvents: 16,
  grants: 65_536,
  grantsOfAccount: 16,
  families: 65_536,
  familiesOfKey: 64,
  familyParts: 64
}
