/** The venue's latest steps of liquidations, and what the insurance fund had of them, as they are published. */
import { RowLog } from "./RowLog.js"

/** What a step was, by code: never renumber. */
export const stepKinds = ["", "order", "takeover", "deleveraging", "exhausted", "settlement"] as const
export type StepKind = Exclude<(typeof stepKinds)[number], "">

export const Step = { order: 1, takeover: 2, deleveraging: 3, exhausted: 4, settlement: 5 } as const
export type Step = (typeof Step)[keyof typeof Step]

/** One step. Money in money atoms, prices in price atoms, sizes in size atoms. */
export interface LiquidationStep {
  readonly sequence: number
  readonly atEpochMs: number
  readonly market: number
  readonly step: number
  /** Whose position it was; of a settlement, the long one. */
  readonly account: number
  /** Of a deleveraging: against whose position it was closed; of a settlement, whose short one; otherwise -1. */
  readonly counterparty: number
  /** Of a deleveraging: the counterparty's number in the ranking, from 1; otherwise 0. */
  readonly rank: number
  /** Of a deleveraging: the record in which its ranking was begun; otherwise 0. */
  readonly rankingSequence: number
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
  /** What the account had, and what was asked of it, before the step; 0 of a settlement. */
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

/** Steps that are kept, of all markets together. */
const stepsKept = 16_384

export type LiquidationLog = RowLog<keyof LiquidationStep>

export const make = (kept = stepsKept): LiquidationLog => new RowLog(stepNames, kept)

/** The latest kept step of an account's position in a market, of one direction, at or after a time; undefined where there is none. */
export const latestOf = (
  log: LiquidationLog,
  { account, direction, market, sinceEpochMs }: Pick<LiquidationStep, "account" | "direction" | "market"> & {
    readonly sinceEpochMs: number
  }
): Readonly<LiquidationStep> | undefined => log.latest(sinceEpochMs, ["account", account], ["market", market], ["direction", direction])

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

/** One movement of the insurance fund. */
export interface FundMovement {
  readonly sequence: number
  readonly atEpochMs: number
  readonly movement: number
  /** -1 where it concerns none. */
  readonly market: number
  /** What its collateral grew by, money atoms; negative: lost. */
  readonly amountAtoms: number
  /** What its position in the market changed by, size atoms, long positive. */
  readonly sizeAtoms: number
  /** Its collateral afterwards, money atoms. */
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

/** Movements that are kept. */
const movementsKept = 16_384

export type FundLog = RowLog<keyof FundMovement>

export const makeFundLog = (kept = movementsKept): FundLog => new RowLog(movementNames, kept)
