/**
 * Every operation, by kind. Generic code reads its properties from the declarations here: an operation missing from this record
 * does not exist, and one that is missing elsewhere does not compile.
 */
import { assert } from "../domain/Assert.js"
import { Refusal } from "../domain/Refusal.js"
import { AddToFund } from "./accounts/AddToFund.js"
import { CreditAccount } from "./accounts/CreditAccount.js"
import { OpenDemoAccounts } from "./accounts/OpenDemoAccounts.js"
import { RegisterAffiliate } from "./accounts/RegisterAffiliate.js"
import { SetAccountFlags } from "./accounts/SetAccountFlags.js"
import { SetAutoClose } from "./accounts/SetAutoClose.js"
import { SetDisplayHandle } from "./accounts/SetDisplayHandle.js"
import { SetFavorite } from "./accounts/SetFavorite.js"
import { SetLeverage } from "./accounts/SetLeverage.js"
import * as Fingerprint from "./Fingerprint.js"
import { AllowWithdrawals } from "./funds/AllowWithdrawals.js"
import { ApproveStep } from "./funds/ApproveStep.js"
import { BeginSubmission } from "./funds/BeginSubmission.js"
import { BindParty } from "./funds/BindParty.js"
import { CancelTransfer } from "./funds/CancelTransfer.js"
import { NoteCompletion } from "./funds/NoteCompletion.js"
import { NoteLedgerOffset } from "./funds/NoteLedgerOffset.js"
import { NoteScan } from "./funds/NoteScan.js"
import { NoteSubmission } from "./funds/NoteSubmission.js"
import { PrepareStep } from "./funds/PrepareStep.js"
import { RejectStep } from "./funds/RejectStep.js"
import { RequestDeposit } from "./funds/RequestDeposit.js"
import { RequestPartyChange } from "./funds/RequestPartyChange.js"
import { RequestWithdrawal } from "./funds/RequestWithdrawal.js"
import { StopWithdrawals } from "./funds/StopWithdrawals.js"
import { AddPasskey } from "./identity/AddPasskey.js"
import { ApproveAgent } from "./identity/ApproveAgent.js"
import { DenyAgent } from "./identity/DenyAgent.js"
import { EndSession } from "./identity/EndSession.js"
import { EndTickets } from "./identity/EndTickets.js"
import { ExchangeGrant } from "./identity/ExchangeGrant.js"
import { IssueBotKey } from "./identity/IssueBotKey.js"
import { MintTicket } from "./identity/MintTicket.js"
import { NoteKeyUses } from "./identity/NoteKeyUses.js"
import { NoteSecurity } from "./identity/NoteSecurity.js"
import { OpenOwnerAccount } from "./identity/OpenOwnerAccount.js"
import { ProvePasskey } from "./identity/ProvePasskey.js"
import { RemovePasskey } from "./identity/RemovePasskey.js"
import { RevokeApiKey } from "./identity/RevokeApiKey.js"
import { RevokeKeyByOperator } from "./identity/RevokeKeyByOperator.js"
import { RotateTicket } from "./identity/RotateTicket.js"
import { SignIn } from "./identity/SignIn.js"
import { type Header, Principal } from "./Header.js"
import { DelistMarket } from "./markets/DelistMarket.js"
import { MarkTick } from "./markets/MarkTick.js"
import { PutMarket } from "./markets/PutMarket.js"
import { SetIndexPrice } from "./markets/SetIndexPrice.js"
import { SetMarketSession } from "./markets/SetMarketSession.js"
import { SetMarketStatus } from "./markets/SetMarketStatus.js"
import type { CommandOf, Declaration, RequestKind, Share } from "./Operation.js"
import { type AnyOutcome, type OutcomeOf, type Packed, packRefused, type Refused, refusedCode, unpackRefused } from "./Outcome.js"
import { AmendOrder } from "./orders/AmendOrder.js"
import { ArmConnection } from "./orders/ArmConnection.js"
import { CancelAllOrders } from "./orders/CancelAllOrders.js"
import { CancelByOperator } from "./orders/CancelByOperator.js"
import { CancelOrders } from "./orders/CancelOrders.js"
import { EndConnection } from "./orders/EndConnection.js"
import { FenceOutcome } from "./orders/FenceOutcome.js"
import { OrderDecided } from "./orders/OrderDecided.js"
import { PlaceOrders } from "./orders/PlaceOrders.js"
import { SetCancelAllAfter } from "./orders/SetCancelAllAfter.js"
import { HaltEngine } from "./venue/HaltEngine.js"
import { OpenVenue } from "./venue/OpenVenue.js"
import { PassTime } from "./venue/PassTime.js"
import { ResumeEngine } from "./venue/ResumeEngine.js"
import { SetLimits } from "./venue/SetLimits.js"
import { StartVenue } from "./venue/StartVenue.js"

