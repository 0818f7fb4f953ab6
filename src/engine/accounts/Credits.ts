/** Most money atoms that one credit may bring, and that an account may have by it: half of what is exact, so that profits have room. */
export const maxCreditAtoms = 2 ** 52
