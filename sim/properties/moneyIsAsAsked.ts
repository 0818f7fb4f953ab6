/**
 * Safety (I5 from the request on, for money on the ledger). Every deposit, withdrawal and change of party is the one that was requested
 * under its key, field by field; every approval is exactly what a passkey signed to approve that step of that transfer, and whatever is
 * given up was requested to be. Every answer is about its request and about the transfer that it names, with its amount and payee, and
 * asks for an approval exactly when there is something to approve, of whoever may approve it. Of the passkeys that the signer pins,
 * missing ones are added before surplus ones are removed, as far as there is room. A party is reported as confirmed exactly when the
 * ledger is known to have accepted it. A request by the contract is never called malformed, an account's own transfer is never unknown,
 * and an approval that was accepted is not refused when it is sent again.
 *
 * Requests are read by `sim/reading/Funds.ts`, from their text alone.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { Command, CommandOfKind } from "../../src/operations/Operations.js"
import { type NaiveVenue, scopeOfCommand } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Funds from "../reading/Funds.js"
import * as Requests from "../reading/Requests.js"
import { custody } from "../world/SimBank.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Requested = Funds.Wish & { readonly kind: "request" }
type Approving = Funds.Wish & { readonly kind: "complete" }

interface Asked {
  readonly call: Call
  readonly wish: Funds.Wish
}

interface Transfer {
  readonly id: string
  readonly account: number
  readonly wish: Requested
  readonly scope: string
}

interface State {
  /** By the call's number. */
  readonly asked: Map<number, Asked>
  /** By the scope of their idempotency keys. */
  readonly requests: Map<string, Array<Requested>>
  /** By account and the passkey's answer. */
  readonly approving: Map<string, Array<Approving>>
  /** Transfers that were requested to be given up, by account and id. */
  readonly givenUp: Set<string>
  readonly byId: Map<string, Transfer>
  readonly changesOf: Map<number, Array<Transfer>>
  /** Passkeys' answers that came to a record, by what they approved; and transfers that were given up, by the journal. */
  readonly approved: Map<string, CommandOfKind<"ApproveStep">>
  readonly canceled: Set<string>
  /** The parties that accounts were given. */
  readonly parties: Map<string, number>
  /** Reads of parties that the ledger had accepted, by the journal when they were requested. */
  readonly confirmed: Set<number>
  /** Each account's passkeys when it asked which changes of pins are due, by the call's number. */
  readonly passkeys: Map<number, ReadonlyArray<string>>
  model: NaiveVenue | undefined
}

const approvalOf = (
  account: number,
  { authenticatorData, clientData, credentialId, signature }: Omit<Funds.AskedProof, "challengeIdentifier">
) => `${account} ${credentialId} ${clientData} ${authenticatorData} ${signature}`

const add = <K, V>(map: Map<K, Array<V>>, key: K, value: V): void => {
  const known = map.get(key)
  if (known === undefined) map.set(key, [value])
  else known.push(value)
}

/** An accepted approval is identified by its passkey and challenge: whoever repeats it is told the current state. */
const answerOf = (account: number, { clientData, credentialId }: Pick<Funds.AskedProof, "clientData" | "credentialId">): string =>
  `${account} ${credentialId} ${Funds.challengeIn(clientData)}`

/** How a transfer to be given up is named: a change of party by its account alone. */
const namedBy = (account: number, { id, kind }: Funds.Named): string => `${account} ${id ?? kind}`

const passkeysOf = (model: NaiveVenue | undefined, account: number): ReadonlyArray<string> =>
  model === undefined ? [] : model.identity.passkeysOf(account).map(({ credentialId }) => credentialId)

