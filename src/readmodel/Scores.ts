/**
 * What accounts came to in the running day, week and month, and ever: the sums that boards are ranked by. A sum begins anew with its
 * period; what came to an end in an earlier one is not kept.
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

/** An account's sums in a window, by its place in their list, since a period began. */
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
  /** The periods that the last moment was in, by window, and when the first of them ends. */
  private periods: ReadonlyArray<number> = []
  private untilEpochMs = 0

  /** Goes on from stored sums. */
  constructor(stored: ReadonlyArray<ScoreRow> = []) {
    for (const row of stored) this.running.set(row.account * windows + row.window, { ...row })
  }

  /** Adds to all of an account's sums at a moment, which never lies before the one before. */
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

  /** What is to be stored; from here on it counts as stored. */
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
