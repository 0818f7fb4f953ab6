/** All deciders, one for each kind: an operation without one does not compile. */
import type { Command, CommandOfKind, EntryOutcome, Kind } from "../operations/Operations.js"
import type { Refusal } from "../domain/Refusal.js"
import * as Accounts from "./accounts/Deciding.js"
import type { Decider } from "./Decider.js"
import * as Funds from "./funds/Deciding.js"
import * as Identity from "./identity/Deciding.js"
import * as Markets from "./markets/Deciding.js"
import * as Orders from "./orders/Deciding.js"
import type { State } from "./State.js"
import * as Venue from "./venue/Deciding.js"

const deciders: { readonly [K in Kind]: Decider<K> } = {
  ...Orders.deciders,
  ...Markets.deciders,
  ...Accounts.deciders,
  ...Identity.deciders,
  ...Funds.deciders,
  ...Venue.deciders
}

/** The decider of a command, as one that takes any: its kind has chosen it. */
const deciderOf = <K extends Kind>(command: CommandOfKind<K>): Decider<K> => deciders[command.kind as K] as Decider<K>

/** What refuses a command for want of room in its capability's tables, or the like. */
export const admitBy = (state: State, command: Command, atEpochMs: number): Refusal => {
  // The two that nearly all commands are are called where they stand: so the compiler can take them in.
  if (command.kind === "PlaceOrders") return Orders.deciders.PlaceOrders.admit(state, command, atEpochMs)
  if (command.kind === "CancelOrders") return Orders.deciders.CancelOrders.admit(state, command, atEpochMs)
  return deciderOf(command).admit(state, command as never, atEpochMs)
}

/** Decides a command under the record that the state stands at. */
export const decide = (state: State, command: Command): ReadonlyArray<EntryOutcome> => {
  if (command.kind === "PlaceOrders") return Orders.deciders.PlaceOrders.decide(state, command)
  if (command.kind === "CancelOrders") return Orders.deciders.CancelOrders.decide(state, command)
  return deciderOf(command).decide(state, command as never) as ReadonlyArray<EntryOutcome>
}
