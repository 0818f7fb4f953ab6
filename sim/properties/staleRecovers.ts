/**
 * Liveness (L5). A market with a stale index becomes live again by itself when its feed does: a valid sample, no older than its index and
 * not a step away from it, is its index from its record on, however long there was none.
 */
import type { Record } from "../../src/journal/Record.js"
import { isDelisted, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isListed } from "../reading/MarketRules.js"
import type { Glance } from "./Glance.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A market's index as observed, price atoms. */
interface Seen {
  readonly price: number
  readonly sourceEpochMs: number
}

/** A sample received since. */
interface Sample extends Seen {
  readonly sequence: number
}

interface State {
  /** Each market's index when the engine was last read. */
  readonly shown: Map<number, Seen>
  /**
   * Each market's sample since then; undefined where there was more than one. Cleared when parameters or the status of any market change.
   */
  readonly since: Map<number, Sample | undefined>
}

const bpsOne = 10_000

/** Whether nothing prevents a sample from becoming the index of a market, or from having stayed it since. */
const isIndex = ({ parameters, risk, status }: NaiveMarket, index: Seen, { price, sourceEpochMs }: Sample): boolean =>
  isListed(status) && price >= parameters.minPriceAtoms && price <= parameters.maxPriceAtoms && sourceEpochMs >= index.sourceEpochMs
  && sourceEpochMs > risk.underlyingSince
  && (index.price === 0 || Math.abs(price - index.price) * bpsOne <= index.price * parameters.indexStepMaxBps)

/** Notes a record about a market's index. */
const follow = ({ since }: State, { atEpochMs, command, sequence }: Record): void => {
  if (command.kind === "PutMarket" || command.kind === "SetMarketStatus") since.clear()
  if (command.kind !== "SetIndexPrice") return
  const { market, priceAtoms: price, sourceEpochMs } = command
  const seen = { price, sourceEpochMs: sourceEpochMs === 0 ? atEpochMs : Math.min(sourceEpochMs, atEpochMs), sequence }
  since.set(market, since.has(market) ? undefined : seen)
}

const lookVerdict = ({ shown, since }: State, reads: Glance, model: NaiveVenue): Verdict => {
  for (const [index, sample] of since) {
    const market = model.markets[index]
    const before = shown.get(index)
    if (sample === undefined || market === undefined || before === undefined || isDelisted(market)) continue
    const isFresh = reads.atEpochMs < sample.sourceEpochMs + market.parameters.indexStaleMs
    if (!isFresh || !isIndex(market, before, sample) || !reads.stats(index).isStale) continue
    return broken(`market ${index} is stale at ${reads.atEpochMs}, and record ${sample.sequence} has a sample of ${sample.sourceEpochMs}`)
  }
  since.clear()
  for (const { index } of model.markets) {
    const { indexPriceAtoms: price, indexSourceEpochMs } = reads.stats(index)
    shown.set(index, { price, sourceEpochMs: indexSourceEpochMs })
  }
  return holds
}

export const staleRecovers: Property<State> = {
  name: "a-stale-market-recovers-with-its-feed",
  invariant: "L5",
  kind: "liveness",
  initial: () => ({ shown: new Map(), since: new Map() }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") follow(state, seen.record)
    return seen._tag === "Inspected" ? lookVerdict(state, seen.reads, seen.model) : holds
  }
}
