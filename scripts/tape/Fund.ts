/** The insurance fund as published, as far as a tape needs it. */
import type { Venue } from "./Venue.js"

interface Position {
  readonly marketId: string
  readonly side: "long" | "short"
  readonly quantityAtoms: string
  readonly entryNotionalAtoms: string
}

export interface Fund {
  readonly collateralAtoms: string
  readonly equityAtoms: string
  readonly positions: ReadonlyArray<Position>
  readonly journalSequence: number
}

/** Reads the fund; its movements are covered by the steps that caused them. */
export const read = (venue: Pick<Venue, "read">): Promise<Fund> => venue.read<Fund>("/v1/insurance-fund?limit=1")

/** Totals over a list of positions: size atoms of longs less shorts, and entry notional of shorts less longs, in money atoms. */
export const heldOf = (
  positions: ReadonlyArray<Pick<Position, "side" | "quantityAtoms" | "entryNotionalAtoms">>
): { readonly sizeAtoms: number; readonly entryAtoms: bigint } => {
  let sizeAtoms = 0
  let entryAtoms = 0n
  for (const { entryNotionalAtoms, quantityAtoms, side } of positions) {
    sizeAtoms += side === "long" ? Number(quantityAtoms) : -Number(quantityAtoms)
    entryAtoms += side === "long" ? -BigInt(entryNotionalAtoms) : BigInt(entryNotionalAtoms)
  }
  return { sizeAtoms, entryAtoms }
}