/** The capabilities with their operations, from which the types of their deciders follow. */
export const capabilities = {
  orders: {
    PlaceOrders,
    CancelOrders,
    AmendOrder,
    CancelAllOrders,
    SetCancelAllAfter,
    FenceOutcome,
    CancelByOperator,
    ArmConnection,
    EndConnection
  },
  markets: { PutMarket, SetMarketStatus, SetIndexPrice, MarkTick, SetMarketSession, DelistMarket },
  accounts: {
    OpenDemoAccounts,
    AddToFund,
    SetAutoClose,
    SetDisplayHandle,
    SetLeverage,
    SetFavorite,
    RegisterAffiliate,
    SetAccountFlags,
    CreditAccount
  },
  identity: {
    OpenOwnerAccount,
    SignIn,
    AddPasskey,
    RemovePasskey,
    ProvePasskey,
    EndSession,
    ApproveAgent,
    DenyAgent,
    ExchangeGrant,
    RevokeApiKey,
    NoteSecurity,
    MintTicket,
    RotateTicket,
    EndTickets,
    IssueBotKey,
    NoteKeyUses,
    RevokeKeyByOperator
  },
  funds: {
    RequestDeposit,
    RequestWithdrawal,
    RequestPartyChange,
    CancelTransfer,
    ApproveStep,
    BindParty,
    PrepareStep,
    BeginSubmission,
    NoteSubmission,
    NoteCompletion,
    NoteScan,
    RejectStep,
    NoteLedgerOffset,
    StopWithdrawals,
    AllowWithdrawals
  },
  venue: { OpenVenue, StartVenue, PassTime, HaltEngine, ResumeEngine, SetLimits }
} as const

export type Capability = keyof typeof capabilities

export const declarations = {
  ...capabilities.orders,
  ...capabilities.markets,
  ...capabilities.accounts,
  ...capabilities.identity,
  ...capabilities.funds,
  ...capabilities.venue
} as const

export type Declarations = typeof declarations
export type Kind = keyof Declarations
export type CommandOfKind<K extends Kind> = CommandOf<Declarations[K]>
export type Command = { readonly [K in Kind]: CommandOfKind<K> }[Kind]

/** The outcome of an entry of a kind of command. */
export type OutcomeOfKind<K extends Kind> = Declarations[K]["outcome"] extends {
  readonly tag: infer T extends string
  readonly fields: infer F
} ? OutcomeOf<T, F & {}>
  : never

/** The outcome of one entry of a command. Commands without entries have exactly one. */
export type EntryOutcome = Refused | { readonly [K in Kind]: OutcomeOfKind<K> }[Kind]

/** The outcome of a command. */
export interface Outcome {
  /** The record that decided it or, for a refusal without a record, the last one before. A reply waits until this is durable. */
  readonly sequence: number
  /** When it was decided: the record's time. */
  readonly atEpochMs: number
  /** The refusal of the whole command without a record, which is never remembered; 0 otherwise. */
  readonly refusal: Refusal
  /** The markets because of which a command of several entries was refused without a record; absent where it was for another reason. */
  readonly markets?: ReadonlyArray<number>
  /** Whether this is the remembered decision of an earlier command with the same key and body. */
  readonly replayed: boolean
  readonly entries: ReadonlyArray<EntryOutcome>
}

/** A whole-command refusal that wrote nothing. */
export const refuse = (refusal: Refusal, sequence: number, atEpochMs: number): Outcome => ({
  sequence,
  atEpochMs,
  refusal,
  replayed: false,
  entries: []
})

/** The refusal of an entry; 0 where it was done. */
export const refusalOf = (entry: EntryOutcome): Refusal => entry._tag === "Refused" ? entry.refusal : Refusal.none

/** All declarations, for generic code. */
export const all: ReadonlyArray<Declaration> = Object.values(declarations) as unknown as ReadonlyArray<Declaration>

const byKind: Readonly<Record<Kind, Declaration>> = declarations as unknown as Readonly<Record<Kind, Declaration>>

const place = byKind.PlaceOrders
const cancel = byKind.CancelOrders

/** The declaration of a command. */
export const of = ({ kind }: { readonly kind: Kind }): Declaration =>
  // The two most frequent kinds need no lookup.
  kind === "PlaceOrders" ? place : kind === "CancelOrders" ? cancel : byKind[kind]

const byCode: ReadonlyArray<Declaration | undefined> = all.reduce<Array<Declaration | undefined>>((codes, declaration) => {
  assert(codes[declaration.code] === undefined, "a journal code is of one kind")
  codes[declaration.code] = declaration
  return codes
}, [])

/** The declaration with a journal code, or undefined. */
export const ofCode = (code: number): Declaration | undefined => byCode[code]

type Requests = {
  readonly [K in Kind]: Declarations[K]["requests"]
}[Kind]
type UnionToIntersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void ? I : never
type RequestsByName = UnionToIntersection<Requests>
type Codes = { readonly [N in keyof RequestsByName]: RequestsByName[N] extends { readonly code: infer C } ? C : never }

