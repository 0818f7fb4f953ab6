/**
 * Hears when something has changed of the account: a request waits at the venue until something has, and the next one goes on
 * where it ended. Where that fails it is tried again after a while, and what the page reads at intervals is all it goes by.
 */
import type { Client } from "../Client.js"
import { hasFailed } from "../Failure.js"
import type { Outside } from "../Outside.js"

/** How long a request waits at the venue: less than the page waits for any answer. */
const waitMs = 15_000
/** Before it is tried again, after something has failed. */
const retryMs = 5_000

export class Watch {
  private isWanted = false
  private isUnderWay = false
  /** The last record that was looked at; undefined where that is to be asked for. */
  private through: number | undefined

  /** `changed`: told each time, and once the watching has begun, for what may have changed before. */
  constructor(private readonly client: Client, private readonly outside: Pick<Outside, "venue">, private readonly changed: () => void) {}

  /** Watches from now on. A request that still waits for a page that was left is gone on with. */
  begin(): void {
    this.isWanted = true
    if (!this.isUnderWay) void this.run()
  }

  /** Watches no longer; nobody hears of what still comes. */
  end(): void {
    this.isWanted = false
    this.through = undefined
  }

  private async run(): Promise<void> {
    this.isUnderWay = true
    while (this.isWanted) {
      if (!await this.look() && this.isWanted)
        await new Promise<void>((resolve) => void this.outside.venue.platform.after(retryMs, resolve))
    }
    this.isUnderWay = false
  }

  /** Whether it is to be gone on with at once. */
  private async look(): Promise<boolean> {
    const { through } = this
    if (through === undefined) return this.start()
    const answer = await this.client.changes(through, waitMs)
    // It was ended meanwhile, or ended and begun again.
    if (this.through !== through) return true
    if (hasFailed(answer)) {
      this.through = undefined
      return false
    }
    const { events, throughSequence } = answer.value
    this.through = throughSequence
    if (events.length > 0) this.changed()
    return true
  }

  private async start(): Promise<boolean> {
    const balance = await this.client.balance()
    if (hasFailed(balance)) return false
    if (!this.isWanted) return true
    this.through = balance.value.journalSequence
    this.changed()
    return true
  }
}
