/**
 * The price at which the positions of a delisted market are closed: the average of its index at the ticks of the last half
 * hour. A market keeps it in sums by minute, so that a tick costs one addition and a final price thirty.
 */
import type { MarketState } from "../Markets.js"

const minuteMs = 60_000
/** Whole minutes before the running one that count, where an engine is not given another number. */
const finalMinutes = 30

/** Counts the index at a tick. Of a minute there are no more than sixty, so that no sum leaves the safe integers. */
export const note = ({ indexMinutes, indexPrice }: MarketState, atEpochMs: number, minutesBefore = finalMinutes): void => {
  const minute = Math.floor(atEpochMs / minuteMs)
  const last = indexMinutes.at(-1)
  if (last?.minute === minute) {
    last.sum += indexPrice
    last.ticks++
    return
  }
  indexMinutes.push({ minute, sum: indexPrice, ticks: 1 })
  while (indexMinutes[0]!.minute < minute - minutesBefore) indexMinutes.shift()
}

/** The final price of a market that is delisted at a time, price atoms, rounded half up; 0 where it has no index. */
export const finalPriceAt = (
  { indexMinutes, indexPrice, parameters: { maxPriceAtoms, minPriceAtoms } }: MarketState,
  atEpochMs: number,
  minutesBefore = finalMinutes
): number => {
  // A market that was halted, closed or down before has no tick in that time: then it is the half hour up to its last one.
  const now = Math.floor(atEpochMs / minuteMs)
  const last = indexMinutes.at(-1)?.minute ?? now
  const first = (last < now - minutesBefore ? last : now) - minutesBefore
  let sum = 0
  let ticks = 0
  for (const each of indexMinutes) {
    if (each.minute < first) continue
    sum += each.sum
    ticks += each.ticks
  }
  if (ticks === 0) return indexPrice
  return Math.min(maxPriceAtoms, Math.max(minPriceAtoms, Math.floor((2 * sum + ticks) / (2 * ticks))))
}
