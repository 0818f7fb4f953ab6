/**
 * A command about a market was carried out. For announced parameters it gives the effective time, and how many holders would now
 * fall below their margins, -1 where these were too many to count in the record; otherwise everything is 0.
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
