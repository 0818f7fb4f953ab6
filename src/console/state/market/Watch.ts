/**
 * Hears when something has changed of the account: a request waits at the venue until something has, and the next one goes on
 * where it ended, a second later at the earliest. Where that fails it is tried again after a while, and what the page reads at
 * intervals is all it goes by. While the page is not seen nothing waits: the account's programs have those places, too.
 */
import type { Client } from "../Client.js"
import { hasFailed } from "../Failure.js"
import type { Outside } from "../Outside.js"

/** How long a request waits at the venue: less than the page waits for any answer. */
const waitMs = 15_000
/** Before the next one, where something has changed: an account that trades all the time keeps within its limit of requests. */
const pauseMs = 1_000
/** Before it is tried again, after something has failed. */
const retryMs = 5_000

export class Watch {
  private isWanted = false
  private isUnderWay = false
  /** The last record that was looked at; undefined where that is to be asked for. */
  private through: number | undefined

  /** `changed`: told each time, and once the watching has begun, for what may have changed before. */
  constructor(
    private readonly client: Client,
    private readonly outside: Pick<Outside, "isSeen" | "venue">,
    private readonly changed: () => void
  ) {}

  /** Watches from now on; behind a request that still waits for a page that was left, once that is answered. */
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
    try {
      while (this.isWanted) {
        const ms = this.outside.isSeen() ? await this.look() : pauseMs
        if (this.isWanted && ms > 0) await new Promise<void>((resolve) => void this.outside.venue.platform.after(ms, resolve))
      }
    } finally {
      this.isUnderWay = false
    }
  }

  /** In how many milliseconds it is gone on with. */
  private async look(): Promise<number> {
    const { through } = this
    if (through === undefined) return this.start()
    const answer = await this.client.changes(through, waitMs)
    // It was ended meanwhile, or ended and begun again.
    if (this.through !== through) return 0
    if (hasFailed(answer)) {
      // What may be asked again is: otherwise the venue tells nothing from there on.
      if (!answer.failure.again) this.through = undefined
      return retryMs
    }
    const { events, throughSequence } = answer.value
    this.through = throughSequence
    if (events.length === 0) return 0
    this.changed()
    return pauseMs
  }

  private async start(): Promise<number> {
    const balance = await this.client.balance()
    if (hasFailed(balance)) return retryMs
    if (!this.isWanted) return 0
    this.through = balance.value.journalSequence
    this.changed()
    return 0
  }
}
