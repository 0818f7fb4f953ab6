/** The pause before another attempt: doubled after each failure in a row, within limits. */

const firstMs = 500
const longestMs = 60_000
/** After this many failures in a row, attempts become rarer still. */
const manyFailures = 30
const longestAfterManyMs = 900_000

/** The pause after the given number of failures, from 1. `spread` varies it, so that attempts do not all come at once. */
export const waitMs = (failures: number, spread = 0): number => {
  const stepMs = Math.min(failures > manyFailures ? longestAfterManyMs : longestMs, firstMs * 2 ** Math.min(16, failures - 1))
  return stepMs - Math.floor((stepMs / 4) * ((spread % 16) / 16))
}
