/** The venue's latest liquidation steps and insurance fund movements, as published. */
import { RowLog } from "./RowLog.js"

/** Kinds of steps, by code: never renumber. */
export const stepKinds = ["", "order", "takeover", "deleveraging", "exhausted", "settlement"] as const
export type StepKind = Exclude<(typeof stepKinds)[number], "">

export const Step = { order: 1, takeover: 2, deleveraging: 3, exhausted: 4, settlement: 5 } as const
export type Step = (typeof Step)[keyof typeof Step]

/** One step of a liquidation. Money in money atoms, prices in price atoms, sizes in size atoms. */
export interface LiquidationStep {
  readonly sequence: number
  readonly atEpochMs: number
  readonly market: number
  readonly step: number
  /** The owner of the position; for a settlement, the long side. */
  readonly account: number
  /** For a deleveraging, the account whose position was closed against it; for a settlement, the short side; otherwise -1. */
  readonly counterparty: number
  /** For a deleveraging, the counterparty's rank from 1; otherwise 0. */
  readonly rank: number
  /** For a deleveraging, the record in which its ranking began; otherwise 0. */
  readonly rankingSequence: number
  /** 0 for long, 1 for short. */
  readonly direction: number
  /** The size ordered, taken over or closed, or left where no counterparty was found. */
  readonly sizeAtoms: number
  /** For an order, the size filled; otherwise the whole size. */
  readonly filledAtoms: number
  /** The bankruptcy price, or the price of the close. */
  readonly priceAtoms: number
  readonly markAtoms: number
  /** The liquidation fee to the insurance fund. */
  readonly feeAtoms: number
  /** The account's equity and maintenance margin before the step; 0 for a settlement. */
  readonly equityAtoms: number
  readonly maintenanceMarginAtoms: number
}

const stepNames = [
  "sequence",
  "atEpochMs",
  "market",
  "step",
  "account",
  "counterparty",
  "rank",
  "rankingSequence",
  "direction",
  "sizeAtoms",
  "filledAtoms",
  "priceAtoms",
  "markAtoms",
  "feeAtoms",
  "equityAtoms",
  "maintenanceMarginAtoms"
] as const satisfies ReadonlyArray<keyof LiquidationStep>

/** Steps kept of all markets together. */
const stepsKept = 16_384

export type LiquidationLog = RowLog<keyof LiquidationStep>

export const make = (kept = stepsKept): LiquidationLog => new RowLog(stepNames, kept, "account")

/** The latest kept step of an account's position in a market, of one direction, at or after a time; undefined where there is none. */
export const latestOf = (
  log: LiquidationLog,
  { account, direction, market, sinceEpochMs }: Pick<LiquidationStep, "account" | "direction" | "market"> & {
    readonly sinceEpochMs: number
  }
): Readonly<LiquidationStep> | undefined => log.latestOf(account, sinceEpochMs, ["market", market], ["direction", direction])

/** Why the insurance fund's money or positions changed, by code: never renumber. */
export const movementKinds = ["", "funding_rest", "liquidation_fee", "takeover", "unwinding", "deleveraging", "settlement",
  "collected_fees", "funding"] as const
export type MovementKind = Exclude<(typeof movementKinds)[number], "">

export const Movement = {
  fundingRest: 1,
  liquidationFee: 2,
  takeover: 3,
  unwinding: 4,
  deleveraging: 5,
  settlement: 6,
  collectedFees: 7,
  funding: 8
} as const
export type Movement = (typeof Movement)[keyof typeof Movement]

/** A movement of the insurance fund. */
export interface FundMovement {
  readonly sequence: number
  readonly atEpochMs: number
  readonly movement: number
  /** The market; -1 where there is none. */
  readonly market: number
  /** The change of the fund's collateral, money atoms; negative where it lost. */
  readonly amountAtoms: number
  /** The change of the fund's position in the market, size atoms, long positive. */
  readonly sizeAtoms: number
  /** The fund's collateral afterwards, money atoms. */
  readonly collateralAtoms: number
}

const movementNames = [
  "sequence",
  "atEpochMs",
  "movement",
  "market",
  "amountAtoms",
  "sizeAtoms",
  "collateralAtoms"
] as const satisfies ReadonlyArray<keyof FundMovement>

/** Movements kept. */
const movementsKept = 16_384

export type FundLog = RowLog<keyof FundMovement>

export const makeFundLog = (kept = movementsKept): FundLog => new RowLog(movementNames, kept)
