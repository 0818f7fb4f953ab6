/**
 * The number for a missing thing, wherever things are referred to by number: in rows and links of tables, in reads, and in the fields of
 * commands, which are journaled.
 */

/** No order, account, key, market, position or slot. */
export const none = -1

/** Any market: in a command that names none, and in a read that is not narrowed to one. */
export const anyMarket = -2
