/**
 * Sets the leverage that an account takes at most in a market: with it, exposure there needs at least its notional divided by
 * the leverage. Nobody needs less than the market asks for.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const SetLeverage = declare({
  kind: "SetLeverage",
  code: 19,
  label: "leverage",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "refused",
  keyScope: "account",
  whose: "sender",
  requests: { setLeverageV1: { code: 14, lookup: "set_leverage" } },
  fields: {
    /** -1 where the request named none that there is. */
    market: Field.numberOf("market"),
    leverageX: Field.whole("leverage")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type SetLeverage = CommandOf<typeof SetLeverage>
