/** A market's book, kept from a snapshot and updates. It holds as many levels as the venue does. */
import type { BookChange } from "./Channels.js"
import type * as Contract from "./Contract.js"
import { sha256 } from "./Sha256.js"

/** Levels a side that a checksum covers. */
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

  /** Where a price is, or belongs. */
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
  /** The record that last changed it; 0 before anything is known. */
  sequence = 0
  private readonly sides = { bid: new Side(-1), ask: new Side(1) }

  /** Levels of buyers, best first. The array is the book's own and changes with it: copy what is to stay. */
  get bids(): ReadonlyArray<Contract.Level> {
    return this.sides.bid.levels
  }

  /** Levels of sellers, best first, as `bids`. */
  get asks(): ReadonlyArray<Contract.Level> {
    return this.sides.ask.levels
  }

  /** Takes a snapshot in the place of everything; false where its checksum is another's. */
  reset(book: Pick<Contract.Book, "bids" | "asks" | "checksum">, sequence: number): boolean {
    this.sides.bid.reset(book.bids)
    this.sides.ask.reset(book.asks)
    this.sequence = sequence
    return book.checksum === this.checksum()
  }

  /** Takes what has changed; false where there is a checksum with it that is not the book's. */
  apply(changes: ReadonlyArray<BookChange>, sequence: number, checksum?: string): boolean {
    for (const change of changes) this.sides[change.side].set(change)
    this.sequence = sequence
    return checksum === undefined || checksum === this.checksum()
  }

  /** As the venue makes it: SHA-256 over the best 25 levels a side, bids first, best first. */
  checksum(): string {
    const lines = (name: string, side: Side): ReadonlyArray<string> =>
      side.levels.slice(0, checksumDepth).map(({ priceAtoms, sizeAtoms }) => `${name}|${priceAtoms}|${sizeAtoms}`)
    return `sha256:${sha256([...lines("b", this.sides.bid), ...lines("a", this.sides.ask)].join("\n"))}`
  }
}
