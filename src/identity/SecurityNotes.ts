/**
 * Limits how many security notes (failures, new addresses) are journaled for an account, so that repeated attempts cannot fill the journal.
 */
import { minuteMs, Windows } from "./RateLimits.js"

/** Most notes of an account within a minute. */
const mostNotes = 10
/** Most accounts that have counts of their own; further accounts share `shared` counts. */
const counted = 16_384
const shared = 256

/** Counts notes by account. */
export const make = (): Windows => new Windows(mostNotes, minuteMs, counted, shared)
