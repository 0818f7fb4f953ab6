/**
 * What histories make of committed blocks: the events of each record in their order, with the record's own time. It holds only what
 * changes further; what has come to its end is handed over with the next batch.
 */
import { assert } from "../domain/Assert.js"
import { Event } from "../engine/EventLog.js"
import type { Committed } from "../sequencer/Feed.js"
import { Candles, type CandleRow } from "./Candles.js"
import type { Batch, Scale } from "./Tables.js"

/** What is kept of what was taken in so far, for going on from there. */
export interface Kept {
  readonly candles: ReadonlyArray<CandleRow>
  readonly scales: ReadonlyArray<Scale>
}

export class Projection {
  private readonly candles: Candles
  private readonly scales: Map<number, Scale>
  private rescaled = new Map<number, Scale>()

  constructor(kept: Kept) {
    this.candles = new Candles(kept.candles)
    this.scales = new Map(kept.scales.map((scale) => [scale.market, scale]))
  }

  /** Takes a block in. */
  apply({ block: { records }, events: words }: Committed): void {
    let at = 0
    for (const { atEpochMs, command } of records) {
      for (let code = 0; code !== Event.RecordDecided;) {
        assert(at < words.length, "every record ends what it decided")
        code = words[at]!
        const fields = at + 2
        at = fields + words[at + 1]!
        switch (code) {
          case Event.Traded:
            this.candles.add("trade", words[fields]!, words[fields + 1]!, words[fields + 2]!, atEpochMs)
            break
          case Event.IndexPriceSet:
            this.candles.add("index", words[fields]!, words[fields + 1]!, 0, atEpochMs)
            break
          case Event.MarketPut:
            if (command.kind === "PutMarket") this.putMarket(words[fields]!, command.parameters)
            break
        }
      }
    }
  }

  /** Rows that wait to be stored, whatever else has changed: the most of them that a batch is made for is the caller's. */
  get waiting(): number {
    return this.candles.waiting
  }

  /** All that has changed since this was last asked. */
  take(): Batch {
    const rescaled = [...this.rescaled.values()]
    this.rescaled = new Map()
    return { rescaled, candles: this.candles.take() }
  }

  /** A market's decimals may change while it is a draft: prices before that are in other atoms. */
  private putMarket(market: number, { priceScale, quantityScale }: Omit<Scale, "market">): void {
    const known = this.scales.get(market)
    if (known?.priceScale === priceScale && known.quantityScale === quantityScale) return
    if (known !== undefined) this.candles.forget(market)
    const scale = { market, priceScale, quantityScale }
    this.scales.set(market, scale)
    this.rescaled.set(market, scale)
  }
}
