/** All markets with their figures, for the list of markets. */
import { signal } from "@preact/signals-core"
import type { Client } from "./Client.js"
import type { Market, Stats } from "./Contract.js"
import { type Failure, hasFailed, left, type Result } from "./Failure.js"
import { Reading } from "./Task.js"
import { type GoesOn, heard } from "./Turns.js"

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
  /** Why a market's figures could not be read when it was last their turn. */
  private readonly failures = new Map<string, Failure>()
  /** The place of the market whose figures are next; undefined where all are to be asked for. */
  private next: number | undefined

  constructor(private readonly client: Client) {
    this.list = new Reading((goesOn) => this.quoted(goesOn))
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
    this.failures.clear()
    this.failure.value = undefined
  }

  private async quoted(goesOn: GoesOn): Promise<Result<{ readonly markets: ReadonlyArray<Quoted> }>> {
    const found = heard(goesOn, await this.client.markets())
    if (hasFailed(found)) return found
    const { markets } = found.value
    const shown = markets.slice(0, most)
    await Promise.all(this.turn(shown).map(async ({ marketId }) => {
      const told = await this.client.stats(marketId)
      if (!goesOn()) return
      if (hasFailed(told)) this.failures.set(marketId, told.failure)
      else {
        this.failures.delete(marketId)
        this.stats.set(marketId, told.value)
      }
    }))
    if (!goesOn()) return { failure: left }
    // A market keeps its failure until its figures can be read: others that have their turn say nothing of it.
    const failed = shown.map(({ marketId }) => this.failures.get(marketId)).find((failure) => failure !== undefined)
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
