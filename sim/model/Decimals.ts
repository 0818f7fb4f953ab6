/** Decimals and numbers of atoms as answers show them, made from BigInt and text without any of the venue's own code. */

/** Decimal places of money. */
export const moneyScale = 6

/** The decimal of atoms with exactly `scale` decimal places, and one zero after the point where the scale is 0. */
export const decimalOf = (atoms: bigint | number, scale: number): string => {
  const value = BigInt(atoms)
  const size = value < 0n ? -value : value
  const one = 10n ** BigInt(scale)
  const fraction = scale === 0 ? "0" : String(one + (size % one)).slice(1)
  return `${value < 0n ? "-" : ""}${size / one}.${fraction}`
}

/** The number nearest to atoms at a scale. */
export const numberOf = (atoms: bigint | number, scale: number): number => Number(decimalOf(atoms, scale))
