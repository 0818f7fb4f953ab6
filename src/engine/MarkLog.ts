/** A market's latest marks with all that each was made of, as they are published: so that everybody can reckon them again. */
import { RowLog } from "./RowLog.js"

/** One mark. Prices in price atoms. */
export interface MarkMade {
  readonly atEpochMs: number
  /** The record of the tick that made it. */
  readonly sequence: number
  readonly indexPriceAtoms: number
  /** What selling and buying the impact notional came to on average; -1 where the side was thin. */
  readonly impactBidAtoms: number
  readonly impactAskAtoms: number
  /** The last trade; 0 before the first. */
  readonly lastPriceAtoms: number
  /** The running funding rate per interval, in 10^-9. */
  readonly fundingRateE9: number
  readonly fundingIntervalMs: number
  /** Twice the sum of the samples of (impactBid + impactAsk) / 2 - index, and how many they were. */
  readonly basisSumTwiceAtoms: number
  readonly basisSamples: number
  /** The three prices whose median it is. */
  readonly p1Atoms: number
  readonly p2Atoms: number
  readonly p3Atoms: number
  /** The band around the index that it is held to. */
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

/** Marks that are kept: ten minutes of them. Whoever audits for longer collects them meanwhile. */
export const marksKept = 600

export type MarkLog = RowLog<keyof MarkMade>

export const make = (kept = marksKept): MarkLog => new RowLog(names, kept)
