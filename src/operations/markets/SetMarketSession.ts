/** A market's session and the times of its next changes, from its calendar. Only the venue itself sends it. */
import * as Session from "../../domain/Session.js"
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { MarketChanged } from "./MarketChanged.js"

export const SetMarketSession = declare({
  kind: "SetMarketSession",
  code: 21,
  label: "market session",
  principals: [Principal.timer],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {
    market: Field.numberOf("market"),
    state: Field.choice(Session.states),
    /** 0 for an unknown time. */
    nextOpenEpochMs: Field.whole("epoch_ms"),
    nextCloseEpochMs: Field.whole("epoch_ms"),
    riskIncreasingOrderCutoffEpochMs: Field.whole("epoch_ms")
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: MarketChanged
})
export type SetMarketSession = CommandOf<typeof SetMarketSession>
