/** An account's history in one market: fills, positions from their first fill to their last, and all changes of its money. */
import { signal } from "@preact/signals-core"
import type { Client } from "../Client.js"
import type * as Contract from "../Contract.js"
import { listed, Listing } from "../Listing.js"

export const kinds = ["fills", "positions", "funding", "ledger"] as const
export type Kind = (typeof kinds)[number]

export class Histories {
  readonly shown = signal<Kind>("fills")
  readonly fills
  readonly positions
  readonly funding
  readonly ledger

  constructor(client: Client, marketId: string) {
    this.fills = new Listing<Contract.Fill>(async (cursor) => listed(({ fills }) => fills, await client.fills(marketId, cursor)))
    this.positions = new Listing<Contract.Episode>(
      async (cursor) => listed(({ episodes }) => episodes, await client.positionHistory(marketId, cursor)),
      ({ positionId }) => positionId
    )
    this.ledger = new Listing<Contract.LedgerEntry>(async (cursor) =>
      listed(({ entries }) => entries, await client.ledger(marketId, cursor))
    )
    // The venue's pages cover all markets: one page may have none of this market while older ones do.
    this.funding = new Listing<Contract.FundingPayment>(async (cursor) =>
      listed(({ payments }) => payments, await client.fundingPayments(cursor), (payment) => payment.marketId === marketId)
    )
  }

  async choose(kind: Kind): Promise<void> {
    this.shown.value = kind
    await this[kind].list.load()
  }

  /** Refreshes the newest page of the shown listing, and of the fills, which are on the chart. */
  async refresh(): Promise<void> {
    await Promise.all([...new Set([this.fills, this[this.shown.value]])].map((listing) => listing.refresh()))
  }
}
