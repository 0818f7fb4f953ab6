/**
 * The expected command of a request, field by field: from the request's meaning and the market's grid. The fields are typed by the
 * operations' declarations: a new field without an expectation here does not compile.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { Command, CommandOfKind, Declarations, Kind } from "../../src/operations/Operations.js"
import type { Header } from "../../src/operations/Header.js"
import type { CancelEntry } from "../../src/operations/orders/CancelOrders.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import type { AutoClose, Trigger } from "../../src/operations/accounts/AutoClose.js"
import type { Asked, AskedAutoClose, AskedCancel, AskedKind, AskedOrder, AskedTrigger, Family, Unasked, Wanted } from "./Asked.js"
import type { Meanings, Place } from "./Markets.js"
import { atomsOf, type Atoms } from "./Numbers.js"
import * as Tokens from "./Tokens.js"

/** The fields of a command of a kind, without those of every command. */
type FieldsOf<K extends AskedKind> = Omit<CommandOfKind<K>, "kind" | keyof Header>

/** Commands about who may act: they have no keys, and are checked against their requests by `Identity` and its property. */
const identities = {
  OpenOwnerAccount: true,
  SignIn: true,
  AddPasskey: true,
  RemovePasskey: true,
  ProvePasskey: true,
  EndSession: true,
  ApproveAgent: true,
  DenyAgent: true,
  ExchangeGrant: true,
  RevokeApiKey: true,
  NoteSecurity: true
} as const

/** Commands about realtime tickets: minted by a key, then rotated and ended by the ticket's holder. */
const tickets = { MintTicket: true, RotateTicket: true, EndTickets: true } as const

/** Commands about money on the ledger: checked against the ledger by properties of their own. */
const ledgers = {
  RequestDeposit: true,
  RequestWithdrawal: true,
  RequestPartyChange: true,
  CancelTransfer: true,
  ApproveStep: true,
  BindParty: true,
  PrepareStep: true,
  BeginSubmission: true,
  NoteSubmission: true,
  NoteCompletion: true,
  NoteScan: true,
  RejectStep: true,
  NoteLedgerOffset: true
} as const

/**
 * Commands about money on the ledger, and the operators' keyed commands about it: withdrawals are also stopped because of what the ledger
 * itself holds.
 */
const funds = { ...ledgers, StopWithdrawals: true, AllowWithdrawals: true } as const

/** The kinds of command that carry an Idempotency-Key. */
type KeyedKind = { readonly [K in Kind]: Declarations[K]["keyScope"] extends "none" ? never : K }[Kind]

/** A kind that carries a key comes by a request, which has to be read: none stands here but those of money. */
type Wishless<K extends Unasked> = K extends Exclude<KeyedKind, keyof typeof ledgers>
  ? "It has a key: give it a wish in sim/reading/Asked.ts"
  : true

/** Kinds of command without a wish in `Asked.ts`: they carry no key, or are about money. Every other kind has one. */
const unasked: { readonly [K in Unasked]: Wishless<K> } = {
  OpenVenue: true,
  StartVenue: true,
  PassTime: true,
  MarkTick: true,
  SetMarketSession: true,
  ...identities,
  ...tickets,
  ...ledgers,
  NoteKeyUses: true,
  ArmConnection: true,
  EndConnection: true,
  SetFavorite: true,
  RegisterAffiliate: true
}

/** Whether requests ask for a command's kind under a key. */
export const isAskedFor = (command: Command): command is CommandOfKind<AskedKind> => !(command.kind in unasked)

/** Whether a command is about who may act. */
export const isOfIdentity = (command: Command): command is CommandOfKind<keyof typeof identities> => command.kind in identities

/** Whether a command is about money on the ledger. */
export const isOfFunds = (command: Command): command is CommandOfKind<keyof typeof funds> => command.kind in funds

/** Whether a command is about realtime tickets. */
export const isOfTickets = (command: Command): command is CommandOfKind<keyof typeof tickets> => command.kind in tickets

/** Index for no market or order, and for any market. */
const none = -1
const anyMarket = -2

/** A request's decimals on a market's grid. */
interface OnGrid {
  readonly fault: Refusal
  readonly price: number | undefined
  readonly quantity: number | undefined
}

