/** Bounds that several parts of a venue hold to, so that none of them is met before the others. */

/** Most accounts a venue may have: everything that grows has a bound. Its signer has keys for as many. */
export const maxAccounts = 1_000_000
