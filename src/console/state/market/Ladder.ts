/** A book as it is shown: as many rows a side as there is room for, each with what is to be had up to it. */
import type { LocalBook } from "../../../client/venue/LocalBook.js"

/** Rows a side, whether there are so many levels or not: what is beside the book stays where it is. */
export const depth = 12

export interface Row {
  readonly price: string
  readonly size: string
  /** What is to be had from the best price to this one, as a share of what all rows of the deeper side have. */
  readonly share: number
}

export interface Ladder {
  /** Best first. */
  readonly bids: ReadonlyArray<Row>
  readonly asks: ReadonlyArray<Row>
  /** In atoms of the price; undefined where a side is empty. */
  readonly spreadAtoms: bigint | undefined
  readonly sequence: number
}

type Levels = LocalBook["bids"]

/** What is to be had up to each of the rows. */
const sums = (levels: Levels): ReadonlyArray<bigint> => {
  let sum = 0n
  return levels.slice(0, depth).map(({ sizeAtoms }) => sum += BigInt(sizeAtoms))
}

/** Thousandths are finer than a row is wide. */
const shareOf = (part: bigint, whole: bigint): number => Number(part * 1_000n / whole) / 1_000

const rows = (levels: Levels, upTo: ReadonlyArray<bigint>, whole: bigint): ReadonlyArray<Row> =>
  upTo.map((sum, at) => ({ price: levels[at]!.price, size: levels[at]!.size, share: shareOf(sum, whole) }))

/** The book as it is now: a copy, which stays when the book changes. */
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
