/**
 * From when on a list is complete that the histories continue. Where an earlier version decided the journal's first records, and this
 * one cannot replay them, histories made anew begin behind them, and a list that ends there would look as if it were the account's first.
 */
import type { Services } from "./Call.js"
import * as Fields from "./Fields.js"

/** A member of such a list. */
export const CompleteSince = {
  completeSinceEpochMs: Fields.optional(Fields.EpochMs.annotations({
    description: "There only where the list may lack something from before this time, at which an upgrade has made the venue's histories "
      + "begin anew. What is later is complete, and so is everything where the member is missing."
  }))
}

interface Told {
  readonly completeSinceEpochMs?: number
}

const since = (epochMs: number | undefined): Told => epochMs === undefined || epochMs === 0 ? {} : { completeSinceEpochMs: epochMs }

type Reading = Pick<Services, "histories">

/** The member, of lists of anything but orders. `hasForgotten`: false where all that there ever was is remembered. */
export const completeSince = ({ histories }: Reading, hasForgotten = true): Told =>
  hasForgotten ? since(histories.beginning()?.atEpochMs) : {}

/** Of lists of orders, all of which may have been remembered when the histories began. */
export const ordersCompleteSince = ({ histories }: Reading): Told => since(histories.beginning()?.ordersSinceEpochMs)

/** The member in a text of JSON, after another one. */
export const memberOf = ({ completeSinceEpochMs }: Told): string =>
  completeSinceEpochMs === undefined ? "" : `,"completeSinceEpochMs":${completeSinceEpochMs}`
