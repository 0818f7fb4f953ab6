/** All markets with their figures, for the list of markets. */
import type { Client } from "./Client.js"
import type { Market, Stats } from "./Contract.js"
import { hasFailed, type Result } from "./Failure.js"
import { Reading } from "./Task.js"

/** Figures are requested for each market separately, for the first so many. */
const most = 50

export interface Quoted {
  readonly market: Market
  /** Undefined where they could not be read. */
  readonly stats: Stats | undefined
}

export class Markets {
  readonly list

  constructor(private readonly client: Client) {
    this.list = new Reading(() => this.quoted())
  }

  /** Reads everything again, unless that is already in progress. */
  async refresh(): Promise<void> {
    if (!this.list.isBusy.value) await this.list.load()
  }

  clear(): void {
    this.list.clear()
  }

  private async quoted(): Promise<Result<{ readonly markets: ReadonlyArray<Quoted> }>> {
    const found = await this.client.markets()
    if (hasFailed(found)) return found
    const markets = await Promise.all(found.value.markets.map(async (market, at): Promise<Quoted> => {
      const stats = at < most ? await this.client.stats(market.marketId) : undefined
      return { market, stats: stats === undefined || hasFailed(stats) ? undefined : stats.value }
    }))
    return { value: { markets } }
  }
}
