/** Bounds that several parts of a venue share, so that none of them reaches its limit before the others. */

/** Most accounts that a venue may have: every table has a bound. The venue's signer holds keys for as many. */
export const maxAccounts = 1_000_000