const asked = (state: State, call: Call): void => {
  const reading = Funds.read(call.method, call.target, call.body)
  if (
    reading?.wish === undefined || !Requests.isReadable(call) || call.credential !== "issued" || call.account < 0
    || reading.accountId !== call.accountId
  ) return
  const { wish } = reading
  state.asked.set(call.id, { call, wish })
  if (wish.kind === "request" && call.scope !== undefined) add(state.requests, call.scope, wish)
  if (wish.kind === "complete") add(state.approving, approvalOf(call.account, wish.proof), wish)
  if (wish.kind === "cancel") state.givenUp.add(namedBy(call.account, wish.of))
  if (wish.kind === "beginPins" || wish.kind === "finishPins") state.passkeys.set(call.id, passkeysOf(state.model, call.account))
  const isOfParty = wish.kind === "look" && wish.of.kind === "party_change"
  if (isOfParty && state.model?.funds.parties.get(call.account)?.isConfirmed === true) state.confirmed.add(call.id)
}

// ---- what is journaled

type Requesting = CommandOfKind<"RequestDeposit" | "RequestWithdrawal" | "RequestPartyChange">

const isRequest = (command: Command): command is Requesting =>
  command.kind === "RequestDeposit" || command.kind === "RequestWithdrawal" || command.kind === "RequestPartyChange"

const kinds = { RequestDeposit: "deposit", RequestWithdrawal: "withdrawal", RequestPartyChange: "party_change" } as const

/** Whether a party is the venue's treasury: no other party of a run has this name. */
const isTreasurys = (partyId: string): boolean => partyId.startsWith("treasury::")

/** Whether a command is what was requested. */
const isAsWished = (command: Requesting, wish: Requested): boolean => {
  if (kinds[command.kind] !== wish.of) return false
  if (wish.of === "party_change" || command.kind === "RequestPartyChange") return true
  const { amountAtoms, asset, raw } = Funds.amountIn(wish)
  if (command.asset !== asset || command.amountAtoms !== amountAtoms || command.raw !== raw) return false
  if (wish.of === "deposit" || command.kind === "RequestDeposit") return true
  const { destinationPartyId } = wish
  // A venue that has not reached its ledger since its start does not know which party is its treasury.
  return command.destinationPartyId === destinationPartyId || (command.destinationPartyId === "" && isTreasurys(destinationPartyId))
}

const requested = (state: State, command: Requesting, sequence: number, isDone: boolean): Verdict => {
  const scope = scopeOfCommand(command) ?? ""
  const wishes = state.requests.get(scope) ?? []
  const wish = wishes.find((each) => isAsWished(command, each))
  if (wish === undefined) {
    return broken(`record ${sequence}, ${command.kind} under ${scope}, is not what was asked for: ${JSON.stringify(wishes)}`)
  }
  if (!isDone) return holds
  const transfer = { id: Funds.idOf(wish.of, sequence * 64), account: command.account, wish, scope }
  state.byId.set(transfer.id, transfer)
  if (wish.of === "party_change") add(state.changesOf, command.account, transfer)
  return holds
}

/** Whether a request names a transfer; a request about a change of party names any of its account's. */
const names = ({ of: { id, kind } }: { readonly of: Funds.Named }, transfer: Transfer): boolean =>
  kind === transfer.wish.of && (id === undefined || id === transfer.id)

const transferAt = ({ byId }: State, number: number): Transfer | undefined =>
  (["deposit", "withdrawal", "party_change"] as const).map((kind) => byId.get(Funds.idOf(kind, number))).find((each) => each !== undefined)

const approved = (state: State, command: CommandOfKind<"ApproveStep">, sequence: number): Verdict => {
  const said = approvalOf(command.account, command)
  const transfer = transferAt(state, command.transfer)
  const isAsked = (state.approving.get(said) ?? []).some((wish) =>
    transfer !== undefined && transfer.account === command.account && names(wish, transfer) && wish.signingStep === command.step
  )
  const answer = answerOf(command.account, command)
  if (!state.approved.has(answer)) state.approved.set(answer, command)
  return isAsked
    ? holds
    : broken(`record ${sequence} approves the ${command.step} of ${transfer?.id}, which no request did with these words`)
}

