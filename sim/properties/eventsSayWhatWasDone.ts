/**
 * Safety (I9). A follower of the journal reads decisions as events: each event about an accepted command, about who may act, about an
 * account's money on the ledger, about a market's prices and about triggers states exactly the result, whose it is, and how much. Events
 * are part of every block's digest, so a wrong one stays wrong for ever.
 */
import { anyMarket } from "../../src/domain/None.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import { stepNames, transferKinds } from "../../src/operations/funds/Transfers.js"
import type { Command, CommandOfKind } from "../../src/operations/Operations.js"
import type { NaiveBracket } from "../model/NaiveAutoClose.js"
import type { NaiveTransfer } from "../model/NaiveFunds.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { ToldOfAccounts } from "./ToldOfAccounts.js"
import { type Must, ToldOfChanges } from "./ToldOfChanges.js"

interface State {
  readonly changes: ToldOfChanges
  readonly accounts: ToldOfAccounts
  /** The events that each record must have, by sequence. They arrive later, at the follower's pace. */
  readonly musts: Map<number, ReadonlyArray<Must>>
  /** Every transfer, including those that the venue has forgotten. */
  transfers: ReadonlyArray<NaiveTransfer>
  /** The account, market and triggers of every bracket that ever existed. */
  readonly brackets: Map<number, Pick<NaiveBracket, "account" | "market" | "autoClose">>
  /** Accounts that are affiliates: another registration has no effect and no event. */
  readonly affiliates: Set<number>
}

type Committed = Observation & { readonly _tag: "Committed" }

const requested = (kind: (typeof transferKinds)[number], account: number, amountAtoms: number, sequence: number): Must => [
  "TransferRequested",
  { transfer: sequence * 64, account, kind: transferKinds.indexOf(kind), amountAtoms }
]

/** The index of each change in the list of a step's possible changes. */
const changes = { prepared: 0, begun: 2, noted: 3 } as const

const transferOf = ({ transfers }: State, number: number): NaiveTransfer | undefined =>
  transfers.find((transfer) => transfer.number === number)

const stepMoved = (
  state: State,
  { step, transfer }: CommandOfKind<"PrepareStep" | "BeginSubmission" | "NoteSubmission">,
  change: keyof typeof changes
): Must => ["StepMoved", {
  transfer,
  account: transferOf(state, transfer)!.account,
  step: stepNames.indexOf(step),
  change: changes[change]
}]

/** The events that an accepted command must have. */
const mustTell = (state: State, { decision: { outcomes }, model, record }: Committed): ReadonlyArray<Must> => {
  const { atEpochMs, command, sequence } = record
  const standing = outcomes[0]?.standing
  switch (command.kind) {
    case "SetLimits":
      return [["RetentionSet", { retentionMs: command.retentionMs }]]
    case "HaltEngine":
    case "ResumeEngine":
      return [["HaltSet", { halted: command.kind === "HaltEngine" ? 1 : 0 }]]
    case "PassTime":
      return [["TimePassed", { atEpochMs }]]
    case "StartVenue":
      return [["VenueStarted", { rules: command.rules, codec: command.codec }]]
    case "SetCancelAllAfter":
      return [["SwitchSet", { account: command.account, atEpochMs: command.timeoutMs === 0 ? 0 : atEpochMs + command.timeoutMs }]]
    case "SetLeverage":
      return [["LeverageSet", { account: command.account, market: command.market, leverageX: command.leverageX }]]
    case "SetFavorite":
      return [["FavoriteSet", { account: command.account, market: command.market, isFavorite: Number(command.isFavorite) }]]
    case "SetAccountFlags": {
      const { flags, mayTrade } = standing!
      return [["AccountFlagged", { account: command.ofAccount, flags, mayTrade: mayTrade ? 1 : 0 }]]
    }
    case "RegisterAffiliate":
      return state.affiliates.has(command.account) ? [] : [["AffiliateRegistered", { account: command.account }]]
    case "CreditAccount": {
      const { amountAtoms, ofAccount: account } = command
      return [["Credited", { account, amountAtoms }]]
    }
    case "ApproveAgent": {
      const { account, grantMs, keyLifetimeSeconds, scopes } = command
      const expiresAtEpochMs = Math.min(atEpochMs + grantMs, model.identity.signedInUntil(command.credential))
      return [["AgentApproved", { account, scopes, keyLifetimeSeconds, expiresAtEpochMs }]]
    }
    case "RequestDeposit":
      return [requested("deposit", command.account, Number(command.amountAtoms), sequence)]
    case "RequestWithdrawal":
      return [requested("withdrawal", command.account, Number(command.amountAtoms), sequence)]
    case "RequestPartyChange":
      return [requested("party_change", command.account, 0, sequence)]
    case "PrepareStep":
      return [stepMoved(state, command, "prepared")]
    case "BeginSubmission":
      return [stepMoved(state, command, "begun")]
    case "NoteSubmission":
      return [stepMoved(state, command, "noted")]
    case "BindParty":
      return [["PartyBound", { account: command.ofAccount, transfer: command.transfer, isConfirmed: 0 }]]
    case "NoteLedgerOffset":
      return [["LedgerOffsetNoted", { offset: command.offset }]]
    default:
      return []
  }
}

