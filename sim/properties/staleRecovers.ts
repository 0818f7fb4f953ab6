/**
 * Liveness (L5). A market whose index has grown stale is live again with its feed and by itself: a sample that is a price of the
 * market, no older than its index and no step away from it, is its index from its record on, however long there was none.
 */
import type { Record } from "../../src/journal/Record.js"
import { isDelisted, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isListed } from "../reading/MarketRules.js"
import type { Glance } from "./Glance.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A market's index as it was seen, price atoms. */
interface Seen {
  readonly price: number
  readonly sourceEpochMs: number
}

/** A sample that came since. */
interface Sample extends Seen {
  readonly sequence: number
}

interface State {
  /** Each market's index at the last look at the engine. */
  readonly shown: Map<number, Seen>
  /** The sample of each market since then: undefined where there was more than one, or where the market itself changed. */
  readonly since: Map<number, Sample | undefined>
}

const bpsOne = 10_000

/** Whether nothing of a sample speaks against it, of a market whose index stands so. */
const isIndex = ({ parameters, status }: NaiveMarket, index: Seen, { price, sourceEpochMs }: Sample): boolean =>
  isListed(status) && price >= parameters.minPriceAtoms && price <= parameters.maxPriceAtoms && sourceEpochMs >= index.sourceEpochMs
  && (index.price === 0 || Math.abs(price - index.price) * bpsOne <= index.price * parameters.indexStepMaxBps)

/** Takes in what a record says of a market's index. */
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
