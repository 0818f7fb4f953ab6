/** Batches of the index stream: what a request says, and what its prices come to on a market's grid, written from the contract. */
import * as Bodies from "./Bodies.js"

const opening = "/v1/operator/index-stream"
const sending = "/v1/operator/index-stream/prices"

/** A price of a batch as it was sent. */
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

/** Whether a request is one of a feed process: what it does is no command of an operator's. */
export const isOfStream = (target: string): boolean => [opening, sending].includes(target.split("?")[0]!)

/** The batch that a request sends; undefined where it sends none. Feed processes of the simulator send nothing that is none. */
export const batchOf = ({ body, target }: { readonly target: string; readonly body: string }): Batch | undefined =>
  target === sending ? Bodies.parse(body)?.value as Batch | undefined : undefined

const largest = BigInt(Number.MAX_SAFE_INTEGER)

/** Price atoms nearest to a price on a grid of `scale` decimals, half up; undefined where the grid has no such price above zero. */
export const nearestAtoms = (price: string, scale: number): number | undefined => {
  const [whole = "", fraction = ""] = price.split(".")
  const tenths = BigInt(whole + fraction.padEnd(scale + 1, "0").slice(0, scale + 1))
  const atoms = (tenths + 5n) / 10n
  return atoms < 1n || atoms > largest ? undefined : Number(atoms)
}
