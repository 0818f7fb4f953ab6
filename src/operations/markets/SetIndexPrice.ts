/** An index price from the feed or an operator. A market's first one is its mark until its first tick. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { MarketChanged } from "./MarketChanged.js"

export const SetIndexPrice = declare({
  kind: "SetIndexPrice",
  code: 6,
  label: "index price",
  principals: [Principal.feed, Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { setIndexPrice: { code: 22, lookup: null } },
  fields: {
    market: Field.numberOf("market"),
    priceAtoms: Field.whole("price_atoms"),
    /** When the source saw it; 0: at the record's time. */
    sourceEpochMs: Field.whole("epoch_ms")
  },
  // A price from the feed is not remembered, so a full table does not stop the mark from following it.
  share: (command) => command.principal === Principal.feed ? "venue" : "operator",
  keeps: "every decision",
  outcome: MarketChanged
})
export type SetIndexPrice = CommandOf<typeof SetIndexPrice>