const canceled = (state: State, command: CommandOfKind<"CancelTransfer">, sequence: number): Verdict => {
  const { account } = command
  const transfer = transferAt(state, command.transfer)
  if (transfer?.account !== account) return broken(`record ${sequence} gives up a transfer that is not its account's`)
  const kind = transfer.wish.of
  state.canceled.add(transfer.id)
  return state.givenUp.has(namedBy(account, { kind, id: kind === "party_change" ? undefined : transfer.id }))
    ? holds
    : broken(`record ${sequence} gives up ${transfer.id}, which nobody asked for`)
}

type Committed = Observation & { readonly _tag: "Committed" }

const committed = (state: State, { decision, model, record: { command, sequence } }: Committed): Verdict => {
  state.model = model
  const isDone = decision.outcomes[0]?.refusal === Refusal.none
  if (isRequest(command)) return requested(state, command, sequence, isDone)
  switch (command.kind) {
    case "ApproveStep":
      return approved(state, command, sequence)
    case "CancelTransfer":
      return canceled(state, command, sequence)
    case "BindParty":
      if (isDone) state.parties.set(command.partyId, command.ofAccount)
      return holds
    default:
      return holds
  }
}

// ---- answers

const idMembers = { deposit: "depositId", withdrawal: "withdrawalId", party_change: "partyChangeId" } as const
const recordMembers = { deposit: "deposit", withdrawal: "withdrawal", party_change: "partyChange" } as const

/** The steps of a transfer as commands of the ledger: the first step of a deposit belongs to its account alone. */
const stepsOf = { deposit: ["treasury_offer", "owner_offer_acceptance"], withdrawal: ["treasury_withdrawal"], party_change: [] } as const

/** What is to be done for a change of party, and under which command, is known once the new party is. */
const plannedVerdict = (id: string, kind: Funds.Kind, accountId: string, partyId: unknown, planned: unknown): Verdict => {
  const told: ReadonlyArray<unknown> = Array.isArray(planned) ? planned : []
  const isBoundChange = kind === "party_change" && partyId !== undefined
  const expected: ReadonlyArray<string> = isBoundChange ? ["owner_account_acceptance"] : stepsOf[kind]
  const accepted = isBoundChange ? `${accountId}|${String(partyId)}` : accountId
  for (const each of told) {
    if (!isObject(each)) return broken(`${id} plans ${JSON.stringify(each)}`)
    const step = String(each["step"])
    const subject = step === "owner_account_acceptance" ? accepted : id
    const commandId = Funds.commandIdOf(custody.environment, subject, step)
    if (each["commandId"] !== commandId)
      return broken(`the ${step} of ${id} is told to be ${String(each["commandId"])}, must be ${commandId}`)
  }
  const steps = told.map((each) => isObject(each) ? String(each["step"]) : "")
  return expected.every((step) => steps.includes(step)) ? holds : broken(`${id} plans ${steps.join(", ")}, must be ${expected.join(", ")}`)
}

/** Compares what an answer says of a transfer with what was requested. */
const recordVerdict = (state: State, { account, accountId }: Call, kind: Funds.Kind, told: unknown): Verdict => {
  if (!isObject(told)) return broken(`no ${kind} is told`)
  const id = String(told[idMembers[kind]])
  const transfer = state.byId.get(id)
  if (transfer === undefined || transfer.account !== account || transfer.wish.of !== kind)
    return broken(`${id} is no ${kind} of this account`)
  const expected: Json = {
    accountId,
    environment: custody.environment,
    ...transfer.wish.of === "party_change" ? {} : { asset: "USDC", amountAtoms: transfer.wish.amountAtoms },
    ...transfer.wish.of === "withdrawal" ? { destinationPartyId: transfer.wish.destinationPartyId } : {}
  }
  const other = Object.keys(expected).find((member) => told[member] !== expected[member])
  if (other !== undefined) return broken(`${id} is told with ${other} ${String(told[other])}, must be ${String(expected[other])}`)
  const { partyId } = told
  if (kind !== "withdrawal" && partyId !== undefined && state.parties.get(String(partyId)) !== account) {
    return broken(`${id} is told to be of ${String(partyId)}, which is no party of this account`)
  }
  return plannedVerdict(id, kind, accountId, partyId, told["plannedLedgerCommands"])
}

