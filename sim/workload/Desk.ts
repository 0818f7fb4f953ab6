/** Where clients make their calls, and what they know and are told there. */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer, Call } from "../properties/Observation.js"
import type { SimTime } from "../world/SimTime.js"
import type { Draft, Identity } from "./Calls.js"

export interface Desk {
  readonly time: SimTime
  readonly model: NaiveVenue
  /** Sends a call; tells its last answer, or undefined if it was given up. */
  readonly issue: (draft: Draft, settled: (answer: Answer | undefined) => void) => Call
  /** Whether clients may still begin something new. */
  readonly isOpen: () => boolean
}

export interface OperatorsDesk extends Desk {
  /** What the venue's own clock shows, which may have been set; the true time while there is no process. */
  readonly venueEpochMs: () => number
  /** Traders, by the keys that they were opened with. */
  readonly traders: () => ReadonlyArray<Identity>
}
