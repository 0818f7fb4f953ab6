/** The deciders of all kinds of commands: a kind without one does not compile. */
import type { Command, CommandOfKind, EntryOutcome, Kind } from "../operations/Operations.js"
import type { Refusal } from "../domain/Refusal.js"
import * as Accounts from "./accounts/Deciding.js"
import type { Decider, RefusedFor } from "./Decider.js"
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

/** The decider for a command's kind, typed so that it takes the command. */
const deciderOf = <K extends Kind>(command: CommandOfKind<K>): Decider<K> => deciders[command.kind as K] as Decider<K>

/** What the capability refuses without a record, for example because its tables are full. */
export const admitBy = (state: State, command: Command, atEpochMs: number): Refusal | RefusedFor => {
  // The two most frequent kinds are called directly, so that the compiler can inline them.
  if (command.kind === "PlaceOrders") return Orders.deciders.PlaceOrders.admit(state, command, atEpochMs)
  if (command.kind === "CancelOrders") return Orders.deciders.CancelOrders.admit(state, command, atEpochMs)
  return deciderOf(command).admit(state, command as never, atEpochMs)
}

/** Decides a command in the current record. */
export const decide = (state: State, command: Command): ReadonlyArray<EntryOutcome> => {
  if (command.kind === "PlaceOrders") return Orders.deciders.PlaceOrders.decide(state, command)
  if (command.kind === "CancelOrders") return Orders.deciders.CancelOrders.decide(state, command)
  return deciderOf(command).decide(state, command as never) as ReadonlyArray<EntryOutcome>
}
