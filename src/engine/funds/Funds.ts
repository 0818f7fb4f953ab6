/** What the state knows of money on the ledger: transfers, parties, the offset up to which the ledger was read, and totals. */
import type * as Shortfall from "../../domain/Shortfall.js"
import { Total } from "../Total.js"
import { bounds, type FundsBounds } from "./Bounds.js"
import { Parties } from "./Parties.js"
import type { Transfer } from "./Transfer.js"
import { Transfers } from "./Transfers.js"

/** Impossible facts reported by the ledger. Events carry the index as a code: never renumber, append only. */
export const alarms = [
  /** A confirmed step was accepted again, in another update or at another offset. */
  "accepted_again",
  /** A step of a failed transfer was accepted. */
  "accepted_after_its_end",
  /** A step was accepted of which the journal has no submission. */
  "accepted_unasked",
  /** A step was accepted before the one preceding it. */
  "accepted_out_of_order"
] as const
export type Alarm = (typeof alarms)[number]

/** Why withdrawals are stopped, with the difference that was reported, if any. */
export interface Stop extends Shortfall.Stop {
  readonly sinceEpochMs: number
}

export class Funds {
  readonly bounds: FundsBounds
  readonly transfers: Transfers
  readonly parties = new Parties()
  /** Totals in money atoms: credited by deposits, spent by withdrawals, and held for withdrawals. */
  readonly deposited = new Total()
  readonly withdrawn = new Total()
  readonly reserved = new Total()
  /** The share of forgotten transfers in the totals deposited and withdrawn. */
  readonly forgottenDeposited = new Total()
  readonly forgottenWithdrawn = new Total()
  /** Transfers whose amount waits until the account has room to hold it exactly. */
  readonly waiting = new Set<number>()
  /** The offset up to which all completions were read, and the ledger's record time there. */
  offset = 0
  recordTimeEpochMs = 0
  stop: Stop | null = null
  /** The ledger deficit that an operator has accepted, money atoms, 0 or negative: a larger deficit stops withdrawals again. */
  acceptedAtoms = 0
  /** How often each alarm was raised, in the order of `alarms`. */
  readonly alarmCounts: Array<number> = alarms.map(() => 0)

  constructor(given: Partial<FundsBounds> = {}) {
    this.bounds = { ...bounds, ...given }
    this.transfers = new Transfers(this.bounds)
  }

  /** Replaces a transfer, and adds those that it pushed out to the forgotten totals. */
  put(transfer: Transfer): void {
    for (const { amountAtoms, end, isSettled, kind } of this.transfers.put(transfer)) {
      if (!isSettled || end !== "ledger_confirmed") continue
      if (kind === "deposit") this.forgottenDeposited.add(amountAtoms)
      if (kind === "withdrawal") this.forgottenWithdrawn.add(amountAtoms)
    }
  }
}
