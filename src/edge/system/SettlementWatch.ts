/**
 * Warns operators of settlements of delisted markets that are waiting because nobody can bear a remaining deficit. `/metrics` shows
 * this while it lasts, the log its beginning and end.
 */
import * as Units from "../../domain/Units.js"
import type { Reads } from "../../engine/Reads.js"
import type { Notice } from "./Notices.js"

/** A delisted market whose settlement is not finished, and whether it is waiting to be tried again. */
interface Settlement {
  readonly marketId: string
  /** Base units that are yet to be closed. */
  readonly openInterest: string
  readonly isWaiting: boolean
}

/** The markets that are being settled, the lowest first. */
export const settlements = (state: Reads): ReadonlyArray<Settlement> => {
  const found: Array<Settlement> = []
  for (let market = 0; market < state.marketCount; market++) {
    const { delisting, parameters: { marketId, quantityScale } } = state.market(market)
    if (delisting?.state !== "settling") continue
    const { againAtEpochMs, openInterestAtoms } = state.delistingOutlook(market)
    found.push({ marketId, openInterest: Units.formatDecimal(openInterestAtoms, quantityScale), isWaiting: againAtEpochMs !== 0 })
  }
  return found
}

/** Checks the settlements; each check returns what has changed since the previous one. */
export const make = (state: Reads): () => ReadonlyArray<Notice> => {
  const waiting = new Set<string>()
  return () => {
    const found = settlements(state).filter(({ isWaiting }) => isWaiting)
    const begun = found.filter(({ marketId }) => !waiting.has(marketId))
    const ended = [...waiting].filter((marketId) => !found.some((each) => each.marketId === marketId))
    for (const { marketId } of begun) waiting.add(marketId)
    for (const marketId of ended) waiting.delete(marketId)
    return [
      ...begun.map(({ marketId, openInterest }) => ({
        text: `the settlement of ${marketId} waits: nobody is left to bear a deficit in it, and ${openInterest} is open; `
          + "it is gone through again every minute",
        isWarning: true
      })),
      ...ended.map((marketId) => ({ text: `the settlement of ${marketId} has ended`, isWarning: false }))
    ]
  }
}
