/** The parts of the state, in the order in which a snapshot restores them. The type requires one for every capability. */
import type { Capability } from "../operations/Operations.js"
import * as Accounts from "./accounts/Part.js"
import * as Funds from "./funds/Part.js"
import * as Identity from "./identity/Part.js"
import * as Markets from "./markets/Part.js"
import * as Orders from "./orders/Part.js"
import type { Part } from "./Part.js"
import * as Venue from "./venue/Part.js"

const byCapability: { readonly [C in Capability]: Part } = {
  venue: Venue.part,
  markets: Markets.part,
  accounts: Accounts.part,
  identity: Identity.part,
  funds: Funds.part,
  orders: Orders.part
}

export const parts: ReadonlyArray<Part> = Object.values(byCapability)