/** What a deposit is told to be until it is over. */
const underWay: ReadonlySet<string> = new Set(["bound", "submitted", "submitted_unknown"])

/** The answer to a confirmation names its transfer, and asks for an approval exactly when it says so. */
const confirmedVerdict = (state: State, call: Call, wish: Funds.Wish & { readonly kind: "initiate" | "complete" }, json: Json): Verdict => {
  const { of: { id, kind } } = wish
  const told = json[recordMembers[kind]]
  const verdict = recordVerdict(state, call, kind, told)
  if (verdict !== undefined) return verdict
  const record = told as Json
  if (id !== undefined && record[idMembers[kind]] !== id) return broken(`it is about ${String(record[idMembers[kind]])}, asked was ${id}`)
  const isQuestion = json["status"] === "approval_required"
  const status = String(record["status"])
  // A deposit that goes on names its step at hand, and is never just bound.
  const goesOn = kind === "deposit" && underWay.has(status)
  if (isQuestion !== (json["challenge"] !== undefined) || (isQuestion || goesOn) !== (json["signingStep"] !== undefined))
    return broken(`it is ${String(json["status"])}, and its question is another`)
  if (!isQuestion && json["status"] !== (goesOn && status === "bound" ? "submitted" : status))
    return broken(`it says ${String(json["status"])} of a transfer that is ${status}`)
  if (wish.kind === "initiate") {
    const isOther = isQuestion && wish.signingStep !== undefined && json["signingStep"] !== wish.signingStep
    return isOther ? broken(`it asks about ${String(json["signingStep"])}, expected was ${wish.signingStep}`) : holds
  }
  if (isQuestion) return broken("an approval is answered with a question")
  return state.approved.has(answerOf(call.account, wish.proof)) ? holds : broken("an approval is acknowledged that no record has")
}

/** Most passkeys of an account that a signer pins. */
const mostPinned = 32

/** Missing passkeys are added before surplus ones are removed, as long as there is room: an account never has fewer to approve by. */
const orderVerdict = (had: ReadonlyArray<string>, has: ReadonlyArray<string>, pinned: ReadonlyArray<unknown>, change: unknown): Verdict => {
  const isLeftOver = (id: unknown): boolean => !has.some((each) => each === id) && !had.some((each) => each === id)
  const missing = has.find((each) => had.includes(each) && !pinned.includes(each))
  if (change === "remove" && missing !== undefined && pinned.length < mostPinned)
    return broken(`one of ${pinned.length} passkeys is to go, and ${missing} is not pinned yet`)
  return change === "add" && pinned.length >= mostPinned && pinned.some(isLeftOver)
    ? broken(`one is to be added to ${pinned.length}, and another one is no passkey of the account's any more`)
    : holds
}

const pinsVerdict = ({ passkeys }: State, { account, accountId, id }: Call, json: Json, model: NaiveVenue): Verdict => {
  const had = passkeys.get(id) ?? []
  passkeys.delete(id)
  const isQuestion = json["status"] === "approval_required"
  const isWhole = ["change", "credentialId", "challenge"].every((member) => (json[member] !== undefined) === isQuestion)
  if (json["accountId"] !== accountId) return broken(`it is about ${String(json["accountId"])}`)
  const { allowCredentials } = isObject(json["challenge"]) ? json["challenge"] : {} as Json
  const asked = isObject(allowCredentials) && Array.isArray(allowCredentials["webauthn"]) ? allowCredentials["webauthn"] : []
  // Approvals are made by pinned passkeys: one to be removed is still pinned, and one to be added is not yet.
  const isAsked = asked.some((each) => isObject(each) && each["id"] === json["credentialId"])
  if (isQuestion && isAsked !== (json["change"] === "remove"))
    return broken(`it is to ${String(json["change"])} ${String(json["credentialId"])}, and may be approved by ${JSON.stringify(asked)}`)
  const pinned = asked.map((each) => isObject(each) ? each["id"] : undefined)
  const verdict = isQuestion ? orderVerdict(had, passkeysOf(model, account), pinned, json["change"]) : holds
  if (verdict !== holds) return verdict
  return isWhole ? holds : broken(`its pins are ${String(json["status"])}, and its question is another`)
}

