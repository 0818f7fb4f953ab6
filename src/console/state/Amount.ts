/** Amounts of USDC as people write and read them, and as the venue takes them: atoms (10^-6 USDC), as digits. Never a float. */
import { money } from "./Words.js"

const typed = /^([0-9]{0,10})(?:\.([0-9]{0,6}))?$/

/** What somebody has typed, in atoms; undefined where that is no amount, or none of anything. */
export const atomsOf = (text: string): string | undefined => {
  const [, whole, fraction = ""] = typed.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  const atoms = `${whole}${fraction.padEnd(6, "0")}`.replace(/^0+/, "")
  return atoms === "" ? undefined : atoms
}

/** Atoms as they are read: to the cent, and further only where they go further. */
export const usdc = (atoms: string): string => {
  const digits = atoms.padStart(7, "0")
  return money(`${digits.slice(0, -6)}.${digits.slice(-6)}`)
}
