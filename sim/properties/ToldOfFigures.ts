/**
 * The markets' figures that each record must have reported, by the model. Their inputs are kept whenever a record has changed them, so
 * that the figures can be computed as of any record: a slow client receives several updates merged, and changes by time alone (the day's
 * figures, the next interval, and that nobody will pay the running one) come with the next update. The staleness of the index is reported
 * by the first record whose time makes it stale, whatever the record is about.
 */
import { isDeepStrictEqual } from "node:util"
import { isStale, sessionOf } from "../model/NaiveRisk.js"
import { isDelisted, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Figures, Members } from "../model/Shown.js"
import * as Shown from "../model/Shown.js"
import { difference } from "./Difference.js"
import { broken, holds, type Verdict } from "./Property.js"

/** The inputs of a market's figures from a record on. */
interface Made {
  readonly sequence: number
  readonly figures: Figures
  /** Whether the index is reported as stale. */
  readonly isStale: boolean
  /** The number of the market's trades so far. */
  readonly trades: number
  /** From when on the rates are shown as 0. */
  readonly unpaid: Shown.Unpaid
  /** Whether anything else differs from before, so that the record tells the figures. */
  readonly isTold: boolean
}

/** Most changes that are kept of one market. */
const mostRemembered = 5_000

const isToldStale = (market: NaiveMarket, atEpochMs: number): boolean => sessionOf(market) !== "closed" && isStale(market, atEpochMs)

/** Values that change whenever an input of the figures does; open interest is looked up in the accounts only where it may have changed. */
const signsOf = (market: NaiveMarket, model: NaiveVenue): ReadonlyArray<unknown> => {
  const { lastPrice, mark, parameters, risk, session, trades } = market
  const { from, lastFrom } = Shown.unpaid(model, market)
  return [
    lastPrice,
    mark,
    parameters,
    trades.length,
    risk.index,
    risk.source,
    risk.held !== undefined,
    risk.interval,
    risk.fundings.length,
    risk.premiums,
    risk.premiums.length,
    sessionOf(market) === "closed",
    isDelisted(market),
    session?.opens,
    session?.closes,
    isToldStale(market, model.atEpochMs),
    from,
    lastFrom
  ]
}

export class ToldOfFigures {
  private readonly made = new Map<string, Array<Made>>()
  /** By market index, as of the last record. */
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
      const now = signsOf(market, model)
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
        trades: market.trades.length,
        unpaid: Shown.unpaid(model, market)
      }
      const last = all.at(-1)
      const isTold = last?.trades !== made.trades || last.isStale !== made.isStale || !isDeepStrictEqual(last.figures, made.figures)
      if (!isTold && isDeepStrictEqual(last.unpaid, made.unpaid)) continue
      all.push({ ...made, isTold })
      if (all.length > mostRemembered) all.shift()
    }
  }

  /** A record between two others that changed a market's figures; undefined where none did. */
  between(marketId: string, behind: number, before: number): number | undefined {
    return this.made.get(marketId)?.find(({ isTold, sequence }) => isTold && sequence > behind && sequence < before)?.sequence
  }

  /** Compares an update with the figures after its record. */
  updateFault(marketId: string, sequence: number, data: ReadonlyArray<Members>): Verdict {
    if (data.length !== 1) return broken(`of ${data.length} figures`)
    const made = this.madeBy(marketId, sequence)
    return made === undefined ? holds : difference("which", data[0], this.shown(made, sequence)())
  }

  /**
   * Compares a snapshot with the figures after its record, or after any later record up to another, when it may have been made. What
   * moves with time alone may be as of a clock that is ahead of the records, and the index is stale by one that is far behind them.
   * `clock`: what the clock may have shown then.
   */
  snapshotFault(
    marketId: string,
    sequence: number,
    upTo: number,
    data: ReadonlyArray<Members>,
    clock: readonly [number, number] = Shown.anyTime
  ): Verdict {
    const made = this.madeBy(marketId, sequence)
    if (made === undefined) return holds
    const next = data[0]?.["nextFundingTimeEpochMs"]
    let said: Verdict
    for (let at = upTo; at >= sequence; at--) {
      const shown = this.shown(made, at)
      const times = Shown.momentsOf(made.figures, made.unpaid, this.times[at]!, next, clock)
      const verdict = difference("which", data[0], shown(clock === Shown.anyTime ? undefined : clock[0]))
      if (verdict === undefined || times.some((now) => difference("which", data[0], shown(now)) === undefined)) return holds
      said ??= verdict
    }
    return said
  }

  private madeBy(marketId: string, sequence: number): Made | undefined {
    return this.made.get(marketId)?.findLast((one) => one.sequence <= sequence)
  }

  /** Figures at the time of a record that has not changed their inputs, as shown at a time of the clock. */
  private shown({ figures, trades, unpaid }: Made, sequence: number): (nowEpochMs?: number) => Members {
    const { factor, lastPrice, parameters: { marketId } } = figures
    const market = this.model!.markets.find(({ parameters }) => parameters.marketId === marketId)!
    const atEpochMs = this.times[sequence]!
    const day = this.model!.day({ factor, lastPrice, trades: market.trades.slice(0, trades) }, atEpochMs)
    return (nowEpochMs) => Shown.statsOf(figures, unpaid, day, atEpochMs, nowEpochMs)
  }
}
