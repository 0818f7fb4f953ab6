/** Where clients make their calls, and what they know there. */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer, Call } from "../properties/Observation.js"
import type { SimTime } from "../world/SimTime.js"
import type { Draft, Identity } from "./Calls.js"

export interface Desk {
  readonly time: SimTime
  readonly model: NaiveVenue
  /** Sends a call; passes on its last answer, or undefined if it was given up. */
  readonly issue: (draft: Draft, settled: (answer: Answer | undefined) => void) => Call
  /** Whether clients may still begin new calls. */
  readonly isOpen: () => boolean
}

export interface OperatorsDesk extends Desk {
  /** The reading of the venue's clock, which may have been set; true time while there is no process. */
  readonly venueEpochMs: () => number
  /** Traders, with the keys that their accounts were opened with. */
  readonly traders: () => ReadonlyArray<Identity>
}
