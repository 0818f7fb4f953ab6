/** Adds a market to the account's favorites, or removes it. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const SetFavorite = declare({
  kind: "SetFavorite",
  code: 41,
  label: "favorite",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { addFavorite: { code: 54, lookup: null }, removeFavorite: { code: 55, lookup: null } },
  fields: {
    market: Field.numberOf("market"),
    isFavorite: Field.flag
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type SetFavorite = CommandOf<typeof SetFavorite>
