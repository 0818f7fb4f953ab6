/**
 * Sets the greatest leverage of an account in a market: exposure there then requires at least its notional divided by the leverage,
 * and never less than the market requires.
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
    /** -1 where the requested one does not exist. */
    market: Field.numberOf("market"),
    leverageX: Field.whole("leverage")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type SetLeverage = CommandOf<typeof SetLeverage>
