/**
 * The largest credit, and the largest collateral after a credit, money atoms: half of the exact range, so that profits have room.
 */
export const maxCreditAtoms = 2 ** 52
