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
  amendV1: 8,
  cancelAllV1: 9,
  cancelAllV2: 10,
  cancelAllAfterV1: 11,
  fenceV1: 12,
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
  /** When a resting order is cancelled by itself; 0: never. */
  readonly expiresAtEpochMs: number
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

/**
 * Changes the price or the total quantity of an open order. It keeps its time priority only where the quantity
 * shrinks at the same price.
 */
export interface AmendOrder {
  readonly kind: "AmendOrder"
  readonly operation: Operation
  readonly account: number
  readonly apiKey: number
  readonly idempotencyKey: string
  /** As in `CancelEntry`. */
  readonly market: number
  readonly orderNumber: number
  /** The new price; 0: as it is. */
  readonly priceAtoms: number
  /** The new total, at or under what is filled to cancel the rest; -1: as it is. */
  readonly quantityAtoms: number
  /** As in `PlaceEntry`. */
  readonly fault: Refusal
  readonly raw: string
}

/** Cancels all open orders of an account, or those in one market. */
export interface CancelAllOrders {
  readonly kind: "CancelAllOrders"
  readonly operation: Operation
  readonly account: number
  readonly apiKey: number
  readonly idempotencyKey: string
  /** -2 for all, -1 for one that does not exist. */
  readonly market: number
  /** With a market that does not exist: its name as sent, so that another body is told apart. Otherwise empty. */
  readonly raw: string
}

/** Arms the dead-man switch: unless set again before, all open orders of the account are cancelled then. */
export interface SetCancelAllAfter {
  readonly kind: "SetCancelAllAfter"
  readonly operation: Operation
  readonly account: number
  readonly apiKey: number
  readonly idempotencyKey: string
  /** From the record's time on; 0 disarms. */
  readonly timeoutMs: number
}

/** Makes sure that a key or a clientOrderId which was never seen will never act, so that a late original cannot land. */
export interface FenceOutcome {
  readonly kind: "FenceOutcome"
  readonly operation: Operation
  readonly account: number
  readonly apiKey: number
  readonly idempotencyKey: string
  /** The key to fence, or empty. */
  readonly fencedKey: string
  /** The clientOrderId to fence, or empty. */
  readonly fencedClientOrderId: string
}

/** Lets time pass: what is due by the record's time is done by every record, and by this one where no other comes. */
export interface PassTime {
  readonly kind: "PassTime"
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
  | AmendOrder
  | CancelAllOrders
  | SetCancelAllAfter
  | FenceOutcome
  | PassTime
  | OpenVenue
  | PutMarket
  | SetMarketStatus
  | SetIndexPrice
  | HaltEngine
  | ResumeEngine
  | OpenDemoAccounts

/** What a client sends, under an account, a key and an Idempotency-Key. */
export type ClientCommand = PlaceOrders | CancelOrders | AmendOrder | CancelAllOrders | SetCancelAllAfter | FenceOutcome

/** Whether a client sent it, so that its authority is looked at. */
export const isClient = (command: Command): command is ClientCommand => {
  switch (command.kind) {
    case "PlaceOrders":
    case "CancelOrders":
    case "AmendOrder":
    case "CancelAllOrders":
    case "SetCancelAllAfter":
    case "FenceOutcome":
      command satisfies ClientCommand
      return true
    default:
      command satisfies Exclude<Command, ClientCommand>
      return false
  }
}

/** Whether a global halt refuses the command. A fence only makes sure that nothing happens, and is taken. */
export const isTrading = (command: Command): boolean => isClient(command) && command.kind !== "FenceOutcome"

/** Whether the command only takes risk away: these have their own share of the inbox. */
export const isReduction = (command: Command): boolean =>
  (isClient(command) && command.kind !== "PlaceOrders" && command.kind !== "AmendOrder")
  || (command.kind === "PlaceOrders" && command.entries.every((entry) => entry.reduceOnly))
