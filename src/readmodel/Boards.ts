/** Leaderboards: accounts ranked by their results in a window, as of a time. A board never changes once it is made. */
import type { ScoreRow, Sums } from "./Scores.js"
import type { WindowKind } from "./Windows.js"

/** A tenth of all ranked accounts, the lowest first. */
export interface Decile {
  readonly percentileUpperBoundBps: number
  readonly minimumScoreAtoms: bigint
  readonly maximumScoreAtoms: bigint
  readonly accountCount: number
}

/** A place on a board. */
export interface Entry extends Sums {
  readonly rank: number
  readonly account: number
  readonly isBot: boolean
  readonly scoreAtoms: bigint
}

/** The head of a board. */
export interface BoardHead {
  readonly window: WindowKind
  /** Increases from board to board. */
  readonly version: number
  /** When it was made, by the venue's clock. */
  readonly markEpochMs: number
  readonly throughSequence: number
  readonly periodStartEpochMs: number
  readonly periodEndEpochMs: number
  readonly histogram: ReadonlyArray<Decile>
}

/** Most published entries; the histogram covers all ranked accounts. */
const placesTold = 1_000

/** The score: realised PnL less fees and funding, money atoms. */
const scoreOf = ({ feesPaidAtoms, fundingPaidAtoms, realizedPnlAtoms }: Sums): bigint => realizedPnlAtoms - feesPaidAtoms - fundingPaidAtoms

const deciles = 10
const allBps = 10_000

/** Deciles by score, equal in size or one less; an empty one gives the score at which it would begin. */
const histogramOf = (descending: ReadonlyArray<bigint>): ReadonlyArray<Decile> => {
  const ascending = descending.toReversed()
  const count = ascending.length
  if (count === 0) return []
  return Array.from({ length: deciles }, (_, decile) => {
    const from = Math.floor((decile * count) / deciles)
    const to = Math.floor(((decile + 1) * count) / deciles)
    const minimum = ascending[Math.min(from, count - 1)]!
    return {
      percentileUpperBoundBps: ((decile + 1) * allBps) / deciles,
      minimumScoreAtoms: minimum,
      maximumScoreAtoms: to > from ? ascending[to - 1]! : minimum,
      accountCount: to - from
    }
  })
}

/** Ranks accounts, best first; on a tie the older account comes first. `isBot` says whether an account is a bot. */
export const rank = (
  sums: ReadonlyArray<ScoreRow>,
  isBot: (account: number) => boolean
): { readonly entries: ReadonlyArray<Entry>; readonly histogram: ReadonlyArray<Decile> } => {
  const scored = sums
    // A position closed by deleveraging at a price below zero has a negative notional.
    .filter(({ closedNotionalAtoms, fillCount }) => fillCount > 0 || closedNotionalAtoms !== 0n)
    .map((row) => ({ row, scoreAtoms: scoreOf(row) }))
    .sort((one, other) => {
      if (one.scoreAtoms !== other.scoreAtoms) return one.scoreAtoms > other.scoreAtoms ? -1 : 1
      return one.row.account - other.row.account
    })
  return {
    histogram: histogramOf(scored.map(({ scoreAtoms }) => scoreAtoms)),
    entries: scored.slice(0, placesTold).map(({ row, scoreAtoms }, at) => ({
      rank: at + 1,
      account: row.account,
      isBot: isBot(row.account),
      scoreAtoms,
      realizedPnlAtoms: row.realizedPnlAtoms,
      feesPaidAtoms: row.feesPaidAtoms,
      fundingPaidAtoms: row.fundingPaidAtoms,
      closedNotionalAtoms: row.closedNotionalAtoms,
      fillCount: row.fillCount
    }))
  }
}