const committed = (state: State, seen: Committed): void => {
  const { decision: { outcomes }, model, record } = seen
  for (const { account, autoClose, market, number } of model.brackets.all) state.brackets.set(number, { account, autoClose, market })
  state.transfers = model.funds.transfers
  const ofChanges = state.changes.since(model, record.command)
  const ofCommand = outcomes[0]?.refusal === Refusal.none ? mustTell(state, seen) : []
  if (record.command.kind === "RegisterAffiliate") state.affiliates.add(record.command.account)
  state.musts.set(record.sequence, [...state.accounts.since(seen), ...ofChanges, ...ofCommand])
}

const isSo = (event: DecodedEvent, [name, fields]: Must): boolean =>
  event.event === name
  && Object.entries(fields).every(([field, value]) => (event as unknown as Readonly<Record<string, number>>)[field] === value)

/**
 * Where a record cancels orders of an account in parts, those left by an earlier record come first. And some of those left over may be
 * cancelled as they are met: they have only their own end as an event.
 */
const isTold = (events: ReadonlyArray<DecodedEvent>, must: Must): boolean => {
  const [name, { account, orders = 0 }] = must
  if (events.some((event) => isSo(event, must))) return true
  const parts = events.flatMap((event) =>
    (event.event === "SwitchFired" || event.event === "OrdersCanceled") && event.event === name && event.account === account
      ? [event.orders]
      : []
  )
  return parts.length > 0 && parts.reduce((total, part) => total + part, 0) <= orders
}

/** The reasons of a bracket's end that a command of its owner's has. */
const cancelled = 1
const replaced = 2

/**
 * Checks that a bracket is told to have been cancelled by its owner, or to have been replaced, just where the record is the owner's command
 * for its market that does the one or the other.
 */
const ofEnd = (command: Command, { account, market, reason }: DecodedEvent & { readonly event: "BracketEnded" }): Verdict => {
  if (reason !== cancelled && reason !== replaced) return holds
  const isOwn = command.kind === "SetAutoClose" && command.account === account
    && (command.market === market || (reason === cancelled && command.market === anyMarket))
  const isSet = command.kind === "SetAutoClose" && (command.takeProfit.priceAtoms > 0 || command.stopLoss.priceAtoms > 0)
  return isOwn && isSet === (reason === replaced) ? holds : broken("the owner did not ask for that")
}

/** Checks that an event names the account that its subject belongs to. */
const ofIts = (state: State, event: DecodedEvent, command: Command): Verdict => {
  switch (event.event) {
    case "BracketOpened":
    case "BracketResized":
    case "TriggerFired":
    case "BracketEnded": {
      const of = state.brackets.get(event.bracket)
      if (of === undefined) return holds
      if (of.account !== event.account || of.market !== event.market) {
        return broken(`bracket ${event.bracket} is of account ${of.account} in market ${of.market}`)
      }
      if (event.event === "BracketEnded") return ofEnd(command, event)
      if (event.event !== "TriggerFired") return holds
      const { limitAtoms } = event.kind === 0 ? of.autoClose.takeProfit : of.autoClose.stopLoss
      return limitAtoms === event.limitAtoms ? holds : broken(`its limit is ${limitAtoms}`)
    }
    case "StepMoved":
    case "TransferEnded":
    case "DepositCredited":
    case "ReserveMoved": {
      const of = transferOf(state, event.transfer)
      if (of === undefined) return broken("there is no such transfer")
      if (of.account !== event.account) return broken(`transfer ${event.transfer} is of account ${of.account}`)
      return !("amountAtoms" in event) || event.amountAtoms === Number(of.amount) ? holds : broken(`it is of ${of.amount} atoms`)
    }
    default:
      return holds
  }
}

export const eventsSayWhatWasDone: Property<State> = {
  name: "events-say-what-was-done",
  invariant: "I9",
  kind: "safety",
  initial: () => ({
    changes: new ToldOfChanges(),
    accounts: new ToldOfAccounts(),
    musts: new Map(),
    transfers: [],
    brackets: new Map(),
    affiliates: new Set()
  }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      committed(state, seen)
      return holds
    }
    if (seen._tag !== "Fed") return holds
    const { events, record: { command, sequence } } = seen.decided
    const musts = state.musts.get(sequence) ?? []
    state.musts.delete(sequence)
    const missing = musts.find((must) => !isTold(events, must))
    if (missing !== undefined) {
      const [name, fields] = missing
      const like = events.filter(({ event }) => event === name)
      return broken(`record ${sequence}, a ${command.kind}, must tell ${name} ${JSON.stringify(fields)}, and tells ${JSON.stringify(like)}`)
    }
    for (const event of events) {
      const verdict = ofIts(state, event, command)
      if (verdict !== undefined) return broken(`record ${sequence}, a ${command.kind}, tells ${JSON.stringify(event)}, and ${verdict}`)
    }
    return holds
  }
}