/** That the ledger has an account's contract with the venue is reported from when it is known, and remains true for good. */
const acceptanceVerdict = ({ confirmed }: State, { account, id }: Call, told: unknown, { funds }: NaiveVenue): Verdict => {
  const isConfirmed = funds.parties.get(account)?.isConfirmed === true
  const wasConfirmed = confirmed.delete(id)
  if (told === true && !isConfirmed) return broken("its party is told to be confirmed, and the ledger has not been heard of that")
  return told !== true && wasConfirmed ? broken("its party is told not to be confirmed, and was so before it was asked for") : holds
}

const partyVerdict = (state: State, call: Call, json: Json, model: NaiveVenue): Verdict => {
  const { accountId, change, confirmed, partyId } = json
  const verdict = acceptanceVerdict(state, call, confirmed, model)
  if (verdict !== holds) return verdict
  if (accountId !== call.accountId) return broken(`it is about ${String(accountId)}`)
  if (partyId !== null && state.parties.get(String(partyId)) !== call.account)
    return broken(`${String(partyId)} is no party of this account`)
  return change === null ? holds : recordVerdict(state, call, "party_change", change)
}

const listVerdict = (state: State, call: Call, kind: "deposit" | "withdrawal", json: Json): Verdict => {
  const rows = json[`${kind}s`]
  if (!Array.isArray(rows)) return broken(`no list of ${kind}s is told`)
  return rows.map((row) => recordVerdict(state, call, kind, row)).find((each) => each !== undefined)
}

/** Whoever gives a transfer up is told that it ended by his own decision. */
const givenUpVerdict = (state: State, id: string, { ledgerOutcome, status }: Json, model: NaiveVenue): Verdict => {
  if (!state.canceled.has(id)) return broken(`no record gives ${id} up`)
  // The ledger may have executed it by then all the same, where strangers have obtained its keys.
  const isDone = model.funds.transfers.some(({ end, kind, number }) => Funds.idOf(kind, number) === id && end === "ledger_confirmed")
  if (isDone && status === "ledger_confirmed") return holds
  const { guard, outcome } = isObject(ledgerOutcome) ? ledgerOutcome : {} as Json
  return status === "rejected" && outcome === "not_executed" && guard === "given_up"
    ? holds
    : broken(`${id} was given up, and is told to be ${String(status)}: ${String(outcome)}, ${String(guard)}`)
}

const goodVerdict = (state: State, { call, wish }: Asked, json: Json, model: NaiveVenue): Verdict => {
  switch (wish.kind) {
    case "request": {
      const verdict = recordVerdict(state, call, wish.of, json)
      if (verdict !== undefined) return verdict
      const { id, scope } = state.byId.get(String(json[idMembers[wish.of]]))!
      return scope === call.scope ? holds : broken(`${id} was asked for under ${scope}`)
    }
    case "cancel": {
      const id = String(json[idMembers[wish.of.kind]])
      if (wish.of.id !== undefined && id !== wish.of.id) return broken(`it is about ${id}`)
      return recordVerdict(state, call, wish.of.kind, json) ?? givenUpVerdict(state, id, json, model)
    }
    case "initiate":
    case "complete":
      return confirmedVerdict(state, call, wish, json)
    case "look":
      if (wish.of.kind === "party_change") return partyVerdict(state, call, json, model)
      return json[idMembers[wish.of.kind]] === wish.of.id ? recordVerdict(state, call, wish.of.kind, json) : broken("it is about another")
    case "list":
      return listVerdict(state, call, wish.of, json)
    case "beginPins":
    case "finishPins":
      return pinsVerdict(state, call, json, model)
  }
}