const unknown: OnGrid = { fault: Refusal.marketNotFound, price: undefined, quantity: undefined }
const faulty = (fault: Refusal): OnGrid => ({ fault, price: undefined, quantity: undefined })

/** The refusal of a number without atoms: on `/v2` too many decimals are off the grid, anything else is out of bounds. */
const faultOf = (atoms: Atoms, offGrid: Refusal, outOfBounds: Refusal): Refusal => atoms === "too fine" ? offGrid : outOfBounds

/** On `/v1` too many decimals make a request malformed. `zeroIsNone`: a price of zero would mean that there is none. */
const onGrid = (
  place: Place | undefined,
  family: Family,
  price: string | undefined,
  quantity: string | undefined,
  zeroIsNone: boolean
): OnGrid | "malformed" => {
  if (place === undefined) return unknown
  const priceAtoms = price === undefined ? undefined : atomsOf(price, place.priceScale)
  const quantityAtoms = quantity === undefined ? undefined : atomsOf(quantity, place.quantityScale)
  const isZeroed = priceAtoms === 0 && zeroIsNone
  if (typeof priceAtoms !== "string" && typeof quantityAtoms !== "string" && !isZeroed) {
    return { fault: Refusal.none, price: priceAtoms, quantity: quantityAtoms }
  }
  // Nothing is disclosed about a market that is not listed, not even its grid.
  if (!place.listed) return unknown
  if (family === "native" && (priceAtoms === "too fine" || quantityAtoms === "too fine")) return "malformed"
  if (typeof priceAtoms === "string" || isZeroed) return faulty(faultOf(priceAtoms!, Refusal.priceOffGrid, Refusal.priceOutOfBounds))
  return faulty(faultOf(quantityAtoms!, Refusal.quantityOffGrid, Refusal.quantityOutOfBounds))
}

const sides = { buy: 0, sell: 1 } as const
const types = { limit: 0, market: 1 } as const
const timesInForce = { GTC: 0, IOC: 1 } as const
const selfTradePreventions = { cancel_resting: 0, cancel_incoming: 1, cancel_both: 2 } as const

const triggerBys = { mark: 0, last: 1, index: 2 } as const

/** Triggers on their market's grid: a price of zero, or one without atoms, is invalid. */
interface Triggers {
  readonly fault: Refusal
  readonly autoClose: AutoClose
}

const noTrigger: Trigger = { priceAtoms: 0, by: 0, limitAtoms: 0 }
const noAutoClose: AutoClose = { takeProfit: noTrigger, stopLoss: noTrigger }

/** The prices of triggers in the order in which they are checked. */
export const pricesOf = ({ stopLoss, takeProfit }: AskedAutoClose): ReadonlyArray<string> =>
  [takeProfit?.price, takeProfit?.limit, stopLoss?.price, stopLoss?.limit].filter((each) => each !== undefined)

const triggers = (place: Place | undefined, asked: AskedAutoClose | undefined): Triggers | "malformed" => {
  if (asked === undefined) return { fault: Refusal.none, autoClose: noAutoClose }
  if (place === undefined) return { fault: Refusal.marketNotFound, autoClose: noAutoClose }
  const atoms = pricesOf(asked).map((price) => atomsOf(price, place.priceScale))
  const odd = atoms.find((each) => typeof each === "string" || each === 0)
  if (odd !== undefined && !place.listed) return { fault: Refusal.marketNotFound, autoClose: noAutoClose }
  if (odd === "too fine") return "malformed"
  if (odd !== undefined) return { fault: Refusal.triggerInvalid, autoClose: noAutoClose }
  const trigger = (each: AskedTrigger | undefined): Trigger =>
    each === undefined ? noTrigger : {
      priceAtoms: atomsOf(each.price, place.priceScale) as number,
      by: triggerBys[each.by],
      limitAtoms: each.limit === undefined ? 0 : atomsOf(each.limit, place.priceScale) as number
    }
  return { fault: Refusal.none, autoClose: { takeProfit: trigger(asked.takeProfit), stopLoss: trigger(asked.stopLoss) } }
}

