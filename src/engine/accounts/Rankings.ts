/**
 * Rankings of the positions that a deleveraging closes against: of one direction in a market, for one second. They are
 * published as they are, so that everybody can reckon the order again; who is who only the accounts themselves are told.
 *
 * A ranking is made a bounded number of positions at a time, in the order of their slots, and has room for the first thousand.
 * Until it is made its entries are a heap, the one that comes last on top; then they are in their order.
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
  markAtoms: number
  /** The second of the market's tick that it is for. */
  second: number
  /** Where among the positions of its market it has come to, while it is being made. */
  cursor: number
  /** The record in which it was made; 0 until then. */
  madeAt: number
  /** How many positions were ranked, of which it has the first. */
  ranked: number
  entries: Array<RankedEntry>
}

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
  /** Oldest first. */
  private kept: Array<Ranking> = []

  /** The latest of a direction in a market; undefined where none is kept. */
  latest(market: number, direction: Direction): Ranking | undefined {
    return this.kept.findLast((each) => each.market === market && each.direction === direction)
  }

  add(ranking: Ranking): void {
    this.kept.push(ranking)
    if (this.kept.length > rankingsKept) this.kept.shift()
  }

  /** Those of a market that are made, begun at or after a time, newest first, so many at most. */
  of(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Ranking> {
    return this.kept
      .filter((each) => each.market === market && each.atEpochMs >= sinceEpochMs && each.madeAt !== 0)
      .reverse()
      .slice(0, limit)
  }

  /** Each as its head, the number of its entries, and these. */
  dump(): Float64Array {
    const words: Array<number> = []
    for (const each of this.kept) {
      for (const name of headNames) words.push(each[name])
      words.push(each.entries.length)
      for (const entry of each.entries) for (const name of entryNames) words.push(entry[name])
    }
    return Float64Array.from(words)
  }

  static restore(dumped: Float64Array): Rankings {
    const rankings = new Rankings()
    let at = 0
    const next = (): number => dumped[at++]!
    while (at < dumped.length) {
      const head = Object.fromEntries(headNames.map((name) => [name, next()])) as unknown as Omit<Ranking, "entries">
      const entries = Array.from(
        { length: next() },
        () => Object.fromEntries(entryNames.map((name) => [name, next()])) as unknown as RankedEntry
      )
      rankings.add({ ...head, entries })
    }
    assert(at === dumped.length, "dumped rankings are whole")
    return rankings
  }
}