/** Whether a confirmation is about a transfer: about a change of party only as long as its account has not asked for another change. */
const isMeant = ({ changesOf }: State, wish: Funds.Wish & { readonly kind: "complete" }, transfer: Transfer): boolean =>
  names(wish, transfer) && (wish.of.id !== undefined || changesOf.get(transfer.account)?.at(-1) === transfer)

/**
 * A passkey's answer that approved a step is refused to nobody who sends it again, not even while the first one was being decided. The
 * approval is looked up in the model: if the approved transaction came to nothing, a new question has been asked, and the old answer
 * belongs to none.
 */
const unheardVerdict = (state: State, { call: { account }, wish }: Asked, json: unknown, model: NaiveVenue): Verdict => {
  if (wish.kind !== "complete" || !isObject(json) || json["code"] !== "passkey_assertion_invalid") return holds
  const taken = state.approved.get(answerOf(account, wish.proof))
  const transfer = taken === undefined ? undefined : transferAt(state, taken.transfer)
  if (taken === undefined || transfer === undefined || !isMeant(state, wish, transfer) || wish.signingStep !== taken.step) return holds
  const step = model.funds.transfers.find(({ number }) => number === taken.transfer)?.steps.find(({ name }) => name === taken.step)
  const attempt = step?.attempts.at(-1)
  return attempt?.isVoid === false && attempt.approval?.nonce === taken.nonce ? broken("its step is approved by this very answer") : holds
}

/** Whether a request names a transfer of its account. */
const isKnown = (state: State, { call: { account }, wish }: Asked): boolean => {
  if (!("of" in wish) || typeof wish.of === "string") return false
  const { id, kind } = wish.of
  if (wish.kind === "look" && kind === "party_change") return true
  if (id === undefined) return (state.changesOf.get(account) ?? []).length > 0
  const transfer = state.byId.get(id)
  return transfer?.account === account && transfer.wish.of === kind
}

type Answered = Observation & { readonly _tag: "Answered" }

const answered = (state: State, { answer: { json, status, text }, call, model }: Answered): Verdict => {
  const of = state.asked.get(call.id)
  if (of === undefined) return holds
  const what = `${call.method} ${call.target} with ${call.body} is answered ${status}`
  if (status === 400 || status === 413 || status === 415) return broken(`${what}, and is a good request: ${text}`)
  if (status === 404 && isKnown(state, of)) return broken(`${what}, and is about a transfer that there is: ${text}`)
  if (status === 409 && of.wish.kind === "cancel" && !isKnown(state, of))
    return broken(`${what}, and is about no transfer of this account's`)
  if (status !== 200) {
    const verdict = unheardVerdict(state, of, json, model)
    return verdict === undefined ? holds : broken(`${what}: ${verdict}: ${text}`)
  }
  if (!isObject(json)) return broken(`${what}: ${text}`)
  const verdict = goodVerdict(state, of, json, model)
  return verdict === undefined ? holds : broken(`${what}: ${verdict}: ${text}`)
}

export const moneyIsAsAsked: Property<State> = {
  name: "money-is-as-asked",
  invariant: "I5",
  kind: "safety",
  initial: () => ({
    asked: new Map(),
    requests: new Map(),
    approving: new Map(),
    givenUp: new Set(),
    byId: new Map(),
    changesOf: new Map(),
    approved: new Map(),
    canceled: new Set(),
    parties: new Map(),
    confirmed: new Set(),
    passkeys: new Map(),
    model: undefined
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked":
        if (!state.asked.has(seen.call.id) && Funds.isOfFunds(seen.call.target)) asked(state, seen.call)
        return holds
      case "Committed":
        return committed(state, seen)
      case "Answered":
        return answered(state, seen)
      default:
        return holds
    }
  }
}
