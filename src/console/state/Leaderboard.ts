/** The best accounts over a period, as the venue ranks them. */
import { signal } from "@preact/signals-core"
import type { Client } from "./Client.js"
import type * as Contract from "./Contract.js"
import { hasFailed } from "./Failure.js"
import { listed, Listing } from "./Listing.js"

export class Leaderboard {
  readonly window = signal<Contract.Window>("daily")
  /** The current leaderboard without its entries. */
  readonly board = signal<Contract.Leaderboard | undefined>(undefined)
  readonly entries

  constructor(client: Client) {
    this.entries = new Listing<Contract.Ranked>(async (cursor, goesOn) => {
      const page = await client.leaderboard(this.window.value, cursor)
      if (!hasFailed(page) && goesOn()) this.board.value = page.value
      return listed(({ entries }) => entries, page)
    })
  }

  async choose(window: Contract.Window): Promise<void> {
    this.clear()
    this.window.value = window
    await this.entries.list.load()
  }

  clear(): void {
    this.entries.clear()
    this.board.value = undefined
  }
}
