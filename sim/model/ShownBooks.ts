/** Books as readers must get them, with digests that anyone can recompute. */
import * as crypto from "node:crypto"
import type * as Market from "../../src/domain/Market.js"
import * as Shown from "./Shown.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

/** Price and size atoms of each level, best first. */
type Levels = ReadonlyArray<readonly [number, number]>

export interface Book {
  readonly bids: Levels
  readonly asks: Levels
}

/** Levels of each side that a checksum covers. */
const levelsSummed = 25

const sha256 = (text: string): string => `sha256:${crypto.createHash("sha256").update(text).digest("hex")}`

/** JSON with members in the order of their names: canonical for ASCII strings and integers. */
const canonical = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(canonical).join(",")}]`
    : isObject(value)
    ? `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
    : JSON.stringify(value)

export const checksumOf = ({ asks, bids }: Book): string => {
  const lines = ([["b", bids], ["a", asks]] as const).flatMap(([side, levels]) =>
    levels.slice(0, levelsSummed).map(([price, size]) => `${side}|${price}|${size}`)
  )
  return sha256(lines.join("\n"))
}

/** `external-book-snapshot/v1`, with at most `most` levels a side; one that has more cannot be gone on from. */
export const snapshotOf = (book: Book, parameters: Market.Parameters, snapshotSequence: number, most: number): Json => {
  const { marketId } = parameters
  const [bids, asks] = [book.bids, book.asks].map((side) => Shown.levels(side.slice(0, most), parameters))
  const isCut = Math.max(book.bids.length, book.asks.length) > most
  return {
    version: "external-book-snapshot/v1",
    marketId,
    snapshotSequence,
    readModelDigest: sha256(canonical({ marketId, snapshotSequence, bids, asks })),
    bids,
    asks,
    checksum: checksumOf(book),
    resync: { stream: "market.book", fromSequence: isCut ? 0 : snapshotSequence }
  }
}
