/** A market's latest marks with all their inputs, as published, so that everybody can recompute them. */
import { RowLog } from "./RowLog.js"

/** One mark. Prices in price atoms. */
export interface MarkMade {
  readonly atEpochMs: number
  /** The record of the tick that made the mark. */
  readonly sequence: number
  readonly indexPriceAtoms: number
  /** The impact prices: averages of selling and of buying the impact notional; -1 where the side was thin. */
  readonly impactBidAtoms: number
  readonly impactAskAtoms: number
  /** The last trade; 0 before the first. */
  readonly lastPriceAtoms: number
  /** The running funding rate per interval, in 10^-9. */
  readonly fundingRateE9: number
  readonly fundingIntervalMs: number
  /** Twice the sum of the samples of (impactBid + impactAsk) / 2 - index, and their number. */
  readonly basisSumTwiceAtoms: number
  readonly basisSamples: number
  /** The three prices of which the mark is the median. */
  readonly p1Atoms: number
  readonly p2Atoms: number
  readonly p3Atoms: number
  /** The band around the index to which the mark is held. */
  readonly lowestAtoms: number
  readonly highestAtoms: number
  readonly markAtoms: number
}

const names = [
  "atEpochMs",
  "sequence",
  "indexPriceAtoms",
  "impactBidAtoms",
  "impactAskAtoms",
  "lastPriceAtoms",
  "fundingRateE9",
  "fundingIntervalMs",
  "basisSumTwiceAtoms",
  "basisSamples",
  "p1Atoms",
  "p2Atoms",
  "p3Atoms",
  "lowestAtoms",
  "highestAtoms",
  "markAtoms"
] as const satisfies ReadonlyArray<keyof MarkMade>

/** Marks kept: ten minutes of them. An audit over a longer time has to collect them. */
export const marksKept = 600

export type MarkLog = RowLog<keyof MarkMade>

export const make = (kept = marksKept): MarkLog => new RowLog(names, kept)
