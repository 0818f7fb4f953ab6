/**
 * What can be asked of the engine. A command is plain data: it is what a journal record holds, and
 * together with the record's sequence and time it determines everything that follows.
 *
 * Accounts, markets and keys are named by their dense engine indices (0, 1, 2 ...), which replay
 * reproduces. -1 stands for none or unknown.
 */
import type { SelfTradePrevention, Side, TimeInForce, Type } from "./Order.js"
import type { Parameters, Status } from "./Market.js"
import type { Refusal } from "./Refusal.js"

/** The scope of an Idempotency-Key is account and operation. Codes are journaled: never renumber. */
export const Operation = {
  placeV1: 1,
  placeBatchV1: 2,
  placeV2: 3,
  placeBatchV2: 4,
  cancelV1: 5,
  cancelBatchV1: 6,
  cancelV2: 7,
  putMarket: 20,
  setMarketStatus: 21,
  setIndexPrice: 22,
  haltEngine: 23,
  resumeEngine: 24,
  openDemoAccounts: 25
} as const
export type Operation = (typeof Operation)[keyof typeof Operation]

/** One order to place. `quantityAtoms` and `priceAtoms` are as the client sent them, on the market's grid. */
export interface PlaceEntry {
  /** Market index, or -1 where the client named none that exists. */
  readonly market: number
  /** Empty where the client gave none (the compatibility layer allows it). */
  readonly clientOrderId: string
  readonly side: Side
  readonly type: Type
  readonly timeInForce: TimeInForce
  /** Price atoms; 0 for a market order without a worst price. */
  readonly priceAtoms: number
  /** Size atoms. */
  readonly quantityAtoms: number
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly selfTradePrevention: SelfTradePrevention
  /** A refusal the edge already knows (unknown market, off the grid, beyond any bound); the engine decides nothing else for it. 0: none. */
  readonly fault: Refusal
  /** With a fault: what the client sent in the offending fields, so that another body is told apart. Otherwise empty. */
  readonly raw: string
}

/** Places 1..32 orders of one account in one writer turn; an entry's refusal changes no sibling. */
export interface PlaceOrders {
  readonly kind: "PlaceOrders"
  readonly operation: Operation
  readonly account: number
  /** API key index, or -1 for none (operator, timers). */
  readonly apiKey: number
  readonly idempotencyKey: string
  readonly entries: ReadonlyArray<PlaceEntry>
}

/** One order to cancel: the number in its id, and the market that the client bound it to (-1 unknown, -2 not said). */
export interface CancelEntry {
  readonly market: number
  /** -1 where the client's id could not be any order's; `raw` then tells bodies apart. */
  readonly orderNumber: number
  readonly raw: string
}

/** Cancels 1..24 orders of one account in one writer turn. */
export interface CancelOrders {
  readonly kind: "CancelOrders"
  readonly operation: Operation
  readonly account: number
  readonly apiKey: number
  readonly idempotencyKey: string
  readonly entries: ReadonlyArray<CancelEntry>
}

/** The first record of a journal. */
export interface OpenVenue {
  readonly kind: "OpenVenue"
  readonly environment: string
  /** The version of the engine's rules that this journal starts under. */
  readonly rules: number
}

/** Creates a market (in `draft`) or updates one within the rules. */
export interface PutMarket {
  readonly kind: "PutMarket"
  readonly idempotencyKey: string
  readonly parameters: Parameters
}

export interface SetMarketStatus {
  readonly kind: "SetMarketStatus"
  readonly idempotencyKey: string
  readonly market: number
  readonly status: Status
}

/** A price of the index, from the feed or an operator. Until marks exist it is the mark. */
export interface SetIndexPrice {
  readonly kind: "SetIndexPrice"
  /** Empty from the feed. */
  readonly idempotencyKey: string
  readonly market: number
  readonly priceAtoms: number
  readonly sourceEpochMs: number
}

/** Refuses every trading command until resumed. */
export interface HaltEngine {
  readonly kind: "HaltEngine"
  readonly idempotencyKey: string
}

export interface ResumeEngine {
  readonly kind: "ResumeEngine"
  readonly idempotencyKey: string
}

/** One API key to issue. The secret never comes this far: only its SHA-256. */
export interface KeyGrant {
  readonly keyId: string
  /** What an owner sees of the key: everything before the secret. */
  readonly displayPrefix: string
  /** SHA-256 of the whole key text, lowercase hex. */
  readonly secretSha256: string
  /** Bit 0: read, bit 1: trade. */
  readonly scopes: number
  readonly expiresAtEpochMs: number
}

/** Development only: opens enabled accounts, credits each, and issues one key for each. 1..32 at a time. */
export interface OpenDemoAccounts {
  readonly kind: "OpenDemoAccounts"
  readonly idempotencyKey: string
  readonly collateralAtoms: number
  readonly keys: ReadonlyArray<KeyGrant>
}

/** Scope bits of an API key. */
export const scopeRead = 1
export const scopeTrade = 2

/** Most orders one placement may carry. */
export const maxPlaceEntries = 32
/** Most orders one cancel may name. */
export const maxCancelEntries = 24
/** Most accounts one demo command may open. */
export const maxDemoAccounts = 32

export type Command =
  | PlaceOrders
  | CancelOrders
  | OpenVenue
  | PutMarket
  | SetMarketStatus
  | SetIndexPrice
  | HaltEngine
  | ResumeEngine
  | OpenDemoAccounts

/** Whether a global halt refuses the command. */
export const isTrading = (command: Command): command is PlaceOrders | CancelOrders =>
  command.kind === "PlaceOrders" || command.kind === "CancelOrders"

/** Whether the command only takes risk away: these have their own share of the inbox. */
export const isReduction = (command: Command): boolean =>
  command.kind === "CancelOrders"
  || (command.kind === "PlaceOrders" && command.entries.every((entry) => entry.reduceOnly))
