/**
 * Results of accounts in the current day, week and month, and of all time: the sums by which boards are ranked. A sum begins anew
 * with each period, and earlier ones are not kept.
 */
import { periodOf, windowKinds } from "./Windows.js"

/** Sums of money atoms, and fills. Funding and fees count as paid. */
export interface Sums {
  readonly realizedPnlAtoms: bigint
  readonly feesPaidAtoms: bigint
  readonly fundingPaidAtoms: bigint
  readonly closedNotionalAtoms: bigint
  readonly fillCount: number
}

/** An account's sums since a period began, in a window given by its index. */
export interface ScoreRow extends Sums {
  readonly window: number
  readonly account: number
  readonly periodStartEpochMs: number
}

type Running = { -readonly [member in keyof ScoreRow]: ScoreRow[member] }

const windows = windowKinds.length

export class Scores {
  private readonly running = new Map<number, Running>()
  private readonly changed = new Set<Running>()
  /** The current periods by window, and when the first of them ends. */
  private periods: ReadonlyArray<number> = []
  private untilEpochMs = 0

  /** Goes on from stored sums. */
  constructor(stored: ReadonlyArray<ScoreRow> = []) {
    for (const row of stored) this.running.set(row.account * windows + row.window, { ...row })
  }

  /** Adds to all sums of an account at a time, which never decreases. */
  add(account: number, atEpochMs: number, to: Partial<Sums>): void {
    if (atEpochMs >= this.untilEpochMs) {
      const periods = windowKinds.map((window) => periodOf(window, atEpochMs))
      this.periods = periods.map(({ fromEpochMs }) => fromEpochMs)
      this.untilEpochMs = periods[0]!.toEpochMs
    }
    for (let window = 0; window < windows; window++) {
      const row = this.of(account, window)
      row.realizedPnlAtoms += to.realizedPnlAtoms ?? 0n
      row.feesPaidAtoms += to.feesPaidAtoms ?? 0n
      row.fundingPaidAtoms += to.fundingPaidAtoms ?? 0n
      row.closedNotionalAtoms += to.closedNotionalAtoms ?? 0n
      row.fillCount += to.fillCount ?? 0
      this.changed.add(row)
    }
  }

  /** Sums that have changed and wait to be stored. */
  get waiting(): number {
    return this.changed.size
  }

  /** Returns the rows to be stored, which then count as stored. */
  take(): ReadonlyArray<ScoreRow> {
    const rows = [...this.changed].map((row) => ({ ...row }))
    this.changed.clear()
    return rows
  }

  /** An account's sums of the running period. */
  private of(account: number, window: number): Running {
    const place = account * windows + window
    const found = this.running.get(place)
    const periodStartEpochMs = this.periods[window]!
    if (found?.periodStartEpochMs === periodStartEpochMs) return found
    const begun: Running = {
      window,
      account,
      periodStartEpochMs,
      realizedPnlAtoms: 0n,
      feesPaidAtoms: 0n,
      fundingPaidAtoms: 0n,
      closedNotionalAtoms: 0n,
      fillCount: 0
    }
    if (found !== undefined) this.changed.delete(found)
    this.running.set(place, begun)
    return begun
  }
}
