/**
 * What each record must have told of the markets' figures, by the model. What they are made of is kept whenever a record has changed it,
 * so that they can be said as of any record: a slow client is given several updates as one, and what only time moves (the day's figures,
 * the next interval) is told with whatever comes next. That the index has become stale is told by the first record by whose time it is,
 * whatever that is about.
 */
import { isDeepStrictEqual } from "node:util"
import { isStale, sessionOf } from "../model/NaiveRisk.js"
import type { NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Figures, Members } from "../model/Shown.js"
import * as Shown from "../model/Shown.js"
import { difference } from "./Difference.js"
import { broken, holds, type Verdict } from "./Property.js"

/** What a market's figures are made of from a record on. */
interface Made {
  readonly sequence: number
  readonly figures: Figures
  /** Whether they are told as those of a stale index. */
  readonly isStale: boolean
  /** How many trades the market has had. */
  readonly trades: number
}

/** Changes that are remembered of one market. */
const mostRemembered = 5_000

const isToldStale = (market: NaiveMarket, atEpochMs: number): boolean => sessionOf(market) !== "closed" && isStale(market, atEpochMs)

/** What changes whenever something does that figures are made of; what is held is looked up in the accounts only where it may have changed. */
const signsOf = (market: NaiveMarket, atEpochMs: number): ReadonlyArray<unknown> => {
  const { lastPrice, mark, parameters, risk, trades } = market
  return [
    lastPrice,
    mark,
    parameters,
    trades.length,
    risk.index,
    risk.source,
    risk.held !== undefined,
    risk.fundings.length,
    risk.premiums,
    risk.premiums.length,
    sessionOf(market) === "closed",
    isToldStale(market, atEpochMs)
  ]
}

export class ToldOfFigures {
  private readonly made = new Map<string, Array<Made>>()
  /** By the markets' indexes, as of the last record. */
  private readonly signs: Array<ReadonlyArray<unknown>> = []
  /** The times of records, by sequence. */
  private readonly times: Array<number> = []
  private changes = 0
  private model: NaiveVenue | undefined

  take(model: NaiveVenue): void {
    this.model = model
    this.times[model.sequence] = model.atEpochMs
    const { changes } = model.history
    const mayHoldOther = changes.length !== this.changes
    this.changes = changes.length
    for (const market of model.markets) {
      const before = this.signs[market.index]
      const now = signsOf(market, model.atEpochMs)
      const isSame = before !== undefined && now.every((value, at) => value === before[at])
      if (isSame && !mayHoldOther) continue
      this.signs[market.index] = now
      const { marketId } = market.parameters
      const all = this.made.get(marketId) ?? []
      this.made.set(marketId, all)
      const made = {
        sequence: model.sequence,
        figures: Shown.figures(model, market),
        isStale: isToldStale(market, model.atEpochMs),
        trades: market.trades.length
      }
      const last = all.at(-1)
      if (last?.trades === made.trades && last.isStale === made.isStale && isDeepStrictEqual(last.figures, made.figures)) continue
      all.push(made)
      if (all.length > mostRemembered) all.shift()
    }
  }

  /** A record behind one and before another that changed a market's figures; undefined where none did. */
  between(marketId: string, behind: number, before: number): number | undefined {
    return this.made.get(marketId)?.find(({ sequence }) => sequence > behind && sequence < before)?.sequence
  }

  /** Whether an update tells the figures as they were behind its record. */
  updateFault(marketId: string, sequence: number, data: ReadonlyArray<Members>): Verdict {
    if (data.length !== 1) return broken(`of ${data.length} figures`)
    const made = this.madeBy(marketId, sequence)
    return made === undefined ? holds : difference("which", data[0], this.shown(made, sequence))
  }

  /**
   * Whether a snapshot that was made at its record, or at one behind it up to another, tells the figures as they were then. That the index
   * is stale it may tell by a clock that is later than the records, or lies far behind them: then it must be no closed market's.
   */
  snapshotFault(marketId: string, sequence: number, upTo: number, data: ReadonlyArray<Members>): Verdict {
    const made = this.madeBy(marketId, sequence)
    if (made === undefined) return holds
    const isSaidStale = (data[0]?.["marketData"] as Members | undefined)?.["stale"] === true
    let said: Verdict
    for (let at = upTo; at >= sequence; at--) {
      const verdict = difference("which", data[0], this.shown(made, at, isSaidStale ? Number.POSITIVE_INFINITY : undefined))
      if (verdict === undefined) return holds
      said ??= verdict
    }
    return said
  }

  private madeBy(marketId: string, sequence: number): Made | undefined {
    return this.made.get(marketId)?.findLast((one) => one.sequence <= sequence)
  }

  /** Figures at the time of a record that has not changed what they are made of. */
  private shown({ figures, trades }: Made, sequence: number, nowEpochMs?: number): Members {
    const { factor, lastPrice, parameters: { marketId } } = figures
    const market = this.model!.markets.find(({ parameters }) => parameters.marketId === marketId)!
    const atEpochMs = this.times[sequence]!
    const day = this.model!.day({ factor, lastPrice, trades: market.trades.slice(0, trades) }, atEpochMs)
    return Shown.statsOf(figures, day, atEpochMs, nowEpochMs)
  }
}
