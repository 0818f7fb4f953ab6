/** Amounts of USDC: as people write and read them, and in atoms (10^-6 USDC) as digits for the venue. Never a float. */
import { format } from "./market/Decimals.js"
import { money } from "./Words.js"

const typed = /^([0-9]{0,10})(?:\.([0-9]{0,6}))?$/

/** A typed amount in atoms; undefined where it is not a positive amount. */
export const atomsOf = (text: string): string | undefined => {
  const [, whole, fraction = ""] = typed.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  const atoms = `${whole}${fraction.padEnd(6, "0")}`.replace(/^0+/, "")
  return atoms === "" ? undefined : atoms
}

/** Atoms as a decimal string with all its decimals. */
export const exact = (atoms: string): string => format(BigInt(atoms), 6)

/** Atoms as a readable amount: to the cent, or to as many further digits as it has. */
export const usdc = (atoms: string): string => money(exact(atoms))
