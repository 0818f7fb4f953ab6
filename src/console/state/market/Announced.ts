/** What a market's announced terms change: each with what it is and what it becomes, in words. */
import type * as Contract from "../../../client/venue/Contract.js"
import { usdc } from "../Amount.js"
import { decimal, words } from "../Words.js"
import { percent } from "./Decimals.js"

type Market = Contract.MarketSnapshot["market"]
type Announced = NonNullable<Market["announced"]>
type Term = Exclude<keyof Announced, "effectiveAtEpochMs">

export interface Change {
  readonly term: string
  readonly now: string
  readonly next: string
}

const hourMs = 3_600_000

/** The unit with which a term's name ends. */
const unit = /(?:Bps|E9|Ms|X)$/

const shown = (term: string, value: Announced[Term]): string => {
  if (typeof value === "object") {
    return value.map(({ maintenanceMarginBps, notionalThresholdAtoms }) =>
      `${shown("Bps", maintenanceMarginBps)} from ${usdc(notionalThresholdAtoms)}`
    ).join(", ")
  }
  const text = String(value)
  switch (unit.exec(term)?.[0]) {
    case "Bps":
      return percent(text, 4, 2)
    case "E9":
      return percent(text, 9, 4)
    case "Ms":
      return Number(text) % hourMs === 0 ? `${Number(text) / hourMs} h` : `${Number(text) / 1_000} s`
    case "X":
      return `${text}x`
    default:
      return decimal(text)
  }
}

/** The terms that change for those who trade; none where nothing is announced. */
export const changesOf = (market: Market): ReadonlyArray<Change> => {
  const { announced } = market
  if (announced === undefined) return []
  const { effectiveAtEpochMs: _, logoUrl, ...terms } = announced
  return (Object.keys(terms) as ReadonlyArray<keyof typeof terms>).map((term) => ({
    term: words(term.replace(unit, "")),
    now: shown(term, market[term]),
    next: shown(term, terms[term])
  })).filter(({ next, now }) => now !== next)
}
