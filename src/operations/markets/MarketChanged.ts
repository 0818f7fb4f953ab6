/**
 * A command about a market was done. Parameters that were announced tell when they take effect, and how many holders would
 * have been under their margins at once, -1 where these were too many to be counted with the record; everything else 0.
 */
import * as Field from "../Field.js"
import { declare, type OutcomeOf } from "../Outcome.js"

export const MarketChanged = declare("MarketChanged", 5, {
  market: Field.numberOf("market"),
  effectiveAtEpochMs: Field.whole("epoch_ms"),
  underInitialMargin: Field.whole("count"),
  underMaintenanceMargin: Field.whole("count")
})
export type MarketChanged = OutcomeOf<"MarketChanged", typeof MarketChanged.fields>
