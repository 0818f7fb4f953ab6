/** What the state knows of money on the ledger: transfers, parties, how far the ledger was read, and what has come in and gone out. */
import { Total } from "../Total.js"
import { bounds, type FundsBounds } from "./Bounds.js"
import { Parties } from "./Parties.js"
import type { Transfer } from "./Transfer.js"
import { Transfers } from "./Transfers.js"

/** What the ledger said that cannot be, by code: never renumber, add at the end. */
export const alarms = [
  /** A step that is confirmed was accepted again, in another update or at another offset. */
  "accepted_again",
  /** A step was accepted of a transfer that had come to nothing. */
  "accepted_after_its_end",
  /** A step was accepted that had not been executed, as far as the journal tells. */
  "accepted_unasked",
  /** A step was accepted before the one ahead of it. */
  "accepted_out_of_order"
] as const
export type Alarm = (typeof alarms)[number]

/** Why withdrawals are stopped; a difference may have been told with it. */
export interface Stop {
  readonly reason: "operator" | "reconciliation" | "contradiction"
  readonly differenceAtoms: number
  readonly atOffset: number
  readonly sinceEpochMs: number
}

export class Funds {
  readonly bounds: FundsBounds
  readonly transfers: Transfers
  readonly parties = new Parties()
  /** Money atoms: credited by deposits, spent by withdrawals, and held for withdrawals. */
  readonly deposited = new Total()
  readonly withdrawn = new Total()
  readonly reserved = new Total()
  /** Of what was deposited and withdrawn, what came of transfers that are not kept any more. */
  readonly forgottenDeposited = new Total()
  readonly forgottenWithdrawn = new Total()
  /** Transfers whose amount waits until the account has room to hold it exactly. */
  readonly waiting = new Set<number>()
  /** The offset up to which all completions were looked at, and the ledger's time there. */
  offset = 0
  recordTimeEpochMs = 0
  stop: Stop | null = null
  /** What an operator has accepted that the ledger lacks, money atoms, 0 or below: less than that stops withdrawals again. */
  acceptedAtoms = 0
  /** How often each alarm was raised, in their order. */
  readonly alarmCounts: Array<number> = alarms.map(() => 0)

  constructor(given: Partial<FundsBounds> = {}) {
    this.bounds = { ...bounds, ...given }
    this.transfers = new Transfers(this.bounds)
  }

  /** Puts a transfer in the place of what it was. */
  put(transfer: Transfer): void {
    for (const { amountAtoms, end, isSettled, kind } of this.transfers.put(transfer)) {
      if (!isSettled || end !== "ledger_confirmed") continue
      if (kind === "deposit") this.forgottenDeposited.add(amountAtoms)
      if (kind === "withdrawal") this.forgottenWithdrawn.add(amountAtoms)
    }
  }
}
