/**
 * The price at which the positions of a delisted market are closed: the average of its index over the ticks of the last half hour.
 * A market keeps sums by minute, so that a tick costs one addition and a final price thirty.
 */
import { minuteMs } from "../../domain/Durations.js"
import type { MarketState } from "../Markets.js"

/** Whole minutes before the current one that count, unless the engine is configured otherwise. */
const finalMinutes = 30

/** The time over which a final price is averaged, in milliseconds. */
export const averagedMs = (minutesBefore = finalMinutes): number => Math.max(1, minutesBefore) * minuteMs

/**
 * Adds the index at a tick to the sum of its minute. There are at most sixty ticks in a minute, so the sum stays a safe integer.
 */
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

/** The final price of a market delisted at a given time, price atoms, rounded half up; 0 where it has no index. */
export const finalPriceAt = (
  { indexMinutes, indexPrice, parameters: { maxPriceAtoms, minPriceAtoms } }: MarketState,
  atEpochMs: number,
  minutesBefore = finalMinutes
): number => {
  // A market that was halted or closed has no ticks in that half hour: the one up to its last tick is used instead.
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
