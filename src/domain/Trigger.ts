/** Prices that a trigger may watch. In commands, journal and engine they are small integers; clients see their names. */

/** The watched prices, by code. */
export const triggerPrices = ["mark", "last", "index"] as const
export const mark = 0
export const last = 1
export const index = 2
export type TriggerBy = 0 | 1 | 2