const placed = (order: AskedOrder, family: Family, place: Place | undefined): PlaceEntry | "malformed" => {
  const grid = onGrid(place, family, order.price, order.quantity, order.type === "market")
  const closes = triggers(place, order.autoClose)
  if (grid === "malformed" || closes === "malformed") return "malformed"
  const fault = grid.fault === Refusal.none ? closes.fault : grid.fault
  const sent = [order.market, order.sentPrice ?? null, order.sentQuantity, ...(order.autoClose === undefined ? [] : [order.sentAutoClose])]
  return {
    market: place?.index ?? none,
    clientOrderId: order.clientOrderId,
    side: sides[order.side],
    type: types[order.type],
    timeInForce: timesInForce[order.timeInForce],
    priceAtoms: grid.price ?? 0,
    quantityAtoms: grid.quantity ?? 0,
    postOnly: order.postOnly,
    reduceOnly: order.reduceOnly,
    selfTradePrevention: selfTradePreventions[order.selfTradePrevention],
    expiresAtEpochMs: order.expiresAtEpochMs,
    fault,
    raw: fault === Refusal.none ? "" : JSON.stringify(sent),
    autoClose: closes.autoClose
  }
}

/** The number in an order's id, or -1 where no order can have that id. */
export const numberOf = (orderId: string): number => {
  const [, digits] = /^ord_(0|[1-9a-z][0-9a-z]{0,10})$/.exec(orderId) ?? []
  const number = digits === undefined ? none : Number.parseInt(digits, 36)
  return Number.isSafeInteger(number) ? number : none
}

const canceled = ({ market, orderId }: AskedCancel, place: Place | undefined): CancelEntry => {
  const orderNumber = numberOf(orderId)
  return {
    market: place?.index ?? none,
    orderNumber,
    raw: place === undefined || orderNumber === none ? JSON.stringify([market, orderId]) : ""
  }
}

const amended = (
  { market, orderId, price, quantity }: Wanted & { readonly kind: "AmendOrder" },
  place: Place | undefined
): FieldsOf<"AmendOrder"> | "malformed" => {
  const grid = onGrid(place, "native", price, quantity, true)
  if (grid === "malformed") return grid
  const orderNumber = numberOf(orderId)
  const isPlain = place !== undefined && orderNumber !== none && grid.fault === Refusal.none
  return {
    market: place?.index ?? none,
    orderNumber,
    priceAtoms: grid.price ?? 0,
    quantityAtoms: grid.quantity ?? -1,
    fault: grid.fault,
    raw: isPlain ? "" : JSON.stringify([market, orderId, price ?? null, quantity ?? null])
  }
}

/** A request for an unknown market, or with a price off its grid, is not journaled. */
const indexed = (
  { price, sourceEpochMs }: Wanted & { readonly kind: "SetIndexPrice" },
  place: Place | undefined
): FieldsOf<"SetIndexPrice"> | "malformed" => {
  const priceAtoms = place === undefined ? "too fine" : atomsOf(price, place.priceScale)
  return place === undefined || typeof priceAtoms === "string" ? "malformed" : { market: place.index, priceAtoms, sourceEpochMs }
}

const canceledAll = (
  { market }: Wanted & { readonly kind: "CancelAllOrders" },
  place: Place | undefined
): FieldsOf<"CancelAllOrders"> => {
  if (market === undefined) return { market: anyMarket, raw: "" }
  return place === undefined ? { market: none, raw: market } : { market: place.index, raw: "" }
}

const autoClosed = (
  { autoClose, market, sentAutoClose }: Wanted & { readonly kind: "SetAutoClose" },
  place: Place | undefined
): FieldsOf<"SetAutoClose"> | "malformed" => {
  const closes = triggers(place, autoClose)
  if (closes === "malformed") return closes
  const raw = closes.fault === Refusal.none ? "" : JSON.stringify([market, sentAutoClose])
  return { market: market === undefined ? anyMarket : place?.index ?? none, ...closes.autoClose, fault: closes.fault, raw }
}

const canceledByOperator = (
  { accountId, orderId }: Wanted & { readonly kind: "CancelByOperator" },
  place: Place | undefined,
  accountOf: AccountOf
): FieldsOf<"CancelByOperator"> => ({
  orderNumber: orderId === undefined ? none : numberOf(orderId),
  ofAccount: accountId === undefined ? none : accountOf(accountId),
  market: place?.index ?? anyMarket,
  tellsOwner: true
})

type Values = { readonly [name: string]: unknown }

