/**
 * What stands for a thing that is not there, wherever things are known by their number: in rows and links of tables, in
 * reads, and in the fields of commands, which are journaled.
 */

/** No order, account, key, market, position or slot. */
export const none = -1

/** Whichever market: of a command that names none, and of a read that is not narrowed to one. */
export const anyMarket = -2
