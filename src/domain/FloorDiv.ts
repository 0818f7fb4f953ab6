/** A division of whole numbers that rounds down, below zero too: the language's own rounds toward zero. */

/** floor(a / b), for b > 0. */
export const floorDiv = (a: bigint, b: bigint): bigint => a >= 0n ? a / b : -((-a + b - 1n) / b)
