/**
 * The reference model's published lists, written from the rules alone: steps of liquidations, rankings, movements of the insurance
 * fund, and funding payments. Each is a plain list of everything so far, oldest first; what a venue still publishes at a record is
 * selected when it is needed.
 */
import type { NaiveAccount, NaivePayment } from "./NaiveState.js"

/** One step of a liquidation, with the account's state before it. */
export interface NaiveStep {
  readonly sequence: number
  readonly atEpochMs: number
  readonly step: "order" | "takeover" | "deleveraging" | "exhausted" | "settlement"
  readonly market: number
  readonly account: number
  /** The counterparty, its place in the ranking, and the record in which that ranking was begun. */
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

/** A position as it was ranked, and what has been closed of it since, record by record. */
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
  /** The record in which the ranking was begun, and the one in which it was completed and published. */
  readonly sequence: number
  readonly madeAt: number
  readonly atEpochMs: number
  readonly market: number
  /** The direction of the ranked positions. */
  readonly isLong: boolean
  /** The mark by which it was computed: that of its beginning. */
  readonly mark: number
  /** Whether it was made because the previous one took several records and closed nothing. */
  readonly isSecond: boolean
  /** The second in which it was completed, and for which it holds. */
  readonly second: number
  /** Accounts with less equity were left out; undefined where none was. */
  readonly least: bigint | undefined
  /** The highest equity of the accounts that are not in it, whether left out or beyond its room; undefined where it has all. */
  readonly restEquity: bigint | undefined
  /** How often positions had changed when it was completed, or when it was last used without any other change in between. */
  changes: number
  /** The record from which on it is not published any more, since nothing was closed by it; undefined while it is. */
  droppedIn: number | undefined
  /** The number of ranked positions, and the first of them, as many as a ranking has room for. */
  readonly count: number
  readonly ranked: ReadonlyArray<NaiveRanked>
}

/** A change of the insurance fund's money, or of its positions. */
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
  /** Undefined where no market is concerned. */
  readonly market: number | undefined
  readonly amount: bigint
  /** The change of its position in the market, long positive. */
  readonly size: number
  /** Its money after the movement. */
  readonly collateral: bigint
}

/** A payment and its account. */
export interface NaiveTold extends NaivePayment {
  readonly account: number
}

/** How many of each the venue publishes, the latest of all accounts and markets together. */
export interface Kept {
  readonly steps: number
  readonly rankings: number
  readonly movements: number
  readonly payments: number
  /** Changes of balances. */
  readonly changes: number
  /** Marks, and funding payments, of each market. */
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

/** The record in which the insurance fund may change, and a way to read its money. */
interface Moving {
  readonly atEpochMs: number
  readonly sequence: number
  readonly fund: () => NaiveAccount | undefined
  /** An account's money as entered in its ledger. */
  readonly entered: (account: NaiveAccount) => bigint
}

export class NaivePublished {
  readonly steps: Array<NaiveStep> = []
  /** Sizes for which a record found no counterparty, whether or not a step reports it. */
  readonly nobodyFor: Array<Pick<NaiveStep, "sequence" | "account" | "market" | "size">> = []
  readonly rankings: Array<NaiveRanking> = []
  readonly movements: Array<NaiveMovement> = []
  readonly payments: Array<NaiveTold> = []

  constructor(readonly kept: Kept = venueKept) {}

  /** The part of a list that is still published at a record: its latest rows, oldest first. */
  at<Name extends "steps" | "rankings" | "movements">(name: Name, sequence: number): ReadonlyArray<Numbered<NaivePublished[Name][number]>> {
    const all: ReadonlyArray<NaivePublished[Name][number]> = this[name]
    return all
      .map((row, ordinal) => ({ row, ordinal }))
      .filter(({ row }) => "madeAt" in row ? row.madeAt <= sequence && (row.droppedIn ?? Infinity) > sequence : row.sequence <= sequence)
      .slice(-this.kept[name])
  }

  /** The last step of an account's position on one side of a market since a time, if it is still published. */
  lastOf(account: number, market: number, isLong: boolean, sinceEpochMs: number): NaiveStep | undefined {
    return this.steps.slice(-this.kept.steps).findLast((step) =>
      step.account === account && step.market === market && step.isLong === isLong && step.atEpochMs >= sinceEpochMs
    )
  }

  /**
   * Called before a ranking is made in a delisted market: the last one of the same side is not published any more if nothing was closed
   * by it and no published step names it.
   */
  dropIdle(market: number, isLong: boolean, sequence: number): void {
    const last = this.rankings.findLast((each) => each.market === market && each.isLong === isLong)
    if (last === undefined || last.ranked.some(({ closed }) => closed.length > 0)) return
    const names = (step: NaiveStep): boolean => step.market === market && step.rankingSequence === last.sequence && step.isLong !== isLong
    if (!this.steps.slice(-this.kept.steps).some(names)) last.droppedIn = sequence
  }

  /** Does something that may change the insurance fund, and notes the movement. */
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
