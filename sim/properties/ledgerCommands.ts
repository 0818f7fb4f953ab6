/**
 * Safety (I10). A step of a transfer is always the same ledger command: its id follows from the transfer and the step (for the acceptance
 * of an account's party from the account, and for a change of party also from the new party), however often it is prepared, whatever
 * became of it before, and whether or not the journal accepts it. With another id the ledger would execute the step twice.
 */
import type { CommandOfKind } from "../../src/operations/Operations.js"
import { idOf } from "../model/Shown.js"
import * as Funds from "../reading/Funds.js"
import { custody } from "../world/SimBank.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Transfer {
  readonly kind: Funds.Kind
  readonly accountId: string
}

interface State {
  readonly transfers: Map<number, Transfer>
  /** The party that each change is to bind. */
  readonly parties: Map<number, string>
}

const kinds = { RequestDeposit: "deposit", RequestWithdrawal: "withdrawal", RequestPartyChange: "party_change" } as const

/** The subject of a step's command. */
const subjectOf = ({ parties }: State, number: number, { accountId, kind }: Transfer, step: string): string => {
  if (step !== "owner_account_acceptance") return Funds.idOf(kind, number)
  return kind === "party_change" ? `${accountId}|${parties.get(number)}` : accountId
}

const prepared = (state: State, { commandId, step, transfer: number }: CommandOfKind<"PrepareStep">): Verdict => {
  const transfer = state.transfers.get(number)
  if (transfer === undefined) return broken(`a ${step} is prepared for ${number}, which is no transfer`)
  const expected = Funds.commandIdOf(custody.environment, subjectOf(state, number, transfer, step), step)
  return commandId === expected
    ? holds
    : broken(`${Funds.idOf(transfer.kind, number)} has its ${step} prepared under ${commandId}, must be ${expected}`)
}

type Taken = Observation & { readonly _tag: "Taken" }

/** The decision becomes record `sequence + 1`; that its block is durable may be observed only after the venue's next acts. */
const taken = ({ parties, transfers }: State, { answered, command, model, sequence }: Taken): void => {
  if (answered !== undefined) return
  if (command.kind === "BindParty" && command.transfer >= 0) parties.set(command.transfer, command.partyId)
  if (command.kind !== "RequestDeposit" && command.kind !== "RequestWithdrawal" && command.kind !== "RequestPartyChange") return
  const accountId = idOf("acc", model.accounts[command.account]!.born)
  transfers.set((sequence + 1) * 64, { kind: kinds[command.kind], accountId })
}

export const ledgerCommands: Property<State> = {
  name: "a-step-is-one-command-for-good",
  invariant: "I10",
  kind: "safety",
  initial: () => ({ transfers: new Map(), parties: new Map() }),
  observe: (state, seen) => {
    if (seen._tag === "Taken") taken(state, seen)
    return seen._tag === "Offered" && seen.command.kind === "PrepareStep" ? prepared(state, seen.command) : holds
  }
}
