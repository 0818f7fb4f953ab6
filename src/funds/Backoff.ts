/** How long is waited before something is tried again: twice as long after each failure, within bounds, and never all at one moment. */
import type * as Context from "effect/Context"
import type { SecureRandom } from "../identity/SecureRandom.js"

const firstMs = 500
const longestMs = 60_000

/** The wait behind so many failures in a row, from 1: between half of the step and all of it. */
export const waitMs = (failures: number, random: Context.Tag.Service<SecureRandom>): number => {
  const stepMs = Math.min(longestMs, firstMs * 2 ** Math.min(16, failures - 1))
  return Math.round(stepMs / 2 + (stepMs / 2) * (random.bytes(1)[0]! / 255))
}
