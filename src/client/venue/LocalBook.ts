/** A market's book, maintained from a snapshot and updates. It holds as many levels as the venue does. */
import type { BookChange } from "./Channels.js"
import type * as Contract from "./Contract.js"
import { sha256 } from "./Sha256.js"

/** Levels on each side that a checksum covers. */
const checksumDepth = 25

/** One side, best first: prices in atoms, and the level at each. */
class Side {
  readonly prices: Array<number> = []
  readonly levels: Array<Contract.Level> = []

  /** `sign`: 1 where lower prices are better. */
  constructor(private readonly sign: 1 | -1) {}

  reset(levels: ReadonlyArray<Contract.Level>): void {
    this.prices.length = 0
    this.levels.length = 0
    for (const level of levels) {
      this.prices.push(Number(level.priceAtoms))
      this.levels.push(level)
    }
  }

  set({ price, priceAtoms, size, sizeAtoms }: Contract.Level): void {
    const atoms = Number(priceAtoms)
    const at = this.placeOf(atoms)
    const isThere = this.prices[at] === atoms
    if (sizeAtoms === "0") {
      if (!isThere) return
      this.prices.splice(at, 1)
      this.levels.splice(at, 1)
      return
    }
    const level = { price, priceAtoms, size, sizeAtoms }
    if (isThere) this.levels[at] = level
    else {
      this.prices.splice(at, 0, atoms)
      this.levels.splice(at, 0, level)
    }
  }

  /** The index of a price, or the one at which it belongs. */
  private placeOf(atoms: number): number {
    let from = 0
    let to = this.prices.length
    while (from < to) {
      const middle = from + to >>> 1
      if (this.sign * (this.prices[middle]! - atoms) < 0) from = middle + 1
      else to = middle
    }
    return from
  }
}

export class LocalBook {
  /** The last record that changed the book; 0 before any snapshot. */
  sequence = 0
  private readonly sides = { bid: new Side(-1), ask: new Side(1) }

  /** Buyers' levels, best first. The array belongs to the book and changes with it: copy what has to stay. */
  get bids(): ReadonlyArray<Contract.Level> {
    return this.sides.bid.levels
  }

  /** Sellers' levels, best first; the same holds. */
  get asks(): ReadonlyArray<Contract.Level> {
    return this.sides.ask.levels
  }

  /** Replaces everything with a snapshot; false where its checksum does not match. */
  reset(book: Pick<Contract.Book, "bids" | "asks" | "checksum">, sequence: number): boolean {
    this.sides.bid.reset(book.bids)
    this.sides.ask.reset(book.asks)
    this.sequence = sequence
    return book.checksum === this.checksum()
  }

  /** Applies changes; false where a checksum is given that does not match. */
  apply(changes: ReadonlyArray<BookChange>, sequence: number, checksum?: string): boolean {
    for (const change of changes) this.sides[change.side].set(change)
    this.sequence = sequence
    return checksum === undefined || checksum === this.checksum()
  }

  /** Computed as the venue does: SHA-256 over the best 25 levels of each side, bids first, best first. */
  checksum(): string {
    const lines = (name: string, side: Side): ReadonlyArray<string> =>
      side.levels.slice(0, checksumDepth).map(({ priceAtoms, sizeAtoms }) => `${name}|${priceAtoms}|${sizeAtoms}`)
    return `sha256:${sha256([...lines("b", this.sides.bid), ...lines("a", this.sides.ask)].join("\n"))}`
  }
}
