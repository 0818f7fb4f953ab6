/** What is told of locks that are not taken. */

/** Who holds a lock, with what the system reveals of it. */
export const anotherProcess = (holder: string | undefined): string => `another process${holder === undefined ? "" : ` (${holder})`}`

/**
 * What is told of a lock's file with something in it, on which no lock can be taken: emptying it leaves whoever may hold the lock in its
 * hold, and removing it would not.
 */
export const lockSpoiled = "something was written to it, which is always empty: stop what writes there, empty it (truncate -s 0), and do "
  + "not remove it"