/** The first field in which a command differs from the expected one; undefined where none does. */
const differing = (expected: object, found: object): string | undefined => {
  const values = found as Values
  for (const [name, value] of Object.entries(expected)) {
    const other = values[name]
    const isSame = typeof value === "object" ? JSON.stringify(value) === JSON.stringify(other) : value === other
    if (!isSame) return `${name} is ${JSON.stringify(other)}, must be ${JSON.stringify(value)}`
  }
  return undefined
}

/** The index of the account with an id. */
export type AccountOf = (accountId: string) => number

/** What an id or a symbol may have meant when the request was checked. */
export type Find = (name: string) => Meanings

/** Compares a part of a command with all that it may have been; undefined where it equals one of them. */
const againstMeanings = (
  meanings: Meanings,
  expected: (place: Place | undefined) => object | "malformed",
  found: object
): string | undefined => {
  let said: string | undefined
  for (const place of meanings) {
    const fields = expected(place)
    said = fields === "malformed" ? "is of a request that is none on the market's grid" : differing(fields, found)
    if (said === undefined) return undefined
  }
  return said
}

const againstEntries = <E extends { readonly market: string }>(
  asked: ReadonlyArray<E>,
  found: ReadonlyArray<object>,
  find: Find,
  expected: (entry: E, place: Place | undefined) => object | "malformed"
): string | undefined => {
  if (asked.length !== found.length) return `has ${found.length} entries, asked for were ${asked.length}`
  for (let index = 0; index < asked.length; index++) {
    const entry = asked[index]!
    const said = againstMeanings(find(entry.market), (place) => expected(entry, place), found[index]!)
    if (said !== undefined) return `entry ${index}: ${said}`
  }
  return undefined
}

type AskedCommand = CommandOfKind<AskedKind>

/** Narrows a command to its kind: both come from the same wish. */
const as = <K extends AskedKind>(_: K, command: AskedCommand): CommandOfKind<K> => command as CommandOfKind<K>

/** The first difference between a command and its request; undefined where there is none. Sender and key are not compared. */
export const difference = ({ operation, wanted }: Asked, command: AskedCommand, find: Find, accountOf: AccountOf): string | undefined => {
  if (command.kind !== wanted.kind) return `is a ${command.kind}, asked for was a ${wanted.kind}`
  if (command.operation !== operation) return `came by request ${command.operation}, asked was ${operation}`
  switch (wanted.kind) {
    case "PlaceOrders":
      return againstEntries(wanted.orders, as("PlaceOrders", command).entries, find, (order, place) => placed(order, wanted.family, place))
    case "CancelOrders":
      return againstEntries(wanted.orders, as("CancelOrders", command).entries, find, canceled)
    case "AmendOrder":
      return againstMeanings(find(wanted.market), (place) => amended(wanted, place), command)
    case "CancelAllOrders":
      return againstMeanings(wanted.market === undefined ? [undefined] : find(wanted.market), (place) => canceledAll(wanted, place),
        command)
    case "SetCancelAllAfter":
      return differing({ timeoutMs: wanted.timeoutMs } satisfies FieldsOf<"SetCancelAllAfter">, as("SetCancelAllAfter", command))
    case "FenceOutcome": {
      const { clientOrderId = "", key = "" } = wanted
      return differing({ fencedKey: key, fencedClientOrderId: clientOrderId } satisfies FieldsOf<"FenceOutcome">,
        as("FenceOutcome", command))
    }
    case "SetDisplayHandle":
      return differing({ chosen: wanted.chosen } satisfies FieldsOf<"SetDisplayHandle">, as("SetDisplayHandle", command))
    case "SetAutoClose":
      return againstMeanings(wanted.market === undefined ? [undefined] : find(wanted.market), (place) => autoClosed(wanted, place), command)
    case "SetLeverage":
      return againstMeanings(find(wanted.market),
        (place) => ({ market: place?.index ?? none, leverageX: wanted.leverageX }) satisfies FieldsOf<"SetLeverage">, command)
    case "PutMarket":
      return differing(wanted.parameters, as("PutMarket", command).parameters)
        ?? differing({ effectiveAtEpochMs: wanted.effectiveAtEpochMs }, as("PutMarket", command))
    case "SetMarketStatus":
      return againstMeanings(find(wanted.market),
        (place) => place === undefined ? "malformed" : { market: place.index, status: wanted.status }, command)
    case "DelistMarket": {
      const { action, effectiveAtEpochMs } = wanted
      return againstMeanings(find(wanted.market),
        (place) => place === undefined ? "malformed" : { market: place.index, action, effectiveAtEpochMs }, command)
    }
    case "SetIndexPrice":
      return againstMeanings(find(wanted.market), (place) => indexed(wanted, place), command)
    case "AddToFund":
      return differing({ amountAtoms: wanted.amountAtoms } satisfies FieldsOf<"AddToFund">, as("AddToFund", command))
    case "CreditAccount": {
      const { accountId, amountAtoms } = wanted
      const fields = { ofAccount: accountOf(accountId), amountAtoms, tellsOwner: true } satisfies FieldsOf<"CreditAccount">
      return differing(fields, as("CreditAccount", command))
    }
    case "SetAccountFlags": {
      const { accountId, clear, set } = wanted
      const fields = { ofAccount: accountOf(accountId), set, clear, tellsOwner: true } satisfies FieldsOf<"SetAccountFlags">
      return differing(fields, as("SetAccountFlags", command))
    }
    case "IssueBotKey": {
      // The stored attributes of the key are compared with its answer.
      const subject = Tokens.subjectIn(wanted.token) ?? ""
      const fields = { ofAccount: Tokens.accountOf(subject) ?? none, subject }
      return differing(fields satisfies Partial<FieldsOf<"IssueBotKey">>, as("IssueBotKey", command))
    }
    case "RevokeKeyByOperator":
      return differing({ keyId: wanted.keyId } satisfies FieldsOf<"RevokeKeyByOperator">, as("RevokeKeyByOperator", command))
    case "StopWithdrawals":
      return differing(stopOfOperator, as("StopWithdrawals", command))
    case "CancelByOperator":
      return againstMeanings(
        wanted.market === undefined ? [undefined] : find(wanted.market),
        (place) => wanted.market !== undefined && place === undefined ? "malformed" : canceledByOperator(wanted, place, accountOf),
        command
      )
    case "OpenDemoAccounts":
      return opened(wanted, as("OpenDemoAccounts", command))
    case "SetLimits":
      return differing({ retentionMs: wanted.retentionMs } satisfies FieldsOf<"SetLimits">, as("SetLimits", command))
    case "HaltEngine":
    case "ResumeEngine":
    case "AllowWithdrawals":
      return undefined
  }
}

