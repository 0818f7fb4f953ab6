/**
 * Rankings of positions for deleveraging: one direction of a market, at one mark. Completed rankings are published unchanged, so
 * that everybody can recompute the order; only the accounts themselves are told which entry is theirs.
 *
 * A ranking is made in bounded steps, in slot order, and holds the first thousand positions. Until it is complete, its entries form
 * a heap with the last one on top; then they are sorted. An unfinished ranking displaces no published one: there is at most one per
 * direction and market, and abandoned ones are dropped when another is begun.
 */
import { assert } from "../../domain/Assert.js"
import type { Direction } from "./Triggers.js"

/** A position as it stood when it was ranked. Money in money atoms, sizes in size atoms. */
export interface RankedEntry {
  readonly slot: number
  readonly account: number
  readonly unrealizedPnlAtoms: number
  readonly entryNotionalAtoms: number
  readonly notionalAtoms: number
  readonly equityAtoms: number
  /** What deleveragings have closed of it since, size atoms. */
  closedAtoms: number
}

/** A ranking, complete or unfinished. */
export interface Ranking {
  /** The record in which it was begun. */
  sequence: number
  atEpochMs: number
  readonly market: number
  /** The direction of the ranked positions. */
  readonly direction: Direction
  /** The mark at which all positions are measured: the one when the ranking was begun, price atoms. */
  markAtoms: number
  /** The second of the market's tick in which it was completed and is valid; until then the last one in which it was continued. */
  second: number
  /** The next index among the positions of its market, while it is unfinished. */
  cursor: number
  /** The record in which it was completed; until then 0, or `madeAgain`. */
  madeAt: number
  /** Whether it repeats a ranking; meaningless, and in no snapshot, after the record that completed it. */
  readonly isSecond: boolean
  /**
   * Accounts with less equity than this were left out and not ranked, money atoms, as in a ranking that follows one that closed
   * nothing; -1 where none was left out.
   */
  readonly leastEquityAtoms: number
  /**
   * The greatest equity of any account that was examined but is not among the entries, money atoms; -1 where there is none.
   * Meaningless after the record that completed the ranking.
   */
  restEquityAtoms: number
  /** How often positions had changed within the record that completed it, except by closing against it; in no snapshot. */
  changes: number
  /** How many positions were ranked, of which the entries are the first. */
  ranked: number
  entries: Array<RankedEntry>
}

/**
 * `madeAt` of an unfinished ranking that repeats one of its direction and market which took several records and closed nothing.
 * Snapshots of earlier versions have 0 there.
 */
export const madeAgain = -1

/** For the equity limits of a ranking: no account is concerned. */
export const nobody = -1

/** Rankings kept, and positions in each unless the capacity says otherwise. */
const rankingsKept = 64
export const entriesKept = 1_024

const headNames = ["sequence", "atEpochMs", "market", "direction", "markAtoms", "second", "cursor", "madeAt", "ranked"] as const
const entryNames = [
  "slot",
  "account",
  "unrealizedPnlAtoms",
  "entryNotionalAtoms",
  "notionalAtoms",
  "equityAtoms",
  "closedAtoms"
] as const

export class Rankings {
  /** Completed rankings, in the order of their completion. */
  private readonly made: Array<Ranking> = []
  /** Unfinished rankings, in the order in which they were begun. */
  private making: Array<Ranking> = []

  /** The latest ranking of a direction in a market, which may be unfinished; undefined where none is kept. */
  latest(market: number, direction: Direction): Ranking | undefined {
    const isOfThem = (each: Ranking): boolean => each.market === market && each.direction === direction
    return this.making.find(isOfThem) ?? this.made.findLast(isOfThem)
  }

  /** Begins a ranking, in place of an unfinished one of its direction and market, and of abandoned ones. */
  begin(ranking: Ranking, isLeftAlone: (ranking: Ranking) => boolean = () => false): void {
    const isReplaced = (each: Ranking): boolean => each.market === ranking.market && each.direction === ranking.direction
    this.making = this.making.filter((each) => !isReplaced(each) && !isLeftAlone(each))
    this.making.push(ranking)
  }

  /**
   * Completes a ranking in the given record. The previous completed ranking of its market and direction is dropped where `isIdle` says
   * that nobody was deleveraged by it, so that it explains nothing to anybody.
   */
  finish(ranking: Ranking, sequence: number, isIdle: (before: Ranking) => boolean): void {
    ranking.madeAt = sequence
    this.making = this.making.filter((each) => each !== ranking)
    const before = this.made.findLastIndex((each) => each.market === ranking.market && each.direction === ranking.direction)
    if (before >= 0 && isIdle(this.made[before]!)) this.made.splice(before, 1)
    this.keep(ranking)
  }

  private keep(ranking: Ranking): void {
    this.made.push(ranking)
    if (this.made.length > rankingsKept) this.made.shift()
  }

  /** Completed rankings of a market, begun at or after a time, latest first, at most `limit`. */
  of(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Ranking> {
    return this.made.filter((each) => each.market === market && each.atEpochMs >= sinceEpochMs).reverse().slice(0, limit)
  }

  /**
   * For each ranking, the equity limit below which accounts were left out, and the greatest equity of the rest; undefined where
   * there are none.
   */
  dumpRests(): Float64Array | undefined {
    const words = this.all().flatMap((each) => [each.leastEquityAtoms, each.madeAt > 0 ? nobody : each.restEquityAtoms])
    return words.every((word) => word === nobody) ? undefined : Float64Array.from(words)
  }

  private all(): ReadonlyArray<Ranking> {
    return [...this.made, ...this.making]
  }

  /** Each ranking as its head, the number of its entries, and the entries. */
  dump(): Float64Array {
    const words: Array<number> = []
    for (const each of this.all()) {
      for (const name of headNames) words.push(each[name])
      words.push(each.entries.length)
      for (const entry of each.entries) for (const name of entryNames) words.push(entry[name])
    }
    return Float64Array.from(words)
  }

  static restore(dumped: Float64Array, rests?: Float64Array): Rankings {
    const rankings = new Rankings()
    let at = 0
    let count = 0
    const next = (): number => dumped[at++]!
    while (at < dumped.length) {
      const head = Object.fromEntries(headNames.map((name) => [name, next()])) as unknown as Pick<Ranking, typeof headNames[number]>
      const entries = Array.from(
        { length: next() },
        () => Object.fromEntries(entryNames.map((name) => [name, next()])) as unknown as RankedEntry
      )
      const [leastEquityAtoms, restEquityAtoms] = [rests?.[2 * count] ?? nobody, rests?.[2 * count + 1] ?? nobody]
      const ranking = { ...head, isSecond: head.madeAt === madeAgain, leastEquityAtoms, restEquityAtoms, changes: 0, entries }
      count++
      if (head.madeAt <= 0) rankings.begin(ranking)
      else rankings.keep(ranking)
    }
    assert(at === dumped.length, "dumped rankings are whole")
    return rankings
  }
}