const requestsByName: ReadonlyArray<readonly [name: string, request: RequestKind, declaration: Declaration]> = all.flatMap(
  (declaration) => Object.entries(declaration.requests).map(([name, request]) => [name, request, declaration] as const)
)

/** The codes of requests by name: together with the account, the scope of an Idempotency-Key. */
export const Operation = Object.fromEntries(requestsByName.map(([name, { code }]) => [name, code])) as unknown as Codes
export type Operation = Codes[keyof Codes]

const requestsByCode: ReadonlyMap<number, { readonly name: string; readonly request: RequestKind; readonly declaration: Declaration }> =
  new Map(requestsByName.map(([name, request, declaration]) => {
    assert(requestsByName.filter(([, other]) => other.code === request.code).length === 1, "a request code is of one request")
    return [request.code, { name, request, declaration }]
  }))

/** A request by its code. */
export const requestOf = (code: number) => requestsByCode.get(code)

/** The names of requests in lookups. */
export type LookupName = Exclude<
  { readonly [N in keyof RequestsByName]: RequestsByName[N] extends { readonly lookup: infer L } ? L : never }[keyof RequestsByName],
  null
>

/**
 * Whether fencing its key stops a command: every one that an account sends under a key, except the fence itself. Each of these can
 * also be looked up.
 */
export const isFenceable = ({ keyScope, kind }: Declaration): boolean => keyScope === "account" && kind !== "FenceOutcome"

/** Requests that a client may look up by key: those that a fence stops, so that nothing that was decided is fenced. */
export const lookedUp: ReadonlyArray<Operation> = requestsByName
  .filter(([, { lookup }, declaration]) => {
    assert((lookup !== null) === isFenceable(declaration), "what a fence stops has a name in lookups, and nothing else has")
    return lookup !== null
  })
  .map(([, { code }]) => code as Operation)
  .sort((one, other) => one - other)

/** The names in lookups of the requests that may be looked up, in the order of their codes. */
export const lookupNames = lookedUp.map((operation) => requestsByCode.get(operation)!.request.lookup) as ReadonlyArray<LookupName>

const clients: ReadonlySet<Principal> = new Set([Principal.key, Principal.session])

/** Whether it is sent by an account's own principals, so that its authority is checked. */
export const isClient = (command: Command): boolean => clients.has(command.principal)

/** Whose share of inbox and tables the command takes. */
export const shareOf = (command: Command): Share => byKind[command.kind].share(command as never)

/** The number of entries: orders to place or to cancel; 1 for a command without entries. */
export const entriesOf = (command: Command): number => "entries" in command ? command.entries.length : 1

/** The greatest number of outcomes to remember: one for each entry, or for each account that it opens. */
export const outcomesOf = (command: Command): number => command.kind === "OpenDemoAccounts" ? command.keys.length : entriesOf(command)

/** A command with the fingerprint of its own fields: for the venue's own commands, and for tests. */
export const withFields = <K extends Kind>(
  kind: K,
  header: Header,
  values: Omit<CommandOfKind<K>, "kind" | keyof Header>
): CommandOfKind<K> =>
  ({
    kind,
    ...header,
    fingerprint: header.idempotencyKey === ""
      ? Fingerprint.noFingerprint
      : Fingerprint.ofFields(byKind[kind].fields, values as Readonly<Record<string, unknown>>),
    ...values
  }) as unknown as CommandOfKind<K>

const outcomes: ReadonlyMap<string, AnyOutcome> = new Map(all.map(({ outcome }) => [outcome.tag, outcome]))
const outcomesByCode: ReadonlyArray<AnyOutcome | undefined> = [...outcomes.values()].reduce<Array<AnyOutcome | undefined>>(
  (codes, outcome) => {
    assert(codes[outcome.code] === undefined && outcome.code > refusedCode, "an outcome's code is its own")
    codes[outcome.code] = outcome
    return codes
  },
  []
)

/** Every outcome type besides `Refused`. */
export const allOutcomes: ReadonlyArray<AnyOutcome> = [...outcomes.values()]

/** Packs the outcome of an entry. */
export const pack = (outcome: EntryOutcome, into: Packed): void => {
  if (outcome._tag === "OrderDecided") return OrderDecided.pack(outcome, into)
  if (outcome._tag === "Refused") return packRefused(outcome, into)
  const declared = outcomes.get(outcome._tag)
  assert(declared !== undefined, "an outcome is declared by an operation")
  declared.pack(outcome, into)
}

/** Unpacks the outcome of an entry. */
export const unpack = (from: Packed): EntryOutcome => {
  const code = from.codes & 0xff
  if (code === refusedCode) return unpackRefused(from)
  const declared = outcomesByCode[code]
  assert(declared !== undefined, "a packed outcome is one of those declared")
  return declared.unpack(from) as EntryOutcome
}
