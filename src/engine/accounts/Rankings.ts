/**
 * The rankings of the latest deleveragings, as they are published: of each the positions that were ranked, as they stood, and
 * what was closed of them. Everybody can reckon the order again; who is who only the accounts themselves are told.
 */
import { assert } from "../../domain/Assert.js"

/** A deleveraging. Money in money atoms, prices in price atoms, sizes in size atoms. */
export interface Deleveraging {
  readonly sequence: number
  readonly atEpochMs: number
  readonly market: number
  /** Whose position was closed. */
  readonly account: number
  /** 0 for long, 1 for short. */
  readonly direction: number
  /** What was to be closed. */
  readonly sizeAtoms: number
  readonly priceAtoms: number
  readonly markAtoms: number
  /** How many positions were ranked, of which the first are kept. */
  readonly ranked: number
  readonly entries: ReadonlyArray<RankedEntry>
}

/** A position of a ranking, at its place. */
export interface RankedEntry {
  readonly account: number
  readonly unrealizedPnlAtoms: number
  readonly entryNotionalAtoms: number
  readonly notionalAtoms: number
  readonly equityAtoms: number
  readonly closedAtoms: number
}

/** Deleveragings that are kept, and positions of each: all that anything was closed of are among them, see `Deleveraging`. */
const rankingsKept = 64
export const entriesKept = 1_024

const headNames = ["sequence", "atEpochMs", "market", "account", "direction", "sizeAtoms", "priceAtoms", "markAtoms", "ranked"] as const
const entryNames = ["account", "unrealizedPnlAtoms", "entryNotionalAtoms", "notionalAtoms", "equityAtoms", "closedAtoms"] as const

export class Rankings {
  /** Oldest first. */
  private kept: Array<Deleveraging> = []

  add(deleveraging: Deleveraging): void {
    assert(deleveraging.entries.length <= entriesKept, "a ranking is kept as far as its bound")
    this.kept.push(deleveraging)
    if (this.kept.length > rankingsKept) this.kept.shift()
  }

  /** Those of a market at or after a time, newest first, so many at most. */
  of(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Deleveraging> {
    return this.kept.filter((each) => each.market === market && each.atEpochMs >= sinceEpochMs).reverse().slice(0, limit)
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
      const head = Object.fromEntries(headNames.map((name) => [name, next()])) as unknown as Omit<Deleveraging, "entries">
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
