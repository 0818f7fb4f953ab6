/**
 * Decisions about deposits, withdrawals and ledger parties, as lines of text: with the ledger's offsets and update ids, so that each
 * transfer can be compared with the ledger's own records.
 */
import * as Ids from "../../domain/Ids.js"
import type { DecodedEvent } from "../../engine/EventLog.js"
import { alarms } from "../../engine/funds/Funds.js"
import { reserveChanges } from "../../engine/funds/Money.js"
import { stepChanges } from "../../engine/funds/Moving.js"
import type { Step, Submission } from "../../engine/funds/Steps.js"
import { idOf, type Transfer } from "../../engine/funds/Transfer.js"
import type { State } from "../../engine/State.js"
import { stepNames, transferKinds, transferStatuses } from "../../operations/funds/Transfers.js"
import type { Command } from "../../operations/Operations.js"
import * as Format from "./Format.js"
import { accountName, concerns, named, transferName, type Who } from "./Names.js"

const names = [
  "TransferRequested",
  "StepMoved",
  "TransferEnded",
  "DepositCredited",
  "ReserveMoved",
  "PartyBound",
  "LedgerOffsetNoted",
  "WithdrawalsStopped",
  "LedgerAlarm"
] as const
type FundsEvent = Extract<DecodedEvent, { event: (typeof names)[number] }>

export const isFundsEvent = (event: DecodedEvent): event is FundsEvent => (names as ReadonlyArray<string>).includes(event.event)

export const fundsLines = (state: State, command: Command, event: FundsEvent, who: Who): ReadonlyArray<string> => {
  const transfer = "transfer" in event ? state.funds.transfers.find(event.transfer) : undefined
  const account = "account" in event ? event.account : transfer?.account
  const concerned = {
    accounts: account === undefined ? [] : [account],
    transfers: "transfer" in event ? [event.transfer] : []
  }
  return concerns(who, concerned) ? [fundsChange(state, command, event, transfer)] : []
}

const fundsChange = (state: State, command: Command, event: FundsEvent, transfer: Transfer | undefined): string => {
  switch (event.event) {
    case "TransferRequested":
      return `${nameOf(event.kind, event.transfer)} of ${Format.money(event.amountAtoms)} USDC stands for ${
        accountName(state, event.account)
      }, ${towards(transfer)}`
    case "StepMoved": {
      const name = named(event.step, stepNames)
      const step = transfer?.steps.find((each) => each.name === name)
      const change = step === undefined ? named(event.change, stepChanges) : stepChange(command, event, step)
      return `${transferName(state, event.transfer)} ${name} ${change}`
    }
    case "TransferEnded":
      return `${transferName(state, event.transfer)} is over: ${named(event.status, transferStatuses)}${failed(transfer)}`
    case "DepositCredited":
      return `${transferName(state, event.transfer)} credits ${accountName(state, event.account)} ${Format.money(event.amountAtoms)} USDC`
    case "ReserveMoved":
      return `${Format.money(event.amountAtoms)} USDC ${reserved[reserveChanges[event.became]!]} for ${transferName(state, event.transfer)}`
    case "PartyBound":
      return partyBound(state, event)
    case "LedgerOffsetNoted":
      return `completions of the ledger were looked at up to offset ${event.offset}`
    case "WithdrawalsStopped":
      return event.isStopped === 1 ? `withdrawals are stopped: ${state.funds.stop?.reason ?? "allowed again since"}` : "withdrawals go on"
    case "LedgerAlarm":
      return `alarm: ${named(event.step, stepNames)} of ${transferName(state, event.transfer)} ${
        named(event.alarm, alarms).replaceAll("_", " ")
      }${command.kind === "NoteCompletion" ? ` in update ${command.updateId} at offset ${command.offset}` : ""}`
  }
}

const reserved = { held: "held", given_back: "given back", spent: "have left for good" } as const

const nameOf = (kind: number, number: number): string =>
  `${named(kind, transferKinds).replaceAll("_", " ")} ${
    kind === 0 ? Ids.depositId(number) : kind === 1 ? Ids.withdrawalId(number) : Ids.partyChangeId(number)
  }`

const towards = (transfer: Transfer | undefined): string =>
  transfer === undefined || transfer.partyId === ""
    ? "its party is to be made"
    : `${transfer.kind === "withdrawal" ? "to" : "by"} the party ${transfer.partyId}`

const failed = (transfer: Transfer | undefined): string => {
  if (transfer === undefined || transfer.failure === null) return ""
  const { guard, stage, step } = transfer.failure
  return ` (${step}, ${stage}${guard === "" ? "" : `: ${guard}`})`
}

const partyBound = (state: State, { account, isConfirmed, transfer }: FundsEvent & { readonly event: "PartyBound" }): string => {
  const change = transfer < 0 ? undefined : state.funds.transfers.find(transfer)
  const partyId = change?.partyId ?? state.funds.parties.of(account)?.partyId ?? "one that it has no more"
  return isConfirmed === 1
    ? `${accountName(state, account)} has the ledger party ${partyId}`
    : `the signer made the ledger party ${partyId} for ${change === undefined ? accountName(state, account) : idOf(change)}`
}

/** A step's change, with the step as it is after the record. */
const stepChange = (command: Command, { change }: FundsEvent & { readonly event: "StepMoved" }, step: Step): string => {
  const { approval, binding, confirmation, preparation, submissions } = step
  switch (stepChanges[change]!) {
    case "prepared":
      return `is prepared as command ${binding?.commandId} with hash ${preparation?.hash} (scheme ${preparation?.hashingScheme}), to be `
        + `recorded by ${Format.time(preparation?.maxRecordTimeEpochMs ?? 0)}; its completions are those behind offset `
        + `${binding?.ledgerEndOffset}`
    case "approved":
      return `with hash ${preparation?.hash} is approved by passkey ${approval?.credentialId}`
    case "begun":
      return `is executed by submission ${submissions.at(-1)?.submissionId}`
    case "noted":
      return `submission ${answered(command, submissions)}`
    case "refused":
      return `submission ${answered(command, submissions)}${command.kind === "NoteCompletion" ? ` at offset ${command.offset}` : ""}`
    case "confirmed":
      return `is done on the ledger in update ${confirmation?.updateId} at offset ${confirmation?.offset}`
    case "voided":
      return command.kind === "NoteScan"
        ? `can take no effect any more: the ledger's time is ${Format.time(command.recordTimeEpochMs)} at offset ${command.throughOffset}`
        : "begins anew"
  }
}

const answered = (command: Command, submissions: ReadonlyArray<Submission>): string => {
  if (command.kind !== "NoteSubmission" && command.kind !== "NoteCompletion") return `is one of ${submissions.length}`
  const { guard, outcome, submissionId } = command
  return `${submissionId} is ${outcome.replaceAll("_", " ")}${guard === "" ? "" : `: ${guard}`}`
}
