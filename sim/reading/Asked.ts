/** The meaning of a request by the contract: the vocabulary shared by the readings of requests, commands and answers. */
import type { Parameters } from "../../src/domain/Market.js"
import type { Kind, Operation } from "../../src/operations/Operations.js"

/** The family of the route: ids and decimal texts, or symbols and numbers. */
export type Family = "native" | "compat"

/** A requested take-profit or stop-loss. */
export interface AskedTrigger {
  /** Plain decimals, as sent; the limit undefined where there is none. */
  readonly price: string
  readonly by: "mark" | "last" | "index"
  readonly limit: string | undefined
}

/** The requested triggers, at least one. */
export interface AskedAutoClose {
  readonly takeProfit: AskedTrigger | undefined
  readonly stopLoss: AskedTrigger | undefined
}

/** A requested order, with the contract's defaults for members that were left out. */
export interface AskedOrder {
  /** The market's id, or on `/v2` its symbol. */
  readonly market: string
  /** Empty where there is none. */
  readonly clientOrderId: string
  readonly side: "buy" | "sell"
  readonly type: "limit" | "market"
  readonly timeInForce: "GTC" | "IOC"
  /** Plain decimals; the price undefined where there is none. */
  readonly price: string | undefined
  readonly quantity: string
  /** The values as sent. */
  readonly sentPrice: unknown
  readonly sentQuantity: unknown
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly selfTradePrevention: "cancel_resting" | "cancel_incoming" | "cancel_both"
  /** 0 for never. */
  readonly expiresAtEpochMs: number
  /** The requested triggers, and the same as sent. */
  readonly autoClose: AskedAutoClose | undefined
  readonly sentAutoClose: unknown
}

export interface AskedCancel {
  readonly market: string
  readonly orderId: string
}

/** A request's wish, by the kind of the resulting command. */
export type Wanted =
  | { readonly kind: "PlaceOrders"; readonly family: Family; readonly batch: boolean; readonly orders: ReadonlyArray<AskedOrder> }
  | { readonly kind: "CancelOrders"; readonly family: Family; readonly batch: boolean; readonly orders: ReadonlyArray<AskedCancel> }
  | {
    readonly kind: "AmendOrder"
    readonly market: string
    readonly orderId: string
    readonly price: string | undefined
    readonly quantity: string | undefined
  }
  /** Without a market: in all of them. */
  | { readonly kind: "CancelAllOrders"; readonly family: Family; readonly market: string | undefined }
  | { readonly kind: "SetCancelAllAfter"; readonly timeoutMs: number }
  | { readonly kind: "FenceOutcome"; readonly key: string | undefined; readonly clientOrderId: string | undefined }
  | { readonly kind: "SetDisplayHandle"; readonly chosen: string }
  /** Without a market: in all of them. Without triggers: cancels them. */
  | {
    readonly kind: "SetAutoClose"
    readonly market: string | undefined
    readonly autoClose: AskedAutoClose | undefined
    readonly sentAutoClose: unknown
  }
  | { readonly kind: "SetLeverage"; readonly market: string; readonly leverageX: number }
  | { readonly kind: "PutMarket"; readonly parameters: Parameters; readonly effectiveAtEpochMs: number }
  | { readonly kind: "SetMarketStatus"; readonly market: string; readonly status: string }
  | { readonly kind: "SetIndexPrice"; readonly market: string; readonly price: string; readonly sourceEpochMs: number }
  /** At 0: effective at once. */
  | {
    readonly kind: "DelistMarket"
    readonly market: string
    readonly action: "delist" | "withdraw"
    readonly effectiveAtEpochMs: number
  }
  | { readonly kind: "HaltEngine" | "ResumeEngine" }
  | { readonly kind: "SetLimits"; readonly retentionMs: number }
  /** Selects one order, or those of an account, in a market, or both. */
  | {
    readonly kind: "CancelByOperator"
    readonly orderId: string | undefined
    readonly accountId: string | undefined
    readonly market: string | undefined
  }
  | { readonly kind: "AddToFund"; readonly amountAtoms: number }
  | { readonly kind: "CreditAccount"; readonly accountId: string; readonly amountAtoms: number }
  /** Bits of the flags to set, and to clear. */
  | { readonly kind: "SetAccountFlags"; readonly accountId: string; readonly set: number; readonly clear: number }
  | { readonly kind: "IssueBotKey"; readonly token: string }
  | { readonly kind: "RevokeKeyByOperator"; readonly keyId: string }
  | { readonly kind: "StopWithdrawals" | "AllowWithdrawals" }
  | { readonly kind: "OpenDemoAccounts"; readonly accounts: number; readonly collateralAtoms: number; readonly keyLifetimeSeconds: number }

/** The kinds of command that requests become. */
export type AskedKind = Wanted["kind"]
/** Kinds of command that no request asks for. */
export type Unasked = Exclude<Kind, AskedKind>

export interface Asked {
  readonly operation: Operation
  /** The content of path and body, the same text for all spellings of a request. */
  readonly canonical: string
  readonly wanted: Wanted
}

/** The family whose names of markets a request uses. */
export const familyOf = ({ wanted }: Asked): Family => "family" in wanted ? wanted.family : "native"

/**
 * What a request is. `malformed`: its answer is 400. `notJson`: 415. `tooLarge`: 413. `unsupported`: 501. `nowhere`: there is no such
 * route, or not with this method. `foreign`: it names an account for which the credential is not valid. None of these is journaled.
 * `other`: not a command.
 */
export type Reading =
  | { readonly _tag: "asked"; readonly asked: Asked }
  | { readonly _tag: "malformed" | "notJson" | "tooLarge" | "unsupported" | "other" }
  | { readonly _tag: "nowhere"; readonly status: number }
  | { readonly _tag: "foreign"; readonly statuses: ReadonlyArray<number> }
