/** Batches of the index stream: a request's content, and its prices on a market's grid, written from the contract. */
import * as Bodies from "./Bodies.js"

const opening = "/v1/operator/index-stream"
const sending = "/v1/operator/index-stream/prices"

/** A price of a batch as sent. */
export interface Streamed {
  readonly marketId: string
  readonly price: string
  readonly sourceEpochMs: number
}

export interface Batch {
  readonly session: string
  readonly sequence: number
  readonly prices: ReadonlyArray<Streamed>
}

/** Whether a request belongs to a feed process: it is not an operator's command. */
export const isOfStream = (target: string): boolean => [opening, sending].includes(target.split("?")[0]!)

/** The batch in a request; undefined where it has none. Feed processes of the simulator never send malformed batches. */
export const batchOf = ({ body, target }: { readonly target: string; readonly body: string }): Batch | undefined =>
  target === sending ? Bodies.parse(body)?.value as Batch | undefined : undefined

const largest = BigInt(Number.MAX_SAFE_INTEGER)

/** The price atoms nearest to a price on a grid of `scale` decimals, half up; undefined where the grid has no such price above zero. */
export const nearestAtoms = (price: string, scale: number): number | undefined => {
  const [whole = "", fraction = ""] = price.split(".")
  const tenths = BigInt(whole + fraction.padEnd(scale + 1, "0").slice(0, scale + 1))
  const atoms = (tenths + 5n) / 10n
  return atoms < 1n || atoms > largest ? undefined : Number(atoms)
}
