/** Moves a market to another status, along the moves that are allowed. */
import * as Market from "../../domain/Market.js"
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { MarketChanged } from "./MarketChanged.js"

export const SetMarketStatus = declare({
  kind: "SetMarketStatus",
  code: 5,
  label: "market status",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { setMarketStatus: { code: 21, lookup: null } },
  fields: {
    market: Field.numberOf("market"),
    status: Field.choice(Market.statuses)
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: MarketChanged
})
export type SetMarketStatus = CommandOf<typeof SetMarketStatus>
