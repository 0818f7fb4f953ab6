/**
 * Safety (I8). What the venue asks of the ledger and the signer rests on durable records: a crash may undo nothing for which a key was made, a
 * transaction prepared, or a signature given. A key is asked for an account that has requested a deposit or a change of party. A command is
 * prepared for a transfer that was requested, for a party that is bound to its account, and behind the step before it, which the ledger has
 * done. A transaction is signed that its owner has approved, or, where the venue withdraws its own offer, that was prepared.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { idOf } from "../model/Shown.js"
import * as Funds from "../reading/Funds.js"
import { type Asked, custody } from "../world/SimBank.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** What of a run is durable. */
interface State {
  /** Accounts that have requested what needs a key. */
  readonly requested: Set<string>
  /** The commands that may be prepared once another is done: the id of that, or the account whose party is to be accepted before. */
  readonly commands: Map<string, string | undefined>
  /** The accounts of commands that accept a party. */
  readonly acceptances: Map<string, string>
  /** Commands that the ledger has done, and accounts of which it has accepted a party. */
  readonly done: Set<string>
  /** Hashes of transactions that may be signed. */
  readonly signable: Set<string>
}

const idOfStep = (subject: string, step: string): string => Funds.commandIdOf(custody.environment, subject, step)

const deposited = ({ commands }: State, id: string, accountId: string): void => {
  const offer = idOfStep(id, "treasury_offer")
  commands.set(offer, accountId)
  for (const step of ["owner_offer_acceptance", "treasury_offer_withdrawal"]) commands.set(idOfStep(id, step), offer)
}

const committed = (state: State, { command, sequence }: Record, { accounts }: NaiveVenue): void => {
  const accountIdOf = (account: number): string => idOf("acc", accounts[account]!.born)
  switch (command.kind) {
    case "RequestDeposit":
      state.requested.add(accountIdOf(command.account))
      return deposited(state, Funds.idOf("deposit", sequence * 64), accountIdOf(command.account))
    case "RequestPartyChange":
      return void state.requested.add(accountIdOf(command.account))
    case "RequestWithdrawal":
      return void state.commands.set(idOfStep(Funds.idOf("withdrawal", sequence * 64), "treasury_withdrawal"), undefined)
    case "BindParty": {
      const accountId = accountIdOf(command.ofAccount)
      const commandId = idOfStep(command.transfer < 0 ? accountId : `${accountId}|${command.partyId}`, "owner_account_acceptance")
      state.commands.set(commandId, undefined)
      return void state.acceptances.set(commandId, accountId)
    }
    case "PrepareStep":
      if (command.step === "treasury_offer_withdrawal") state.signable.add(command.hash)
      return
    case "ApproveStep":
      return void state.signable.add(command.hash)
    case "NoteCompletion":
      if (command.outcome !== "accepted") return
      state.done.add(command.commandId)
      return void state.done.add(state.acceptances.get(command.commandId) ?? command.commandId)
  }
}

const asked = ({ commands, done, requested, signable }: State, { of, what }: Asked): Verdict => {
  switch (what) {
    case "key":
      return requested.has(of) ? holds : broken(`a key is made for ${of}, which no durable record requests anything for`)
    case "sign":
      return signable.has(of) ? holds : broken(`the transaction ${of} is signed, which no durable record approves`)
    case "prepare": {
      if (!commands.has(of)) return broken(`${of} is prepared, which no durable record requests`)
      const before = commands.get(of)
      return before === undefined || done.has(before) ? holds : broken(`${of} is prepared, and no durable record has ${before} done`)
    }
  }
}

export const restsOnDurable: Property<State> = {
  name: "ledger-and-signer-are-asked-for-what-is-durable",
  invariant: "I8",
  kind: "safety",
  initial: () => ({ requested: new Set(), commands: new Map(), acceptances: new Map(), done: new Set(), signable: new Set() }),
  observe: (state, seen) => {
    if (seen._tag === "AskedOfBank") return asked(state, seen)
    if (seen._tag === "Committed" && seen.decision.outcomes[0]?.refusal === Refusal.none) committed(state, seen.record, seen.model)
    return holds
  }
}
