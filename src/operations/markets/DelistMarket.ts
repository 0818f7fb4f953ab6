/** Delists a market at once, announces its delisting in place of an earlier announcement, or withdraws that. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { MarketChanged } from "./MarketChanged.js"

export const DelistMarket = declare({
  kind: "DelistMarket",
  code: 22,
  label: "delisting",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: {
    delistMarket: { code: 28, lookup: null },
    withdrawDelisting: { code: 29, lookup: null }
  },
  fields: {
    market: Field.numberOf("market"),
    action: Field.choice(["delist", "withdraw"]),
    /** When it takes effect; 0: at once. */
    effectiveAtEpochMs: Field.whole("epoch_ms")
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: MarketChanged
})
export type DelistMarket = CommandOf<typeof DelistMarket>
