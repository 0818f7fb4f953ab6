/**
 * Rankings of the positions that a deleveraging closes against: of one direction in a market, at one mark. They are published as they
 * are, once they are made, so that everybody can reckon the order again; who is who only the accounts themselves are told.
 *
 * A ranking is made a bounded number of positions at a time, in the order of their slots, and has room for the first thousand.
 * Until it is made its entries are a heap, the one that comes last on top; then they are in their order. One that is being made takes
 * the place of none that is published: of each direction in a market there is one of these at most, and of those that nobody goes on
 * with any more none is kept once another is begun.
 */
import { assert } from "../../domain/Assert.js"
import type { Direction } from "./Triggers.js"

/** A position of a ranking as it stood when it was ranked. Money in money atoms, sizes in size atoms. */
export interface RankedEntry {
  readonly slot: number
  readonly account: number
  readonly unrealizedPnlAtoms: number
  readonly entryNotionalAtoms: number
  readonly notionalAtoms: number
  readonly equityAtoms: number
  /** What deleveragings have closed of it since. */
  closedAtoms: number
}

/** A ranking. */
export interface Ranking {
  /** The record in which it was begun. */
  sequence: number
  atEpochMs: number
  readonly market: number
  /** Of the positions that are ranked. */
  readonly direction: Direction
  /** What all of its positions are reckoned at: the mark when it was begun. */
  markAtoms: number
  /** The second of the market's tick in which it was made, and holds; until then the last one in which it was gone on with. */
  second: number
  /** Where among the positions of its market it has come to, while it is being made. */
  cursor: number
  /** The record in which it was made; until then 0, or `madeAgain`. */
  madeAt: number
  /** Whether it is made once more; of no account, and in no snapshot, once the record in which it was made is over. */
  readonly isSecond: boolean
  /**
   * It leaves out whoever had less equity than so much, as one behind a ranking that closed nothing does; -1 where it leaves out nobody.
   * Whom it leaves out it has not ranked.
   */
  readonly leastEquityAtoms: number
  /**
   * The most equity that anybody had whom it came to and has not among its entries; -1 where nobody had any. Of account until the record
   * in which it was made is over.
   */
  restEquityAtoms: number
  /** How often positions had changed in the record in which it was made, but by closings against it; in no snapshot. */
  changes: number
  /** How many positions were ranked, of which it has the first. */
  ranked: number
  entries: Array<RankedEntry>
}

/**
 * Of a ranking that is being made once more, as the one before of its direction in its market took several records and closed nothing.
 * It stands where the record would, in which a snapshot that knows of no such ranking has 0.
 */
export const madeAgain = -1

/** Of a ranking: nobody whom it leaves out, or has not among its entries, has any equity. */
export const nobody = -1

/** Rankings that are kept, and positions in one unless the state's bounds say otherwise. */
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
  /** Those that are made, in the order in which they were, and those that are being made, as they were begun. */
  private readonly made: Array<Ranking> = []
  private making: Array<Ranking> = []

  /** The latest of a direction in a market, which may be one that is being made; undefined where none is kept. */
  latest(market: number, direction: Direction): Ranking | undefined {
    const isOfThem = (each: Ranking): boolean => each.market === market && each.direction === direction
    return this.making.find(isOfThem) ?? this.made.findLast(isOfThem)
  }

  /** Begins one, in place of what was begun before of its direction in its market and is not made, and of those that are left alone. */
  begin(ranking: Ranking, isLeftAlone: (ranking: Ranking) => boolean = () => false): void {
    const isReplaced = (each: Ranking): boolean => each.market === ranking.market && each.direction === ranking.direction
    this.making = this.making.filter((each) => !isReplaced(each) && !isLeftAlone(each))
    this.making.push(ranking)
  }

  /** One of those that were begun is made, by a record; in place of the one made before of its direction in its market, if that is idle. */
  finish(ranking: Ranking, sequence: number, isIdle: (before: Ranking) => boolean = () => false): void {
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

  /** Those of a market that are made, begun at or after a time, the one made last first, so many at most. */
  of(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Ranking> {
    return this.made.filter((each) => each.market === market && each.atEpochMs >= sinceEpochMs).reverse().slice(0, limit)
  }

  /** Of each who is not among its entries: whom it leaves out, and what the rest have. Undefined where that is nobody. */
  dumpRests(): Float64Array | undefined {
    const words = this.all().flatMap((each) => [each.leastEquityAtoms, each.madeAt > 0 ? nobody : each.restEquityAtoms])
    return words.every((word) => word === nobody) ? undefined : Float64Array.from(words)
  }

  private all(): ReadonlyArray<Ranking> {
    return [...this.made, ...this.making]
  }

  /** Each as its head, the number of its entries, and these. */
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
