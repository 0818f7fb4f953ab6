/**
 * What has been, as the model saw it happen: every price and every change of a position, kept as they came, and nothing summed up.
 * Candles and episodes as of any record are made anew from all of it (`ShownHistories.ts`).
 */
import type { StepName, TransferKind, TransferStatus } from "../../src/operations/funds/Transfers.js"
import type { NaiveFill } from "./NaiveState.js"

/** A trade, or a sample of the index that was taken: then of size 0. */
export interface NaivePrice {
  readonly series: "trade" | "index"
  readonly market: number
  readonly sequence: number
  readonly atEpochMs: number
  readonly price: number
  readonly size: number
}

export type NaiveReason = "user_close" | "take_profit" | "stop_loss" | "liquidation" | "auto_deleveraged" | "market_delisted"

/** What a fill, or what passes a position on without one, did to a position. */
export interface NaiveHeldChange {
  readonly _tag: "Changed"
  readonly account: number
  readonly market: number
  readonly sequence: number
  readonly atEpochMs: number
  /** Size atoms before it, and by how much it changed; long positive. */
  readonly held: number
  readonly change: number
  /** Money atoms of all that changed hands. */
  readonly notional: bigint
  readonly realizedPnl: bigint
  readonly fee: bigint
  /** Whether an order filled. */
  readonly isFill: boolean
  /** Which episode began with it, if one did. */
  readonly opened: number | undefined
  /** Why the position ended by it, if it did. */
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

/** What the ledger has last said of a transfer; a guard is null where nothing was refused. */
export interface NaiveOutcome {
  readonly step: StepName
  readonly outcome: string
  readonly guard: string | null
}

/** A transfer as it was from a record on. */
export interface NaiveTransferTold {
  readonly sequence: number
  readonly account: number
  readonly kind: TransferKind
  readonly number: number
  readonly status: TransferStatus
  readonly partyId: string
  readonly failedAt: string | undefined
  readonly outcome: NaiveOutcome | undefined
  readonly steps: ReadonlyArray<StepName>
  readonly requestedAtEpochMs: number
  readonly updatedAtEpochMs: number
}

export class NaiveHistory {
  readonly prices: Array<NaivePrice> = []
  readonly changes: Array<NaiveHeldChange | NaiveFundingPaid> = []
  /** What flags an account had from a record on. */
  readonly flags: Array<{ readonly account: number; readonly sequence: number; readonly flags: number }> = []
  /** Records from which on a market's prices are in other atoms than before. */
  readonly rescaled: Array<{ readonly market: number; readonly sequence: number }> = []
  /** Every state that any transfer was ever in. */
  readonly transfers: Array<NaiveTransferTold> = []
  /** All that was ever noted of accounts' security. */
  readonly notes: Array<NaiveNote & { readonly account: number }> = []

  traded({ atEpochMs, market, price, sequence, size }: NaiveFill): void {
    this.prices.push({ series: "trade", market, sequence, atEpochMs, price, size })
  }
}
