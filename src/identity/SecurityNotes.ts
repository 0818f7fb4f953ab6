/**
 * Limits how many security notes (failures, new addresses) are journaled for an account, so that repeated attempts cannot fill the journal.
 */
import { ofAccounts, type Windows } from "./RateLimits.js"

/** Most notes of an account within a minute. */
const mostNotes = 10

/** Counts notes by account. */
export const make = (): Windows => ofAccounts(mostNotes)
