/** A command about a market was done. */
import * as Field from "../Field.js"
import { declare, type OutcomeOf } from "../Outcome.js"

export const MarketChanged = declare("MarketChanged", 5, { market: Field.numberOf("market") })
export type MarketChanged = OutcomeOf<"MarketChanged", typeof MarketChanged.fields>
