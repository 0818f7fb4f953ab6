/** Moves collected fees into the insurance fund, ordered by an operator. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const AddToFund = declare({
  kind: "AddToFund",
  code: 25,
  label: "addition to the insurance fund",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { addToFund: { code: 30, lookup: null } },
  fields: {
    amountAtoms: Field.whole("money_atoms")
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: Done
})
export type AddToFund = CommandOf<typeof AddToFund>
