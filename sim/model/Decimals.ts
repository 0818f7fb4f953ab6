/** Atoms as readers are shown them: decimals and numbers, made from BigInt and text and by nothing of the venue's own. */

/** Decimals of money. */
export const moneyScale = 6

/** The decimal of atoms with exactly `scale` decimals, and one zero behind the point where the scale is 0. */
export const decimalOf = (atoms: bigint | number, scale: number): string => {
  const value = BigInt(atoms)
  const size = value < 0n ? -value : value
  const one = 10n ** BigInt(scale)
  const fraction = scale === 0 ? "0" : String(one + (size % one)).slice(1)
  return `${value < 0n ? "-" : ""}${size / one}.${fraction}`
}

/** The number nearest to atoms at a scale. */
export const numberOf = (atoms: bigint | number, scale: number): number => Number(decimalOf(atoms, scale))