/** An operator's stop of withdrawals compares nothing. */
const stopOfOperator = { reason: "operator", differenceAtoms: 0, atOffset: 0 } as const satisfies FieldsOf<"StopWithdrawals">

/** Scopes of a demo account's key: read and trade. */
const readAndTrade = 3

const opened = (
  { accounts, collateralAtoms, keyLifetimeSeconds }: Wanted & { readonly kind: "OpenDemoAccounts" },
  { collateralAtoms: credited, keys, lifetimeSeconds }: FieldsOf<"OpenDemoAccounts">
): string | undefined => {
  if (lifetimeSeconds !== keyLifetimeSeconds) return `lets keys live for ${lifetimeSeconds} s, must be ${keyLifetimeSeconds}`
  if (credited !== collateralAtoms) return `credits ${credited} atoms, must be ${collateralAtoms}`
  if (keys.length !== accounts) return `opens ${keys.length} accounts, must be ${accounts}`
  return keys.every(({ scopes }) => scopes === readAndTrade) ? undefined : "opens accounts whose keys may not both read and trade"
}

/** Whether a request may be called malformed because of its decimals, on one of the markets that it may have named. */
export const mayBeMalformed = ({ wanted }: Asked, find: Find): boolean => {
  const any = (name: string, made: (place: Place | undefined) => object | "malformed"): boolean =>
    find(name).some((place) => made(place) === "malformed")
  switch (wanted.kind) {
    case "PlaceOrders":
      return wanted.orders.some((order) => any(order.market, (place) => placed(order, wanted.family, place)))
    case "AmendOrder":
      return any(wanted.market, (place) => amended(wanted, place))
    case "SetAutoClose":
      return wanted.market !== undefined && any(wanted.market, (place) => autoClosed(wanted, place))
    case "SetIndexPrice":
      return any(wanted.market, (place) => indexed(wanted, place))
    default:
      return false
  }
}
