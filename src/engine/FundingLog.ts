/** A market's latest funding rates and payments, as published. */
import { RowLog } from "./RowLog.js"

/** The end of one funding interval. */
export interface Funding {
  /** When the interval ended, epoch milliseconds. */
  readonly atEpochMs: number
  /** The sequence of the record that computed it. */
  readonly sequence: number
  /** Per 8 hours, in 10^-9; positive: longs paid. */
  readonly rate8hE9: number
  /** Per interval, in 10^-9. */
  readonly rateE9: number
  /** The average premium over the samples, in 10^-9 of the index. */
  readonly premiumE9: number
  /** Price atoms. */
  readonly indexPriceAtoms: number
  readonly samples: number
  readonly intervalMs: number
}

const names = [
  "atEpochMs",
  "sequence",
  "rate8hE9",
  "rateE9",
  "premiumE9",
  "indexPriceAtoms",
  "samples",
  "intervalMs"
] as const satisfies ReadonlyArray<keyof Funding>

/** Intervals kept: a month of hours. */
export const fundingsKept = 720

export type FundingLog = RowLog<keyof Funding>

export const make = (kept = fundingsKept): FundingLog => new RowLog(names, kept)
