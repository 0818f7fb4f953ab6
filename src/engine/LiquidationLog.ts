/** The venue's latest steps of liquidations, as they are published: a ring of rows. */
import { assert } from "../domain/Assert.js"

/** What a step was, by code: never renumber. */
export const stepKinds = ["", "order", "takeover", "deleveraging", "exhausted"] as const
export type StepKind = Exclude<(typeof stepKinds)[number], "">

export const Step = { order: 1, takeover: 2, deleveraging: 3, exhausted: 4 } as const
export type Step = (typeof Step)[keyof typeof Step]

/** One step. Money in money atoms, prices in price atoms, sizes in size atoms. */
export interface LiquidationStep {
  readonly sequence: number
  readonly atEpochMs: number
  readonly market: number
  readonly step: Step
  /** Whose position it was. */
  readonly account: number
  /** Of a deleveraging: against whose position it was closed; otherwise -1. */
  readonly counterparty: number
  /** Of a deleveraging: the counterparty's number in the ranking, from 1; otherwise 0. */
  readonly rank: number
  /** 0 for long, 1 for short. */
  readonly direction: number
  /** What was ordered, taken over, closed, or left where nobody was found. */
  readonly sizeAtoms: number
  /** Of an order what of it was filled; otherwise the size. */
  readonly filledAtoms: number
  /** The bankruptcy price, or the price at which it was closed. */
  readonly priceAtoms: number
  readonly markAtoms: number
  /** What went to the insurance fund. */
  readonly feeAtoms: number
  /** What the account had, and what was asked of it, before the step. */
  readonly equityAtoms: number
  readonly maintenanceMarginAtoms: number
}

const names = [
  "sequence",
  "atEpochMs",
  "market",
  "step",
  "account",
  "counterparty",
  "rank",
  "direction",
  "sizeAtoms",
  "filledAtoms",
  "priceAtoms",
  "markAtoms",
  "feeAtoms",
  "equityAtoms",
  "maintenanceMarginAtoms"
] as const satisfies ReadonlyArray<keyof LiquidationStep>

/** Steps that are kept, of all markets together. */
const stepsKept = 16_384
const rowNumbers = names.length

export class LiquidationLog {
  /** How many there ever were. */
  count = 0
  private rows = new Float64Array(0)

  add(step: LiquidationStep): void {
    if (this.rows.length === 0) this.rows = new Float64Array(stepsKept * rowNumbers)
    const from = (this.count % stepsKept) * rowNumbers
    for (let at = 0; at < rowNumbers; at++) this.rows[from + at] = step[names[at]!]
    this.count++
  }

  /** The one with `newer` after it; undefined where there is none, or it is no longer kept. */
  at(newer: number): LiquidationStep | undefined {
    if (newer < 0 || newer >= Math.min(this.count, stepsKept)) return undefined
    const from = ((this.count - 1 - newer) % stepsKept) * rowNumbers
    return Object.fromEntries(names.map((name, at) => [name, this.rows[from + at]!])) as unknown as LiquidationStep
  }

  /** How many there ever were, then the rows that are kept, oldest first. */
  dump(): Float64Array {
    const kept = Math.min(this.count, stepsKept)
    const dumped = new Float64Array(1 + kept * rowNumbers)
    dumped[0] = this.count
    for (let row = 0; row < kept; row++) {
      const from = ((this.count - kept + row) % stepsKept) * rowNumbers
      dumped.set(this.rows.subarray(from, from + rowNumbers), 1 + row * rowNumbers)
    }
    return dumped
  }

  static restore(dumped: Float64Array): LiquidationLog {
    const log = new LiquidationLog()
    const kept = (dumped.length - 1) / rowNumbers
    assert(Number.isInteger(kept) && kept <= stepsKept && kept <= dumped[0]!, "dumped steps are whole rows")
    log.count = dumped[0]!
    if (kept === 0) return log
    log.rows = new Float64Array(stepsKept * rowNumbers)
    for (let row = 0; row < kept; row++) {
      const from = 1 + row * rowNumbers
      log.rows.set(dumped.subarray(from, from + rowNumbers), ((log.count - kept + row) % stepsKept) * rowNumbers)
    }
    return log
  }
}
