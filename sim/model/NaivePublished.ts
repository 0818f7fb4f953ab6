/**
 * The reference model's published lists, written from the rules alone: steps of liquidations, rankings, what moved the insurance
 * fund, and payments of funding. Each is a plain list of all there ever was, oldest first; what a venue still tells of it at a
 * record is cut out of it when somebody asks.
 */
import type { NaiveAccount, NaivePayment } from "./NaiveState.js"

/** One step of a liquidation, with what the account had before it. */
export interface NaiveStep {
  readonly sequence: number
  readonly atEpochMs: number
  readonly step: "order" | "takeover" | "deleveraging" | "exhausted" | "settlement"
  readonly market: number
  readonly account: number
  /** Whose position it was closed against, its number in the ranking, and the record in which that was begun. */
  readonly counterparty: number | undefined
  readonly rank: number
  readonly rankingSequence: number
  readonly isLong: boolean
  readonly size: number
  readonly filled: number
  readonly price: bigint
  readonly mark: number
  readonly fee: bigint
  readonly equity: bigint
  readonly maintenanceMargin: bigint
}

/** A position as it was ranked, and what was closed of it since, record by record. */
export interface NaiveRanked {
  readonly account: NaiveAccount
  readonly profit: bigint
  readonly entry: bigint
  readonly notional: bigint
  readonly equity: bigint
  readonly closed: Array<{ readonly sequence: number; readonly size: number }>
}

/** The positions of one direction in a market in the order in which they are closed, for a second of the market's ticks. */
export interface NaiveRanking {
  /** The record in which it was begun, and the one in which it was made, and came to be told. */
  readonly sequence: number
  readonly madeAt: number
  readonly atEpochMs: number
  readonly market: number
  /** Of the positions that are ranked. */
  readonly isLong: boolean
  /** At which all of it is reckoned: the mark when it was begun. */
  readonly mark: number
  /** Whether it was made because the one before took several records and closed nothing. */
  readonly isSecond: boolean
  /** The second in which it was made, and holds. */
  readonly second: number
  /** Whoever had less equity than so much was left out; undefined where nobody was. */
  readonly least: bigint | undefined
  /** The most equity of those whom it has not, whether they were left out or came behind the first; undefined where it has all. */
  readonly restEquity: bigint | undefined
  /** How often positions had changed when it was made, or was closed against last without anything else in between. */
  changes: number
  /** The record from which on it is told no more, as it tells of nothing that happened; undefined while it is. */
  droppedIn: number | undefined
  /** How many there were, and the first of them, as many as a ranking has room for. */
  readonly count: number
  readonly ranked: ReadonlyArray<NaiveRanked>
}

/** Something that changed the insurance fund's money, or what it holds. */
export interface NaiveMovement {
  readonly sequence: number
  readonly atEpochMs: number
  readonly cause:
    | "funding_rest"
    | "liquidation_fee"
    | "takeover"
    | "unwinding"
    | "deleveraging"
    | "funding"
    | "settlement"
    | "collected_fees"
  /** Undefined where it concerns none. */
  readonly market: number | undefined
  readonly amount: bigint
  /** What its position in the market changed by, long positive. */
  readonly size: number
  /** Its money afterwards. */
  readonly collateral: bigint
}

/** A payment with whose it is. */
export interface NaiveTold extends NaivePayment {
  readonly account: number
}

/** How many of each the venue tells, the latest of all accounts and markets together. */
export interface Kept {
  readonly steps: number
  readonly rankings: number
  readonly movements: number
  readonly payments: number
  /** Changes of balances. */
  readonly changes: number
  /** Marks, and payments of funding, of each market. */
  readonly marks: number
  readonly fundings: number
}

export const venueKept: Kept = {
  steps: 16_384,
  rankings: 64,
  movements: 16_384,
  payments: 32_768,
  changes: 65_536,
  marks: 600,
  fundings: 720
}

/** A row and its number among all there ever were, from 0. */
export interface Numbered<A> {
  readonly row: A
  readonly ordinal: number
}

/** The record in which the insurance fund may change, and how its money is found. */
interface Moving {
  readonly atEpochMs: number
  readonly sequence: number
  readonly fund: () => NaiveAccount | undefined
  /** An account's money as its ledger has it. */
  readonly entered: (account: NaiveAccount) => bigint
}

export class NaivePublished {
  readonly steps: Array<NaiveStep> = []
  /** What a record found nobody for, whether a step tells of it or one did before. */
  readonly nobodyFor: Array<Pick<NaiveStep, "sequence" | "account" | "market" | "size">> = []
  readonly rankings: Array<NaiveRanking> = []
  readonly movements: Array<NaiveMovement> = []
  readonly payments: Array<NaiveTold> = []

  constructor(readonly kept: Kept = venueKept) {}

  /** What of a list is still told at a record: the latest that it has kept, oldest first. */
  at<Name extends "steps" | "rankings" | "movements">(name: Name, sequence: number): ReadonlyArray<Numbered<NaivePublished[Name][number]>> {
    const all: ReadonlyArray<NaivePublished[Name][number]> = this[name]
    return all
      .map((row, ordinal) => ({ row, ordinal }))
      .filter(({ row }) => "madeAt" in row ? row.madeAt <= sequence && (row.droppedIn ?? Infinity) > sequence : row.sequence <= sequence)
      .slice(-this.kept[name])
  }

  /** The last step of an account's position on one side of a market since a time, of those that are still told. */
  lastOf(account: number, market: number, isLong: boolean, sinceEpochMs: number): NaiveStep | undefined {
    return this.steps.slice(-this.kept.steps).findLast((step) =>
      step.account === account && step.market === market && step.isLong === isLong && step.atEpochMs >= sinceEpochMs
    )
  }

  /**
   * Before a ranking is made in a delisted market: the last one of its side there is told no more, if nothing was closed by it and no step
   * that is still told names it.
   */
  dropIdle(market: number, isLong: boolean, sequence: number): void {
    const last = this.rankings.findLast((each) => each.market === market && each.isLong === isLong)
    if (last === undefined || last.ranked.some(({ closed }) => closed.length > 0)) return
    const names = (step: NaiveStep): boolean => step.market === market && step.rankingSequence === last.sequence && step.isLong !== isLong
    if (!this.steps.slice(-this.kept.steps).some(names)) last.droppedIn = sequence
  }

  /** Does what may change the insurance fund, and notes what it came to. */
  moved<A>(
    { atEpochMs, entered, fund, sequence }: Moving,
    cause: NaiveMovement["cause"],
    market: number | undefined,
    act: () => A
  ): A {
    const heldOf = (): number => (market === undefined ? 0 : fund()?.positions.get(market)?.quantity ?? 0)
    const moneyOf = (): bigint => {
      const account = fund()
      return account === undefined ? 0n : entered(account)
    }
    const [collateral, held] = [moneyOf(), heldOf()]
    const came = act()
    const [amount, size] = [moneyOf() - collateral, heldOf() - held]
    if (amount !== 0n || size !== 0) this.movements.push({ sequence, atEpochMs, cause, market, amount, size, collateral: moneyOf() })
    return came
  }
}
