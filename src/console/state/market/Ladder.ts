/** A book prepared for display: as many rows for each side as there is room for, each with the cumulative size up to it. */
import type { LocalBook } from "../../../client/venue/LocalBook.js"

/** Rows for each side, whether or not there are that many levels: so nothing beside the book moves. */
export const depth = 12

export interface Row {
  readonly price: string
  readonly size: string
  /** The cumulative size from the best price to this one, relative to that of all rows of the deeper side. */
  readonly share: number
}

export interface Ladder {
  /** Best first. */
  readonly bids: ReadonlyArray<Row>
  readonly asks: ReadonlyArray<Row>
  /** In price atoms; undefined where a side is empty. */
  readonly spreadAtoms: bigint | undefined
  readonly sequence: number
}

type Levels = LocalBook["bids"]

/** The cumulative size at each row. */
const sums = (levels: Levels): ReadonlyArray<bigint> => {
  let sum = 0n
  return levels.slice(0, depth).map(({ sizeAtoms }) => sum += BigInt(sizeAtoms))
}

/** Thousandths are finer than the width of a row in pixels. */
const shareOf = (part: bigint, whole: bigint): number => Number(part * 1_000n / whole) / 1_000

const rows = (levels: Levels, upTo: ReadonlyArray<bigint>, whole: bigint): ReadonlyArray<Row> =>
  upTo.map((sum, at) => ({ price: levels[at]!.price, size: levels[at]!.size, share: shareOf(sum, whole) }))

/** The current book as a copy, which does not change with the book. */
export const ladder = ({ asks, bids, sequence }: Pick<LocalBook, "asks" | "bids" | "sequence">): Ladder => {
  const bidSums = sums(bids)
  const askSums = sums(asks)
  const deepest = [bidSums.at(-1) ?? 1n, askSums.at(-1) ?? 1n].reduce((most, sum) => sum > most ? sum : most)
  const bid = bids[0]
  const ask = asks[0]
  return {
    bids: rows(bids, bidSums, deepest),
    asks: rows(asks, askSums, deepest),
    spreadAtoms: bid === undefined || ask === undefined ? undefined : BigInt(ask.priceAtoms) - BigInt(bid.priceAtoms),
    sequence
  }
}
