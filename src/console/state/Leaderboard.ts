/** The best accounts over a period, as the venue ranks them, and the name under which the account may be among them. */
import { signal } from "@preact/signals-core"
import type { Client } from "./Client.js"
import type * as Contract from "./Contract.js"
import { hasFailed } from "./Failure.js"
import { Keyed } from "./Keyed.js"
import { listed, Listing } from "./Listing.js"
import type { Outside } from "./Outside.js"
import { Reading } from "./Task.js"

export class Leaderboard {
  readonly window = signal<Contract.Window>("daily")
  /** The current leaderboard without its entries. */
  readonly board = signal<Contract.Leaderboard | undefined>(undefined)
  readonly entries
  /** How others may see the account. */
  readonly profile
  readonly naming

  constructor(private readonly client: Client, outside: Pick<Outside, "nextKey" | "now">) {
    this.profile = new Reading(() => client.profile())
    this.naming = new Keyed(outside, () => Promise.all([this.profile.load(), this.entries.list.load()]))
    this.entries = new Listing<Contract.Ranked>(async (cursor, goesOn) => {
      const page = await client.leaderboard(this.window.value, cursor)
      if (!hasFailed(page) && goesOn()) this.board.value = page.value
      return listed(({ entries }) => entries, page)
    })
  }

  async choose(window: Contract.Window): Promise<void> {
    this.clearBoard()
    this.window.value = window
    await this.entries.list.load()
  }

  /** Chooses the account's public name; returns whether it was done. */
  rename(displayHandle: string): Promise<boolean> {
    return this.naming.ask(displayHandle, ({ key }) => this.client.setProfile({ displayHandle }, key))
  }

  clear(): void {
    this.clearBoard()
    this.profile.clear()
    this.naming.forget()
  }

  private clearBoard(): void {
    this.entries.clear()
    this.board.value = undefined
  }
}
