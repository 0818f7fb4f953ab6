/** All markets with their figures, for the list of markets. */
import { signal } from "@preact/signals-core"
import type { Client } from "./Client.js"
import type { Market, Stats } from "./Contract.js"
import { type Failure, hasFailed, type Result } from "./Failure.js"
import { Reading } from "./Task.js"

/** Figures are requested for each market separately, for the first so many. */
const most = 50

/**
 * How often the list is read while it is seen, in milliseconds, and for how many markets their figures then are, in turn. With the list
 * itself that is 11 requests in 5 s, 132 a minute, however many markets there are. The limit is of an address, which others may share: the
 * first read of a visit, of up to 51 requests, is the only one that is of more.
 */
export const intervalMs = 5_000
const mostAtOnce = 10

export interface Quoted {
  readonly market: Market
  /** The last ones that were read; undefined where there are none. */
  readonly stats: Stats | undefined
}

export class Markets {
  readonly list
  /** Why some figures are no newer, or are missing. */
  readonly failure = signal<Failure | undefined>(undefined)
  private readonly stats = new Map<string, Stats>()
  /** The place of the market whose figures are next; undefined where all are to be asked for. */
  private next: number | undefined

  constructor(private readonly client: Client) {
    this.list = new Reading(() => this.quoted())
  }

  /** Reads everything, for somebody who has just come to see it: what was read for an earlier visit may be of long ago. */
  async begin(): Promise<void> {
    this.next = undefined
    await this.refresh()
  }

  /** Reads the list and the next figures again, unless that is already in progress. */
  async refresh(): Promise<void> {
    if (!this.list.isBusy.value) await this.list.load()
  }

  clear(): void {
    this.list.clear()
    this.failure.value = undefined
  }

  private async quoted(): Promise<Result<{ readonly markets: ReadonlyArray<Quoted> }>> {
    const found = await this.client.markets()
    if (hasFailed(found)) return found
    const { markets } = found.value
    const asked = this.turn(markets.slice(0, most))
    const answers = await Promise.all(asked.map(async ({ marketId }) => ({ marketId, told: await this.client.stats(marketId) })))
    for (const { marketId, told } of answers) if (!hasFailed(told)) this.stats.set(marketId, told.value)
    const failed = answers.map(({ told }) => told).find(hasFailed)?.failure
    // A failure that repeats itself is reported once, not with every read.
    if (failed?.message !== this.failure.value?.message) this.failure.value = failed
    return { value: { markets: markets.map((market) => ({ market, stats: this.stats.get(market.marketId) })) } }
  }

  /** The markets whose figures are asked for now: once all, then some of them in turn. */
  private turn(markets: ReadonlyArray<Market>): ReadonlyArray<Market> {
    const from = this.next
    const count = from === undefined ? markets.length : mostAtOnce
    this.next = ((from ?? 0) + count) % Math.max(1, markets.length)
    return [...markets.slice(from), ...markets.slice(0, from ?? 0)].slice(0, count)
  }
}
