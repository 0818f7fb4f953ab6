/**
 * Markets as JSON, in both families. A market's text is made once for the last record that changed it, but for what changes without such a
 * record, which is put in for each answer: the change of the last day, the time of an always open session, the digest of all markets, and
 * whether the market is a favorite of whoever asks. To make and encode it anew for each answer took milliseconds with some hundred markets.
 */
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import type { MarketView, Reads, Trader } from "../../engine/Reads.js"
import { CompatMarketTerms, compatTerms } from "./CompatMarket.js"
import { listedMarkets } from "./Listed.js"
import * as Snapshot from "./Snapshot.js"

/** What only changes with the market's own records. */
interface Made {
  readonly sequence: number
  /** The snapshot up to the value of `change24hBps`, which the market's last members follow. */
  readonly head: string
  /** The session; undefined where it is always open. */
  readonly session: string | undefined
  /** The unified shape up to `info`. */
  readonly compat: string
}

const encode = Schema.encodeSync(Snapshot.MarketSnapshot)
const encodeTerms = Schema.encodeSync(CompatMarketTerms)

/** The end of a market's details, which come last in them. */
const last = "\"0\",\"favorite\":false}"

const make = (state: Reads, view: MarketView, digest: string): Made => {
  const { market, marketId, marketSession, status, version } = encode(Snapshot.of(state, { ...view, change24hBps: 0 }, digest))
  const text = JSON.stringify({ version, marketId, status, market })
  assert(text.endsWith(`${last}}`), "a market's last members are those that its own records do not change")
  return {
    sequence: view.marketSequence,
    head: text.slice(0, -last.length - 1),
    session: view.session === undefined ? undefined : JSON.stringify(marketSession),
    compat: `${JSON.stringify(encodeTerms(compatTerms(view))).slice(0, -1)},"info":`
  }
}

export class MarketTexts {
  /** By market index. */
  private readonly made: Array<Made | undefined> = []
  private readonly digest: () => string

  constructor(private readonly state: Reads) {
    this.digest = Snapshot.digestOf(state)
  }

  private of(view: MarketView): Made {
    const known = this.made[view.index]
    if (known?.sequence === view.marketSequence) return known
    return this.made[view.index] = make(this.state, view, this.digest())
  }

  private text({ head, session }: Made, { change24hBps, marketSequence }: MarketView, isFavorite: boolean, alwaysOpen: string): string {
    return `${head}"${change24hBps}","favorite":${isFavorite}},"marketSession":${session ?? alwaysOpen}`
      + `,"snapshotSequence":${marketSequence},"readModelDigest":"${this.digest()}"`
      + `,"resync":{"stream":"market.status","fromSequence":${marketSequence}}}`
  }

  /** The session of markets that are always open. */
  private alwaysOpen(): string {
    return JSON.stringify(Snapshot.alwaysOpen(this.state))
  }

  private isFavorite(trader: Trader | undefined, { index }: MarketView): boolean {
    return trader !== undefined && this.state.isFavorite(trader.account, index)
  }

  /** `external-market-snapshot/v1` of a market, with the favorite mark of whoever asks. */
  market(view: MarketView, trader: Trader | undefined): string {
    return this.text(this.of(view), view, this.isFavorite(trader, view), this.alwaysOpen())
  }

  /** `external-market-list/v1`, likewise. */
  list(trader: Trader | undefined): string {
    const alwaysOpen = this.alwaysOpen()
    const texts = listedMarkets(this.state).map((view) => this.text(this.of(view), view, this.isFavorite(trader, view), alwaysOpen))
    return `{"version":"external-market-list/v1","markets":[${texts.join(",")}]}`
  }

  /** All listed markets in the unified shape. */
  compatList(): string {
    const alwaysOpen = this.alwaysOpen()
    const texts = listedMarkets(this.state).map((view) => {
      const made = this.of(view)
      return `${made.compat}${this.text(made, view, false, alwaysOpen)}}`
    })
    return `[${texts.join(",")}]`
  }
}

/** The texts of one venue's markets. */
export const over = (state: Reads): MarketTexts => new MarketTexts(state)
