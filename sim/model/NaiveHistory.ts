/**
 * The past as the model saw it happen: every price and every change of a position, kept in order and never aggregated. Candles and
 * episodes as of any record are computed from all of it (`ShownHistories.ts`).
 */
import type { StepName, TransferKind, TransferStatus } from "../../src/operations/funds/Transfers.js"
import type { NaiveFill } from "./NaiveState.js"

/** A trade, or an accepted sample of the index; the latter has size 0. */
export interface NaivePrice {
  readonly series: "trade" | "index"
  readonly market: number
  readonly sequence: number
  readonly atEpochMs: number
  readonly price: number
  readonly size: number
}

export type NaiveReason = "user_close" | "take_profit" | "stop_loss" | "liquidation" | "auto_deleveraged" | "market_delisted"

/** A change of a position, by a fill or by a transfer without one. */
export interface NaiveHeldChange {
  readonly _tag: "Changed"
  readonly account: number
  readonly market: number
  readonly sequence: number
  readonly atEpochMs: number
  /** Size atoms before the change, and the change; long positive. */
  readonly held: number
  readonly change: number
  /** Notional of the change, money atoms. */
  readonly notional: bigint
  readonly realizedPnl: bigint
  readonly fee: bigint
  /** Whether it was the fill of an order. */
  readonly isFill: boolean
  /** The episode that it began, if any. */
  readonly opened: number | undefined
  /** Why it ended the position, if it did. */
  readonly reason: NaiveReason
}

/** Funding that was paid for a position; negative where it was received. */
export interface NaiveFundingPaid {
  readonly _tag: "Paid"
  readonly account: number
  readonly market: number
  readonly sequence: number
  readonly atEpochMs: number
  readonly paid: bigint
}

export interface NaiveNote {
  /** Counts the notes of its account, from 0. */
  readonly ordinal: number
  readonly kind: string
  readonly sequence: number
  readonly atEpochMs: number
  readonly credentialId: string
  readonly remoteAddress: string
  readonly detail: string
}

/** The ledger's latest word on a transfer; a guard is null where nothing was refused. */
export interface NaiveOutcome {
  readonly step: StepName
  readonly outcome: string
  readonly guard: string | null
}

/** The state of a transfer from a record on. */
export interface NaiveTransferTold {
  readonly sequence: number
  readonly account: number
  readonly kind: TransferKind
  readonly number: number
  readonly status: TransferStatus
  readonly partyId: string
  readonly failedAt: string | undefined
  readonly outcome: NaiveOutcome | undefined
  /** When the owner approved the step that is under way; undefined where that still waits for it. */
  readonly approvedAtEpochMs: number | undefined
  readonly steps: ReadonlyArray<StepName>
  readonly requestedAtEpochMs: number
  readonly updatedAtEpochMs: number
}

export class NaiveHistory {
  readonly prices: Array<NaivePrice> = []
  readonly changes: Array<NaiveHeldChange | NaiveFundingPaid> = []
  /** The flags of an account from a record on. */
  readonly flags: Array<{ readonly account: number; readonly sequence: number; readonly flags: number }> = []
  /** Accounts that were issued a bot's key, each with the record. */
  readonly bots: Array<{ readonly account: number; readonly sequence: number }> = []
  /** Records from which on a market's prices are in different atoms. */
  readonly rescaled: Array<{ readonly market: number; readonly sequence: number }> = []
  /** Every state that any transfer has had. */
  readonly transfers: Array<NaiveTransferTold> = []
  /** Every note ever made of accounts' security. */
  readonly notes: Array<NaiveNote & { readonly account: number }> = []

  traded({ atEpochMs, market, price, sequence, size }: NaiveFill): void {
    this.prices.push({ series: "trade", market, sequence, atEpochMs, price, size })
  }
}
