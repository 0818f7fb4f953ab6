/** How often what failed for an account, or is new of it, is journaled: whoever tries again and again fills nobody's journal. */
import { minuteMs, Windows } from "./RateLimits.js"

/** Notes of an account within a minute, at most. */
const mostNotes = 10
/** Accounts that are counted each for itself at one time; more than these share some counts. */
const counted = 16_384
const shared = 256

/** Counts of notes by account. */
export const make = (): Windows => new Windows(mostNotes, minuteMs, counted, shared)
