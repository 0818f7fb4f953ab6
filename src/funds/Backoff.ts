/** How long is waited before something is tried again: twice as long after each failure in a row, within bounds. */

const firstMs = 500
const longestMs = 60_000
/** What did not help that often helps seldom: from then on it is tried less often. */
const manyFailures = 30
const longestAfterManyMs = 900_000

/** The wait behind so many failures, from 1. What is waited for is told apart by `spread`, so that not all of it comes at one moment. */
export const waitMs = (failures: number, spread = 0): number => {
  const stepMs = Math.min(failures > manyFailures ? longestAfterManyMs : longestMs, firstMs * 2 ** Math.min(16, failures - 1))
  return stepMs - Math.floor((stepMs / 4) * ((spread % 16) / 16))
}
